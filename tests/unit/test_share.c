/* test_share.c - finds the ranks that share one GPU. Ranks take turns: in the first turn each gives its part of the
 * tables, in the second each gets the sums of all parts. */
#include "trainer/gpu/share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_RANKS = 8 };

/* ---- comm.h of ranks that take turns ----------------------------------------------------------------------------- */

static double tables[2][2 * MAX_RANKS]; /* of a rank's first and second sum */
static int is_second_turn, n_sums, first_failing, first_rc;
static struct dcr_err first_err;

void comm_sum_f64(struct comm *c, double *values, size_t n)
{
    double *table = tables[n_sums++];
    assert_int_equal(n, 2 * c->n_ranks);
    for (size_t i = 0; i < n; i++)
        if (is_second_turn)
            values[i] = table[i];
        else
            table[i] += values[i];
}

/* Ranks come in ascending order: the first that fails is the lowest. */
int comm_first_failure(struct comm *c, int rc, struct dcr_err *err)
{
    if (rc && first_failing < 0) {
        first_failing = c->rank;
        first_rc = rc;
        first_err = *err;
    }
    if (first_rc)
        *err = first_err;
    return first_rc;
}

void comm_abort(const struct comm *c, const char *what)
{
    print_error("rank %d ends all ranks: %s\n", c->rank, what);
    abort(); /* it does not return, and no case here asks for it */
}

struct outcome {
    int rc, most;
    char text[768], host_id[64]; /* "" = not set */
};

struct device {
    const char *bus_id, *uuid;
};

static struct gpu_description describe(struct device d)
{
    struct gpu_description out = {.name = "NVIDIA H200"};
    snprintf(out.bus_id, sizeof out.bus_id, "%s", d.bus_id);
    snprintf(out.uuid, sizeof out.uuid, "%s", d.uuid);
    return out;
}

static void ask(const struct device *devices, int n_ranks, int may_share, struct outcome *out)
{
    memset(tables, 0, sizeof tables);
    for (is_second_turn = 0; is_second_turn < 2; is_second_turn++) {
        first_failing = -1;
        first_rc = 0;
        for (int r = 0; r < n_ranks; r++) {
            struct comm c = {.rank = r, .n_ranks = n_ranks, .host = "node7"};
            const struct gpu_description d = describe(devices[r]);
            struct dcr_err err = {0};
            unsetenv("NCCL_HOSTID");
            n_sums = 0;
            out[r].rc = share_check(&c, &d, may_share, &out[r].most, &err);
            snprintf(out[r].text, sizeof out[r].text, "%s", err.text);
            const char *id = getenv("NCCL_HOSTID");
            snprintf(out[r].host_id, sizeof out[r].host_id, "%s", id ? id : "");
        }
    }
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void a_gpu_each(void **state)
{
    (void)state;
    const struct device devices[] = {{"0000:1a:00.0", "a"}, {"0000:1b:00.0", "b"}, {"0000:1c:00.0", "c"}};
    struct outcome out[3];
    for (int may_share = 0; may_share < 2; may_share++) {
        ask(devices, 3, may_share, out);
        for (int r = 0; r < 3; r++) {
            assert_int_equal(out[r].rc, 0);
            assert_int_equal(out[r].most, 1);
            assert_string_equal(out[r].host_id, ""); /* NCCL is left alone */
        }
    }
    ask(devices, 1, 0, out);
    assert_int_equal(out[0].rc, 0);
    assert_int_equal(out[0].most, 1);
}

static void refused(void **state)
{
    (void)state;
    const struct device devices[] = {
        {"0000:1a:00.0", "a"}, {"0000:1b:00.0", "b"}, {"0000:1c:00.0", "c"}, {"0000:1b:00.0", "b"}};
    struct outcome out[4];
    ask(devices, 4, 0, out);
    for (int r = 1; r < 4; r++) { /* rank 0 came before the failure was reported */
        assert_int_equal(out[r].rc, DCR_FAIL);
        assert_string_equal(out[r].text,
                            "ranks 1 and 3 on node7 share one GPU (NVIDIA H200, 0000:1b:00.0); start one rank "
                            "per GPU, or add --share-gpu to let ranks stand for nodes on it (emulated, for tests)");
        assert_string_equal(out[r].host_id, "");
    }
}

static void allowed(void **state)
{
    (void)state;
    const struct device devices[] = {
        {"0000:1a:00.0", "a"}, {"0000:1b:00.0", "b"}, {"0000:1b:00.0", "b"}, {"0000:1b:00.0", "b"}};
    struct outcome out[4];
    ask(devices, 4, 1, out);
    for (int r = 0; r < 4; r++) {
        char host_id[64];
        snprintf(host_id, sizeof host_id, "dcrnn-train-rank-%d", r);
        assert_int_equal(out[r].rc, 0);
        assert_int_equal(out[r].most, 3);
        assert_string_equal(out[r].host_id, host_id); /* of all, even of the rank that does not share its GPU */
    }
}

/* Slices (MIG) of one GPU are separate devices with one PCI address, which NCCL would refuse. */
static void a_slice_each(void **state)
{
    (void)state;
    const struct device devices[] = {{"0000:1a:00.0", "a/1"}, {"0000:1a:00.0", "a/2"}, {"0000:1b:00.0", "b"}};
    const struct device same[] = {{"0000:1a:00.0", "a/1"}, {"0000:1a:00.0", "a/2"}, {"0000:1a:00.0", "a/2"}};
    struct outcome out[3];
    ask(devices, 3, 0, out);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(out[r].rc, 0);
        assert_int_equal(out[r].most, 1);
        assert_non_null(strstr(out[r].host_id, "dcrnn-train-rank-"));
    }
    ask(same, 3, 0, out);
    assert_int_equal(out[2].rc, DCR_FAIL);
    assert_non_null(strstr(out[2].text, "ranks 1 and 2 on node7 share one GPU"));
}

static void what_the_user_set(void **state)
{
    (void)state;
    struct comm c = {.rank = 0, .n_ranks = 2, .host = "node7"};
    struct dcr_err err = {0};
    int most = 0;
    const struct device devices[] = {{"0000:1a:00.0", "a"}, {"0000:1a:00.0", "a"}};
    struct outcome out[2];
    ask(devices, 2, 1, out); /* leaves the table */
    is_second_turn = 1;
    setenv("NCCL_HOSTID", "mine", 1);
    n_sums = 0;
    const struct gpu_description d = describe(devices[0]);
    assert_int_equal(share_check(&c, &d, 1, &most, &err), 0);
    assert_int_equal(most, 2);
    assert_string_equal(getenv("NCCL_HOSTID"), "mine");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_each),   cmocka_unit_test(refused),           cmocka_unit_test(allowed),
        cmocka_unit_test(a_slice_each), cmocka_unit_test(what_the_user_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
