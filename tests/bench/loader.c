/* loader.c - the cost of a batch: from memory and from files of windows, with and without workers. METR-LA's shape,
 * random speeds. Two figures each: the time of a batch when taken without pause, and the waiting time of a training
 * loop that computes in between, on a separate core if there are enough. Prints a table; means over the batches. */
#include "trainer/data/loader.h"

#include "trainer/model/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N_SENSORS = 207, N_ROWS = 2016, N_STEPS = 12, BATCH = 64, N_BATCHES = 20 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int random_data(struct dataset *d, struct dcr_err *err)
{
    int rc = dataset_alloc(d, N_ROWS, N_SENSORS, err);
    if (rc)
        return rc;
    for (size_t row = 0; row < N_ROWS; row++)
        d->time_of_day[row] = (float)(row % 288) / 288;
    for (size_t i = 0; i < (size_t)N_ROWS * N_SENSORS; i++) /* hundredths of a mile, as detectors report them */
        d->speed_mph[i] = (float)rng_below(1, RNG_TEST, i, 7000) / 100;
    return dataset_split(d, N_STEPS, N_STEPS, err);
}

/* Mean time in loader_next when the caller computes for compute_ms after each. */
static int measure(struct loader *l, const struct loader_plan *plan, double compute_ms, double *mean_ms,
                   struct dcr_err *err)
{
    double sum = 0;
    struct loader_batch b;
    int rc = 0;
    loader_start(l, plan);
    for (int i = 0; i < N_BATCHES && !rc; i++) {
        double since = now_ms();
        rc = loader_next(l, &b, err);
        sum += now_ms() - since;
        for (double end = now_ms() + compute_ms; now_ms() < end;)
            ;
    }
    *mean_ms = sum / N_BATCHES;
    return rc;
}

static int row(const char *name, const struct dataset *d, const struct window_store *store, struct dcr_err *err)
{
    static uint32_t order[N_ROWS];
    struct loader_plan plan = {
        .order = order, .n = d->train.count, .global_batch = BATCH, .share = BATCH, .n_micro = 1};
    double alone = 0;
    int rc = 0;
    sampler_permute(1, 0, order, d->train.count);
    plan.n_steps = sampler_steps(plan.n, BATCH);
    printf("  %-34s", name);
    for (int workers = 0; workers <= 2 && !rc; workers++) {
        struct loader_config c = {
            .data = d, .store = store, .max_windows = BATCH, .n_workers = workers, .n_ahead = 2 * workers};
        struct loader *l = NULL;
        double busy = 0, fast = 0;
        rc = loader_open(&l, &c, err);
        if (!rc)
            rc = measure(l, &plan, 0, &fast, err);
        if (workers == 0)
            alone = fast;
        /* the loop computes 1.5 times as long as one thread needs for a batch */
        if (!rc)
            rc = measure(l, &plan, 1.5 * alone, &busy, err);
        loader_close(l);
        if (!rc)
            printf("  %8.3f %8.3f", fast, busy);
    }
    printf("\n");
    return rc;
}

static int run(const char *folder, struct dcr_err *err)
{
    struct dataset d = {0};
    char path[4096];
    int rc = random_data(&d, err);
    printf("time in loader_next, ms per batch of %d windows (%d sensors, %d + %d rows); prefetch 2 a worker\n"
           "  %-34s  %-17s  %-17s  %s\n  %-34s",
           BATCH, N_SENSORS, N_STEPS, N_STEPS, "", "no worker", "1 worker", "2 workers", "the loop in between");
    for (int i = 0; i < 3; i++)
        printf("  %8s %8s", "nothing", "computes");
    printf("\n");
    if (!rc)
        rc = row("memory", &d, NULL, err);
    for (int f = 0; f < WINDOW_N_FORMATS && !rc; f++) {
        snprintf(path, sizeof path, "%s/windows-%s.bin", folder, window_format_name((enum window_format)f));
        rc = window_store_write(path, &d, (enum window_format)f, 1, err);
        for (int is_cold = 0; is_cold <= 1 && !rc; is_cold++) {
            struct window_store *s = NULL;
            char name[64];
            rc = window_store_open(&s, path, &d, is_cold, err);
            if (rc)
                break;
            snprintf(name, sizeof name, "%s, %s", window_format_name((enum window_format)f), window_store_way(s));
            rc = row(name, &d, s, err);
            window_store_close(s);
        }
        unlink(path);
    }
    dataset_release(&d);
    return rc;
}

int main(int argc, char **argv)
{
    struct dcr_err err = {0};
    int rc = run(argc > 1 ? argv[1] : ".", &err);
    if (rc)
        fprintf(stderr, "loader: %s\n", err.text);
    return rc ? DCR_EXIT_INPUT : 0;
}
