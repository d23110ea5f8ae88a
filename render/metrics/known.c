/* known.c - the parts of a step that were recorded. The others are n/a, and 0 only in sums. After rules. */
#include "render/metrics/known.h"

/* A GPU trace may be that of one rank among many. Its communication counts, although its peers were not traced. */
int is_one_of_many(const struct run_result *r)
{
    return r->n_ranks < 2 && r->comm_ns > 0 && r->run->n_traces && r->run->traces->world_size != 1;
}

int is_of_messages(const struct run_result *r)
{
    return r->n_ranks > 1 && 2 * r->collective_ns < r->part_ns[PART_TRANSFER];
}

int waits_mostly_for(const struct run_result *r, enum category c)
{
    return 2 * r->wait_cause_ns[c] > r->part_ns[PART_WAIT];
}

double waited_for_one(const struct run_result *r)
{
    double most = 0, all = 0;
    for (int i = 0; i < r->n_rank_results; i++) {
        double ns = (double)r->ranks[i].caused_wait_ns;
        most = ns > most ? ns : most;
        all += ns;
    }
    return all > 0 ? most / all : 0;
}

int can_exchange(const struct report *rep, const struct series_point *p)
{
    return p->n_ranks != 1 || (p->n_runs && is_one_of_many(&rep->runs[p->runs[0]]));
}

enum cause_class class_of_part(enum part p)
{
    static const enum cause_class of[N_PARTS] = {[PART_COMPUTE] = CLASS_COMPUTE,
                                                 [PART_TRANSFER] = CLASS_COMMUNICATION,
                                                 [PART_WAIT] = CLASS_COMMUNICATION,
                                                 [PART_DATA] = CLASS_DATA,
                                                 [PART_IO] = CLASS_IO,
                                                 [PART_COPY] = CLASS_COPY,
                                                 [PART_OTHER] = CLASS_OVERHEAD};
    return of[p];
}

int is_part_known(const struct run_result *r, enum part p)
{
    if (p == PART_WAIT && is_one_of_many(r))
        return 0;
    if ((p == PART_TRANSFER || p == PART_WAIT) && r->n_ranks == 1 && r->has_steps)
        return 1; /* alone it exchanges nothing */
    return p == PART_OTHER || r->part_ns[p] > 0 || r->classes[class_of_part(p)].verdict != VERDICT_NA;
}

int is_point_part_known(const struct report *rep, const struct series_point *p, enum part part)
{
    return known_point_parts(rep, p) >> part & 1;
}

const char *run_part_name(const struct run_result *r, enum part p)
{
    return p == PART_TRANSFER && is_one_of_many(r) ? "communication" : part_name(p);
}

const char *run_class_name(const struct run_result *r, enum cause_class c)
{
    return c == CLASS_COMMUNICATION && is_one_of_many(r) ? "Communication"
           : c == CLASS_IMBALANCE && r->alone.has        ? "Waiting (serial part)"
                                                         : class_words(c, AS_TITLE);
}

unsigned known_parts(const struct run_result *r)
{
    unsigned known = 0;
    for (int p = 0; p < N_PARTS; p++)
        known |= is_part_known(r, (enum part)p) ? 1U << p : 0;
    return known;
}

unsigned known_point_parts(const struct report *rep, const struct series_point *p)
{
    unsigned known = 0;
    for (int i = 0; i < p->n_runs; i++)
        known |= known_parts(&rep->runs[p->runs[i]]);
    return known;
}

unsigned known_loss_parts(const struct report *rep, const struct series *s, const struct series_loss *l)
{
    return known_point_parts(rep, &s->points[l->from]) | known_point_parts(rep, &s->points[l->to]);
}

/* Ranks that exchange nothing save the transfer and the time they wait for each other in turn. */
int is_gain_of_exchange(const struct run_result *r, int64_t gain_ns)
{
    int is_more = gain_ns > r->part_ns[PART_TRANSFER] + r->part_ns[PART_TRANSFER] / 20;
    return is_more && run_part_name(r, PART_TRANSFER) == part_name(PART_TRANSFER);
}
