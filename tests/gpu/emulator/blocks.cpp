/* blocks.cpp - of the emulator: one kernel, block after block, the threads of a block as fibers. A thread runs until it
 * waits at a barrier or ends; a thread that never waits gives its fiber to the next one. */
#include "tests/gpu/emulator/inside.h"
#include "tests/lib/under_asan.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

#ifdef UNDER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

emulator_place emulator_here;

/* ---- switching stacks ---------------------------------------------------------------------------------------------
 */

#if defined __x86_64__ && !defined EMULATOR_UCONTEXT
/* Saves the registers that a call must keep on the stack, and continues where the other stack was left. */
extern "C" void emulator_switch(void **from, void *to);
asm(R"(
    .text
    .type emulator_switch, @function
emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size emulator_switch, . - emulator_switch
)");

struct context {
    void *sp;
};

static void make_context(context *c, char *stack, size_t bytes, void (*entry)())
{
    void **top = (void **)(stack + bytes);
    top[-1] = nullptr;
    top[-2] = (void *)entry;
    for (int i = 3; i <= 8; i++)
        top[-i] = nullptr;
    c->sp = top - 8;
}

static void switch_context(context *from, context *to)
{
    emulator_switch(&from->sp, to->sp);
}
#else
#include <ucontext.h>

struct context {
    ucontext_t u;
};

static void make_context(context *c, char *stack, size_t bytes, void (*entry)())
{
    getcontext(&c->u);
    c->u.uc_stack.ss_sp = stack;
    c->u.uc_stack.ss_size = bytes;
    c->u.uc_link = nullptr;
    makecontext(&c->u, entry, 0);
}

static void switch_context(context *from, context *to)
{
    swapcontext(&from->u, &to->u);
}
#endif

/* ---- a block ------------------------------------------------------------------------------------------------------
 */

enum { MAX_THREADS = 1024, LANES = 32, STACK_BYTES = 128 * 1024 };

enum waiting { RUNS, AT_BLOCK_BARRIER, AT_WARP_BARRIER, ENDED };

struct fiber {
    context c;
    char *stack;
    unsigned thread; /* that is running */
    waiting state;
    uint64_t passed; /* number of barriers of its kind that had passed when it arrived */
};

struct warp {
    unsigned n_threads, n_ended, n_arrived;
    uint64_t n_passed;
    uint64_t value[2][LANES]; /* used in turn, since no thread can be two shuffles ahead */
};

static struct {
    const char *kernel;
    const std::function<void()> *body;
    unsigned n_threads, n_ended, n_arrived;
    uint64_t n_passed;
    warp warps[MAX_THREADS / LANES];
    fiber fibers[MAX_THREADS];
    unsigned n_fibers; /* in use */
    fiber *self;
    context host;
    std::vector<unsigned> order; /* of threads */
    unsigned n_started;
    bool has_passed; /* a warp has passed since the last look */
    char *shared;
    size_t shared_bytes;
#ifdef UNDER_ASAN
    const void *host_stack;
    size_t host_stack_bytes;
#endif
} block;

static void to_fiber(fiber *f)
{
    block.self = f;
    emulator_here.thread = {f->thread % emulator_here.block_dim.x, f->thread / emulator_here.block_dim.x, 0};
#ifdef UNDER_ASAN
    void *fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, f->stack, STACK_BYTES);
    switch_context(&block.host, &f->c);
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
    switch_context(&block.host, &f->c);
#endif
}

static void to_host()
{
#ifdef UNDER_ASAN
    void *fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, block.host_stack, block.host_stack_bytes);
    switch_context(&block.self->c, &block.host);
    __sanitizer_finish_switch_fiber(fake, &block.host_stack, &block.host_stack_bytes);
#else
    switch_context(&block.self->c, &block.host);
#endif
}

/* The loop of a fiber: it runs the threads that have not begun, block after block, and never returns. A new fiber for
 * each block would leak memory, because ASan keeps a second stack for every fiber that was started. */
static void run_threads()
{
#ifdef UNDER_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &block.host_stack, &block.host_stack_bytes);
#endif
    for (;;) {
        fiber *f = block.self;
        (*block.body)();
        if (block.n_arrived > 0)
            emulator_die("kernel %s: a thread ended while others wait at __syncthreads", block.kernel);
        block.n_ended++;
        warp *w = &block.warps[f->thread / LANES];
        w->n_ended++;
        if (w->n_arrived > 0)
            emulator_die("kernel %s: a thread ended while its warp waits in a shuffle", block.kernel);
        if (block.n_started < block.n_threads) {
            f->thread = block.order[block.n_started++];
            emulator_here.thread = {f->thread % emulator_here.block_dim.x, f->thread / emulator_here.block_dim.x, 0};
            continue;
        }
        f->state = ENDED;
        to_host();
    }
}

void emulator_block_barrier()
{
    if (block.n_ended > 0)
        emulator_die("kernel %s: __syncthreads after a thread of the block has ended", block.kernel);
    if (++block.n_arrived == block.n_threads) {
        block.n_arrived = 0;
        block.n_passed++;
        if (emulator_settings.seed > 0) /* the last to arrive need not be the first to continue */
            to_host();
        return;
    }
    block.self->state = AT_BLOCK_BARRIER;
    block.self->passed = block.n_passed;
    to_host();
}

static void warp_barrier(warp *w)
{
    if (w->n_ended > 0)
        emulator_die("kernel %s: a shuffle after a thread of the warp has ended", block.kernel);
    if (++w->n_arrived == w->n_threads) {
        w->n_arrived = 0;
        w->n_passed++;
        block.has_passed = true;
        return;
    }
    block.self->state = AT_WARP_BARRIER;
    block.self->passed = w->n_passed;
    to_host();
}

unsigned emulator_lane()
{
    return block.self->thread % LANES;
}

uint64_t emulator_shuffle(uint64_t mine, unsigned from)
{
    warp *w = &block.warps[block.self->thread / LANES];
    if (from >= w->n_threads)
        emulator_die("kernel %s: a shuffle from lane %u of a warp of %u threads", block.kernel, from, w->n_threads);
    uint64_t *value = w->value[w->n_passed % 2];
    value[emulator_lane()] = mine;
    warp_barrier(w);
    return value[from];
}

void *emulator_shared_memory()
{
    return block.shared;
}

static bool may_go_on(const fiber *f)
{
    switch (f->state) {
    case RUNS:
        return true;
    case AT_BLOCK_BARRIER:
        return f->passed != block.n_passed;
    case AT_WARP_BARRIER:
        return f->passed != block.warps[f->thread / LANES].n_passed;
    case ENDED:
        break;
    }
    return false;
}

static fiber *new_fiber()
{
    fiber *f = &block.fibers[block.n_fibers++];
    if (!f->stack) {
        void *p =
            mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            emulator_die("no memory for a thread's stack");
        f->stack = (char *)p;
        make_context(&f->c, f->stack, STACK_BYTES, run_threads);
    }
    f->thread = block.order[block.n_started++];
    f->state = RUNS;
    return f;
}

/* Odd seeds keep the threads of a warp together, as they mostly are on a device. */
static void order_threads()
{
    std::vector<unsigned> warps;
    if (emulator_settings.seed % 2 == 0 || emulator_settings.seed == 1) {
        emulator_order(block.n_threads, &block.order);
        return;
    }
    emulator_order((block.n_threads + LANES - 1) / LANES, &warps);
    block.order.clear();
    for (unsigned w : warps)
        for (unsigned lane = 0; lane < block.warps[w].n_threads; lane++)
            block.order.push_back(w * LANES + lane);
}

static void start_block()
{
    block.n_ended = block.n_arrived = block.n_fibers = block.n_started = 0;
    block.n_passed = 0;
    for (unsigned w = 0; w * LANES < block.n_threads; w++) {
        unsigned rest = block.n_threads - w * LANES;
        block.warps[w] = {rest < LANES ? rest : (unsigned)LANES, 0, 0, 0, {{0}}};
    }
    order_threads();
    memset(block.shared, 0xff, block.shared_bytes); /* NaN */
}

static void run_block()
{
    start_block();
    while (block.n_ended < block.n_threads) {
        bool has_moved = false;
        /* With a seed the first fibers run as far as they can before the others move at all, not in turn. */
        for (unsigned i = 0; i < block.n_fibers; i++) {
            block.has_passed = false;
            if (!may_go_on(&block.fibers[i]))
                continue;
            block.fibers[i].state = RUNS;
            to_fiber(&block.fibers[i]);
            has_moved = true;
            if (block.has_passed && emulator_settings.seed > 0)
                i = ~0u; /* from the beginning */
        }
        while (block.n_started < block.n_threads) {
            to_fiber(new_fiber());
            has_moved = true;
        }
        if (!has_moved)
            emulator_die("kernel %s: threads of a block wait for each other for ever", block.kernel);
    }
}

/* ---- a kernel -----------------------------------------------------------------------------------------------------
 */

static void on_bad_access(int, siginfo_t *info, void *)
{
    char where[200];
    emulator_name_address(info->si_addr, where, sizeof where);
    if (block.kernel)
        fprintf(stderr, "emulator: kernel %s, block %u, thread %u: bad access %s\n", block.kernel,
                emulator_here.block.x, block.self ? block.self->thread : 0, where);
    else
        fprintf(stderr, "emulator: the host touched memory that is not its own: %s\n", where);
    _exit(134);
}

static void catch_bad_accesses()
{
#ifndef UNDER_ASAN
    static bool is_done;
    static char stack[64 * 1024];
    if (is_done)
        return;
    is_done = true;
    stack_t own = {};
    own.ss_sp = stack;
    own.ss_size = sizeof stack;
    sigaltstack(&own, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = on_bad_access;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
#else
    (void)on_bad_access;
#endif
}

/* Shared memory ends at a page that may not be touched, so accesses past its end are found. */
static char *shared_end()
{
    static char *end;
    const size_t page = 4096, most = 256 * 1024;
    if (end)
        return end;
    void *p = mmap(nullptr, most + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect((char *)p + most, page, PROT_NONE) != 0)
        emulator_die("no memory for a block's shared memory");
    end = (char *)p + most;
    return end;
}

void emulator_run_kernel(const char *name, dim3 grid, dim3 block_dim, size_t shared, const std::function<void()> &body)
{
    std::vector<unsigned> blocks;
    catch_bad_accesses();
    block.kernel = name;
    block.body = &body;
    block.n_threads = block_dim.x * block_dim.y * block_dim.z;
    block.shared_bytes = (shared + 15) / 16 * 16;
    block.shared = shared_end() - block.shared_bytes;
    emulator_here.block_dim = block_dim;
    emulator_here.grid_dim = grid;
    emulator_order((size_t)grid.x * grid.y * grid.z, &blocks);
    for (unsigned b : blocks) {
        emulator_here.block = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
        run_block();
    }
    block.kernel = nullptr;
}
