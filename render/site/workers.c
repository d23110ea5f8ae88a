/* workers.c - see workers.h. It uses processes, not threads, because pages share one arena and one typeface. Each
 * process takes a stretch of the runs, writes their files and reports them through a pipe. */
#include "render/site/workers.h"

#include "lib/base/cores.h"
#include "lib/base/stream.h"
#include "render/write/json/json_values.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUNS_MIN = 4, WORKERS_MAX = 16 };
#define TOLD_MAX ((size_t)256 << 20)

struct worker {
    pid_t pid; /* 0: none */
    int from;  /* of the pipe, -1: none */
};

static int workers_wanted(const struct site *s)
{
    int n = dcr_cores();
    n = n > WORKERS_MAX ? WORKERS_MAX : n;
    n = n > s->rep->n_runs / 2 ? s->rep->n_runs / 2 : n;
    return s->rep->n_runs < RUNS_MIN || s->single_file || n < 2 ? 1 : n;
}

static void make(struct site *s, int from, int to)
{
    for (int i = from; i < to && !s->rc; i++)
        page_run(s, i);
}

/* In the child: makes the pages, reports, and ends without any of the parent's exit handlers. */
static void work(struct site *s, int from, int to, int pipe_to)
{
    size_t n_files = s->publish.n_files;
    json_array_clear(s->data_files);
    make(s, from, to);
    json_t *told = json_object(), *files = json_array();
    for (size_t i = n_files; i < s->publish.n_files; i++)
        value_add(files, value_string(s->publish.files[i]));
    value_set(told, "files", files);
    value_set(told, "data", json_incref(s->data_files));
    value_set(told, "rc", json_integer(s->rc));
    value_set(told, "error", value_string(s->rc && s->err ? s->err->text : ""));
    char *text = json_dumps(told, JSON_COMPACT);
    size_t n = text ? strlen(text) : 0, at = 0;
    while (at < n) {
        ssize_t k = write(pipe_to, text + at, n - at);
        if (k <= 0)
            break;
        at += (size_t)k;
    }
    _exit(at == n && text ? 0 : 1);
}

/* returns  false: no process could be made; the caller does the work itself */
static bool start(struct site *s, struct worker *w, const struct worker *others, int n_others, int from, int to)
{
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    pid_t parent = getpid();
    w->pid = fork();
    if (w->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* without the parent, its work is of no use */
        if (getppid() != parent)
            _exit(1);
        signal(SIGPIPE, SIG_IGN);
        close(ends[0]);
        for (int i = 0; i < n_others; i++)
            close(others[i].from);
        work(s, from, to, ends[1]);
    }
    close(ends[1]);
    w->from = ends[0];
    if (w->pid > 0)
        return true;
    close(ends[0]);
    *w = (struct worker){0, -1};
    return false;
}

/* Adds what a worker reported to the site. */
static void take(struct site *s, const char *text, size_t n)
{
    json_t *told = json_loadb(text, n, 0, NULL), *files = json_object_get(told, "files"), *v;
    size_t i;
    if (!told) {
        site_fail(s, dcr_err_set(s->err, DCR_FATAL, "a process that made pages of runs ended before its time"));
        return;
    }
    int rc = (int)json_integer_value(json_object_get(told, "rc"));
    if (rc && !s->rc)
        site_fail(s, dcr_err_set(s->err, rc, "%s", json_string_value(json_object_get(told, "error"))));
    json_array_foreach(files, i, v) if (!s->rc)
        site_fail(s, publish_remember(&s->publish, json_string_value(v), s->err));
    json_array_extend(s->data_files, json_object_get(told, "data"));
    json_decref(told);
}

static void finish(struct site *s, struct worker *w)
{
    struct dcr_buf text = {0};
    struct dcr_err err = {0};
    if (s->rc) /* it need not go on, because nothing will be published */
        kill(w->pid, SIGTERM);
    struct dcr_stream in = dcr_stream_fd(&w->from, "a process that makes pages");
    int rc = dcr_stream_slurp(&in, &text, TOLD_MAX, &err);
    close(w->from);
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    take(s, rc ? "" : dcr_buf_text(&text), rc ? 0 : text.len);
    dcr_buf_release(&text);
}

void page_runs(struct site *s)
{
    struct worker workers[WORKERS_MAX];
    int n_runs = s->rep->n_runs, n = workers_wanted(s), n_started = 0;
    if (s->rc)
        return;
    dcr_cores_work(n - 1); /* the share of the other processes, because each process counts for itself */
    for (; n_started < n - 1; n_started++) {
        int from = n_runs * (n_started + 1) / n, to = n_runs * (n_started + 2) / n;
        if (!start(s, &workers[n_started], workers, n_started, from, to))
            break;
    }
    make(s, 0, n_runs / n);
    dcr_cores_work(1 - n);
    for (int i = 0; i < n_started; i++)
        finish(s, &workers[i]);
    make(s, n_runs * (n_started + 1) / n, n_runs); /* the runs for which no process could be made */
}
