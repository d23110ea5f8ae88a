/* kineto_pairs.c - see kineto_pairs.h. */
#include "render/import/kineto/kineto_pairs.h"

#include "render/import/text/json_window.h"

#include <stdlib.h>

enum { MAX_OPEN = 1 << 16, MAX_BYTES = 1 << 24, FIRST_SLOTS = 64, MAX_THREADS = 1 << 18 };

struct open_event {
    struct open_event *below;
    int has_ts;
    int64_t ts_ns;
    size_t cat, name, args; /* bytes of each; they follow each other in text, and WINDOW_PAD zeros follow them */
    char text[];
};

struct slot {
    int64_t thread;
    int is_used;
    int64_t n_lost; /* begun inside the open ones and not kept; counted, so that their ends do not end those */
    struct open_event *top;
};

struct kineto_pairs {
    struct slot *slots;
    size_t n_slots, n_used; /* n_slots: a power of two, at least 2 n_used */
    int64_t n_open;
    size_t n_bytes; /* of the text of all that are open */
    char *merged;   /* what the last end made */
};

struct kineto_pairs *kineto_pairs_new(void)
{
    struct kineto_pairs *p = calloc(1, sizeof *p);
    if (p && !(p->slots = calloc(FIRST_SLOTS, sizeof *p->slots))) {
        free(p);
        return NULL;
    }
    if (p)
        p->n_slots = FIRST_SLOTS;
    return p;
}

static struct slot *find(struct slot *slots, size_t n, int64_t thread)
{
    size_t i = (size_t)((uint64_t)thread * 0x9e3779b97f4a7c15u >> 20) & (n - 1);
    while (slots[i].is_used && slots[i].thread != thread)
        i = (i + 1) & (n - 1);
    return &slots[i];
}

/* The slot of a thread, made when it is new; NULL when there is no room. */
static struct slot *slot_of(struct kineto_pairs *p, int64_t thread)
{
    struct slot *s = find(p->slots, p->n_slots, thread);
    if (s->is_used)
        return s;
    if (2 * (p->n_used + 1) > p->n_slots) {
        size_t n = 2 * p->n_slots;
        struct slot *more = n <= MAX_THREADS ? calloc(n, sizeof *more) : NULL;
        if (!more)
            return NULL;
        for (size_t i = 0; i < p->n_slots; i++)
            if (p->slots[i].is_used)
                *find(more, n, p->slots[i].thread) = p->slots[i];
        free(p->slots);
        p->slots = more;
        p->n_slots = n;
        s = find(more, n, thread);
    }
    *s = (struct slot){.thread = thread, .is_used = 1};
    p->n_used++;
    return s;
}

int kineto_pairs_begin(struct kineto_pairs *p, int64_t thread, const struct kineto_raw *e)
{
    size_t args = e->args ? (size_t)(e->args_end - e->args) : 0, all = e->cat.n + e->name.n + args;
    struct slot *s = slot_of(p, thread);
    int has_room = s && !s->n_lost && p->n_open < MAX_OPEN && all <= MAX_BYTES - p->n_bytes;
    struct open_event *o = has_room ? malloc(sizeof *o + all + 1) : NULL;
    if (!o) {
        if (s)
            s->n_lost++;
        return -1;
    }
    *o = (struct open_event){s->top, e->has_ts, e->ts_ns, e->cat.n, e->name.n, args};
    memcpy(o->text, e->cat.p, e->cat.n);
    memcpy(o->text + e->cat.n, e->name.p, e->name.n);
    if (args)
        memcpy(o->text + e->cat.n + e->name.n, e->args, args);
    s->top = o;
    p->n_open++;
    p->n_bytes += all;
    return 0;
}

/* "{a}" and "{b}" as "{a,b}": of equal names the last one counts. */
static int merge(struct kineto_pairs *p, const struct open_event *o, const struct kineto_raw *e, struct kineto_raw *out)
{
    size_t more = e->args ? (size_t)(e->args_end - e->args) : 0, front = o->cat + o->name, n = front + o->args;
    free(p->merged);
    p->merged = calloc(1, n + more + 1 + WINDOW_PAD);
    if (!p->merged)
        return -1;
    memcpy(p->merged, o->text, n);
    out->cat = (struct kineto_text){p->merged, o->cat};
    out->name = (struct kineto_text){p->merged + o->cat, o->name};
    if (more && o->args)
        p->merged[n - 1] = ','; /* was the closing brace */
    if (more)
        memcpy(p->merged + n, e->args + (o->args > 0), more - (o->args > 0));
    n += more ? more - (o->args > 0) : 0;
    out->args = n > front ? p->merged + front : NULL;
    out->args_end = p->merged + n;
    return 0;
}

int kineto_pairs_end(struct kineto_pairs *p, int64_t thread, const struct kineto_raw *e, struct kineto_raw *out)
{
    struct slot *s = find(p->slots, p->n_slots, thread);
    struct open_event *o = s->top;
    if (s->n_lost) {
        s->n_lost--;
        return -1;
    }
    if (!o)
        return -1;
    *out = *e;
    out->ph = 'X';
    out->ts_ns = o->ts_ns;
    out->has_ts = o->has_ts && e->has_ts && !__builtin_sub_overflow(e->ts_ns, o->ts_ns, &out->dur_ns);
    int rc = merge(p, o, e, out);
    s->top = o->below;
    p->n_open--;
    p->n_bytes -= o->cat + o->name + o->args;
    free(o);
    return rc;
}

int64_t kineto_pairs_open(const struct kineto_pairs *p)
{
    return p->n_open;
}

void kineto_pairs_free(struct kineto_pairs *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n_slots; i++)
        for (struct open_event *o = p->slots[i].top, *below; o; o = below) {
            below = o->below;
            free(o);
        }
    free(p->slots);
    free(p->merged);
    free(p);
}
