/* test_chart.c - checks charts by their strokes: bars as high as their numbers, parts that sum up, labels that neither
 * leave the sheet nor overlap. */
#include "render/draw/chart.h"
#include "tests/unit/recording.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#define assert_near(a, b, epsilon) assert_true(fabs((double)(a) - (double)(b)) <= (epsilon))

static struct typeface *typeface;
static struct recording *rec;

static int begin(void **state)
{
    (void)state;
    typeface = typeface_new();
    rec = calloc(1, sizeof *rec);
    return !typeface || !rec;
}

static int end(void **state)
{
    (void)state;
    typeface_free(typeface);
    typeface_forget();
    free(rec);
    return 0;
}

static const struct stack_part parts[] = {{"compute", INK_COMPUTE},
                                          {"transfer", INK_COMM},
                                          {"waiting", INK_WAIT},
                                          {"data loading", INK_DATA},
                                          {"I/O", INK_IO}};
static const double bar1[] = {152, 0, 0, 3, 0}, bar2[] = {77, 13, 10, 3, 0.3}, bar4[] = {39, 40, 22, 3, 0.2};

static struct chart_stack stack_spec(struct stack_bar *bars)
{
    bars[0] = (struct stack_bar){.label = "1 node", .value = bar1};
    bars[1] = (struct stack_bar){.label = "2 nodes", .value = bar2};
    bars[2] = (struct stack_bar){.label = "4 nodes", .value = bar4, .mark = "slowest"};
    return (struct chart_stack){
        {"Step time", "step time, ms", "ms", NULL}, parts, 5, bars, 3, NULL, false, false, 0, NULL};
}

/* No text leaves the sheet; no two texts share a place. */
static void assert_texts_are_readable(const struct recording *r)
{
    for (int i = 0; i < r->n; i++) {
        const struct recorded *a = &r->stroke[i];
        if (a->kind != STROKE_TEXT)
            continue;
        double left = recording_left(a);
        if (left < -0.5 || left + a->at.w > r->canvas.width + 0.5 || a->at.y > r->canvas.height + 0.5 || a->at.y < 5)
            fail_msg("'%s' leaves the sheet: x %.1f to %.1f, y %.1f", a->text, left, left + a->at.w, a->at.y);
        for (int k = i + 1; k < r->n; k++) {
            const struct recorded *b = &r->stroke[k];
            if (b->kind != STROKE_TEXT || fabs(a->at.y - b->at.y) > 9)
                continue;
            double other = recording_left(b);
            if (left < other + b->at.w - 1 && other < left + a->at.w - 1)
                fail_msg("'%s' and '%s' overlap at y %.1f and %.1f", a->text, b->text, a->at.y, b->at.y);
        }
    }
}

/* Upright lines of two points and the caps at their ends; grid lines have other inks. */
static bool is_of_whisker(const struct recorded *s)
{
    return s->kind == STROKE_LINE && s->n_points == 2 && (s->ink == INK_TEXT || s->ink == INK_ACCENT) &&
           (s->at.w == 0 || (s->at.h == 0 && s->at.w <= 10));
}

/* No text lies upon a whisker. returns  how many whiskers there are */
static int assert_whiskers_are_clear(const struct recording *r)
{
    int n = 0;
    for (int i = 0; i < r->n; i++) {
        const struct recorded *k = &r->stroke[i];
        if (!is_of_whisker(k))
            continue;
        n += k->at.w == 0;
        for (int j = 0; j < r->n; j++) {
            const struct recorded *t = &r->stroke[j];
            if (t->kind != STROKE_TEXT)
                continue;
            double left = recording_left(t), top = t->at.y - 0.75 * t->at.h, bottom = t->at.y + 0.2 * t->at.h;
            if (left < k->at.x + k->at.w && k->at.x < left + t->at.w && top < k->at.y + k->at.h && k->at.y < bottom)
                fail_msg("'%s' lies upon a whisker at x %.1f, y %.1f to %.1f", t->text, k->at.x, k->at.y,
                         k->at.y + k->at.h);
        }
    }
    return n;
}

/* The word lies on no column. */
static void assert_words_are_clear_of_columns(const struct recording *r, const char *word)
{
    const struct recorded *t = recording_find_text(r, word);
    assert_non_null(t);
    for (int i = 0; i < r->n; i++) {
        const struct recorded *k = &r->stroke[i];
        if (k->kind == STROKE_RECT && recording_left(t) < k->at.x + k->at.w && k->at.x < recording_left(t) + t->at.w &&
            t->at.y > k->at.y)
            fail_msg("'%s' lies upon a column at x %.1f", t->text, k->at.x);
    }
}

static double ink_width(enum ink ink)
{
    for (int i = 0; i < rec->n; i++)
        if (rec->stroke[i].kind == STROKE_RECT && rec->stroke[i].ink == ink)
            return rec->stroke[i].at.w;
    return 0;
}

static double ink_height(enum ink ink, double near_x)
{
    for (int i = 0; i < rec->n; i++)
        if (rec->stroke[i].kind == STROKE_RECT && rec->stroke[i].ink == ink && rec->stroke[i].at.x <= near_x &&
            near_x <= rec->stroke[i].at.x + rec->stroke[i].at.w)
            return rec->stroke[i].at.h;
    return 0;
}

static void test_stack_heights_are_the_numbers(void **state)
{
    (void)state;
    struct stack_bar bars[3];
    struct chart_stack spec = stack_spec(bars);
    recording_init(rec, typeface, 500, 340);
    chart_stack(&rec->canvas, (struct box){0, 0, 500, 340}, &spec);
    double x[3], unit = 0;
    int n = 0;
    for (int i = 0; i < rec->n; i++)
        if (rec->stroke[i].kind == STROKE_RECT && rec->stroke[i].ink == INK_COMPUTE)
            x[n++] = rec->stroke[i].at.x + rec->stroke[i].at.w / 2;
    assert_int_equal(n, 3);
    unit = ink_height(INK_COMPUTE, x[0]) / 152;
    assert_near(ink_height(INK_COMPUTE, x[2]), 39 * unit, 0.01);
    assert_near(ink_height(INK_COMM, x[2]), 40 * unit - 1, 0.01); /* one pixel is the seam */
    assert_near(ink_height(INK_COMM, x[0]), 0, 0);                /* nothing is drawn for a zero */
    assert_int_equal(rec->depth, 0);
    assert_texts_are_readable(rec);
    assert_non_null(recording_find_text(rec, "slowest"));
    assert_non_null(recording_find_text(rec, "104")); /* the total of 4 nodes */
    assert_words_are_clear_of_columns(rec, "slowest");

    /* The whisker is as long as the interval, and the total is above it. */
    bars[2].lo = 95;
    bars[2].hi = 125;
    recording_init(rec, typeface, 500, 340);
    chart_stack(&rec->canvas, (struct box){0, 0, 500, 340}, &spec);
    const struct recorded *whisker = NULL;
    for (int i = 0; i < rec->n; i++)
        if (rec->stroke[i].kind == STROKE_LINE && rec->stroke[i].ink == INK_TEXT && rec->stroke[i].at.w == 0)
            whisker = whisker ? whisker : &rec->stroke[i];
    assert_non_null(whisker);
    assert_near(whisker->at.h, 30 * ink_height(INK_COMPUTE, x[0]) / 152, 0.01);
    assert_true(recording_find_text(rec, "104")->at.y < whisker->at.y);
    assert_texts_are_readable(rec);
}

static void test_whiskers_and_words_keep_apart(void **state)
{
    (void)state;
    const double widths[] = {1040, 500, 400, 340, 300};
    for (size_t k = 0; k < sizeof widths / sizeof widths[0]; k++)
        for (int spread = 1; spread <= 64; spread *= 2) {
            struct stack_bar bars[3];
            struct chart_stack spec = stack_spec(bars);
            for (int i = 0; i < 3; i++) {
                double total = 0;
                for (int part = 0; part < 5; part++)
                    total += bars[i].value[part];
                bars[i].lo = fmax(0, total - spread);
                bars[i].hi = total + spread;
            }
            recording_init(rec, typeface, widths[k], 340);
            chart_stack(&rec->canvas, (struct box){0, 0, widths[k], 340}, &spec);
            assert_int_equal(assert_whiskers_are_clear(rec), spread > 1 ? 3 : 0); /* too short to see: only a cap */
            assert_texts_are_readable(rec);

            const double half = spread / 64.0; /* for speed-ups near 0 the words are above */
            const struct speedup_point points[] = {{1, 1, NAN, NAN, NULL, false},
                                                   {2, 1.1, 1.1 - half, 1.1 + half, "efficiency 0.55", true},
                                                   {4, 0.3, fmax(0.3 - half, 0), 0.3 + half, "efficiency 0.08", true}};
            const struct chart_speedup speedup = {
                .text = {NULL, "speed-up", "", NULL}, .noun = "node", .points = points, .n_points = 3, .n_ref = 1};
            recording_init(rec, typeface, widths[k], 340);
            chart_speedup(&rec->canvas, (struct box){0, 0, widths[k], 340}, &speedup);
            assert_int_equal(assert_whiskers_are_clear(rec), 2);
            assert_texts_are_readable(rec);
            int n_hollow = 0;
            for (int i = 0; i < rec->n; i++)
                n_hollow += rec->stroke[i].kind == STROKE_DISC && rec->stroke[i].ink == INK_PAPER;
            assert_int_equal(n_hollow, 2);
        }
}

static void test_stack_fits_a_phone(void **state)
{
    (void)state;
    struct stack_bar bars[3];
    struct chart_stack spec = stack_spec(bars);
    recording_init(rec, typeface, 340, 300);
    chart_stack(&rec->canvas, (struct box){0, 0, 340, 300}, &spec);
    assert_texts_are_readable(rec);
    /* A low column between high ones: its mark is as wide as three. */
    struct stack_bar four[4] = {bars[0], bars[2], bars[0], bars[0]};
    four[1].mark = "arrives last";
    spec.bars = four;
    spec.n_bars = 4;
    recording_init(rec, typeface, 340, 300);
    chart_stack(&rec->canvas, (struct box){0, 0, 340, 300}, &spec);
    assert_texts_are_readable(rec);
    assert_words_are_clear_of_columns(rec, "arrives last");
}

/* Before and after at three node counts: pairs stand close together, with one name under both. */
static void test_stack_of_pairs(void **state)
{
    (void)state;
    const char *const names[] = {"1 node", "2 nodes, 1.35x as fast", "4 nodes, no more than chance"};
    struct stack_bar bars[6];
    for (int i = 0; i < 6; i++)
        bars[i] = (struct stack_bar){.label = i % 2 ? "after" : "before", .value = i < 2 ? bar1 : i < 4 ? bar2 : bar4};
    struct chart_stack spec = {{NULL, "step time, ms", "ms", NULL}, parts, 5, bars, 6, NULL, false, false, 2, names};
    const double widths[] = {1040, 500, 340};
    for (int k = 0; k < 3; k++) {
        recording_init(rec, typeface, widths[k], 340);
        chart_stack(&rec->canvas, (struct box){0, 0, widths[k], 340}, &spec);
        assert_texts_are_readable(rec);
        double x[6];
        int n = 0;
        for (int i = 0; i < rec->n && n < 6; i++)
            if (rec->stroke[i].kind == STROKE_RECT && rec->stroke[i].ink == INK_COMPUTE)
                x[n++] = rec->stroke[i].at.x;
        assert_int_equal(n, 6);
        assert_true(x[1] - x[0] < 0.8 * (x[2] - x[1]));
        assert_near(x[1] - x[0], x[5] - x[4], 1e-6);
        assert_non_null(recording_find_text(rec, "1 node"));
        assert_non_null(recording_find_text(rec, "4 nodes"));
        assert_near(recording_find_text(rec, "1 node")->at.x, (x[0] + x[1] + ink_width(INK_COMPUTE)) / 2, 0.01);
    }
}

static void test_stack_of_many_ranks(void **state)
{
    (void)state;
    static struct stack_bar bars[128];
    static char name[128][16];
    static double v[128][5];
    for (int i = 0; i < 128; i++) {
        snprintf(name[i], sizeof name[i], "%d", i);
        v[i][0] = 30 + i % 7;
        v[i][1] = NAN;
        v[i][2] = 7 - i % 7;
        bars[i] = (struct stack_bar){.label = name[i], .value = v[i], .mark = i == 64 ? "arrives last" : NULL};
    }
    struct chart_stack spec = {{NULL, "step time, ms", "ms", NULL}, parts, 5, bars, 128, "rank", false, false, 0, NULL};
    recording_init(rec, typeface, 1040, 320);
    chart_stack(&rec->canvas, (struct box){0, 0, 1040, 320}, &spec);
    assert_texts_are_readable(rec);
    for (int i = 0; i < 128; i++)
        v[i][0] = v[i][2] = v[i][3] = v[i][4] = NAN; /* without a measurement there is text instead of a drawing */
    recording_init(rec, typeface, 1040, 320);
    chart_stack(&rec->canvas, (struct box){0, 0, 1040, 320}, &spec);
    for (int i = 0; i < rec->n; i++)
        assert_int_not_equal(rec->stroke[i].kind, STROKE_RECT);
    assert_non_null(recording_find_text(rec, "–"));
}

static void test_waterfall_sums(void **state)
{
    (void)state;
    const struct row_bar rows[] = {{"ideal scaling", 0, 40, INK_MUTED, NULL, true},
                                   {"compute", 40, 38, INK_COMPUTE, NULL, false},
                                   {"transfer", 38, 98, INK_COMM, "+60.0 ms", false},
                                   {"not measured", NAN, NAN, INK_IO, NULL, false},
                                   {"measured", 0, 98, INK_TEXT, NULL, true}};
    struct chart_rows spec = {{NULL, "step time, ms", "ms", NULL}, rows, 5, true};
    const double widths[] = {500, 340};
    for (int k = 0; k < 2; k++) {
        recording_init(rec, typeface, widths[k], chart_rows_height(&spec));
        chart_rows(&rec->canvas, (struct box){0, 0, widths[k], chart_rows_height(&spec)}, &spec);
        const struct recorded *bar[5];
        int n = 0;
        for (int i = 0; i < rec->n; i++)
            if (rec->stroke[i].kind == STROKE_RECT)
                bar[n++] = &rec->stroke[i];
        assert_int_equal(n, 4);
        double unit = bar[0]->at.w / 40, zero = bar[0]->at.x;
        assert_near(bar[1]->at.x, zero + 38 * unit, 0.01); /* a gain points back */
        assert_near(bar[2]->at.x + bar[2]->at.w, zero + 98 * unit, 0.01);
        assert_near(bar[3]->at.w, 98 * unit, 0.01);
        assert_non_null(recording_find_text(rec, "–"));
        assert_texts_are_readable(rec);
    }
}

static void test_lines_have_gaps_and_spans(void **state)
{
    (void)state;
    static double x[400], y[400];
    for (int i = 0; i < 400; i++) {
        x[i] = i;
        y[i] = i >= 100 && i < 200 ? NAN : i < 5 ? 900.0 : 100.0 + i % 10;
    }
    const struct line_series series = {NULL, INK_ACCENT, x, y, 400, false};
    const struct line_span warmup = {0, 5, "warm-up"};
    const struct line_level median = {104, "median", INK_TEXT};
    struct chart_lines spec = {.text = {NULL, "step time, ms", "ms", NULL},
                               .x_title = "step",
                               .series = &series,
                               .n_series = 1,
                               .spans = &warmup,
                               .n_spans = 1,
                               .levels = &median,
                               .n_levels = 1,
                               .x_is_whole = true,
                               .y_max = 170};
    recording_init(rec, typeface, 1040, 260);
    chart_lines(&rec->canvas, (struct box){0, 0, 1040, 260}, &spec);
    int lines = 0;
    for (int i = 0; i < rec->n; i++)
        lines += rec->stroke[i].kind == STROKE_LINE && rec->stroke[i].ink == INK_ACCENT;
    assert_int_equal(lines, 2); /* before the gap and after it */
    assert_non_null(recording_find_text(rec, "5 above the axis, up to 900"));
    assert_non_null(recording_find_text(rec, "warm-up"));
    assert_non_null(recording_find_text(rec, "median"));
    assert_texts_are_readable(rec);
    assert_int_equal(rec->depth, 0);
    const struct line_series none = {"nothing", INK_ACCENT, x, y + 100, 100, false};
    spec.series = &none;
    recording_init(rec, typeface, 340, 240);
    chart_lines(&rec->canvas, (struct box){0, 0, 340, 240}, &spec);
    assert_non_null(recording_find_text(rec, "nothing was measured"));
}

/* Lines that end together at 0 keep their labels apart if these are level with an earlier value. */
static void test_labels_before_the_end(void **state)
{
    (void)state;
    static const double x[] = {0, 1, 2}, high[] = {90, 80, 0}, low[] = {10, 20, 0};
    const struct line_series series[] = {{"compute", INK_ACCENT, x, high, 3, false},
                                         {"communication", INK_TEXT, x, low, 3, false}};
    double apart[2];
    for (size_t n = 0; n < 2; n++) {
        struct chart_lines spec = {
            .text = {NULL, "time", "%", NULL}, .series = series, .n_series = 2, .n_to_label = n ? 2 : 0, .y_max = 100};
        recording_init(rec, typeface, 1040, 260);
        chart_lines(&rec->canvas, (struct box){0, 0, 1040, 260}, &spec);
        apart[n] = recording_find_text(rec, "communication")->at.y - recording_find_text(rec, "compute")->at.y;
        assert_texts_are_readable(rec);
    }
    assert_true(apart[0] > 0 && apart[1] > 4 * apart[0]);
}

static void test_speedup_against_ideal(void **state)
{
    (void)state;
    const struct speedup_point points[] = {{1, 1, NAN, NAN, NULL, false},
                                           {2, 1.6, 1.5, 1.7, "efficiency 80 %", false},
                                           {4, 1.7, 1.6, 1.8, "efficiency 42 %", false},
                                           {8, 1.6, 1.5, 1.7, "efficiency 20 %", false}};
    struct chart_speedup spec = {
        .text = {NULL, "speed-up", "", NULL}, .noun = "node", .points = points, .n_points = 4, .n_ref = 1};
    const double widths[] = {500, 340};
    for (int k = 0; k < 2; k++) {
        recording_init(rec, typeface, widths[k], 320);
        chart_speedup(&rec->canvas, (struct box){0, 0, widths[k], 320}, &spec);
        const struct recorded *dot[4];
        int n = 0;
        for (int i = 0; i < rec->n; i++)
            if (rec->stroke[i].kind == STROKE_DISC)
                dot[n++] = &rec->stroke[i];
        assert_int_equal(n, 4); /* drawn from the last to the first */
        double x1 = dot[3]->at.x, x2 = dot[2]->at.x, x8 = dot[0]->at.x;
        assert_near(x8 - x1, 7 * (x2 - x1), 0.01);
        double y1 = dot[3]->at.y, y2 = dot[2]->at.y, y4 = dot[1]->at.y;
        assert_near((y1 - y4) / (y1 - y2), 0.7 / 0.6, 0.001);
        assert_texts_are_readable(rec);
        assert_non_null(recording_find_text(rec, "ideal"));
    }
}

static void test_speedup_of_many_nodes(void **state)
{
    (void)state;
    const struct speedup_point points[] = {{1, 1, NAN, NAN, NULL, false},
                                           {4, 2.5, NAN, NAN, "efficiency 63 %", false},
                                           {16, 4.8, NAN, NAN, "efficiency 30 %", false},
                                           {64, 0.5, NAN, NAN, "efficiency 0.8 %", false}};
    struct chart_speedup spec = {
        .text = {NULL, "speed-up", "", NULL}, .noun = "node", .points = points, .n_points = 4, .n_ref = 1};
    recording_init(rec, typeface, 500, 340);
    chart_speedup(&rec->canvas, (struct box){0, 0, 500, 340}, &spec);
    double x[4];
    int n = 0;
    for (int i = 0; i < rec->n; i++)
        if (rec->stroke[i].kind == STROKE_DISC)
            x[n++] = rec->stroke[i].at.x;
    assert_int_equal(n, 4);
    assert_near(x[0] - x[1], x[1] - x[2], 0.01); /* equal ratios, equal lengths */
    assert_non_null(recording_find_text(rec, "logarithmic"));
    assert_texts_are_readable(rec);
}

static void test_hostile_labels(void **state)
{
    (void)state;
    char longer[3000];
    memset(longer, 'W', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    const char *bad[] = {longer, "<script>\"'&", "\xff\xfe\x80 broken", "", "\x01\x1b[31m"};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        struct stack_bar bar = {.label = bad[k], .value = bar4, .mark = bad[k]};
        struct stack_part p[5];
        for (int i = 0; i < 5; i++)
            p[i] = (struct stack_part){bad[k], parts[i].ink};
        struct chart_stack spec = {{bad[k], bad[k], "ms", NULL}, p, 5, &bar, 1, bad[k], false, false, 0, NULL};
        recording_init(rec, typeface, 340, 300);
        chart_stack(&rec->canvas, (struct box){0, 0, 340, 300}, &spec);
        for (int i = 0; i < rec->n; i++)
            if (rec->stroke[i].kind == STROKE_TEXT)
                assert_true(recording_left(&rec->stroke[i]) + rec->stroke[i].at.w <= 341);
    }
}

/* CIE L*, 0..100: equal steps look equal. source  CIE 15:2004, 8.2.1.1 */
static double lightness(uint32_t rgb)
{
    const double weight[3] = {0.2126, 0.7152, 0.0722};
    double y = 0;
    for (int i = 0; i < 3; i++) {
        double v = (double)((rgb >> (16 - 8 * i)) & 0xff) / 255.0;
        y += weight[i] * (v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
    }
    return y > 216.0 / 24389 ? 116 * cbrt(y) - 16 : y * 24389 / 27;
}

/* Neighbours in a stack, bottom to top. */
static const enum ink order[] = {INK_COMPUTE, INK_COMM, INK_WAIT, INK_DATA, INK_IO, INK_COPY, INK_OTHER};
#define N_ORDER (sizeof order / sizeof order[0])

static void assert_told_apart(const uint32_t *rgb, const char *where)
{
    for (size_t i = 0; i + 1 < N_ORDER; i++) {
        double difference = fabs(lightness(rgb[i]) - lightness(rgb[i + 1]));
        if (difference < (i == 0 ? 15 : 8)) /* most of every step is compute and communication */
            fail_msg("%s: %s and %s differ by %.1f in lightness", where, ink_class(order[i]), ink_class(order[i + 1]),
                     difference);
    }
}

/* Every scheme of a style sheet: colours that it does not name are those of the previous scheme. */
static void test_schemes_differ_in_grey(void **state)
{
    (void)state;
    const char *const sheets[] = {"themes/default/style.css", "themes/paper/more.css"};
    for (size_t k = 0; k < 2; k++) {
        uint32_t rgb[N_ORDER];
        for (size_t i = 0; i < N_ORDER; i++)
            rgb[i] = ink_rgb(order[i]);
        static char css[1 << 17];
        FILE *f = fopen(sheets[k], "r");
        if (!f)
            fail_msg("run me from the repository's root: no %s", sheets[k]);
        css[fread(css, 1, sizeof css - 1, f)] = '\0';
        fclose(f);
        int n_schemes = 0;
        for (char *at = strstr(css, ":root {"); at; at = strstr(at + 1, ":root {")) {
            char *end = strchr(at, '}'), name[32];
            *end = '\0';
            for (size_t i = 0; i < N_ORDER; i++) {
                snprintf(name, sizeof name, " --%s: #", ink_class(order[i]));
                const char *value = strstr(at, name);
                if (value)
                    rgb[i] = (uint32_t)strtoul(value + strlen(name), NULL, 16);
            }
            *end = '}';
            assert_told_apart(rgb, sheets[k]);
            n_schemes++;
        }
        assert_int_equal(n_schemes, k ? 1 : 3); /* light, dark, on paper */
    }
}

static void test_categories_differ_in_grey(void **state)
{
    (void)state;
    uint32_t rgb[N_ORDER];
    for (size_t i = 0; i < N_ORDER; i++)
        rgb[i] = ink_rgb(order[i]);
    assert_told_apart(rgb, "print");
    for (size_t i = 0; i + 1 < sizeof order / sizeof order[0]; i++) {
        double a = ink_luminance(order[i]) + 0.05, b = ink_luminance(order[i + 1]) + 0.05;
        assert_true(fmax(a, b) / fmin(a, b) > 1.2);
    }
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        double a = ink_luminance(order[i]) + 0.05, b = ink_luminance(ink_on(order[i])) + 0.05;
        assert_true(fmax(a, b) / fmin(a, b) >= 4.5); /* WCAG AA for the numbers inside the bars */
    }
}

static void test_text_is_fitted(void **state)
{
    (void)state;
    char out[64];
    const struct font font = {12, false};
    double w = typeface_fit(typeface, font, "communication", 1000, out, sizeof out);
    assert_string_equal(out, "communication");
    assert_near(w, typeface_width(typeface, font, out), 1e-6);
    w = typeface_fit(typeface, font, "communication", 50, out, sizeof out);
    assert_true(w <= 50 && strstr(out, "\xe2\x80\xa6"));
    assert_true(typeface_fit(typeface, font, "communication", 3, out, sizeof out) <= 0);
    assert_string_equal(out, "");
}

static void test_heat_shades_are_the_numbers(void **state)
{
    (void)state;
    static const double value[2][4] = {{0, 50, 50, 100}, {NAN, 0, 0, 400}};
    static const char *const name[] = {"rank 0", "rank 1"}, *const mark[] = {NULL, "straggler"};
    struct chart_heat spec = {.text = {"Late ranks", "late", "%", NULL},
                              .row_name = name,
                              .mark = mark,
                              .n_rows = 2,
                              .n_cols = 4,
                              .value = &value[0][0],
                              .full = 100,
                              .x_from = 1,
                              .x_to = 4,
                              .x_title = "step"};
    double height = chart_heat_height(&spec);
    recording_init(rec, typeface, 500, height);
    chart_heat(&rec->canvas, (struct box){0, 0, 500, height}, &spec);
    struct box cell[3];
    int n = 0;
    for (int i = 0; i < rec->n; i++) /* without the legend, which is above */
        if (rec->stroke[i].kind == STROKE_AREA && rec->stroke[i].at.h > 13 && n < 3)
            cell[n++] = rec->stroke[i].at;
    assert_int_equal(n, 3); /* the two equal neighbours are one shape; zeros and missing values have none */
    assert_near(cell[0].w, 2 * cell[1].w, 0.01);
    assert_near(cell[0].x + cell[0].w, cell[1].x, 0.01);
    assert_near(cell[2].x, cell[1].x, 0.01);
    assert_true(cell[2].y > cell[1].y);
    assert_non_null(recording_find_text(rec, "straggler"));
    assert_non_null(recording_find_text(rec, "rank 0"));
    assert_texts_are_readable(rec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heat_shades_are_the_numbers),
        cmocka_unit_test(test_stack_heights_are_the_numbers),
        cmocka_unit_test(test_whiskers_and_words_keep_apart),
        cmocka_unit_test(test_stack_fits_a_phone),
        cmocka_unit_test(test_stack_of_many_ranks),
        cmocka_unit_test(test_waterfall_sums),
        cmocka_unit_test(test_lines_have_gaps_and_spans),
        cmocka_unit_test(test_labels_before_the_end),
        cmocka_unit_test(test_speedup_against_ideal),
        cmocka_unit_test(test_speedup_of_many_nodes),
        cmocka_unit_test(test_hostile_labels),
        cmocka_unit_test(test_categories_differ_in_grey),
        cmocka_unit_test(test_text_is_fitted),
        cmocka_unit_test(test_stack_of_pairs),
        cmocka_unit_test(test_schemes_differ_in_grey),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
