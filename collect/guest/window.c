/* window.c - see window.h. */
#include "collect/guest/window.h"

#include "collect/guest/guest.h"
#include "collect/guest/near.h"
#include "collect/guest/process.h"
#include "lib/archive/format.h"
#include "lib/base/mono.h"
#include "lib/trace/step_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_STEP_CATEGORIES = 16 };

NEAR int dcc_window_is_used;
NEAR static struct {
    int64_t from_ns, until_ns;
    int64_t first_step, last_step;
    int by_steps, by_capture, by_cuda;
    int in_step;       /* open wanted steps */
    int64_t n_steps;   /* steps seen, for steps without a number */
    int has_steps;     /* a step other than a batch was seen, so batches no longer count as steps */
    int n_captures;    /* open captures */
    uint64_t range_id; /* of the process range that is a capture; 0 = none */
    struct {
        uint32_t domain, category;
        int is_batch;
    } step_category[MAX_STEP_CATEGORIES];
    int n_step_categories;
} window = {.until_ns = INT64_MAX};
static char capture_name[DCT_MAX_TEXT + 1]; /* a copy, because programs overwrite their environment (setproctitle) */

static int64_t number_of(const char *name, int64_t absent)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return absent;
    char *end;
    long long n = strtoll(text, &end, 10);
    return *end == '\0' && n >= 0 ? n : absent;
}

void window_begin(void)
{
    const char *steps = getenv("DCC_STEPS"), *capture = getenv("DCC_CAPTURE");
    window.from_ns = number_of("DCC_FROM_NS", 0);
    window.until_ns = number_of("DCC_UNTIL_NS", INT64_MAX);
    if (steps && *steps) {
        char *end;
        window.first_step = strtoll(steps, &end, 10);
        window.last_step = *end == ':' ? strtoll(end + 1, NULL, 10) : window.first_step;
        window.by_steps = 1;
    }
    if (capture && strncmp(capture, "nvtx:", 5) == 0) {
        snprintf(capture_name, sizeof capture_name, "%s", capture + 5);
        window.by_capture = 1;
    } else if (capture && strcmp(capture, "cudaProfilerApi") == 0) {
        window.by_capture = window.by_cuda = 1;
    }
    dcc_window_is_used = window.by_steps || window.by_capture || window.from_ns > 0 || window.until_ns != INT64_MAX;
}

static int is_opened(void)
{
    return (!window.by_steps || __atomic_load_n(&window.in_step, __ATOMIC_RELAXED)) &&
           (!window.by_capture || __atomic_load_n(&window.n_captures, __ATOMIC_RELAXED) > 0);
}

int window_is_open(int64_t now_ns)
{
    return now_ns >= window.from_ns && now_ns < window.until_ns && is_opened();
}

/* ---- the past --------------------------------------------------------------------------------- */

enum { N_CHANGES = 4096 };
static struct {
    uint32_t holder; /* the thread that looks; 0 = none */
    int is_due;      /* another thread came meanwhile, so the holder must look again */
    uint64_t n;      /* number of all changes; the last N_CHANGES are kept */
    int is_open;
    int64_t change[N_CHANGES];                      /* time of the change, times two; plus 1 when the window opened */
    int64_t first_ns, last_ns, closed_ns, since_ns; /* the values of the file header */
} past;

/* --delay and --duration also limit windows that steps or captures open. */
static int64_t within_times(int64_t t_ns)
{
    t_ns = t_ns > window.from_ns ? t_ns : window.from_ns;
    return t_ns < window.until_ns ? t_ns : window.until_ns;
}

static void add_piece(int is_open, int64_t now_ns)
{
    if (is_open) {
        /* With --delay and --duration alone no event opens the window, so it was open before the first event. */
        past.since_ns = window.by_steps || window.by_capture ? within_times(now_ns) : window.from_ns;
        past.since_ns = past.since_ns > 0 ? past.since_ns : 1;
        past.first_ns = past.first_ns ? past.first_ns : past.since_ns;
    } else if (past.since_ns) {
        int64_t until = within_times(now_ns);
        if (until > past.since_ns) {
            past.last_ns = until;
            past.closed_ns += until - past.since_ns;
        } else if (past.closed_ns == 0) { /* all of it lay before the delay, so the window has not been open yet */
            past.first_ns = 0;
        }
        past.since_ns = 0;
    }
}

/* The caller is the holder. */
static void look_again(void)
{
    int is_open = is_opened();
    if (is_open != past.is_open) {
        int64_t now = dcr_mono_ns();
        past.is_open = is_open;
        __atomic_store_n(&past.change[past.n % N_CHANGES], 2 * now + is_open, __ATOMIC_RELAXED);
        __atomic_store_n(&past.n, past.n + 1, __ATOMIC_RELEASE);
        add_piece(is_open, now);
    }
    if (dcc_self->process) {
        struct dct_file_header *h = &dcc_self->process->header;
        h->window_first_ns = past.first_ns;
        h->window_last_ns = past.last_ns;
        h->window_closed_ns = past.closed_ns;
        h->window_since_ns = past.since_ns;
        h->window_until_ns = window.until_ns;
    }
}

static __thread int self_as_holder __attribute__((tls_model("initial-exec"))); /* its address tells threads apart */

static uint32_t holder_of_self(void)
{
    return (uint32_t)((uintptr_t)&self_as_holder >> 2) | 1;
}

/* It never waits: if another thread is looking, that thread is told to look again. */
void window_tell(void)
{
    uint32_t nobody = 0;
    __atomic_store_n(&past.is_due, 1, __ATOMIC_SEQ_CST);
    while (
        __atomic_load_n(&past.is_due, __ATOMIC_SEQ_CST) &&
        __atomic_compare_exchange_n(&past.holder, &nobody, holder_of_self(), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&past.is_due, 0, __ATOMIC_SEQ_CST);
        look_again();
        __atomic_store_n(&past.holder, 0, __ATOMIC_SEQ_CST);
        nobody = 0;
    }
}

void window_abandon(void)
{
    uint32_t self = holder_of_self();
    __atomic_compare_exchange_n(&past.holder, &self, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void window_forget_others(void)
{
    uint32_t holder = __atomic_load_n(&past.holder, __ATOMIC_SEQ_CST);
    if (holder != holder_of_self())
        __atomic_compare_exchange_n(&past.holder, &holder, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

int window_part(int64_t *start_ns, int64_t *end_ns)
{
    int64_t from = window.from_ns, until = window.until_ns;
    if (window.by_steps || window.by_capture) {
        uint64_t n = __atomic_load_n(&past.n, __ATOMIC_ACQUIRE);
        int64_t last = n ? __atomic_load_n(&past.change[(n - 1) % N_CHANGES], __ATOMIC_RELAXED) : 0, opened = last / 2;
        if (n < 2 && !(last & 1))
            return 0;
        if (!(last & 1)) { /* it is closed, and opening and closing alternate */
            until = last / 2 < until ? last / 2 : until;
            opened = __atomic_load_n(&past.change[(n - 2) % N_CHANGES], __ATOMIC_RELAXED) / 2;
        }
        from = opened > from ? opened : from;
    }
    if (*end_ns < from || *start_ns >= until || from >= until)
        return 0;
    *start_ns = *start_ns > from ? *start_ns : from;
    *end_ns = *end_ns < until ? *end_ns : until;
    return 1;
}

int window_was_open(int64_t t_ns)
{
    if (t_ns < window.from_ns || t_ns >= window.until_ns)
        return 0;
    if (!window.by_steps && !window.by_capture)
        return 1;
    /* Changes that are overwritten meanwhile are later than t_ns, and are skipped. */
    uint64_t n = __atomic_load_n(&past.n, __ATOMIC_ACQUIRE), oldest = n > N_CHANGES ? n - N_CHANGES : 0;
    for (uint64_t i = n; i > oldest; i--) {
        int64_t change = __atomic_load_n(&past.change[(i - 1) % N_CHANGES], __ATOMIC_RELAXED);
        if (change / 2 <= t_ns)
            return (int)(change & 1);
    }
    return 0;
}

unsigned window_name(const char *text)
{
    const char *word;
    int64_t number;
    unsigned flags = 0;
    switch (step_name_of(text, &word, &number)) { /* the same rule as in the report */
    case STEP_NAME_STEP:
        flags = WINDOW_NAME_STEP;
        break;
    case STEP_NAME_BATCH:
        flags = WINDOW_NAME_STEP | WINDOW_NAME_BATCH;
        break;
    case STEP_NAME_EPOCH: /* an epoch may carry the category of the steps that it encloses */
        flags = WINDOW_NAME_EPOCH;
        break;
    case STEP_NAME_NONE:
        break;
    }
    if (*capture_name && strcmp(text, capture_name) == 0)
        flags |= WINDOW_NAME_CAPTURE;
    return flags;
}

int window_is_step_category(uint32_t domain, uint32_t category)
{
    int n = __atomic_load_n(&window.n_step_categories, __ATOMIC_ACQUIRE);
    for (int i = 0; category && i < n; i++)
        if (window.step_category[i].domain == domain && window.step_category[i].category == category)
            return 1 + window.step_category[i].is_batch;
    return 0;
}

void window_category(uint32_t domain, uint32_t category, const char *name)
{
    int n = window.n_step_categories, is_batch = strcasecmp(name, DCT_CATEGORY_BATCH) == 0;
    if ((!is_batch && strcasecmp(name, "step") != 0) || n == MAX_STEP_CATEGORIES ||
        window_is_step_category(domain, category))
        return;
    window.step_category[n].is_batch = is_batch;
    window.step_category[n].domain = domain;
    window.step_category[n].category = category;
    __atomic_store_n(&window.n_step_categories, n + 1, __ATOMIC_RELEASE);
}

/* Sets t->is_batch. The first step that is not a batch restarts the count. */
static int is_step(struct window_track *t, uint32_t domain, unsigned flags, uint32_t category)
{
    int is_of_category = window_is_step_category(domain, category);
    if (!is_of_category && !(flags & WINDOW_NAME_STEP))
        return 0;
    t->is_batch = is_of_category ? is_of_category == 2 : (flags & WINDOW_NAME_BATCH) != 0;
    if (t->is_batch)
        return !__atomic_load_n(&window.has_steps, __ATOMIC_RELAXED);
    if (!__atomic_exchange_n(&window.has_steps, 1, __ATOMIC_RELAXED))
        __atomic_store_n(&window.n_steps, 0, __ATOMIC_RELAXED);
    return 1;
}

void window_push(struct window_track *t, uint32_t domain, unsigned flags, uint32_t category, int64_t number, int level)
{
    if (window.by_steps && !t->step_level && !(flags & WINDOW_NAME_EPOCH) && is_step(t, domain, flags, category)) {
        int64_t counted = __atomic_fetch_add(&window.n_steps, 1, __ATOMIC_RELAXED);
        int64_t step = number >= 0 ? number : counted;
        t->step_level = level + 1;
        t->step_domain = domain;
        t->is_last_step = step >= window.last_step;
        __atomic_store_n(&window.in_step, step >= window.first_step && step <= window.last_step, __ATOMIC_RELAXED);
        window_tell();
    }
    if ((flags & WINDOW_NAME_CAPTURE) && !t->capture_level) {
        t->capture_level = level + 1;
        t->capture_domain = domain;
        __atomic_fetch_add(&window.n_captures, 1, __ATOMIC_RELAXED);
        window_tell();
    }
}

void window_pop(struct window_track *t, uint32_t domain, int level)
{
    /* The time between two wanted steps is recorded; the time after the last one is not. */
    if (t->step_level == level + 1 && t->step_domain == domain) {
        t->step_level = 0;
        if (t->is_last_step && !(t->is_batch && __atomic_load_n(&window.has_steps, __ATOMIC_RELAXED)))
            __atomic_store_n(&window.in_step, 0, __ATOMIC_RELAXED);
        window_tell();
    }
    if (t->capture_level == level + 1 && t->capture_domain == domain) {
        t->capture_level = 0;
        __atomic_fetch_sub(&window.n_captures, 1, __ATOMIC_RELAXED);
        window_tell();
    }
}

void window_start(unsigned flags, uint64_t id)
{
    uint64_t none = 0;
    if ((flags & WINDOW_NAME_CAPTURE) &&
        __atomic_compare_exchange_n(&window.range_id, &none, id, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        __atomic_fetch_add(&window.n_captures, 1, __ATOMIC_RELAXED);
        window_tell();
    }
}

void window_end(uint64_t id)
{
    if (id && __atomic_compare_exchange_n(&window.range_id, &id, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        __atomic_fetch_sub(&window.n_captures, 1, __ATOMIC_RELAXED);
        window_tell();
    }
}

EXPORTED void dcc_guest_capture(int is_on)
{
    if (window.by_cuda)
        __atomic_store_n(&window.n_captures, is_on, __ATOMIC_RELAXED);
    window_tell();
}
