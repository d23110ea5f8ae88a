/* calls.c - what calls that the recorder saw by itself say of a run whose steps have no names. */
#include "render/analyse/analyse.h"

#include <string.h>

int64_t ranks_wall_ns(const struct run *a)
{
    double s = 0;
    for (int i = 0; i < a->ranks_len; i++) {
        if (!(a->ranks[i].process_seconds > 0))
            return 0;
        s += a->ranks[i].process_seconds;
    }
    return s < 9e9 ? (int64_t)(s * 1e9) : 0;
}

struct mpi_share mpi_share(const struct run *a)
{
    struct mpi_share m = {.wall_ns = ranks_wall_ns(a)};
    for (int i = 0; i < a->n_mpi_calls; i++) { /* the longest first */
        const struct run_mpi_call *c = &a->mpi_calls[i];
        if (strncmp(c->name, "MPI_Init", 8) == 0 || strcmp(c->name, "MPI_Finalize") == 0)
            continue;
        m.largest = m.largest ? m.largest : c;
        m.ns += (int64_t)c->sum.ns;
    }
    m.has = m.wall_ns > 0 && m.largest && m.ns > 0 && m.ns <= m.wall_ns;
    m.ratio = m.has ? (double)m.ns / (double)m.wall_ns : 0;
    return m;
}
