/* timeline.c - the timeline of a run: its page, and its ranges at several levels of detail in script files beside it.
 * The data are in scripts, because a page opened from disk may not fetch anything. */
#include "render/site/timeline/levels.h"

#include "render/say/format.h"
#include "render/say/say.h"
#include "render/site/theme/inside.h"

#include <stdlib.h>
#include <string.h>

static const char *const colour_names[N_SPAN_COLOURS] = {
    [CAT_COMPUTE] = "compute", [CAT_COMM] = "comm",   [CAT_DATA] = "data",  [CAT_IO] = "io",
    [CAT_COPY] = "copy",       [CAT_OTHER] = "other", [SPAN_STEP] = "step", [SPAN_VALIDATION] = "validation",
    [SPAN_PLAIN] = "plain"};

static const char *const colour_words[N_SPAN_COLOURS] = {
#define X(id, key, name, covers) [id] = name,
    RUN_CATEGORIES(X)
#undef X
        [SPAN_STEP] = "step",
    [SPAN_VALIDATION] = "validation", [SPAN_PLAIN] = "other range"};

/* Archives without traces still tell when each step began. The clocks of their ranks are aligned by the first step that
 * all of them have. */
static void spans_of_steps(struct spans *s, const struct run *run)
{
    int64_t first = -1;
    for (int k = 0; k < run->ranks_len; k++)
        if (run->ranks[k].n_steps && run->ranks[k].steps[0].step > first)
            first = run->ranks[k].steps[0].step;
    for (int k = 0; k < run->ranks_len; k++) {
        const struct run_rank *q = &run->ranks[k];
        size_t i = 0;
        while (i < q->n_steps && q->steps[i].step < first)
            i++;
        if (i == q->n_steps)
            continue;
        int64_t zero = q->steps[i].start_ns;
        size_t track = spans_track(s, q->rank, q->node, (uint32_t)k, 0, false);
        for (i = 0; i < q->n_steps; i++)
            spans_add(s, track, 0, "", "step", "step", q->steps[i].start_ns - zero,
                      q->steps[i].start_ns - zero + q->steps[i].step_ns, (uint64_t)q->steps[i].step);
    }
    spans_finish(s);
}

static const char *track_label(struct site *s, const struct span_track *t, bool is_only)
{
    const char *what = t->kind != TRACK_THREAD ? site_text(s, " %s", t->name)
                       : t->is_beside          ? " in flight"
                       : is_only               ? ""
                       : *t->name              ? site_text(s, " %s", t->name)
                                               : "";
    if (!*what && !is_only)
        what = site_text(s, " thread %u", (unsigned)t->id);
    return site_text(s, "rank %d%s", t->rank, what);
}

static json_t *tracks_json(struct site *s, const struct spans *spans)
{
    json_t *list = view_list(s);
    int n_threads = 0; /* of the rank */
    for (size_t i = 0; i < spans->n_tracks; i++) {
        const struct span_track *t = &spans->tracks[i];
        if (i == 0 || t[-1].rank != t->rank) { /* tracks are in order of rank */
            n_threads = 0;
            for (size_t k = i; k < spans->n_tracks && spans->tracks[k].rank == t->rank; k++)
                n_threads += !spans->tracks[k].is_beside;
        }
        json_t *v = view_object(s);
        view_text(s, v, "label", track_label(s, t, n_threads == 1));
        view_set(s, v, "rank", json_integer(t->rank));
        view_set(s, v, "node", json_integer(t->node));
        view_set(s, v, "thread", json_integer(t->kind == TRACK_THREAD ? t->id : 0));
        view_set(s, v, "row", json_integer(t->first_row));
        view_set(s, v, "rows", json_integer(t->n_rows));
        view_add(s, list, v);
    }
    return list;
}

static json_t *names_json(struct site *s, const struct spans *spans)
{
    json_t *list = view_list(s);
    for (size_t i = 0; i < spans->n_names; i++) {
        const struct span_name *k = &spans->names[i];
        json_t *v = view_object(s), *longest = view_list(s);
        view_text(s, v, "name", *k->name ? k->name : "(no name)");
        view_text(s, v, "category", k->category);
        view_text(s, v, "domain", k->domain);
        view_set(s, v, "colour", json_integer(k->colour));
        view_set(s, v, "count", json_integer(k->count));
        view_set(s, v, "total", json_integer(k->total_ns));
        for (int n = 0; n < SPAN_LONGEST && k->longest[n].dur_ns >= 0; n++) {
            json_array_append_new(longest, json_integer(k->longest[n].row));
            json_array_append_new(longest, json_integer(k->longest[n].start_ns));
            json_array_append_new(longest, json_integer(k->longest[n].dur_ns));
        }
        view_set(s, v, "longest", longest);
        view_add(s, list, v);
    }
    return list;
}

static void write_script(struct site *s, const char *folder, const char *key, const char *json, size_t n)
{
    struct dcr_buf out = {0};
    dcr_buf_printf(&out, "dcreport(\"%s\",", key);
    dcr_buf_add(&out, json, n);
    dcr_buf_puts(&out, ");\n");
    if (out.failed)
        site_fail(s, dcr_err_set(s->err, DCR_FATAL, "out of memory making a timeline"));
    site_write(s, site_text(s, "%s%s.js", folder, key), dcr_buf_text(&out), out.len);
    dcr_buf_release(&out);
}

static void write_meta(struct site *s, const struct spans *spans, const char *title, const char *folder,
                       const struct level *levels, int n_levels)
{
    json_t *meta = view_object(s), *list = view_list(s), *colours = view_list(s);
    for (int k = 0; k < n_levels; k++) {
        json_t *v = view_object(s);
        view_set(s, v, "width", json_integer(levels[k].width_ns));
        view_set(s, v, "tile", json_integer(levels[k].tile_ns));
        view_set(s, v, "tiles", json_integer(levels[k].n_tiles));
        view_add(s, list, v);
    }
    for (int c = 0; c < N_SPAN_COLOURS; c++)
        json_array_append_new(colours, json_string(colour_names[c]));
    view_text(s, meta, "title", title);
    view_set(s, meta, "total", json_integer(spans->total_ns));
    view_set(s, meta, "rows", json_integer(spans->n_rows));
    view_set(s, meta, "joined", json_integer(spans->joined_ns));
    view_set(s, meta, "levels", list);
    view_set(s, meta, "colours", colours);
    view_set(s, meta, "tracks", tracks_json(s, spans));
    view_set(s, meta, "names", names_json(s, spans));
    char *text = json_dumps(meta, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII | JSON_ESCAPE_SLASH);
    if (text)
        write_script(s, folder, "meta", text, strlen(text));
    else
        site_fail(s, dcr_err_set(s->err, DCR_FATAL, "out of memory making a timeline"));
    free(text);
    json_decref(meta);
}

static void write_levels(struct site *s, const struct spans *spans, const char *folder, const struct level *levels,
                         int n_levels)
{
    for (int k = 0; k < n_levels && !s->rc; k++) {
        struct dcr_buf *tile = calloc((size_t)levels[k].n_tiles, sizeof *tile);
        if (!tile) {
            site_fail(s, dcr_err_set(s->err, DCR_FATAL, "out of memory making a timeline"));
            return;
        }
        level_tiles(spans, &levels[k], tile);
        for (int t = 0; t < levels[k].n_tiles; t++) {
            if (tile[t].failed)
                site_fail(s, dcr_err_set(s->err, DCR_FATAL, "out of memory making a timeline"));
            write_script(s, folder, site_text(s, "%d-%d", k, t), dcr_buf_text(&tile[t]), tile[t].len);
            dcr_buf_release(&tile[t]);
        }
        free(tile);
    }
}

/* ---- the page ------------------------------------------------------------------------------------------- */

#define NAMES_SHOWN 40

static const struct span_name *const *by_total(struct site *s, const struct spans *spans)
{
    const struct span_name **order = dcr_arena_alloc(&s->arena, (spans->n_names + 1) * sizeof *order);
    /* A few of possibly many are shown: insertion into the short list, ties by order of appearance. */
    size_t n = 0;
    for (size_t i = 0; i < spans->n_names; i++) {
        const struct span_name *k = &spans->names[i];
        size_t at = n;
        while (at > 0 && order[at - 1]->total_ns < k->total_ns)
            at--;
        if (at >= NAMES_SHOWN)
            continue;
        n += n < NAMES_SHOWN;
        memmove(&order[at + 1], &order[at], (n - at - 1) * sizeof *order);
        order[at] = k;
    }
    return order;
}

/* With some room on both sides, to show where it lies. */
static const char *link_to(struct site *s, const struct span *p)
{
    int64_t pad = p->dur_ns / 2 + 1, from = p->start_ns > pad ? p->start_ns - pad : 0;
    return site_text(s, "#from=%lld&to=%lld&row=%u&at=%lld", (long long)from,
                     (long long)(p->start_ns + p->dur_ns + pad), (unsigned)p->row, (long long)p->start_ns);
}

/* The rank of the longest range of a name. That range need not be drawn separately. */
static int rank_of_longest(const struct spans *spans, const struct span_name *k)
{
    int rank = 0;
    bool is_joined = k->joined_ns > k->longest[0].dur_ns;
    for (size_t i = 0; i < spans->n_tracks; i++)
        if (is_joined ? spans->tracks[i].file == k->joined_file : k->longest[0].row >= spans->tracks[i].first_row)
            rank = spans->tracks[i].rank;
    return rank;
}

static json_t *names_table(struct site *s, const struct spans *spans)
{
    json_t *t = view_table(s, spans->n_names > NAMES_SHOWN ? TABLE(TIMELINE_NAMES_OF_MANY, slot_count(NAMES_SHOWN),
                                                                   slot_count((int64_t)spans->n_names))
                                                           : TABLE(TIMELINE_NAMES));
    view_caption(s, t, spans->n_left_out ? PHRASE(CAPTION_LEFT_OUT) : PHRASE(NONE));
    view_caption(s, t, spans->joined_ns ? PHRASE(CAPTION_LEADS_TO_DRAWN) : PHRASE(CAPTION_LEADS_TO));
    const struct span_name *const *order = by_total(s, spans);
    size_t n = spans->n_names < NAMES_SHOWN ? spans->n_names : NAMES_SHOWN;
    for (size_t i = 0; i < n; i++) {
        const struct span_name *k = order[i];
        if (k->count == 0)
            continue;
        view_row(s, t, *k->name ? k->name : "(no name)");
        json_t *rows = json_object_get(t, "rows");
        if (k->longest[0].dur_ns >= 0)
            view_text(s, json_array_get(rows, json_array_size(rows) - 1), "fragment", link_to(s, &k->longest[0]));
        view_cell(s, t,
                  strcmp(k->category, DCT_IN_FLIGHT) == 0 ? site_text(s, "%s, in flight", colour_words[k->colour])
                                                          : colour_words[k->colour]);
        view_cell_count(s, t, true, (int64_t)k->count);
        view_cell_time(s, t, true, k->total_ns);
        view_cell_time(s, t, true, k->total_ns / k->count);
        view_cell_time(s, t, true, k->longest[0].dur_ns > k->joined_ns ? k->longest[0].dur_ns : k->joined_ns);
        int rank = rank_of_longest(spans, k);
        view_cell_value(s, t, site_text(s, "%d", rank), true, rank, "");
    }
    return t;
}

/* How the tracks of ranks were put onto one axis. */
static const char *clocks_said(struct site *s, const struct spans *spans, bool is_traced)
{
    struct phrase said[2] = {{0}};
    if (!is_traced) {
        said[0] = PHRASE(TIMELINE_OF_STEPS);
        said[1] = PHRASE(TIMELINE_RANKS);
    } else if (spans->n_hosts > 1 && spans->n_measured_hosts >= spans->n_hosts - 1) {
        said[0] = PHRASE(TIMELINE_CLOCKS_MEASURED);
        said[1] = PHRASE(TIMELINE_CLOCK_ERROR, slot_time(2 * spans->clock_error_ns));
    } else if (spans->n_hosts > 1) {
        said[0] = PHRASE(TIMELINE_CLOCKS_OF_DAY);
        said[1] = PHRASE(TIMELINE_CLOCK_DOUBT);
    } else {
        return NULL;
    }
    return say_phrases(&s->arena, said, 2);
}

static void write_page(struct site *s, int run, const struct spans *spans, bool is_traced)
{
    const struct run_result *r = &s->rep->runs[run];
    json_t *data = view_object(s), *table = names_table(s, spans);
    site_table(s, table, "ranges", run);
    view_text(s, data, "label", r->label);
    view_text(s, data, "n_ranges", fmt_count((int64_t)(spans->n - spans->n_blocks + spans->n_joined), "range").text);
    view_text(s, data, "n_tracks", fmt_count((int64_t)spans->n_tracks, "track").text);
    view_text(s, data, "length", fmt_time(spans->total_ns).text);
    view_text(s, data, "left_out",
              spans->n_left_out
                  ? site_text(s, "%s shorter than %s are left out: more than the timeline holds.",
                              fmt_count((int64_t)spans->n_left_out, "range").text, fmt_time(spans->least_ns).text)
                  : NULL);
    view_text(s, data, "devices",
              spans->n_device_ops ? site_text(s, "Of them %s are kernels and copies of GPUs, by stream.%s",
                                              site_int(s, spans->n_device_ops),
                                              spans->n_trackless ? " Further streams and threads are left out." : "")
                                  : NULL);
    view_text(s, data, "joined",
              spans->n_joined
                  ? site_text(s,
                              "%s shorter than %s are drawn together with their neighbours: more than the "
                              "timeline of one trace holds. All numbers of the report are of all events.",
                              fmt_count((int64_t)spans->n_joined, "range").text, fmt_time(spans->joined_ns).text)
                  : NULL);
    view_text(s, data, "aligned", spans->is_aligned ? say_phrase(&s->arena, &PHRASE(TIMELINE_TOGETHER)) : NULL);
    view_text(s, data, "clocks", clocks_said(s, spans, is_traced));
    view_set(s, data, "names", table);
    const char *page = site_text(s, "runs/%s/timeline.html", r->slug);
    site_page(s, "timeline", page, site_text(s, "Timeline, %s, %s", r->label, s->rep->title), r->slug, data);
}

bool page_timeline(struct site *s, int run)
{
    struct spans spans = {0};
    struct level levels[LEVELS_MAX];
    const struct run_result *r = &s->rep->runs[run];
    const struct input *in = NULL;
    for (int i = 0; i < s->n_inputs; i++)
        if (s->input_runs[i] == r->run)
            in = &s->inputs[i];
    if (s->rc)
        return false;
    if (!spans_take(&spans, r->run) && in)
        site_fail(s, spans_read(&spans, in, r->run, s->err));
    bool is_traced = spans.n > 0;
    if (!s->rc && !is_traced) {
        spans_release(&spans);
        spans_start(&spans);
        spans_of_steps(&spans, r->run);
    }
    bool is_made = !s->rc && spans.n > 0;
    if (is_made) {
        const char *folder = site_text(s, "runs/%s/timeline/", r->slug);
        int n_levels = levels_plan(&spans, levels);
        write_meta(s, &spans, site_text(s, "%s, %s", s->rep->title, r->label), folder, levels, n_levels);
        write_levels(s, &spans, folder, levels, n_levels);
        write_page(s, run, &spans, is_traced);
    }
    spans_release(&spans);
    return is_made;
}
