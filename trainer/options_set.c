/* options_set.c - see options_set.h. */
#include "trainer/options_set.h"

#include "trainer/formats/dataset_time.h"
#include "trainer/option_value.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "100" steps, "100steps", "2epochs", "epoch" */
static int parse_checkpoint(struct options *o, const char *name, const char *text, struct dcr_err *err)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text)
        n = 1;
    int is_epochs = !strcmp(end, "epoch") || !strcmp(end, "epochs");
    int is_steps = (end != text && !*end) || !strcmp(end, "steps") || !strcmp(end, "step");
    if (errno || n < 1 || n > INT_MAX || (!is_epochs && !is_steps))
        return option_bad(name, text, "a number of steps (100) or epochs (2epochs)", err);
    o->checkpoint_steps = is_steps ? n : 0;
    o->checkpoint_epochs = is_epochs ? (int)n : 0;
    return 0;
}

static int parse_milestones(struct options *o, const char *name, const char *text, struct dcr_err *err)
{
    const int max = (int)(sizeof o->milestone / sizeof *o->milestone);
    const char *at = text;
    o->n_milestones = 0;
    for (int before = 0; *at;) {
        char *end;
        long v = strtol(at, &end, 10);
        if (end == at || v <= before || v > INT_MAX || (*end && *end != ',') || o->n_milestones == max)
            return option_bad(name, text, "ascending epochs separated by commas, at most 16", err);
        o->milestone[o->n_milestones++] = before = (int)v;
        at = *end ? end + 1 : end;
    }
    return 0;
}

/* Below 2 a bad batch would end the run. */
static int parse_explode(struct options *o, const char *name, const char *text, struct dcr_err *err)
{
    double v = 0;
    if (option_real(name, text, 1, &v, err) || (v > 0 && v < 2))
        return option_bad(name, text, "0 (never) or a number from 2 on", err);
    o->explode_factor = v;
    return 0;
}

/* "2,1,1": as many shares as ranks, which are not known yet. */
static int parse_weights(struct options *o, const char *name, const char *text, struct dcr_err *err)
{
    const char *at = text;
    double sum = 0;
    o->n_rank_weights = 0;
    while (*at) {
        char *end;
        double v = strtod(at, &end);
        if (end == at || !isfinite(v) || v < 0 || v > 1e9 || (*end && (*end != ',' || !end[1])) ||
            o->n_rank_weights == OPTIONS_MAX_WEIGHTS)
            break;
        sum += o->rank_weights[o->n_rank_weights++] = v;
        at = *end ? end + 1 : end;
    }
    if (*at || !(sum > 0))
        return option_bad(name, text, "a share for each rank, separated by commas, not all 0: 2,1,1", err);
    return 0;
}

static int set_data(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    static const char *const headers[] = {"auto", "yes", "no", NULL};
    static const char *const formats[] = {
#define X(format, text) text,
        GRAPH_FORMATS(X)
#undef X
            NULL};
    int choice = 0, rc = 0;
    switch (id) {
    case OPT_DATA:
        o->data = arg;
        return 0;
    case OPT_HEADER:
        rc = option_choice(name, arg, headers, &choice, err);
        o->header = (enum dataset_header)choice;
        return rc;
    case OPT_SENSOR_IDS:
        o->sensor_ids = arg;
        return 0;
    case OPT_DATA_KEY:
        o->data_key = arg;
        return 0;
    case OPT_DATA_FEATURE:
        return option_int(name, arg, 0, 1000000, &o->data_feature, err);
    case OPT_START_TIME:
        o->has_start_time = dataset_parse_time(arg, &o->start_s);
        return o->has_start_time ? 0 : option_bad(name, arg, "a time (YYYY-MM-DD HH:MM)", err);
    case OPT_GRAPH:
        o->graph = arg;
        return 0;
    case OPT_GRAPH_FORMAT:
        rc = option_choice(name, arg, formats, &choice, err);
        o->graph_format = (enum graph_format)choice;
        return rc;
    case OPT_GRAPH_SUBSET:
        o->graph_subset = 1;
        return 0;
    case OPT_SENSORS:
        return option_int(name, arg, 3, 4096, &o->sensors, err); /* two have one distance: no scale for the kernel */
    case OPT_DAYS:
        return option_int(name, arg, 1, 366, &o->days, err);
    case OPT_DATA_SEED:
        return option_seed(name, arg, &o->data_seed, err);
    default:
        o->write_data_dir = arg;
        o->task = TASK_WRITE_DATA;
        return 0;
    }
}

static int set_model(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    int rc;
    switch (id) {
    case OPT_UNITS:
        return option_int(name, arg, 1, 4096, &o->units, err);
    case OPT_LAYERS:
        return option_int(name, arg, 1, DCRNN_MAX_LAYERS, &o->layers, err);
    case OPT_HOPS:
        return option_int(name, arg, 1, DCRNN_MAX_K, &o->hops, err);
    case OPT_FILTER:
        rc = graph_filter_parse(arg, &o->filter, err);
        return rc ? dcr_err_while(err, "--%s", name) : 0;
    case OPT_RECURSION:
        rc = dcrnn_recursion_parse(arg, &o->recursion, err);
        return rc ? dcr_err_while(err, "--%s", name) : 0;
    case OPT_INPUT:
        return option_int(name, arg, 1, 4096, &o->input_steps, err);
    default:
        return option_int(name, arg, 1, 4096, &o->forecast_steps, err);
    }
}

static int set_training(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    switch (id) {
    case OPT_BATCH:
        return option_int(name, arg, 1, 1 << 20, &o->batch, err);
    case OPT_WEAK:
        o->is_weak = 1;
        return 0;
    case OPT_ACCUMULATE:
        return option_int(name, arg, 1, 1 << 20, &o->accumulate, err);
    case OPT_EPOCHS:
        return option_int(name, arg, 1, 1000000, &o->epochs, err);
    case OPT_STEPS:
        return option_i64(name, arg, 1, INT64_MAX, &o->steps, err);
    case OPT_LR:
        return option_real(name, arg, 0, &o->lr, err);
    case OPT_MILESTONES:
        return parse_milestones(o, name, arg, err);
    case OPT_CLIP:
        return option_real(name, arg, 1, &o->clip, err);
    case OPT_SAMPLING:
        return option_real(name, arg, 1, &o->sampling_decay, err);
    case OPT_SEED:
        return option_seed(name, arg, &o->seed, err);
    case OPT_PATIENCE:
        return option_int(name, arg, 0, 1000000, &o->patience, err);
    case OPT_VALIDATE:
        return option_int(name, arg, 0, 1000000, &o->validate_every, err);
    case OPT_TEST:
        o->test = 1;
        return 0;
    case OPT_EXPLODE:
        return parse_explode(o, name, arg, err);
    default:
        return option_int(name, arg, 0, INT_MAX, &o->validation_windows, err);
    }
}

static int set_device(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    static const char *const backends[] = {"cpu", "cuda", NULL};
    static const char *const kernels[] = {"auto", "avx512", "avx2", "portable", NULL};
    static const char *const precisions[] = {"fp32", "tf32", "bf16", NULL}; /* as enum backend_precision */
    static const char *const answers[] = {"no", "yes", NULL};
    int choice = 0, rc = 0;
    switch (id) {
    case OPT_BACKEND:
        return option_choice(name, arg, backends, &o->is_cuda, err);
    case OPT_KERNELS:
        rc = option_choice(name, arg, kernels, &choice, err);
        o->kernels = choice ? kernels[choice] : NULL;
        return rc;
    case OPT_PRECISION:
        rc = option_choice(name, arg, precisions, &choice, err);
        o->precision = (enum backend_precision)choice;
        return rc;
    case OPT_SHARE_GPU:
        o->may_share_gpu = 1;
        return 0;
    default:
        return option_choice(name, arg, answers, &o->use_cuda_graph, err);
    }
}

static int set_loading(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    static const char *const formats[] = {
#define X(format, text) text,
        WINDOW_FORMATS(X)
#undef X
            NULL};
    static const char *const answers[] = {"no", "yes", NULL};
    int choice = 0, rc = 0;
    switch (id) {
    case OPT_PINNED:
        return option_choice(name, arg, answers, &o->is_pinned, err);
    case OPT_WORKERS:
        return option_int(name, arg, 0, 1024, &o->loader_workers, err);
    case OPT_PREFETCH:
        return option_int(name, arg, 0, 1024, &o->n_ahead, err);
    case OPT_WINDOWS:
        o->windows = arg;
        return 0;
    case OPT_STAGE:
        o->stage_windows = 1;
        return 0;
    case OPT_WINDOWS_FORMAT:
        rc = option_choice(name, arg, formats, &choice, err);
        o->windows_format = (enum window_format)choice;
        return rc;
    case OPT_WINDOWS_CHUNK:
        return option_int(name, arg, 1, 1000000, &o->windows_chunk, err);
    case OPT_COLD:
        o->cold = 1;
        return 0;
    default:
        o->windows = arg;
        o->task = TASK_WRITE_WINDOWS;
        return 0;
    }
}

static int set_scenario(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    static const char *const states[] = {"on", "off", NULL};
    switch (id) {
    case OPT_SCENARIO:
        o->scenario.name = arg;
        return 0;
    case OPT_SCENARIO_SEED:
        return option_seed(name, arg, &o->scenario.choice.seed, err);
    case OPT_KNOB:
        return option_choice(name, arg, states, &o->scenario.choice.is_off, err);
    default:
        o->task = TASK_SHOW_SCENARIO;
        return 0;
    }
}

static int set_ranks(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    static const char *const dtypes[] = {
#define X(id, text, bytes, what) text,
        ALLREDUCE_DTYPES(X)
#undef X
            NULL};
    int64_t n = 0;
    int choice = 0, rc = 0;
    switch (id) {
    case OPT_RANK_WEIGHTS:
        return parse_weights(o, name, arg, err);
    case OPT_BUCKET:
        rc = option_i64(name, arg, 4, (int64_t)1 << 40, &n, err);
        o->bucket_bytes = rc ? o->bucket_bytes : (size_t)n;
        return rc;
    case OPT_NO_OVERLAP:
        o->is_overlapped = 0;
        return 0;
    case OPT_DTYPE:
        rc = option_choice(name, arg, dtypes, &choice, err);
        o->allreduce_dtype = (enum allreduce_dtype)choice;
        return rc;
    default:
        return option_real(name, arg, 1, &o->comm_timeout, err);
    }
}

static int set_run(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    static const char *const no_yes[] = {"no", "yes", NULL};
    switch (id) {
    case OPT_OUT:
        o->out = arg;
        return *arg ? 0 : option_bad(name, arg, "the name of a folder", err);
    case OPT_CHECKPOINT:
        return parse_checkpoint(o, name, arg, err);
    case OPT_FSYNC:
        return option_choice(name, arg, no_yes, &o->checkpoint_fsync, err);
    case OPT_RESUME:
        o->resume = arg;
        return 0;
    case OPT_THREADS:
        return option_int(name, arg, 1, 1024, &o->threads, err);
    case OPT_BACKEND:
    case OPT_KERNELS:
    case OPT_PRECISION:
    case OPT_CUDA_GRAPH:
    case OPT_SHARE_GPU:
        return set_device(o, id, name, arg, err);
    case OPT_PROGRESS:
        return option_int(name, arg, 1, 1000000, &o->progress_steps, err);
    case OPT_BASELINE:
        o->task = TASK_BASELINE;
        return 0;
    case OPT_VERIFY:
        o->task = TASK_VERIFY;
        o->verify_dir = arg;
        return 0;
    case OPT_GRADIENT:
        o->gradient_to = arg;
        return 0;
    case OPT_CHECK:
        o->is_check = 1;
        return 0;
    case OPT_CHECK_DATA:
        o->is_check = o->is_data_check = 1;
        return 0;
    case OPT_HELP:
        o->task = TASK_HELP;
        return 0;
    default:
        o->task = TASK_VERSION;
        return 0;
    }
}

int options_is_scenario(int id)
{
    return id == OPT_SCENARIO || id == OPT_SCENARIO_SEED || id == OPT_KNOB || id == OPT_SHOW_SCENARIO;
}

int options_set(struct options *o, int id, const char *name, const char *arg, struct dcr_err *err)
{
    return options_is_scenario(id) ? set_scenario(o, id, name, arg, err)
           : id < SECTION_MODEL    ? set_data(o, id, name, arg, err)
           : id < SECTION_TRAINING ? set_model(o, id, name, arg, err)
           : id < SECTION_LOADING  ? set_training(o, id, name, arg, err)
           : id < SECTION_RANKS    ? set_loading(o, id, name, arg, err)
           : id < SECTION_RUN      ? set_ranks(o, id, name, arg, err)
                                   : set_run(o, id, name, arg, err);
}
