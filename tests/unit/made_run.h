/* made_run.h - runs built in memory for the tests of the analysis: every number is chosen by the test. */
#ifndef TESTS_UNIT_MADE_RUN_H
#define TESTS_UNIT_MADE_RUN_H

#include "render/findings/rules/analyse.h"
#include "render/model/build.h"

#include <stdio.h>
#include <string.h>

/* One step of one rank: part_ns as in struct step_record; one collective of part_ns[CAT_COMM] when that is > 0. */
static inline void made_step(struct run *r, struct run_rank *k, const int64_t part[N_CATEGORIES])
{
    enum { ROOM = 512 };
    if (!k->steps) {
        k->steps = dcr_arena_alloc(&r->arena, ROOM * sizeof *k->steps);
        k->collectives = dcr_arena_alloc(&r->arena, ROOM * sizeof *k->collectives);
    }
    struct step_record *s = &k->steps[k->n_steps];
    s->step = (int64_t)k->n_steps++;
    s->samples = -1;
    memcpy(s->part_ns, part, sizeof s->part_ns);
    for (int c = 0; c < N_CATEGORIES; c++)
        s->step_ns += part[c];
    s->first_collective = (uint32_t)k->n_collectives;
    if (part[CAT_COMM] > 0) {
        struct collective *c = &k->collectives[k->n_collectives++];
        memcpy(c->since_ns, part, sizeof c->since_ns);
        c->since_ns[CAT_COMM] = 0;
        c->dur_ns = part[CAT_COMM];
        s->n_collectives = 1;
    }
    k->source = STEPS_CSV;
    k->wall_ns += s->step_ns;
}

/* A run of n nodes with one rank each, named after its node count. */
static inline struct run *made_run(int n_nodes, int64_t global_batch)
{
    char id[32];
    snprintf(id, sizeof id, "%dnode-made.tar", n_nodes);
    struct run *r = run_new(id);
    snprintf(id, sizeof id, "made-%d", n_nodes);
    r->run_id = dcr_arena_strdup(&r->arena, id);
    r->n_nodes = r->n_ranks = n_nodes;
    r->node_kind = NODES_MACHINES;
    r->program.name = "dcrnn-train";
    r->program.backend = "cpu";
    r->program.global_batch = global_batch;
    for (int i = 0; i < n_nodes; i++) {
        run_rank_at(r, i)->node = i;
        struct run_node *node = run_node_at(r, i);
        node->cores = node->cores_allowed = 8;
    }
    return r;
}

/* `steps` equal steps on every rank: compute and communication; data, io as given. */
static inline struct run *made_even_run(int n_nodes, int64_t global_batch, int steps, int64_t compute_ns,
                                        int64_t comm_ns, int64_t data_ns, int64_t io_ns)
{
    struct run *r = made_run(n_nodes, global_batch);
    int64_t part[N_CATEGORIES] = {
        [CAT_COMPUTE] = compute_ns, [CAT_COMM] = n_nodes > 1 ? comm_ns : 0, [CAT_DATA] = data_ns, [CAT_IO] = io_ns};
    for (int s = 0; s < steps; s++)
        for (int i = 0; i < n_nodes; i++)
            made_step(r, run_rank_at(r, i), part);
    return r;
}

/* One trace per rank, whose two steps of 100 ns belong to its GPU. In them it computes, communicates and copies as long
 * as gpu says (shape (n)), and is idle otherwise; the host is in calls of the runtime for 30 ns. */
static inline struct run *made_traced_run(int n, const int64_t (*gpu)[3], int n_gpus)
{
    struct run *r = run_new("traced");
    r->run_id = "traced";
    r->is_foreign = 1;
    for (int i = 0; i < n; i++) {
        struct run_rank made = {0};
        const int64_t part[N_CATEGORIES] = {[CAT_COMPUTE] = gpu[i][0],
                                            [CAT_COMM] = gpu[i][1],
                                            [CAT_COPY] = gpu[i][2],
                                            [CAT_OTHER] = 100 - gpu[i][0] - gpu[i][1] - gpu[i][2]};
        for (int s = 0; s < 2; s++) {
            made_step(r, &made, part);
            made.steps[s].runtime_ns = 30;
        }
        struct foreign_trace t = {.file = i ? "1.json" : "0.json", .kind = FOREIGN_KINETO, .rank = i, .world_size = n};
        t.steps = (struct reduced){.steps = made.steps,
                                   .n_steps = made.n_steps,
                                   .collectives = made.collectives,
                                   .n_collectives = made.n_collectives,
                                   .n_gpus = n_gpus,
                                   .has_runtime = 1,
                                   .wall_ns = 200};
        run_add_trace(r, &t);
    }
    run_take_trace_steps(r);
    run_sort(r);
    return r;
}

static inline struct analyse_options made_options(void)
{
    return (struct analyse_options){.thresholds = thresholds_default()};
}

#endif
