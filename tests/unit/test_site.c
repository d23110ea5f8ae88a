/* test_site.c - a whole site from a report made by hand: every page, the same bytes twice, hostile text, broken
 * themes. */
#include "render/say/say.h"
#include "render/site/single.h"
#include "render/site/site.h"
#include "tests/unit/sample_report.h"

#include "lib/base/buf.h"
#include "lib/base/fs.h"
#include "lib/base/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[4096];
static struct dcr_err err;

static const char *const files[] = {"index.html",
                                    "methodology.html",
                                    "BOTTLENECK_ANALYSIS.md",
                                    "report.json",
                                    "figures/speedup.png",
                                    "figures/speedup.svg",
                                    "figures/speedup.pdf",
                                    "tables/speedup.csv",
                                    "tables/speedup.tex",
                                    "citation.bib",
                                    "scaling.html",
                                    "figures/breakdown.png",
                                    "figures/loss.png",
                                    "runs/1node-20310425/index.html",
                                    "runs/4node-20310425/index.html",
                                    "runs/4node-20310425/profiling_analysis.png"};

static int begin(void **state)
{
    (void)state;
    const char *tmp = getenv("TMP");
    snprintf(folder, sizeof folder, "%s/site.XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    return mkdtemp(folder) == NULL;
}

static int end(void **state)
{
    (void)state;
    return dcr_remove_tree(folder, &err);
}

static const char *in(const char *name)
{
    static char path[8192];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void slurp(const char *site, const char *name, struct dcr_buf *out)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s/%s", folder, site, name);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        fail_msg("%s is missing", path);
    struct dcr_stream s = dcr_stream_fd(&fd, path);
    assert_int_equal(dcr_stream_slurp(&s, out, (size_t)1 << 24, &err), 0);
    close(fd);
}

static int render(const char *name, const char *hostile, const char *theme)
{
    static struct sample sample;
    char out[8192];
    snprintf(out, sizeof out, "%s", in(name));
    err = (struct dcr_err){0};
    sample_init(&sample, hostile);
    int rc = site_publish(&sample.rep, &(struct site_options){.out_dir = out, .theme_dir = theme}, &err);
    sample_release(&sample);
    return rc;
}

static void assert_has(const struct dcr_buf *page, const char *want)
{
    if (!strstr(page->data, want))
        fail_msg("'%s' is not in the page", want);
}

static void test_pages_say_it(void **state)
{
    (void)state;
    struct dcr_buf page = {0};
    if (render("site", NULL, NULL))
        fail_msg("%s", err.text);
    slurp("site", "index.html", &page);
    assert_has(&page, "<h1 id=\"headline\">Gradient synchronisation limits scaling beyond 2 nodes");
    assert_has(&page, "The nodes are emulated");
    assert_has(&page, "Content-Security-Policy");
    assert_has(&page, "<svg xmlns");
    assert_true(strstr(page.data, "The nodes are emulated") >
                strstr(page.data, "How sure are we")); /* doubt has its place */
    assert_true(page.len < 300000);
    dcr_buf_clear(&page);
    slurp("site", "scaling.html", &page);
    assert_has(&page, ">+40.3 ms<"); /* the waterfall's transfer */
    assert_has(&page, "<h3>Lost time by cause</h3>");
    assert_has(&page, "exposed transfer");
    assert_has(&page, "waiting for the host (G)"); /* a row without any value */
    dcr_buf_clear(&page);
    slurp("site", "runs/4node-20310425/index.html", &page);
    assert_has(&page, "id=\"breakdown\"");
    assert_has(&page, "id=\"ranks\"");
    assert_has(&page, "id=\"collectives\"");
    assert_has(&page, "arrives last");
    assert_has(&page, "OMP_NUM_THREADS");
    dcr_buf_clear(&page);
    slurp("site", "methodology.html", &page);
    assert_has(&page, "comm_limits");
    assert_has(&page, "<h2 id=\"words-glossary\">Glossary</h2>");
    assert_has(&page, "<h3 id=\"formulas-scaling\">Scaling</h3>");
    assert_has(&page, "<a href=\"#formulas-cpu-quotas\">");
    assert_has(&page, "figures/speedup.pdf");
    assert_has(&page, "@misc{dcreport,");
    dcr_buf_release(&page);
}

/* A speed-up of ranks that shared their cores is marked everywhere. */
/* Ranks with a trace of another tool and ranks without: each range has its own reason for a missing time on a GPU. */
static void test_ranges_of_two_kinds(void **state)
{
    (void)state;
    struct sample sample;
    struct dcr_arena a = {0};
    struct dcr_buf page = {0};
    char out[8192];
    snprintf(out, sizeof out, "%s", in("ranges"));
    sample_init(&sample, NULL);
    struct run_result *r = &sample.rep.runs[0];
    struct spread spread = {.n = 1, .mean_ns = 10, .median_ns = 10, .p95_ns = 10};
    struct phase_result phases[] = {{.name = "native",
                                     .category = CAT_COMPUTE,
                                     .spread = spread,
                                     .ranks = &spread,
                                     .n_steps = 1,
                                     .gpu_why = REASON(NO_GPU_TRACED)},
                                    {.name = "named",
                                     .category = N_CATEGORIES,
                                     .spread = spread,
                                     .ranks = &spread,
                                     .n_steps = 1,
                                     .is_whole = 1,
                                     .has_gpu = 1,
                                     .gpu = spread,
                                     .gpu_ranks = &spread},
                                    {.name = "idle",
                                     .category = CAT_DATA,
                                     .spread = spread,
                                     .ranks = &spread,
                                     .n_steps = 1,
                                     .is_whole = 1,
                                     .gpu_why = REASON(NOTHING_LAUNCHED)},
                                    {.name = "idle too",
                                     .category = CAT_DATA,
                                     .spread = spread,
                                     .ranks = &spread,
                                     .n_steps = 1,
                                     .is_whole = 1,
                                     .gpu_why = REASON(NOTHING_LAUNCHED)}};
    r->phases = phases;
    r->n_phases = 4;
    assert_int_equal(r->n_rank_results, 1);
    if (site_publish(&sample.rep, &(struct site_options){.out_dir = out}, &err))
        fail_msg("%s", err.text);
    slurp("ranges", "runs/1node-20310425/index.html", &page);
    assert_null(strstr(page.data, "(null)"));
    assert_has(&page,
               say_phrase(&a, &PHRASE(CAPTION_NO_GPU_ROWS_OF, slot_count(1), slot_reason(&REASON(NO_GPU_TRACED)))));
    assert_has(&page,
               say_phrase(&a, &PHRASE(CAPTION_NO_GPU_ROWS_OF, slot_count(2), slot_reason(&REASON(NOTHING_LAUNCHED)))));
    assert_has(&page, "host, without the ranges inside");
    assert_has(&page, ">\xe2\x80\x93 <abbr title=\"its name does not say\">N</abbr><");
    assert_null(strstr(page.data, "GPU: n/a"));
    dcr_buf_release(&page);
    dcr_arena_release(&a);
    sample_release(&sample);
}

static void test_unreliable_speedups_are_marked(void **state)
{
    (void)state;
    static struct sample sample;
    char out[8192];
    struct dcr_buf page = {0};
    snprintf(out, sizeof out, "%s", in("unreliable"));
    sample_init(&sample, NULL);
    sample.rep.series[0].points[2].unreliable =
        PHRASE(SURE_AT, slot_things(4, "node"), slot_name("4 ranks share 2 cores"));
    sample.rep.series[0].points[2].unreliable_because = "at 4 nodes, 4 ranks share 2 cores";
    if (site_publish(&sample.rep, &(struct site_options){.out_dir = out}, &err))
        fail_msg("%s", err.text);
    sample_release(&sample);
    slurp("unreliable", "index.html", &page);
    assert_has(&page, ", unreliable</dd>");
    dcr_buf_clear(&page);
    slurp("unreliable", "scaling.html", &page);
    assert_has(&page, "Hollow points are unreliable.");
    assert_has(&page, "<th scope=\"col\">Unreliable</th>");
    assert_has(&page, "class=\"num v-watch\"");
    dcr_buf_clear(&page);
    slurp("unreliable", "tables/speedup.csv", &page);
    assert_has(&page, ",Unreliable\n");
    assert_has(&page, ",\"at 4 nodes, 4 ranks share 2 cores\"\n");
    assert_has(&page, ",no\n");
    dcr_buf_release(&page);
}

/* Forecasts of a point of two runs: the mean of what each run's change adds to its median step, on the mean step. */
static void test_forecasts_of_a_series(void **state)
{
    (void)state;
    static struct sample sample;
    char out[8192];
    struct dcr_buf page = {0};
    snprintf(out, sizeof out, "%s", in("forecasts"));
    sample_init(&sample, NULL);
    struct series_point *p = &sample.rep.series[0].points[2];
    struct run_result *r = &sample.rep.runs[2];
    int two[] = {2, 2};
    static struct claim claim;
    p->runs = two, p->n_runs = 2;
    p->step.mean_ns = 100000000, p->throughput = 640, p->has_throughput = 1;
    r->step.median_ns = 90000000;
    r->trials[0] = (struct trial){.kind = TRIAL_BF16, .has_forecast = 1, .step_ns = 70000000}; /* 20 ms less */
    r->trials[1] =
        (struct trial){.kind = TRIAL_LINK, .has_forecast = 1, .step_ns = 89999990}; /* too little to be seen */
    r->n_trials = 2;
    claim = sample.rep.claims[0];
    claim.cls = CLASS_COMMUNICATION, claim.has_gain = 1, claim.gain_basis = GAIN_BOUND, claim.is_measuring = 0;
    sample.rep.claims = &claim, sample.rep.n_claims = 1;
    r->claims[0] = 0, r->n_claims = 1;
    r->classes[CLASS_COMMUNICATION].gain_ns = 50000000;
    for (int i = 0; i < 2; i++)
        sample.rep.runs[i].n_claims = 0;
    sample.rep.series[0].limit_claim = -1;
    if (site_publish(&sample.rep, &(struct site_options){.out_dir = out}, &err))
        fail_msg("%s", err.text);
    slurp("forecasts", "tables/moves.csv", &page);
    assert_has(&page, "\nas measured,100000000,640,,");
    assert_has(&page, "\nall-reduces in bf16,80000000,800,1.25,");
    assert_has(&page, "\nwithout any exchange between ranks,50000000,1280,2,");
    assert_null(strstr(page.data, "links of twice"));
    dcr_buf_clear(&page);
    slurp("forecasts", "scaling.html", &page);
    assert_has(&page, "800 samples/s instead of 640 (estimate)");
    dcr_buf_release(&page);
    sample_release(&sample);
}

/* Missing measurements are missing, and values of a summary are shown, on every page. */
static void test_what_is_not_known(void **state)
{
    (void)state;
    static struct sample sample;
    static struct run_file files_of[] = {
        {.name = "small", .sum = {[DCT_IO_WRITE] = {.n = 7, .bytes = 70}}},
        {.name = "/usr/lib/libz.so.1", .sum = {[DCT_IO_OTHER] = {.n = 2}}},
        {.name = "/home/me/lib/python3.11/a.pyc", .sum = {[DCT_IO_READ] = {.n = 3, .bytes = 30}}}};
    char out[8192];
    struct dcr_buf page = {0};
    snprintf(out, sizeof out, "%s", in("unknown"));
    sample_init(&sample, NULL);
    sample.run[2].files = files_of;
    sample.run[2].n_files = 3;
    for (int i = 0; i < sample.run[2].ranks_len; i++)
        sample.run[2].ranks[i].n_steps = 0;
    for (size_t i = 0; i < sample.run[0].ranks[0].n_steps; i++) {
        struct step_record *q = &sample.run[0].ranks[0].steps[i];
        q->start_ns = (int64_t)i * 160 * SAMPLE_MS;
        q->part_ns[CAT_COMPUTE] = q->step_ns;
    }
    sample.rep.series[0].points[2].step = (struct spread){0}; /* of a summary, as its run has it */
    if (site_publish(&sample.rep, &(struct site_options){.out_dir = out}, &err))
        fail_msg("%s", err.text);
    slurp("unknown", "tables/speedup.csv", &page);
    char want[64];
    snprintf(want, sizeof want, "4 nodes,4,1,%lld,", (long long)sample.rep.runs[2].step.mean_ns);
    sample_release(&sample);
    assert_has(&page, want);
    dcr_buf_clear(&page);
    slurp("unknown", "tables/breakdown.csv", &page);
    assert_has(&page, "\ncopies,,,,,,\n");
    assert_has(&page, "\nwaiting,0,0,9700000,0.0898980538,,\n");
    dcr_buf_clear(&page);
    slurp("unknown", "runs/4node-20310425/index.html", &page);
    assert_has(&page, "share of the time from the first step to the last");
    assert_null(strstr(page.data, "The last panel shows the parts of steps"));
    assert_has(&page, say_phrase_row(PHRASE_CAPTION_DASH_OF_FILES)->text);
    dcr_buf_clear(&page);
    slurp("unknown", "runs/1node-20310425/index.html", &page);
    assert_has(&page, "The last panel shows the parts of steps");
    dcr_buf_clear(&page);
    slurp("unknown", "runs/4node-20310425/tables/io_files.csv", &page);
    /* An unseen value is not zero. The archive has no totals of the kernel. */
    assert_has(&page, "\nsmall,,,,7,70,,,\n"
                      "\"(2 files of the system, the interpreter or the launcher)\",3,30,,,,,2,");
    assert_has(&page, "\n(all recorded calls on files),,30,,,70,,,\n");
    assert_has(&page, "(not attributed: the archive has no totals of the kernel of every rank)");
    dcr_buf_release(&page);
}

static void test_same_bytes_twice(void **state)
{
    (void)state;
    assert_int_equal(render("one", NULL, NULL), 0);
    assert_int_equal(render("two", NULL, NULL), 0);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct dcr_buf a = {0}, b = {0};
        slurp("one", files[i], &a);
        slurp("two", files[i], &b);
        if (a.len != b.len || memcmp(a.data, b.data, a.len) != 0)
            fail_msg("%s differs", files[i]);
        dcr_buf_release(&a);
        dcr_buf_release(&b);
    }
}

static void test_hostile_text_is_text(void **state)
{
    (void)state;
    static char longer[20000];
    memset(longer, 'x', sizeof longer - 1);
    const char *bad[] = {"<script>alert(1)</script>",
                         "\"'><img src=x onerror=alert(1)>",
                         "\xff\xfe\xc0\x80\x1b[31m",
                         longer,
                         "{{title}} {{{content}}}",
                         "</svg></title></style>",
                         "\xe2\x80\xae"
                         "dnes \xe2\x81\xa6turned"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (render("hostile", bad[i], NULL))
            fail_msg("%s", err.text);
        for (size_t k = 0; k < sizeof files / sizeof files[0]; k++) {
            struct dcr_buf page = {0};
            if (!strstr(files[k], ".html") && !strstr(files[k], ".svg"))
                continue;
            slurp("hostile", files[k], &page);
            assert_null(strstr(page.data, "<script>alert"));
            assert_null(strstr(page.data, "<img"));
            assert_null(strstr(page.data, "\x1b"));
            assert_null(strstr(page.data, "\xe2\x80\xae"));
            assert_null(strstr(page.data, "\xe2\x81\xa6"));
            dcr_buf_release(&page);
        }
    }
}

/* Where no key figure is known, each reason stands once. */
static void test_no_key_figures(void **state)
{
    (void)state;
    static struct sample sample;
    struct dcr_buf page = {0};
    char out[8192];
    snprintf(out, sizeof out, "%s", in("keyless"));
    sample_init(&sample, NULL);
    struct series_point *p = &sample.rep.series[0].points[0];
    sample.rep.series[0].n_points = 1;
    sample.rep.series[0].n_losses = 0;
    p->step.n = sample.rep.runs[0].step.n = 0;
    p->has_throughput = p->pop.has = 0;
    p->speedup = 0;
    sample.rep.runs[0].has_steps = 0;
    sample.rep.runs[0].steps_why = REASON(TRACES_WITHOUT_STEPS);
    sample.rep.runs[0].throughput_why = REASON(NO_SAMPLES);
    if (site_publish(&sample.rep, &(struct site_options){.out_dir = out}, &err))
        fail_msg("%s", err.text);
    sample_release(&sample);
    slurp("keyless", "index.html", &page);
    assert_null(strstr(page.data, "<dl class=\"keys\">"));
    dcr_buf_release(&page);
}

/* The share of a cause may include waiting that the table of parts shows elsewhere, or leave some of it out. Its name
 * says so. */
static void test_key_figures_name_their_base(void **state)
{
    (void)state;
    static const struct {
        enum cause_class cls;
        const char *name;
    } cases[] = {{CLASS_DATA, "Data loading with the waiting it causes"},
                 {CLASS_IMBALANCE, "All waiting for other ranks"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct sample sample;
        struct dcr_buf page = {0};
        char out[8192];
        snprintf(out, sizeof out, "%s", in("based"));
        sample_init(&sample, NULL);
        sample.rep.claims[0].cls = cases[i].cls;
        for (int k = 0; k < sample.rep.n_runs; k++) {
            struct run_result *r = &sample.rep.runs[k];
            int64_t step = r->step.mean_ns;
            r->classes[cases[i].cls] = (struct class_result){.cls = cases[i].cls,
                                                             .verdict = VERDICT_LIMITS,
                                                             .text = "",
                                                             .has_share = 1,
                                                             .share_ratio = 0.6,
                                                             .share_ns = 6 * step / 10,
                                                             .caused_ns = 2 * step / 10};
            r->part_ns[PART_WAIT] = 7 * step / 10;
        }
        if (site_publish(&sample.rep, &(struct site_options){.out_dir = out}, &err))
            fail_msg("%s", err.text);
        sample_release(&sample);
        slurp("based", "index.html", &page);
        assert_non_null(strstr(page.data, cases[i].name));
        dcr_buf_release(&page);
    }
}

/* Load balance of nodes is missing for the reason in the analysis, for its own points; a cause that is judged without a
 * share has a dash, not an empty cell. */
static void test_reasons_of_balance(void **state)
{
    (void)state;
    static struct sample sample;
    struct dcr_buf page = {0};
    char out[8192];
    snprintf(out, sizeof out, "%s", in("balance"));
    sample_init(&sample, NULL);
    struct series *q = &sample.rep.series[0];
    for (int i = 0; i < q->n_points; i++) {
        q->points[i].pop.in_nodes_why = REASON(NODES_OF_RANKS);
        q->points[i].pop.between_nodes_why = i ? REASON(NONE) : REASON(ONE_NODE);
        q->points[i].pop.has_between_nodes = i > 0;
    }
    sample.rep.runs[2].classes[CLASS_HOST].verdict = VERDICT_FINE;
    if (site_publish(&sample.rep, &(struct site_options){.out_dir = out}, &err))
        fail_msg("%s", err.text);
    sample_release(&sample);
    slurp("balance", "scaling.html", &page);
    assert_has(&page, "load balance within nodes (R)");
    assert_has(&page, "<abbr title=\"all ranks are on one node\">N</abbr>");
    assert_null(strstr(page.data, "every node has one rank"));
    assert_null(strstr(page.data, "<td class=\"num\"></td>"));
    dcr_buf_release(&page);
}

/* A long name keeps its two ends where there is little room. */
static void test_long_names_keep_their_ends(void **state)
{
    (void)state;
    static struct sample sample;
    struct dcr_buf page = {0};
    char out[8192];
    snprintf(out, sizeof out, "%s", in("long"));
    sample_init(&sample, NULL);
    sample.rep.runs[2].label = "Run worker0_of_a_job_whose_name_goes_on_and_on_and_on.1694128201545.pt.trace";
    if (site_publish(&sample.rep, &(struct site_options){.out_dir = out}, &err))
        fail_msg("%s", err.text);
    sample_release(&sample);
    slurp("long", "runs/4node-20310425/index.html", &page);
    assert_has(&page, " aria-current=\"page\">Run worker0_of_a_job_\xe2\x80\xa6"
                      "01545.pt.trace</a>");
    assert_has(&page,
               "<p class=\"kicker\">Run worker0_of_a_job_whose_name_goes_on_and_on_and_on.1694128201545.pt.trace");
    assert_has(&page, "<title>Run worker0_of_a_job_whose_name_goes_on_a\xe2\x80\xa6"
                      "e, DCRNN on 1, 2 and 4 nodes</title>");
    dcr_buf_release(&page);
}

static void test_empty_report(void **state)
{
    (void)state;
    /* One run without anything except its archive: pages say so. */
    struct run run = {.archive = "a.tar",
                      .run_id = "",
                      .config_hash = "",
                      .manifest_sha256 = "",
                      .scheduler = "",
                      .job_id = "",
                      .collector_version = ""};
    run.program = (struct run_program){.name = "",
                                       .version = "",
                                       .model = "",
                                       .precision = "",
                                       .backend = "",
                                       .blas = "",
                                       .dataset = "",
                                       .parameters = -1,
                                       .threads = -1,
                                       .global_batch = -1,
                                       .allreduce_bytes_per_step = -1};
    struct run_result result = {.run = &run,
                                .slug = "a",
                                .label = "run a",
                                .series = -1,
                                .steps_why = REASON(TRACES_WITHOUT_STEPS),
                                .headline = "Nothing can be said.",
                                .support = "",
                                .confidence_because = ""};
    for (int c = 0; c < N_CLASSES; c++)
        result.classes[c] = (struct class_result){.cls = (enum cause_class)c, .text = ""};
    struct report rep = {.title = "a",
                         .baseline = "",
                         .runs = &result,
                         .n_runs = 1,
                         .unit = COUNTS_NODES,
                         .node_label = "",
                         .headline = "Nothing can be said.",
                         .support = "",
                         .first_action = "",
                         .first = {.text = ""},
                         .how_sure = ""};
    struct dcr_buf page = {0};
    rep.thresholds = thresholds_default();
    char out[8192];
    snprintf(out, sizeof out, "%s", in("bare"));
    if (site_publish(&rep, &(struct site_options){.out_dir = out}, &err))
        fail_msg("%s", err.text);
    slurp("bare", "runs/a/index.html", &page);
    assert_has(&page, "not known: the traces mark no steps");
    assert_null(strstr(page.data, "<figure"));
    dcr_buf_release(&page);
}

static void copy_theme(const char *name, const char *broken_file, const char *content)
{
    static const char *const parts[] = {"frame.html",   "index.html",   "run.html",         "figure.html", "table.html",
                                        "actions.html", "caveats.html", "methodology.html", "style.css"};
    assert_int_equal(mkdir(in(name), 0777), 0);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct dcr_buf text = {0};
        char path[8192];
        snprintf(path, sizeof path, "themes/default/%s", parts[i]);
        int fd = open(path, O_RDONLY);
        if (fd < 0)
            fail_msg("run me from the repository's root: no %s", path);
        struct dcr_stream s = dcr_stream_fd(&fd, path);
        assert_int_equal(dcr_stream_slurp(&s, &text, 1 << 20, &err), 0);
        close(fd);
        if (!strcmp(parts[i], broken_file)) {
            dcr_buf_clear(&text);
            dcr_buf_puts(&text, content);
        }
        int n = snprintf(path, sizeof path, "%s/%s/%s", folder, name, parts[i]);
        assert_true(n > 0 && (size_t)n < sizeof path);
        assert_int_equal(dcr_write_file(path, dcr_buf_text(&text), text.len, &err), 0);
        dcr_buf_release(&text);
    }
}

static void assert_theme_refused(const char *name, const char *file, const char *content, const char *sentence)
{
    char theme[8192], out[64];
    copy_theme(name, file, content);
    snprintf(theme, sizeof theme, "%s", in(name));
    snprintf(out, sizeof out, "out-%s", name);
    assert_int_equal(render(out, NULL, theme), DCR_FAIL);
    if (!strstr(err.text, sentence))
        fail_msg("'%s' is not in '%s'", sentence, err.text);
    assert_int_equal(access(in(out), F_OK), -1);
}

static void test_broken_themes(void **state)
{
    (void)state;
    assert_theme_refused("t1", "index.html", "\n{{healdine}}\n",
                         "theme template 'index.html' line 2: nothing is called");
    assert_theme_refused("t2", "table.html", "{{#rows}}",
                         "theme template 'table.html' line 1: this section is never closed");
    assert_theme_refused("t3", "style.css", "a{}\r\n", "plain line feeds");
    assert_theme_refused("t4", "style.css", "</style><script>", "holds '</'");
    char theme[8192];
    snprintf(theme, sizeof theme, "%s", in("t6"));
    assert_int_equal(mkdir(theme, 0777), 0);
    assert_int_equal(dcr_write_file(in("t6/data.html"), "<p>", 3, &err), 0);
    assert_int_equal(render("out-t6", NULL, theme), DCR_FAIL);
    assert_non_null(strstr(err.text, "no page uses 'data.html' any more; its content is in 'methodology.html'"));
    assert_theme_refused("t5", "index.html", "<!DOCTYPE html>\n<p>a page of a report</p>\n",
                         "its 'index.html' is a whole page, as of a finished report, and not a template");
    assert_int_equal(render("out-none", NULL, "/no/such/theme"), DCR_FAIL);
    assert_non_null(
        strstr(err.text, "unknown theme '/no/such/theme'; --theme takes a folder, or one of `default`, `paper`"));
}

static void test_own_theme(void **state)
{
    (void)state;
    char theme[8192];
    struct dcr_buf page = {0};
    copy_theme("own", "index.html", "<h1>{{headline}}</h1>\n{{#runs}}{{>table}}{{/runs}}\n");
    snprintf(theme, sizeof theme, "%s", in("own"));
    if (render("out-own", NULL, theme))
        fail_msg("%s", err.text);
    slurp("out-own", "index.html", &page);
    assert_has(&page, "<h1>Gradient synchronisation");
    assert_null(strstr(page.data, "<figure"));
    dcr_buf_release(&page);
}

/* Nothing that is not a link looks like one; every file is included once, and later links lead there. */
static void test_single_file_has_no_dead_words(void **state)
{
    (void)state;
    static struct sample sample;
    struct dcr_buf page = {0};
    char out[8192], single[8192];
    snprintf(out, sizeof out, "%s", in("site-single"));
    snprintf(single, sizeof single, "%s", in("whole.html"));
    sample_init(&sample, NULL);
    const struct site_options options = {.out_dir = out, .single_file = single};
    if (site_publish(&sample.rep, &options, &err))
        fail_msg("%s", err.text);
    sample_release(&sample);
    slurp(".", "whole.html", &page);
    static const char *const dead[] = {"<a>", ">PNG<", "profiling_analysis.png"};
    for (size_t i = 0; i < sizeof dead / sizeof *dead; i++) {
        const char *at = strstr(page.data, dead[i]);
        if (at)
            fail_msg("a link of the single file leads nowhere: ...%.120s", at - page.data > 60 ? at - 60 : page.data);
    }
    assert_has(&page, "<a href=\"#file1\">");
    for (int i = 1; i < 1000; i++) {
        char id[32], link[32];
        snprintf(id, sizeof id, " id=\"file%d\"", i);
        snprintf(link, sizeof link, "href=\"#file%d\"", i);
        const char *first = strstr(page.data, id);
        if (first ? strstr(first + 1, id) != NULL : strstr(page.data, link) != NULL)
            fail_msg("file %d is in the single file twice or never", i);
    }
    dcr_buf_release(&page);
}

static void test_links_of_the_single_file(void **state)
{
    (void)state;
    static const struct {
        const char *page, *link, *target;
    } cases[] = {{"index.html", "runs/a/index.html#steps", "runs/a/index.html#steps"},
                 {"runs/a/index.html", "../../report.json", "report.json"},
                 {"runs/a/index.html", "#steps", "runs/a/index.html#steps"},
                 {"runs/a/index.html", "./tables/x.csv", "runs/a/tables/x.csv"},
                 {"index.html", "../secret", NULL},
                 {"index.html", "http://example.com/", NULL},
                 {"index.html", "/etc/passwd", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dcr_buf out = {0};
        assert_int_equal(single_link(cases[i].page, cases[i].link, &out), cases[i].target != NULL);
        if (cases[i].target)
            assert_string_equal(dcr_buf_text(&out), cases[i].target);
        dcr_buf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_say_it),
        cmocka_unit_test(test_ranges_of_two_kinds),
        cmocka_unit_test(test_unreliable_speedups_are_marked),
        cmocka_unit_test(test_what_is_not_known),
        cmocka_unit_test(test_forecasts_of_a_series),
        cmocka_unit_test(test_same_bytes_twice),
        cmocka_unit_test(test_links_of_the_single_file),
        cmocka_unit_test(test_single_file_has_no_dead_words),
        cmocka_unit_test(test_hostile_text_is_text),
        cmocka_unit_test(test_long_names_keep_their_ends),
        cmocka_unit_test(test_no_key_figures),
        cmocka_unit_test(test_key_figures_name_their_base),
        cmocka_unit_test(test_reasons_of_balance),
        cmocka_unit_test(test_empty_report),
        cmocka_unit_test(test_broken_themes),
        cmocka_unit_test(test_own_theme),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
