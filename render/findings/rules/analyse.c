/* analyse.c - the order of the analysis, and the names of runs. */
#include "render/findings/rules/analyse.h"
#include "render/findings/rules/rules.h"
#include "render/metrics/cores.h"
#include "render/metrics/series/differing.h"
#include "render/metrics/series/series.h"
#include "render/metrics/steps.h"
#include "render/findings/rules/trials.h"

#include "lib/base/fs.h"
#include "lib/base/text.h"
#include "render/model/build.h"
#include "render/say/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int nodes_of(const struct run *r, const struct analyse_options *opt)
{
    return r->n_nodes ? r->n_nodes : opt->nodes;
}

struct sortable {
    struct run *run;
    int n_nodes;
};

/* Sorted by node count, run id, then content, so that the order of arguments does not matter. */
static int compare_runs(const void *a, const void *b)
{
    const struct sortable *x = a, *y = b;
    if (x->n_nodes != y->n_nodes)
        return x->n_nodes < y->n_nodes ? -1 : 1;
    int c = strcmp(x->run->run_id, y->run->run_id);
    return c ? c : strcmp(x->run->archive, y->run->archive);
}

static const char *slug_of(struct report *rep, const struct run_result *r)
{
    struct dcr_buf b = {0};
    if (r->n_nodes)
        dcr_buf_printf(&b, "%d%s-", r->n_nodes, rep->unit == COUNTS_GPUS ? "gpu" : counted_word(rep->unit));
    for (const char *s = r->run->run_id; *s && b.len < 80; s++) {
        char c = *s;
        int is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        else if (!is_plain)
            c = '-';
        if (!(c == '.' && (b.len == 0 || b.data[b.len - 1] == '.')))
            dcr_buf_putc(&b, c);
    }
    const char *slug = dcr_arena_strdup(&rep->arena, b.len ? dcr_buf_text(&b) : "run");
    dcr_buf_release(&b);
    return slug;
}

/* Runs of one node count that ran different things are not repetitions, so their labels must differ. */
static int is_first_of_configuration(const struct report *rep, int run)
{
    const struct run_result *r = &rep->runs[run];
    for (int k = 0; k < run; k++)
        if (rep->runs[k].n_nodes == r->n_nodes && strcmp(rep->runs[k].run->config_hash, r->run->config_hash) == 0)
            return 0;
    return 1;
}

/* Does the program's name tell the configurations of this run's node count apart? */
static int is_told_by_program(const struct report *rep, int run)
{
    const char *mine = program_of(rep->runs[run].run);
    for (int k = 0; k < rep->n_runs; k++)
        if (rep->runs[k].n_nodes == rep->runs[run].n_nodes &&
            strcmp(rep->runs[k].run->config_hash, rep->runs[run].run->config_hash) != 0 &&
            strcmp(program_of(rep->runs[k].run), mine) == 0)
            return 0;
    return *mine != '\0';
}

/* The run's model, in words that tell it from the models of other runs on as many nodes. */
static const char *words_of_model(struct report *rep, int run)
{
    const char **others = dcr_arena_alloc(&rep->arena, (size_t)rep->n_runs * sizeof *others);
    int n = 0;
    for (int k = 0; k < rep->n_runs; k++)
        if (rep->runs[k].n_nodes == rep->runs[run].n_nodes)
            others[n++] = rep->runs[k].run->program.model;
    return model_words(rep, rep->runs[run].run->program.model, others, n);
}

/* ", vit_b_16, weak": what tells the configurations of this run's node count apart, from what results of benchmarks
 * state; "" when that does not tell all of them apart. */
static const char *configuration_words(struct report *rep, int run)
{
    enum { N_WORDS = 4 };
    const char *mine[N_WORDS], *text = "";
    int is_told[N_WORDS] = {0};
    for (int k = -1; k < rep->n_runs; k++) {
        const struct run *a = rep->runs[k < 0 ? run : k].run;
        const char *words[N_WORDS] = {
            a->program.model, a->summary.series, a->program.precision,
            a->program.global_batch > 0 ? report_text(rep, "batch %lld", (long long)a->program.global_batch) : ""};
        int is_apart = 0;
        for (int w = 0; w < N_WORDS && k >= 0; w++) {
            is_told[w] |= rep->runs[k].n_nodes == rep->runs[run].n_nodes && strcmp(words[w], mine[w]) != 0;
            is_apart |= strcmp(words[w], mine[w]) != 0;
        }
        if (k < 0)
            memcpy(mine, words, sizeof mine);
        else if (!is_apart && rep->runs[k].n_nodes == rep->runs[run].n_nodes &&
                 strcmp(a->config_hash, rep->runs[run].run->config_hash) != 0)
            return "";
    }
    for (int w = 0; w < N_WORDS; w++)
        if (is_told[w] && *mine[w] && (w < 3 || !*text)) /* the batch is named only if nothing else differs */
            text = report_text(rep, "%s, %.90s", text, w == 0 ? words_of_model(rep, run) : mine[w]);
    return text;
}

static void name_runs(struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++) {
        struct run_result *r = &rep->runs[i];
        int same = 0, before = 0, n_slug = 0, n_configurations = 0;
        for (int k = 0; k < rep->n_runs; k++) {
            if (rep->runs[k].n_nodes != r->n_nodes)
                continue;
            int is_equal = strcmp(rep->runs[k].run->config_hash, r->run->config_hash) == 0;
            same += is_equal;
            before += k <= i && is_equal;
            n_configurations += is_first_of_configuration(rep, k);
        }
        const char *nodes = r->n_nodes == 0 ? report_text(rep, "Run %s", r->run->run_id)
                                            : report_text(rep, "%d %s%s", r->n_nodes, counted_word(rep->unit),
                                                          r->n_nodes == 1 ? "" : "s");
        r->label = nodes;
        r->name = r->n_nodes ? "" : r->run->run_id;
        const char *words = n_configurations > 1 && r->n_nodes ? configuration_words(rep, i) : "";
        if (n_configurations > 1 && r->n_nodes && !*words && !is_told_by_program(rep, i))
            words = option_words(rep, i);
        if (n_configurations > 1 && r->n_nodes)
            r->label = is_told_by_program(rep, i) ? report_text(rep, "%s, %.40s", r->label, program_of(r->run))
                       : *words                   ? report_text(rep, "%s%s", r->label, words)
                                                  : report_text(rep, "%s, %.60s", r->label, configuration_name(rep, r));
        if (same > 1 && r->n_nodes)
            r->label = report_text(rep, "%s (run %d of %d)", r->label, before, same);
        r->slug = slug_of(rep, r);
        for (int k = 0; k < i; k++)
            n_slug += strcmp(rep->runs[k].slug, r->slug) == 0;
        if (n_slug)
            r->slug = report_text(rep, "%s-%d", r->slug, i + 1);
    }
}

static void number_run(struct report *rep, struct run_result *r, int nth, int of)
{
    r->label = report_text(rep, "%s (run %d of %d)", r->label, nth, of);
    r->name = *r->name ? report_text(rep, "%s (run %d of %d)", r->name, nth, of) : "";
}

/* Runs of unknown node counts are named after their files, and files in different folders may have equal names. */
static void number_equal_labels(struct report *rep)
{
    for (int i = 0; i < rep->n_runs; i++) {
        const char *label = rep->runs[i].label;
        int same = 0;
        for (int k = i; k < rep->n_runs; k++)
            same += strcmp(rep->runs[k].label, label) == 0;
        for (int k = i, nth = 0; same > 1 && k < rep->n_runs; k++)
            if (strcmp(rep->runs[k].label, label) == 0)
                number_run(rep, &rep->runs[k], ++nth, same);
    }
}

static const char *hashed_thing(struct dcr_arena *arena, const struct run *run)
{
    char words[64];
    if (*run->manifest_sha256 || !run->files_sha256 || !*run->files_sha256)
        return *run->manifest_sha256 ? "manifest" : "";
    snprintf(words, sizeof words, "list of its %zu files", run->n_files_hashed);
    return run->n_files_hashed == 1 ? "file" : dcr_arena_strdup(arena, words);
}

struct source report_source(struct dcr_arena *arena, const struct run *run)
{
    const struct run_program *p = &run->program;
    struct dcr_buf program = {0};
    if (p->name && *p->name)
        dcr_buf_printf(&program, "%s%s%s", p->name, p->version && *p->version ? " " : "", p->version ? p->version : "");
    struct source s = {.archive = dcr_arena_strdup(arena, run->archive),
                       .manifest_sha256 = dcr_arena_strdup(arena, run->manifest_sha256),
                       .files_sha256 = dcr_arena_strdup(arena, run->files_sha256 ? run->files_sha256 : ""),
                       .unhashed = run->files_unhashed && *run->files_unhashed ? run->files_unhashed : "no manifest",
                       .sha256_of = hashed_thing(arena, run),
                       .program = dcr_arena_strdup(arena, program.len ? dcr_buf_text(&program) : ""),
                       .backend = dcr_arena_strdup(arena, p->backend ? p->backend : ""),
                       .collector = dcr_arena_strdup(arena, run->collector_version ? run->collector_version : "")};
    s.sha256 = *s.manifest_sha256 ? s.manifest_sha256 : s.files_sha256;
    dcr_buf_release(&program);
    return s;
}

/* A run given twice would count as two repetitions and make every interval too narrow. */
static int check_unique(const struct report *rep, struct dcr_err *err)
{
    for (int i = 1; i < rep->n_runs; i++) {
        const struct run *a = rep->runs[i - 1].run, *b = rep->runs[i].run;
        if (*a->manifest_sha256 && strcmp(a->manifest_sha256, b->manifest_sha256) == 0)
            return dcr_err_set(err, DCR_FAIL, "'%s' and '%s' are the same run; give each archive once", a->archive,
                               b->archive);
    }
    return 0;
}

int is_training(const struct run *a)
{
    static const char *const marks[] = {"backward", "optimizer", "optimiser"};
    int m = run_metric("train_loss");
    for (size_t i = 0; i < a->n_epochs; i++)
        if (a->epochs[i].value[m] == a->epochs[i].value[m])
            return 1;
    for (int i = 0; i < a->ranges.n_names; i++)
        for (size_t k = 0; k < sizeof marks / sizeof *marks; k++)
            if (strcasestr(a->ranges.list[i].name, marks[k]))
                return 1;
    return 0;
}

/* The name of a run that states neither model nor program, taken from its evidence. */
static const char *kind_of(const struct run *r)
{
    int n_gpus = 0;
    for (int i = 0; i < r->nodes_len; i++)
        n_gpus += r->nodes[i].n_gpus;
    return *program_of(r)   ? program_of(r)
           : is_training(r) ? "Training"
           : !r->is_foreign ? "Run"
           : r->n_traces    ? foreign_kind_words(r->traces[0].kind)
           : r->n_tables    ? foreign_kind_words(r->tables[0].kind)
           : n_gpus         ? "GPU monitor"
                            : "Run";
}

/* A model without what describes its size. */
static int is_model(const char *a, const char *b)
{
    size_t n = strcspn(a, ",;");
    return strcspn(b, ",;") == n && strncmp(a, b, n) == 0;
}

/* " and vit_b_16", " and b.py": the title covers all runs. Runs of one program differ if both name a model. */
static void put_other_programs(const struct report *rep, int from, struct dcr_buf *out)
{
    const struct run *named = rep->runs[from].run;
    const char *model = named->program.model, *first = *model ? model : program_of(named), *second = "";
    int n_others = 0;
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run *r = rep->runs[i].run;
        if (is_untold(rep, i)) /* it broke off before it stated its configuration */
            continue;
        const char *name = *r->program.model ? r->program.model : program_of(r);
        int is_other = strcmp(program_of(r), program_of(named)) != 0;
        if (!*name || !*first || is_model(name, first) || is_model(name, second))
            continue;
        if (!is_other && (!*model || !*r->program.model))
            continue;
        second = name;
        n_others++;
    }
    if (n_others == 1)
        dcr_buf_printf(out, " and %.*s", (int)strcspn(second, ",;"), second);
    else if (n_others)
        dcr_buf_puts(out, " and others");
}

static const char *title_of(struct report *rep)
{
    struct dcr_buf b = {0};
    int first = 0, n_bare = 0;
    for (int i = 0; i < rep->n_runs; i++)
        n_bare += is_bare(rep->runs[i].run);
    while (n_bare < rep->n_runs && is_bare(rep->runs[first].run)) /* finds the first run that states what ran */
        first++;
    const struct run_program *p = &rep->runs[first].run->program;
    struct dcr_buf others = {0};
    put_other_programs(rep, first, &others);
    const char *name = *p->model    ? p->model
                       : *p->name   ? p->name
                       : others.len ? program_of(rep->runs[first].run)
                                    : kind_of(rep->runs[first].run);
    dcr_buf_add(&b, name, strcspn(name, ",;")); /* the rest describes its size */
    dcr_buf_puts(&b, dcr_buf_text(&others));
    dcr_buf_release(&others);
    if (n_bare == rep->n_runs && n_bare > 1)
        dcr_buf_printf(&b, " and %s", fmt_count(n_bare - 1, "other").text);
    int last = -1, n = 0, counts[64];
    for (int i = 0; i < rep->n_runs; i++)
        if (rep->runs[i].n_nodes && rep->runs[i].n_nodes != last && n < 64)
            counts[n++] = last = rep->runs[i].n_nodes;
    for (int i = 0; i < n; i++)
        dcr_buf_printf(&b, "%s%d", i == 0 ? " on " : i + 1 == n ? " and " : ", ", counts[i]);
    if (n)
        dcr_buf_printf(&b, " %s%s", counted_word(rep->unit), n == 1 && counts[0] == 1 ? "" : "s");
    if (n_bare && n_bare < rep->n_runs)
        dcr_buf_printf(&b, ", and %d %s of other tools", n_bare, n_bare == 1 ? "trace or file" : "traces and files");
    const char *title = dcr_arena_strdup(&rep->arena, dcr_buf_text(&b));
    dcr_buf_release(&b);
    return title;
}

static int has_recorded_steps(const struct run *a)
{
    for (int i = 0; i < a->ranks_len; i++)
        if (a->ranks[i].n_steps)
            return 1;
    return a->summary.n_steps > 0;
}

/* Does one command, on other numbers of ranks of one machine, make all runs? Steps are not compared over ranks. */
static int do_ranks_count(struct run **runs, int n)
{
    int is_other = 0;
    for (int i = 0; i < n; i++) {
        const struct run *a = runs[i];
        if (!*a->collector_version || a->n_command == 0 || a->n_nodes != 1 || a->n_ranks <= 0 ||
            has_recorded_steps(a) || has_other_command(runs[0], a) || strcmp(program_of(runs[0]), program_of(a)) != 0)
            return 0;
        is_other |= a->n_ranks != runs[0]->n_ranks;
    }
    return is_other;
}

/* If results scale over the GPUs of one machine, all must do so, else a count would mean two things. */
static enum counted_unit unit_of(struct run **runs, int n)
{
    int n_gpus = 0;
    if (do_ranks_count(runs, n))
        return COUNTS_RANKS;
    for (int i = 0; i < n; i++) {
        int is_gpu = runs[i]->unit == COUNTS_GPUS;
        if (!is_gpu && runs[i]->n_nodes) /* traces of other tools count neither */
            return COUNTS_NODES;
        n_gpus += is_gpu;
    }
    return n_gpus ? COUNTS_GPUS : COUNTS_NODES;
}

static void set_warmup(struct run *run, const struct run_result *r)
{
    for (int i = 0; i < run->ranks_len; i++) {
        struct run_rank *k = &run->ranks[i];
        k->n_warmup = 0;
        while (r->n_counted && k->n_warmup < k->n_steps && k->steps[k->n_warmup].step < r->step_number[0])
            k->n_warmup++;
    }
}

int analyse(struct report *rep, struct run **runs, int n, const struct analyse_options *opt, struct dcr_err *err)
{
    struct sortable *sorted = dcr_arena_alloc(&rep->arena, (size_t)(n + 1) * sizeof *sorted);
    for (int i = 0; i < n; i++)
        run_settle(runs[i]);
    rep->unit = n ? unit_of(runs, n) : COUNTS_NODES;
    for (int i = 0; i < n; i++)
        sorted[i] = (struct sortable){runs[i], rep->unit == COUNTS_RANKS ? runs[i]->n_ranks : nodes_of(runs[i], opt)};
    if (n > 1)
        qsort(sorted, (size_t)n, sizeof *sorted, compare_runs);
    rep->thresholds = opt->thresholds;
    rep->first_claim = -1;
    rep->baseline = "";
    rep->n_runs = n;
    rep->runs = dcr_arena_alloc(&rep->arena, (size_t)(n + 1) * sizeof *rep->runs);
    for (int i = 0; i < n; i++) {
        rep->runs[i].run = sorted[i].run;
        rep->runs[i].n_nodes = sorted[i].n_nodes;
        rep->runs[i].n_ranks = sorted[i].run->n_ranks;
        rep->runs[i].series = -1;
        rep->runs[i].headline = rep->runs[i].support = rep->runs[i].confidence_because = "";
        rep->runs[i].judged_text = "";
        rep->runs[i].unnamed_action = rep->runs[i].steps_action = "";
        rep->runs[i].stepless_advice = "";
        rep->runs[i].shared = (struct shared){.because = "", .run_ratio = -1};
    }
    int rc = check_unique(rep, err);
    if (rc)
        return rc;
    name_runs(rep);
    number_equal_labels(rep);
    for (int i = 0; i < n && opt->nodes; i++)
        if (rep->runs[i].n_nodes != opt->nodes)
            report_add_note(rep, NOTE_CAVEAT, i, NOTE_NODES_OPTION,
                            PHRASE(NODES_OPTION_UNUSED, slot_count(opt->nodes), slot_count(rep->runs[i].n_nodes)));
    for (size_t i = 0; i < opt->n_left_out; i++)
        report_add_note(rep, NOTE_GAP, -1, NOTE_LEFT_OUT_FILE, PHRASE(LEFT_OUT_FILE, slot_name(opt->left_out[i])));
    for (size_t i = 0; i < opt->n_copies; i++)
        report_add_note(rep, NOTE_CAVEAT, -1, NOTE_COPY, PHRASE(USED_ONCE, slot_name(opt->copies[i])));
    rep->none = dcr_arena_alloc(&rep->arena, (opt->n_none + 1) * sizeof *rep->none);
    for (size_t i = 0; i < opt->n_none; i++)
        rep->none[rep->n_none++] = text_clean(&rep->arena, opt->none[i]);
    rep->title = title_of(rep);
    for (int i = 0; i < n; i++) {
        breakdown_run(rep, &rep->runs[i]);
        set_warmup(sorted[i].run, &rep->runs[i]);
    }
    scaling(rep);
    tell_series_apart(rep);
    caveats(rep);
    for (int i = 0; i < rep->n_series; i++) /* whether cores were shared is known now */
        laws(rep, &rep->series[i]);
    rules(rep);
    trials(rep);
    loss_classes(rep);
    return 0;
}
