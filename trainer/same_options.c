/* same_options.c - see same_options.h. */
#include "trainer/same_options.h"

#include "lib/base/hash.h"

#include <string.h>

/* X(option, value): a list becomes a sum over its bytes, a 64-bit number two halves, so that a double holds all of it.
 */
#define SAME_OPTIONS(X)                                                                                      \
    X("--baseline, --write-windows", o->task)                                                                \
    X("--units", o->units)                                                                                   \
    X("--layers", o->layers)                                                                                 \
    X("--hops", o->hops)                                                                                     \
    X("--input-steps", o->input_steps)                                                                       \
    X("--forecast-steps", o->forecast_steps)                                                                 \
    X("--filter", o->filter)                                                                                 \
    X("--recursion", o->recursion)                                                                           \
    X("--batch", o->batch)                                                                                   \
    X("--weak", o->is_weak)                                                                                  \
    X("--epochs", o->epochs)                                                                                 \
    X("--steps", o->steps)                                                                                   \
    X("--accumulate", o->accumulate)                                                                         \
    X("--lr", o->lr)                                                                                         \
    X("--clip", o->clip)                                                                                     \
    X("--sampling-decay", o->sampling_decay)                                                                 \
    X("--lr-milestones", dcr_crc32c(0, o->milestone, (size_t)o->n_milestones * sizeof *o->milestone))        \
    X("--seed", o->seed >> 32)                                                                               \
    X("--seed", o->seed & 0xffffffff)                                                                        \
    X("--patience", o->patience)                                                                             \
    X("--validate-every", o->validate_every)                                                                 \
    X("--validation-windows", o->validation_windows)                                                         \
    X("--test", o->test)                                                                                     \
    X("--explode-factor", o->explode_factor)                                                                 \
    X("--rank-weights", dcr_crc32c(0, o->rank_weights, (size_t)o->n_rank_weights * sizeof *o->rank_weights)) \
    X("--allreduce-dtype", o->allreduce_dtype)                                                               \
    X("--bucket-bytes", o->bucket_bytes)                                                                     \
    X("--no-overlap", o->is_overlapped)                                                                      \
    X("--windows, --stage-windows", (o->windows != NULL) + 2 * o->stage_windows)                             \
    X("--resume", o->resume != NULL)                                                                         \
    X("--gradient-to", o->gradient_to != NULL)                                                               \
    X("--checkpoint-every", o->checkpoint_steps)                                                             \
    X("--checkpoint-every", o->checkpoint_epochs)                                                            \
    X("--backend", o->is_cuda)                                                                               \
    X("--precision", o->precision)

static const char *const names[] = {
#define X(option, value) option,
    SAME_OPTIONS(X)
#undef X
};
enum { N_SAME = sizeof names / sizeof *names };

int same_options(const struct options *o, struct comm *c, struct dcr_err *err)
{
    const double mine[N_SAME] = {
#define X(option, value) (double)(value),
        SAME_OPTIONS(X)
#undef X
    };
    double first[N_SAME];
    int rc = 0;
    memcpy(first, mine, sizeof first);
    comm_broadcast(c, first, sizeof first);
    for (int i = 0; i < N_SAME && !rc; i++)
        if (mine[i] != first[i])
            rc = dcr_err_set(err, DCR_FAIL, "rank %d on %s was started with another %s than rank 0; start all alike",
                             c->rank, c->host, names[i]);
    return comm_first_failure(c, rc, err);
}
