/* test_wire.c - bytes on the wire of each node. Traffic before and after the steps does not count. Nothing is known if
 * the monitor of a node does not cover the steps. */
#include "render/metrics/wire.h"
#include "tests/unit/made_run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { N_NODES = 2, N_STEPS = 10, N_READINGS = 14 };
static const int64_t second = 1000000000;
static struct run_reading readings[N_NODES][N_READINGS];

/* Ten steps of one second begin at 2.5 s. In them node i sends 100 (i + 1) bytes per second and receives three times
 * as many. Before and after them it sends ten thousand. */
static struct run *made(void)
{
    struct run *r = made_even_run(N_NODES, 8, N_STEPS, second * 3 / 4, second / 4, 0, 0);
    for (int i = 0; i < N_NODES; i++) {
        struct run_rank *k = run_rank_at(r, i);
        for (int s = 0; s < N_STEPS; s++) {
            k->steps[s].start_ns = second * 5 / 2 + s * second;
            k->steps[s].bytes = 120;
        }
        int64_t sum = 5;
        for (int t = 0; t < N_READINGS; t++) {
            readings[i][t] =
                (struct run_reading){.t_ns = t * second + second / 2, .sent_bytes = sum, .received_bytes = 3 * sum};
            sum += t >= 2 && t < 12 ? 100 * (i + 1) : 10000;
        }
        r->nodes[i].wire = readings[i];
        r->nodes[i].n_wire = N_READINGS;
    }
    return r;
}

static int known(struct run *r, struct node_wire out[N_NODES])
{
    struct report rep = {0};
    struct analyse_options o = made_options();
    assert_int_equal(analyse(&rep, &r, 1, &o, NULL), 0);
    int is_known = wire_is_known(&rep.runs[0]);
    for (int i = 0; i < N_NODES && is_known; i++)
        assert_int_equal(wire_of_node(&rep.runs[0], i, &out[i]), 1);
    report_free(&rep);
    run_free(r);
    return is_known;
}

static void bytes_of_the_steps_alone(void **state)
{
    (void)state;
    struct node_wire w[N_NODES];
    assert_int_equal(known(made(), w), 1);
    for (int i = 0; i < N_NODES; i++) {
        assert_int_equal(w[i].node, i);
        assert_true(fabs(w[i].sent_bytes - 100 * (i + 1)) < 1e-9);
        assert_true(fabs(w[i].received_bytes - 300 * (i + 1)) < 1e-9);
        assert_true(fabs(w[i].given_bytes - 120) < 1e-9);
    }
    struct run *r = made();
    r->nodes[1].n_wire = 12; /* until half a second before the end: the rates so far are taken for the rest */
    assert_int_equal(known(r, w), 1);
    assert_true(fabs(w[1].sent_bytes - 200) < 1e-9);
}

static void nothing_is_said_without_all_of_it(void **state)
{
    (void)state;
    struct node_wire w[N_NODES];
    struct run *r = made();
    r->nodes[1].n_wire = 0;
    assert_int_equal(known(r, w), 0);
    r = made();
    r->nodes[0].wire += 4; /* from the middle of the steps on */
    r->nodes[0].n_wire -= 4;
    assert_int_equal(known(r, w), 0);
    r = made();
    readings[0][7].sent_bytes = 1; /* the counter restarted */
    assert_int_equal(known(r, w), 0);
    r = made();
    r->node_kind = NODES_EMULATED;
    assert_int_equal(known(r, w), 0);
    r = made();
    r->node_kind = NODES_SHARES; /* which have links of their own */
    assert_int_equal(known(r, w), 1);
    r = made();
    for (int s = 0; s < N_STEPS; s++)
        r->ranks[0].steps[s].bytes = r->ranks[1].steps[s].bytes = 0;
    assert_int_equal(known(r, w), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_the_steps_alone),
        cmocka_unit_test(nothing_is_said_without_all_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
