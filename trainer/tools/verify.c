/* verify.c - see verify.h: reads case.json, and gives the verdict over both precisions. The arrays are compared in
 * verify_run.c. */
#include "trainer/tools/verify.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int get_int(const struct verify *v, json_t *root, const char *key, int low, int high, int *out,
                   struct dcr_err *err)
{
    json_t *x = json_object_get(root, key);
    if (!json_is_integer(x) || json_integer_value(x) < low || json_integer_value(x) > high)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s/case.json': \"%s\" must be an integer from %d to %d; write the vectors again", v->dir,
                           key, low, high);
    *out = (int)json_integer_value(x);
    return 0;
}

static int get_number(const struct verify *v, json_t *root, const char *key, double *out, struct dcr_err *err)
{
    json_t *x = json_object_get(root, key);
    if (!json_is_number(x) || !isfinite(json_number_value(x)))
        return dcr_err_set(err, DCR_FAIL, "'%s/case.json': \"%s\" must be a number; write the vectors again", v->dir,
                           key);
    *out = json_number_value(x);
    return 0;
}

static int get_text(const struct verify *v, json_t *root, const char *key, const char **out, struct dcr_err *err)
{
    *out = json_string_value(json_object_get(root, key));
    return *out ? 0
                : dcr_err_set(err, DCR_FAIL, "'%s/case.json': \"%s\" must be a text; write the vectors again", v->dir,
                              key);
}

static int get_coins(struct verify *v, json_t *root, struct dcr_err *err)
{
    json_t *list = json_object_get(root, "coins");
    int n = v->model.n_out;
    if (!json_is_array(list) || json_array_size(list) != (size_t)n)
        return dcr_err_set(err, DCR_FAIL,
                           "'%s/case.json': \"coins\" must be a list of H = %d numbers; write the vectors again",
                           v->dir, n);
    v->coins = calloc((size_t)n, 1);
    if (!v->coins)
        return dcr_err_set(err, DCR_FAIL, "out of memory for %d coins", n);
    for (int t = 0; t < n; t++) {
        json_t *x = json_array_get(list, (size_t)t);
        int is_set = json_is_true(x) || (json_is_number(x) && json_number_value(x) == 1);
        if (!is_set && !json_is_false(x) && !(json_is_number(x) && json_number_value(x) == 0))
            return dcr_err_set(err, DCR_FAIL, "'%s/case.json': coin %d is neither 0 nor 1; write the vectors again",
                               v->dir, t + 1);
        v->coins[t] = (uint8_t)is_set;
    }
    return 0;
}

static int get_all(struct verify *v, json_t *root, struct dcr_err *err)
{
    struct dcrnn_config *m = &v->model;
    const struct {
        const char *key;
        int low, high, *out;
    } sizes[] = {{"N", 1, 1 << 14, &m->n_sensors},
                 {"U", 1, 4096, &m->n_units},
                 {"layers", 1, DCRNN_MAX_LAYERS, &m->n_layers},
                 {"B", 1, 1 << 16, &m->max_batch},
                 {"T", 1, 4096, &m->n_in},
                 {"H", 1, 4096, &m->n_out},
                 {"K", 1, DCRNN_MAX_K, &m->k_hops},
                 {"Din", 1, 64, &m->d_in},
                 {"Dout", 1, 64, &m->d_out},
                 {"adam_steps", 1, 1000, &v->adam_steps}};
    const struct {
        const char *key;
        double *out;
    } numbers[] = {{"mean", &v->mean}, {"std", &v->std}, {"lr", &v->lr}, {"eps", &v->eps}, {"clip", &v->clip}};
    const char *filter = NULL, *recursion = NULL;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof sizes / sizeof *sizes; i++)
        rc = get_int(v, root, sizes[i].key, sizes[i].low, sizes[i].high, sizes[i].out, err);
    if (rc == 0)
        rc = get_text(v, root, "filter", &filter, err);
    if (rc == 0)
        rc = get_text(v, root, "recursion", &recursion, err);
    if (rc == 0)
        rc = graph_filter_parse(filter, &v->filter, err);
    if (rc == 0)
        rc = dcrnn_recursion_parse(recursion, &m->recursion, err);
    for (size_t i = 0; rc == 0 && i < sizeof numbers / sizeof *numbers; i++)
        rc = get_number(v, root, numbers[i].key, numbers[i].out, err);
    return rc ? rc : get_coins(v, root, err);
}

static int read_json(struct verify *v, struct dcr_err *err)
{
    char path[4096];
    json_error_t why;
    if (snprintf(path, sizeof path, "%s/case.json", v->dir) >= (int)sizeof path)
        return dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", v->dir);
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (!root && access(path, R_OK) != 0)
        return dcr_err_file(err, DCR_FAIL, "cannot read '%s'", path);
    if (!root)
        return dcr_err_set(err, DCR_FAIL, "cannot read '%s' line %d: %s; write the vectors again", path, why.line,
                           why.text);
    v->model.n_threads = 1;
    int rc =
        json_is_object(root)
            ? 0
            : dcr_err_set(err, DCR_FAIL, "cannot read '%s': its JSON is not an object; write the vectors again", path);
    if (rc == 0)
        rc = get_all(v, root, err);
    json_decref(root);
    return rc;
}

int verify_case(const char *dir, FILE *out, int *n_failed, struct dcr_err *err)
{
    struct verify v = {.dir = dir, .out = out};
    int rc = read_json(&v, err);
    if (rc == 0)
        rc = verify_run_f64(&v, err);
    if (rc == 0)
        rc = verify_run_f32(&v, err);
    if (rc == 0) {
        fprintf(out, "verify: %s worst=%s %.2e\n", v.n_failed ? "failed" : "ok", v.worst_name, v.worst_error);
        *n_failed = v.n_failed;
    }
    free(v.coins);
    return rc;
}
