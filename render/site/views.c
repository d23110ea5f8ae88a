/* views.c - the parts that several pages show: notes, the table of causes, actions. See inside.h. */
#include "render/site/inside.h"

#include "render/analyse/analyse.h"
#include "render/narrate/shares.h"
#include "render/say/format.h"
#include "render/narrate/narrate.h"
#include "render/site/figures.h"

#include <stdlib.h>
#include <string.h>

json_t *view_notes(struct site *s, enum note_kind kind, int run)
{
    json_t *list = view_list(s);
    for (int i = 0; i < s->rep->n_notes; i++) {
        const struct note *n = &s->rep->notes[i];
        if (n->kind != kind || (run >= 0 && n->run >= 0 && n->run != run))
            continue;
        json_t *v = view_object(s);
        view_text(s, v, "text", n->text);
        const char *label = n->run >= 0 ? s->rep->runs[n->run].label : "";
        bool says_where = !strncmp(n->text, label, strlen(label));
        view_text(s, v, "where", run < 0 && !says_where ? label : NULL);
        view_text(s, v, "id", note_key(n->id));
        view_set(s, v, "run", json_integer(n->run));
        view_add(s, list, v);
    }
    return list;
}

/* What is about all runs first, then the largest run, whose numbers the verdict has; else as they came. */
static json_t *by_weight(struct site *s, json_t *notes, enum note_kind kind)
{
    json_t *list = view_list(s);
    int most = 0;
    for (int i = 0; i < s->rep->n_notes; i++)
        if (s->rep->notes[i].run >= 0 && s->rep->runs[s->rep->notes[i].run].n_ranks > most)
            most = s->rep->runs[s->rep->notes[i].run].n_ranks;
    for (int turn = 0; turn < 3; turn++) {
        size_t at = 0;
        for (int i = 0; i < s->rep->n_notes; i++) {
            const struct note *n = &s->rep->notes[i];
            if (n->kind != kind)
                continue;
            int weight = n->run < 0 ? 0 : s->rep->runs[n->run].n_ranks == most ? 1 : 2;
            if (weight == turn)
                json_array_append(list, json_array_get(notes, at));
            at++;
        }
    }
    json_decref(notes);
    return list;
}

/* More caveats than this would bury the verdict: the others are folded away behind their number. */
#define CAVEATS_SHOWN 3

/* The same was said above, of another run, which weighs more. */
static bool is_repeated(const json_t *all, size_t at)
{
    const json_t *v = json_array_get(all, at), *id = json_object_get(v, "id"), *run = json_object_get(v, "run");
    for (size_t i = 0; i < at && json_is_string(id); i++) {
        const json_t *above = json_array_get(all, i);
        if (json_equal(id, json_object_get(above, "id")) && !json_equal(run, json_object_get(above, "run")))
            return true;
    }
    return false;
}

/* "The nodes are emulated: ranks of one host stand in for them. ..." -> "the nodes are emulated": a caveat in a few
 * words. What it is about stays in front ("4 nodes: 4 ranks share 2 cores") unless the page is
 * about that, or the report about nothing else. */
static const char *in_short(struct site *s, const json_t *caveat, int run)
{
    static const char *const ends[] = {". ", "; ", ": ", ", so "};
    const char *text = json_string_value(json_object_get(caveat, "text"));
    const json_t *of = json_object_get(caveat, "run");
    const char *label =
        json_is_integer(of) && json_integer_value(of) >= 0 ? s->rep->runs[json_integer_value(of)].label : "";
    size_t begin = strlen(label), n;
    begin = begin && !strncmp(text, label, begin) && !strncmp(text + begin, ": ", 2) ? begin + 2 : 0;
    n = strlen(text + begin);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *end = strstr(text + begin, ends[i]);
        if (end && (size_t)(end - text) - begin < n)
            n = (size_t)(end - text) - begin;
    }
    n -= n && text[begin + n - 1] == '.';
    size_t from = run < 0 && s->rep->n_runs > 1 ? 0 : begin;
    char *copy = dcr_arena_strndup(&s->arena, text + from, begin - from + n);
    if (copy[0] >= 'A' && copy[0] <= 'Z' && copy[1] >= 'a' && copy[1] <= 'z')
        copy[0] = (char)(copy[0] - 'A' + 'a');
    return copy;
}

/* More letters than this are more than a line, or three on a phone. */
#define MIND_LETTERS 110

/* The line above the verdict: the first of those that are shown, shortly, and how many more there are. */
static const char *mind(struct site *s, const json_t *shown, size_t n_all, int run)
{
    struct dcr_buf line = {0};
    size_t n = 0;
    for (; n < json_array_size(shown); n++) {
        const char *words = in_short(s, json_array_get(shown, n), run);
        if (n > 0 && line.len + strlen(words) > MIND_LETTERS)
            break;
        dcr_buf_printf(&line, "%s%s", n ? "; " : "", words);
    }
    if (n < n_all)
        dcr_buf_printf(&line, "; and %d more", (int)(n_all - n));
    const char *text = site_text(s, "%s", dcr_buf_text(&line));
    dcr_buf_release(&line);
    return text;
}

/* Which of them are shown; one alone is not folded. */
static void choose_caveats(const json_t *all, bool *is_shown)
{
    size_t n = json_array_size(all), n_shown = 0;
    for (size_t i = 0; i < n; i++) {
        is_shown[i] = n_shown < CAVEATS_SHOWN && !is_repeated(all, i);
        n_shown += is_shown[i];
    }
    for (size_t i = 0; i < n && n_shown + 1 == n; i++)
        is_shown[i] = true;
}

void view_caveats(struct site *s, json_t *data, int run)
{
    json_t *all = view_notes(s, NOTE_CAVEAT, run);
    all = run < 0 ? by_weight(s, all, NOTE_CAVEAT) : all;
    json_t *shown = view_list(s), *folded = view_list(s);
    for (int i = 0; run >= 0 && i < s->rep->runs[run].run->n_endings; i++) {
        json_t *v = view_object(s);
        const char *why = s->rep->runs[run].run->endings[i].text;
        view_text(s, v, "text", site_text(s, "The archive is incomplete: %s", why));
        view_set(s, v, "where", json_null());
        view_add(s, all, v);
    }
    size_t n = json_array_size(all);
    bool *is_shown = dcr_arena_alloc(&s->arena, (n + 1) * sizeof *is_shown);
    choose_caveats(all, is_shown);
    for (size_t i = 0; i < n; i++)
        json_array_append(is_shown[i] ? shown : folded, json_array_get(all, i));
    view_text(s, data, "n_caveats", fmt_count((int64_t)n, "caveat").text);
    view_text(s, data, "mind", mind(s, shown, n, run));
    view_text(s, data, "n_folded", fmt_count((int64_t)json_array_size(folded), "more caveat").text);
    view_set_list(s, data, "caveats", shown);
    view_set_list(s, data, "folded", folded);
    json_decref(all);
}

static const char *verdict_class(enum verdict v)
{
    static const char *const names[] = {"v-na", "v-fine", "v-watch", "v-limits"};
    return names[v];
}

json_t *view_classes(struct site *s, const char *caption, const int *runs, int n_runs)
{
    struct dcr_buf columns = {0};
    dcr_buf_puts(&columns, "Cause");
    for (int i = 0; i < n_runs; i++)
        dcr_buf_printf(&columns, "|#%s", n_runs == 1 ? "Share of step" : s->rep->runs[runs[i]].label);
    dcr_buf_puts(&columns, "|Verdict|#Threshold|What was found");
    json_t *t = view_table(s, caption, dcr_buf_text(&columns));
    dcr_buf_release(&columns);
    for (int c = 0; c < N_CLASSES; c++) {
        const struct class_result *last = &s->rep->runs[runs[n_runs - 1]].classes[c];
        view_row(s, t, run_class_name(&s->rep->runs[runs[n_runs - 1]], (enum cause_class)c));
        for (int i = 0; i < n_runs; i++) {
            const struct class_result *q = &s->rep->runs[runs[i]].classes[c];
            view_cell_class(s, t,
                            *judged_share(q).text                  ? judged_share(q).text
                            : q->verdict == VERDICT_NA             ? "n/a"
                            : q->cls == CLASS_SHARED && n_runs > 1 ? verdict_word(q->verdict)
                                                                   : "n/a",
                            n_runs > 1 && q->verdict >= VERDICT_WATCH ? verdict_class(q->verdict) : NULL);
            view_exact(s, t, "", q->has_share, q->share_ratio, "ratio"); /* always the share of step time */
        }
        view_cell_class(s, t, verdict_word(last->verdict), verdict_class(last->verdict));
        view_cell_value(s, t, judged_threshold(last).text, last->threshold_ratio >= 0 && !last->judged.of,
                        last->threshold_ratio, "ratio"); /* if it is of another quantity, the CSV has it as a note */
        view_cell_sub(s, t, last->text, last->rule && last->rule[0] ? last->rule : NULL);
    }
    return t;
}

/* "transfer 31 %, threshold comm_limits 20 %": the compared quantity with its threshold; "" = none. */
static const char *claim_threshold(struct site *s, const struct claim *c)
{
    const struct series *series = c->series >= 0 ? &s->rep->series[c->series] : NULL;
    const struct class_result *k = c->run >= 0 ? &s->rep->runs[c->run].classes[c->cls] : NULL;
    if (!*c->threshold_name || c->threshold_ratio < 0)
        return "";
    if (series)
        return site_text(s, "; efficiency %s, threshold %s %s",
                         fmt_ratio(series->points[series->n_points - 1].efficiency).text, c->threshold_name,
                         fmt_ratio(c->threshold_ratio).text);
    if (!k || (!k->has_share && !k->judged.of))
        return site_text(s, "; threshold %s %s", c->threshold_name, fmt_percent(c->threshold_ratio).text);
    return site_text(s, "; %s %s, threshold %s %s", run_class_name(&s->rep->runs[c->run], c->cls), judged_share(k).text,
                     c->threshold_name, fmt_percent(c->threshold_ratio).text);
}

/* "39 steps (1 to 39) of 4 ranks; Data loading 34 %, threshold data_limits 30 %; most on rank 2, in steps 7, 31 and 8":
 * one line. */
static const char *claim_basis(struct site *s, const struct claim *c)
{
    if (!c->window || !*c->window)
        return NULL;
    return site_text(s, "%s%s%s%s", c->window, claim_threshold(s, c), *c->place ? "; " : "", c->place);
}

json_t *view_actions(struct site *s, const int *runs, int n_runs, bool is_whole, const char *root)
{
    const struct report *rep = s->rep;
    json_t *list = view_list(s);
    const struct claim **order = dcr_arena_alloc(&s->arena, ((size_t)rep->n_claims + 1) * sizeof *order);
    int n = claims_in_order(rep, runs, n_runs, is_whole, order);
    for (int i = 0; i < n; i++) {
        const struct claim *c = order[i];
        json_t *v = view_object(s);
        view_text(s, v, "cause", claim_class_name(rep, c));
        view_text(s, v, "sentence", c->sentence);
        view_text(s, v, "ours", c->action.ours);
        view_text(s, v, "generic", c->action.generic);
        view_text(s, v, "gain", c->gain_text);
        view_text(s, v, "confidence", confidence_word(c->confidence));
        view_text(s, v, "because", c->confidence_because);
        view_text(s, v, "basis", claim_basis(s, c));
        view_text(s, v, "where",
                  !is_whole           ? NULL
                  : c->run >= 0       ? rep->runs[c->run].label
                  : rep->n_series > 1 ? rep->series[c->series].label
                                      : NULL);
        view_text(s, v, "evidence", c->evidence && c->evidence[0] ? site_text(s, "%s%s", root, c->evidence) : NULL);
        view_add(s, list, v);
    }
    return list;
}
