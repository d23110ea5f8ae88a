/* gpu_samples.c - see gpu_samples.h. */
#include "render/import/text/gpu_samples.h"

#include "lib/base/utf8.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *unit;
    enum gpu_sample what;
    double factor;
} units[] = {{"%", SAMPLE_UTILIZATION, 1},
             {"MiB", SAMPLE_MEMORY_USED, 1},
             {"KiB", SAMPLE_MEMORY_USED, 1.0 / 1024},
             {"GiB", SAMPLE_MEMORY_USED, 1024},
             {"W", SAMPLE_POWER, 1},
             {"mW", SAMPLE_POWER, 1e-3},
             {"kW", SAMPLE_POWER, 1e3},
             {"C", SAMPLE_TEMPERATURE, 1},
             {"MHz", SAMPLE_CLOCK, 1},
             {"GHz", SAMPLE_CLOCK, 1e3},
             {"B", SAMPLE_MEMORY_USED, 0x1p-20},
             {"KB", SAMPLE_MEMORY_USED, 1e3 * 0x1p-20},
             {"MB", SAMPLE_MEMORY_USED, 1e6 * 0x1p-20},
             {"GB", SAMPLE_MEMORY_USED, 1e9 * 0x1p-20}};

enum gpu_sample gpu_samples_unit(const char *unit, size_t n, double *factor)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].unit) == n && memcmp(units[i].unit, unit, n) == 0) {
            *factor = units[i].factor;
            return units[i].what;
        }
    return SAMPLE_NONE;
}

double gpu_samples_factor(const char *unit, size_t n, enum gpu_sample what)
{
    double factor = NAN;
    enum gpu_sample of = gpu_samples_unit(unit, n, &factor);
    int is_of = of == what || (of == SAMPLE_MEMORY_USED && what == SAMPLE_MEMORY_TOTAL) ||
                (of == SAMPLE_CLOCK && what == SAMPLE_CLOCK_MAX);
    return is_of ? factor : NAN;
}

static int is_not_measured(const char *cell)
{
    static const char *const words[] = {"", "-", "N/A", "Not Supported", "Unknown Error", "Insufficient Permissions"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(cell, words[i]) == 0)
            return 1;
    return *cell == '[';
}

/* Limits of all samples except memory; a larger value is a fault of the monitor. A share of time may be a little above
 * 100 %, because it divides times of two clocks. */
static int is_possible(enum gpu_sample what, double v)
{
    static const double most[] = {
        [SAMPLE_UTILIZATION] = 100.99, [SAMPLE_MEMORY_USED] = 1e9, [SAMPLE_MEMORY_TOTAL] = 1e9, [SAMPLE_POWER] = 1e5,
        [SAMPLE_TEMPERATURE] = 300,    [SAMPLE_CLOCK] = 1e5,       [SAMPLE_CLOCK_MAX] = 1e5};
    return isfinite(v) && v <= most[what] && v >= (what == SAMPLE_TEMPERATURE ? -100 : 0);
}

int gpu_samples_read(const char *cell, enum gpu_sample what, double factor, double *out, struct samples_left *left)
{
    char *end;
    if (what == SAMPLE_NONE || is_not_measured(cell))
        return 0;
    int is_number = isdigit((unsigned char)cell[strspn(cell, "+-.")]) && !strpbrk(cell, "xX");
    double v = is_number ? strtod(cell, &end) : 0;
    if (is_number) {
        size_t n = strlen(end += strspn(end, " \t"));
        while (n && isspace((unsigned char)end[n - 1]))
            n--;
        *out = v * (n ? gpu_samples_factor(end, n, what) : factor);
        if (is_possible(what, *out)) {
            *out = what == SAMPLE_UTILIZATION ? fmin(*out, 100) : *out;
            return 1;
        }
    }
    samples_leave(left, cell);
    return 0;
}

void samples_leave(struct samples_left *left, const char *cell)
{
    if (left->n++)
        return;
    snprintf(left->first, sizeof left->first, "%s", cell);
    for (char *p = left->first; *p; p++)
        *p = *p >= ' ' && *p < 0x7f ? *p : '?';
}

int samples_memory(struct samples_left *left, double used, double total)
{
    char text[48];
    snprintf(text, sizeof text, "%.9g of %.9g MiB used", used, total);
    if (used > total) /* false if one of them was not sampled */
        samples_leave(left, text);
    return used <= total || (!isnan(used) && isnan(total));
}

void gpu_samples_say(struct run *r, const char *file, const struct samples_left *left)
{
    if (left->n)
        run_add_gap(r, PHRASE(VALUES_LEFT_OUT, slot_count(left->n), slot_name(file)),
                    PHRASE(FIRST_NO_VALUE, slot_count(left->n), slot_name(left->first)));
}

enum { MAX_GPUS = 1024 };

int64_t gpu_samples_id(const char *text, size_t n, struct ids_left *left)
{
    int64_t id = 0;
    size_t k = 0;
    for (; k < n && isdigit((unsigned char)text[k]) && id < MAX_GPUS; k++)
        id = 10 * id + (text[k] - '0');
    if (n && k == n && id < MAX_GPUS)
        return id;
    if (left->n++ == 0) {
        snprintf(left->first, sizeof left->first, "%.*s", (int)(n < sizeof left->first ? n : sizeof left->first), text);
        for (char *p = left->first; *p; p++)
            *p = *p >= ' ' && *p < 0x7f ? *p : '?';
    }
    return -1;
}

void gpu_samples_say_ids(struct run *r, const char *file, const struct ids_left *left)
{
    if (left->n)
        run_add_gap(r, PHRASE(GPU_ROWS_LEFT_OUT, slot_count(left->n), slot_name(file)),
                    PHRASE(FIRST_NO_GPU, slot_count(left->n), slot_name(left->first), slot_count(MAX_GPUS - 1)));
}

int64_t gpu_samples_node(struct run *r, const char *name, size_t n)
{
    int64_t next = 0;
    if (n == 0)
        return 0;
    char host[256];
    snprintf(host, sizeof host, "%.*s", (int)(n < sizeof host ? n : sizeof host - 1), name);
    utf8_mask(host, strlen(host), ' ');
    for (int i = 0; i < r->nodes_len; i++) {
        if (strcmp(r->nodes[i].host, host) == 0)
            return r->nodes[i].node;
        next = r->nodes[i].node >= next ? r->nodes[i].node + 1 : next;
    }
    int is_blank = r->nodes_len == 1 && r->nodes[0].node == 0 && !*r->nodes[0].host && r->nodes[0].n_gpus == 0;
    next = is_blank ? 0 : next;
    struct run_node *k = next < 1024 ? run_node_at(r, next) : NULL;
    if (!k)
        return -1;
    k->host = dcr_arena_strdup(&r->arena, host);
    return next;
}

static struct run_gpu *gpu_at(struct run *r, int64_t node, int64_t id)
{
    int n_before = r->nodes_len;
    struct run_node *n = id >= 0 && id < MAX_GPUS && node >= 0 ? run_node_at(r, node) : NULL;
    if (!n)
        return NULL;
    n->is_of_samples |= r->nodes_len > n_before;
    for (int i = 0; i < n->n_gpus; i++)
        if (n->gpus[i].gpu_id == id)
            return &n->gpus[i];
    struct run_gpu *more = dcr_arena_alloc(&r->arena, (size_t)(n->n_gpus + 1) * sizeof *more);
    if (n->n_gpus)
        memcpy(more, n->gpus, (size_t)n->n_gpus * sizeof *more);
    n->gpus = more;
    n->gpus[n->n_gpus].gpu_id = (int)id;
    return &n->gpus[n->n_gpus++];
}

void gpu_samples_add(struct run *r, int64_t node, int64_t id, enum gpu_sample what, double t, double value)
{
    struct run_gpu *g = what == SAMPLE_NONE ? NULL : gpu_at(r, node, id);
    if (!g)
        return;
    struct sampled *to[] = {[SAMPLE_UTILIZATION] = &g->utilization_percent, [SAMPLE_MEMORY_USED] = &g->memory_used_mb,
                            [SAMPLE_MEMORY_TOTAL] = &g->memory_total_mb,    [SAMPLE_POWER] = &g->power_w,
                            [SAMPLE_TEMPERATURE] = &g->temperature_c,       [SAMPLE_CLOCK] = &g->sm_clock_mhz,
                            [SAMPLE_CLOCK_MAX] = &g->sm_clock_max_mhz};
    sampled_add(r, to[what], t, value);
}
