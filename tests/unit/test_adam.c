/* test_adam.c - norm, clipping and Adam against the formulas written out, and the state that a checkpoint carries. */
#include "trainer/model/adam.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void test_norm_and_clip(void **state)
{
    (void)state;
    const float g[] = {3, 4}, bad[] = {1, NAN};
    assert_true(adam_norm(g, 2) == 5);
    assert_true(adam_norm(g, 0) == 0);
    assert_true(isnan(adam_norm(bad, 2)));
    assert_true(adam_clip_factor(4, 5) == 1);
    assert_true(adam_clip_factor(10, 5) == 5 / (10 + 1e-6));
    assert_true(adam_clip_factor(10, 0) == 1);
    assert_true(isnan(adam_clip_factor(NAN, 5)));
    /* Many small terms beside a large one: a float sum would lose them. */
    static float many[1000001];
    many[0] = 1e4f;
    for (int i = 1; i <= 1000000; i++)
        many[i] = 1;
    assert_true(fabs(adam_norm(many, 1000001) - sqrt(1e8 + 1e6)) < 1e-6);
}

static void test_three_steps_follow_the_formula(void **state)
{
    (void)state;
    struct adam_config c = adam_config_default();
    const float g[] = {0.5f, -2, 0};
    float p[] = {1, 1, 1}, m[3] = {0}, v[3] = {0};
    double wp[] = {1, 1, 1}, wm[3] = {0}, wv[3] = {0}, factor = 0.7, lr = 0.01;
    for (int step = 1; step <= 3; step++) {
        adam_step(&c, step, lr, factor, 3, g, m, v, p);
        for (int i = 0; i < 3; i++) {
            double gi = factor * (double)g[i];
            wm[i] = 0.9 * wm[i] + 0.1 * gi;
            wv[i] = 0.999 * wv[i] + 0.001 * gi * gi;
            wp[i] -= lr * (wm[i] / (1 - pow(0.9, step))) / (sqrt(wv[i] / (1 - pow(0.999, step))) + 1e-3);
            assert_true(fabs((double)p[i] - wp[i]) < 1e-6);
        }
    }
    assert_true(p[2] == 1);
}

static void test_restored_state_continues_with_the_same_bits(void **state)
{
    (void)state;
    struct adam_config c = adam_config_default();
    const float g[] = {0.3f, -0.1f};
    float p[] = {1, 2}, m[2] = {0}, v[2] = {0}, p2[2], m2[2], v2[2];
    for (int step = 1; step <= 5; step++)
        adam_step(&c, step, 0.01, 1, 2, g, m, v, p);
    memcpy(p2, p, sizeof p);
    memcpy(m2, m, sizeof m);
    memcpy(v2, v, sizeof v);
    for (int step = 6; step <= 9; step++) {
        adam_step(&c, step, 0.01, 1, 2, g, m, v, p);
        adam_step(&c, step, 0.01, 1, 2, g, m2, v2, p2);
    }
    assert_memory_equal(p, p2, sizeof p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norm_and_clip),
        cmocka_unit_test(test_three_steps_follow_the_formula),
        cmocka_unit_test(test_restored_state_continues_with_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
