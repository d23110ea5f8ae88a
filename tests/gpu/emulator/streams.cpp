/* streams.cpp - of the emulator: work waits in queues until the host waits for it. Then it is done piece by piece. The
 * next piece is drawn from all that streams, events and the dependencies of graphs allow. */
#include "tests/gpu/emulator/inside.h"

#include <deque>
#include <memory>
#include <time.h>

struct moment {
    uint64_t n_asked = 0, n_done = 0; /* number of records requested, done */
    double done_s = 0;
};

struct node {
    std::function<void()> work;
    std::vector<size_t> after; /* nodes of the same graph */
};

struct emulator_graph {
    std::vector<node> nodes;
    std::vector<std::shared_ptr<moment>> records; /* event records as nodes: requested by each launch */
};

struct recording {
    emulator_graph graph;
    emulator_stream *origin;
    std::vector<emulator_stream *> streams;
    cudaError_t status = cudaSuccess;
};

struct emulator_event {
    std::shared_ptr<moment> now = std::make_shared<moment>();
    unsigned flags;
    std::shared_ptr<recording> recorded_in; /* during a recording: the one it is part of */
    std::vector<size_t> nodes;
};

/* A launched graph: which of its nodes are done. */
struct launch {
    std::shared_ptr<emulator_graph> graph;
    std::vector<char> is_done;
    size_t n_done = 0;
};

struct piece {
    std::function<void()> work;
    std::shared_ptr<moment> awaits;
    uint64_t awaited = 0;
    std::shared_ptr<launch> running;
};

struct emulator_stream {
    std::deque<piece> queue;
    std::shared_ptr<recording> records;
    std::vector<size_t> last; /* nodes that the next one follows */
};

struct emulator_exec {
    std::shared_ptr<emulator_graph> graph;
};

cudaError_t emulator_stuck = cudaSuccess;
static emulator_stream default_stream;
static std::vector<emulator_stream *> streams = {&default_stream};
static int n_recordings;

static double now_s()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- doing the work ------------------------------------------------------------------------------------------------
 */

struct candidate {
    emulator_stream *stream;
    size_t node; /* of a running graph */
};

static void add_candidates(emulator_stream *s, std::vector<candidate> *out)
{
    if (s->queue.empty())
        return;
    const piece &head = s->queue.front();
    if (head.awaits && head.awaits->n_done < head.awaited)
        return;
    if (!head.running) {
        out->push_back({s, 0});
        return;
    }
    const launch &l = *head.running;
    for (size_t i = 0; i < l.graph->nodes.size(); i++) {
        bool is_ready = !l.is_done[i];
        for (size_t before : l.graph->nodes[i].after)
            is_ready = is_ready && l.is_done[before];
        if (is_ready)
            out->push_back({s, i});
    }
}

static void work(const std::function<void()> &f)
{
    static int64_t n_done;
    n_done++;
    if (emulator_settings.fail_work && n_done >= emulator_settings.fail_work)
        emulator_stuck = cudaErrorLaunchFailure;
    if (!emulator_stuck && f)
        f();
}

static void do_one(const candidate &c)
{
    piece &head = c.stream->queue.front();
    if (head.running) {
        launch &l = *head.running;
        if (!l.graph->nodes.empty()) {
            work(l.graph->nodes[c.node].work);
            l.is_done[c.node] = 1;
            l.n_done++;
        }
        if (l.n_done < l.graph->nodes.size())
            return;
    } else if (!head.awaits) {
        work(head.work);
    }
    c.stream->queue.pop_front();
}

template <typename F> static cudaError_t run_until(F is_reached)
{
    if (is_reached()) /* opening memory costs two system calls an allocation */
        return emulator_stuck;
    emulator_open_memory(true);
    while (!is_reached()) {
        std::vector<candidate> ready;
        for (emulator_stream *s : streams)
            add_candidates(s, &ready);
        if (ready.empty() && emulator_stuck) /* the awaited work will not come any more */
            break;
        if (ready.empty())
            emulator_die("streams wait for each other for ever");
        const uint64_t seed = emulator_settings.seed;
        do_one(ready[seed == 0 ? 0 : seed == 1 ? ready.size() - 1 : emulator_random(ready.size())]);
    }
    emulator_open_memory(false);
    return emulator_stuck;
}

cudaError_t emulator_finish()
{
    return run_until([]() {
        for (emulator_stream *s : streams)
            if (!s->queue.empty())
                return false;
        return true;
    });
}

/* ---- enqueueing -----------------------------------------------------------------------------------------------------
 */

cudaError_t emulator_may_not_record()
{
    return n_recordings > 0 ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

cudaError_t emulator_enqueue(cudaStream_t stream, std::function<void()> f)
{
    emulator_stream *s = stream ? stream : &default_stream;
    if (s->records) {
        recording &r = *s->records;
        r.graph.nodes.push_back({std::move(f), s->last});
        s->last = {r.graph.nodes.size() - 1};
        return cudaSuccess;
    }
    if (!stream && n_recordings > 0) /* the default stream cannot be recorded */
        return cudaErrorStreamCaptureUnsupported;
    piece p;
    p.work = std::move(f);
    s->queue.push_back(std::move(p));
    return cudaSuccess;
}

void emulator_enqueue_kernel(const char *name, const void *kernel, dim3 grid, dim3 block, size_t shared,
                             cudaStream_t stream, std::function<void()> body)
{
    extern cudaError_t emulator_check_launch(const void *kernel, dim3 grid, dim3 block, size_t shared);
    extern void emulator_remember(cudaError_t status);
    cudaError_t status = emulator_entered();
    if (status == cudaSuccess)
        status = emulator_check_launch(kernel, grid, block, shared);
    if (status == cudaSuccess)
        status = emulator_enqueue(stream, [name, grid, block, shared, body]() {
            emulator_counted.n_kernels++;
            emulator_run_kernel(name, grid, block, shared, body);
        });
    emulator_remember(status);
}

/* ---- streams --------------------------------------------------------------------------------------------------------
 */

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return emulator_entered();
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned, int)
{
    if (cudaError_t status = emulator_entered())
        return status;
    *out = new emulator_stream;
    streams.push_back(*out);
    emulator_counted.n_live++;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    (void)emulator_entered();
    (void)emulator_finish();
    for (size_t i = 1; i < streams.size(); i++)
        if (streams[i] == stream) {
            streams.erase(streams.begin() + (std::ptrdiff_t)i);
            delete stream;
            emulator_counted.n_live--;
            return cudaSuccess;
        }
    return cudaErrorInvalidResourceHandle;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    emulator_stream *s = stream ? stream : &default_stream;
    if (cudaError_t status = emulator_entered())
        return status;
    if (s->records) {
        s->records->status = cudaErrorStreamCaptureInvalidated;
        return cudaErrorStreamCaptureUnsupported;
    }
    return run_until([s]() { return s->queue.empty(); });
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t status = emulator_entered();
    if (!status && emulator_settings.hangs)
        return cudaErrorNotReady;
    if (status || stream->queue.empty())
        return status;
    const size_t left = stream->queue.size() / 2; /* some progress, then the host asks again */
    return run_until([=]() { return stream->queue.size() <= left; }) ? emulator_stuck
           : stream->queue.empty()                                   ? cudaSuccess
                                                                     : cudaErrorNotReady;
}

cudaError_t cudaDeviceSynchronize()
{
    if (cudaError_t status = emulator_entered())
        return status;
    if (cudaError_t status = emulator_may_not_record())
        return status;
    return emulator_finish();
}

/* ---- events ---------------------------------------------------------------------------------------------------------
 */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    if (cudaError_t status = emulator_entered())
        return status;
    *out = new emulator_event;
    (*out)->flags = flags;
    emulator_counted.n_live++;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    (void)emulator_entered();
    delete event;
    emulator_counted.n_live--;
    return cudaSuccess;
}

/* Work that records the event. */
static std::function<void()> arrival(const std::shared_ptr<moment> &m, uint64_t number)
{
    return [m, number]() {
        m->n_done = number > m->n_done ? number : m->n_done;
        m->done_s = now_s();
    };
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    if (cudaError_t status = emulator_entered())
        return status;
    if (stream->records && flags != cudaEventRecordExternal) {
        event->recorded_in = stream->records;
        event->nodes = stream->last;
        return cudaSuccess;
    }
    if (!stream->records && flags == cudaEventRecordExternal)
        return cudaErrorInvalidValue;
    event->recorded_in = nullptr;
    if (stream->records) { /* a node: recorded at every launch */
        std::shared_ptr<moment> m = event->now;
        stream->records->graph.records.push_back(m);
        return emulator_enqueue(stream, [m]() { arrival(m, m->n_asked)(); });
    }
    return emulator_enqueue(stream, arrival(event->now, ++event->now->n_asked));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    if (cudaError_t status = emulator_entered())
        return status;
    if (event->recorded_in) {
        if (event->recorded_in->origin->records != event->recorded_in)
            return cudaErrorInvalidValue; /* of a recording that has ended */
        if (stream->records && stream->records != event->recorded_in)
            return cudaErrorInvalidValue;
        if (!stream->records) { /* the stream joins the recording */
            if (!stream->queue.empty() && stream->queue.back().work == nullptr)
                return cudaErrorInvalidValue;
            stream->records = event->recorded_in;
            stream->last.clear();
            stream->records->streams.push_back(stream);
        }
        for (size_t n : event->nodes)
            stream->last.push_back(n);
        return cudaSuccess;
    }
    if (stream->records)
        return cudaErrorStreamCaptureUnsupported; /* an event from outside: CUDA calls this isolation */
    piece p;
    p.awaits = event->now;
    p.awaited = event->now->n_asked;
    stream->queue.push_back(std::move(p));
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (cudaError_t status = emulator_entered())
        return status;
    const std::shared_ptr<moment> m = event->now;
    if (emulator_settings.hangs)
        return cudaErrorNotReady;
    if (m->n_done >= m->n_asked)
        return cudaSuccess;
    /* not yet at the time of asking; it has come when the host asks again */
    cudaError_t status = run_until([=]() { return m->n_done >= m->n_asked; });
    return status ? status : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (cudaError_t status = emulator_entered())
        return status;
    const std::shared_ptr<moment> m = event->now;
    const uint64_t number = m->n_asked;
    return run_until([=]() { return m->n_done >= number; });
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    if (cudaError_t status = emulator_entered())
        return status;
    if (((from->flags | to->flags) & cudaEventDisableTiming) || !from->now->n_done || !to->now->n_done)
        return cudaErrorInvalidResourceHandle;
    if (from->now->n_done < from->now->n_asked || to->now->n_done < to->now->n_asked)
        return cudaErrorNotReady;
    *ms = (float)(1e3 * (to->now->done_s - from->now->done_s));
    return cudaSuccess;
}

/* ---- graphs ---------------------------------------------------------------------------------------------------------
 */

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *out)
{
    *out = stream->records ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return emulator_entered();
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    if (cudaError_t status = emulator_entered())
        return status;
    if (!stream || stream->records)
        return cudaErrorInvalidValue;
    stream->records = std::make_shared<recording>();
    stream->records->origin = stream;
    stream->records->streams = {stream};
    stream->last.clear();
    n_recordings++;
    return cudaSuccess;
}

/* Every node must precede the origin's end, because a stream that was not joined again would go on by itself. */
static bool is_joined(const recording &r)
{
    std::vector<char> is_before(r.graph.nodes.size(), 0);
    std::vector<size_t> open = r.origin->last;
    while (!open.empty()) {
        size_t n = open.back();
        open.pop_back();
        if (is_before[n])
            continue;
        is_before[n] = 1;
        for (size_t before : r.graph.nodes[n].after)
            open.push_back(before);
    }
    for (char b : is_before)
        if (!b)
            return false;
    return true;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    cudaError_t status = emulator_entered();
    std::shared_ptr<recording> r = stream->records;
    *out = nullptr;
    if (!r || r->origin != stream)
        return cudaErrorInvalidValue;
    if (!status)
        status = r->status ? r->status : is_joined(*r) ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
    for (emulator_stream *s : r->streams) {
        s->records = nullptr;
        s->last.clear();
    }
    n_recordings--;
    if (status)
        return status;
    *out = new emulator_graph(std::move(r->graph));
    emulator_counted.n_live++;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    (void)emulator_entered();
    delete graph;
    emulator_counted.n_live--;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    if (cudaError_t status = emulator_entered())
        return status;
    if (flags & ~(unsigned long long)cudaGraphInstantiateFlagUseNodePriority) /* the only flag known here */
        return cudaErrorInvalidValue;
    *out = new emulator_exec{std::make_shared<emulator_graph>(*graph)};
    emulator_counted.n_live++;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    (void)emulator_entered();
    delete exec;
    emulator_counted.n_live--;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    if (cudaError_t status = emulator_entered())
        return status;
    piece p;
    p.running = std::make_shared<launch>();
    p.running->graph = exec->graph;
    p.running->is_done.assign(exec->graph->nodes.size(), 0);
    for (const std::shared_ptr<moment> &m : exec->graph->records)
        m->n_asked++;
    stream->queue.push_back(std::move(p));
    emulator_counted.n_graphs++;
    return cudaSuccess;
}
