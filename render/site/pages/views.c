/* views.c - the parts that several pages show: notes, the table of causes, actions. See inside.h. */
#include "render/site/theme/inside.h"

#include "render/findings/rules/analyse.h"
#include "render/metrics/known.h"
#include "render/findings/shares.h"
#include "render/say/format.h"
#include "render/findings/narrate.h"
#include "render/pages/caveats.h"
#include "render/site/figures/figures.h"

#include <stdlib.h>
#include <string.h>

void view_gaps(struct site *s, json_t *data)
{
    json_t *shown = view_list(s), *folded = view_list(s);
    struct caveats gaps = gaps_of(s->rep, &s->arena);
    for (int i = 0; i < gaps.n; i++) {
        json_t *v = view_object(s);
        view_text(s, v, "text", gaps.list[i].text);
        view_add(s, gaps.list[i].is_shown ? shown : folded, v);
    }
    view_text(s, data, "n_more_gaps", fmt_count((int64_t)json_array_size(folded), "gap").text);
    view_set_list(s, data, "gaps", shown);
    view_set_list(s, data, "more_gaps", folded);
}

void view_caveats(struct site *s, json_t *data, int run)
{
    struct caveats c = caveats_of(s->rep, run, &s->arena);
    json_t *shown = view_list(s), *folded = view_list(s);
    for (int i = 0; i < c.n; i++) {
        json_t *v = view_object(s);
        view_text(s, v, "text", c.list[i].text);
        view_add(s, c.list[i].is_shown ? shown : folded, v);
    }
    view_text(s, data, "n_folded", fmt_count((int64_t)json_array_size(folded), "more caveat").text);
    view_set_list(s, data, "caveats", shown);
    view_set_list(s, data, "folded", folded);
}

static const char *verdict_class(enum verdict v)
{
    static const char *const names[] = {"v-na", "v-fine", "v-watch", "v-limits"};
    return names[v];
}

json_t *view_classes(struct site *s, const struct table_said *is, const int *runs, int n_runs)
{
    json_t *t = view_table(s, is);
    for (int i = 0; i < n_runs; i++)
        view_column(s, t, "#", n_runs == 1 ? "Share of step" : s->rep->runs[runs[i]].label);
    view_columns(s, t, "Verdict|#Threshold|What was found");
    for (int c = 0; c < N_CLASSES; c++) {
        const struct class_result *last = &s->rep->runs[runs[n_runs - 1]].classes[c];
        view_row(s, t, run_class_name(&s->rep->runs[runs[n_runs - 1]], (enum cause_class)c));
        for (int i = 0; i < n_runs; i++) {
            const struct class_result *q = &s->rep->runs[runs[i]].classes[c];
            const struct fmt share = judged_share(q);
            int is_verdict = !*share.text && q->cls == CLASS_SHARED && n_runs > 1 && q->verdict != VERDICT_NA;
            if (!*share.text && !is_verdict) {
                view_cell_missing(s, t, &q->why, "ratio");
                continue;
            }
            view_cell_class(s, t, is_verdict ? verdict_said(q->verdict) : share.text,
                            n_runs > 1 && q->verdict >= VERDICT_WATCH ? verdict_class(q->verdict) : NULL);
            view_exact(s, t, "", q->has_share, q->share_ratio, "ratio"); /* always the share of step time */
        }
        view_cell_class(s, t, verdict_said(last->verdict), verdict_class(last->verdict));
        view_tip(s, t, last->rule);
        const struct fmt threshold = judged_threshold(last);
        view_cell_value(s, t, *threshold.text ? threshold.text : NULL, last->threshold_ratio >= 0 && !last->judged.by,
                        last->threshold_ratio, "ratio"); /* if it is of another quantity, the CSV has it as a note */
        view_cell(s, t, last->text);
    }
    return t;
}

/* NULL: it has none */
static const char *basis(struct site *s, const struct claim *c)
{
    struct dcr_buf words = {0};
    claim_basis(s->rep, c, &words);
    const char *text = words.len ? site_text(s, "%s", dcr_buf_text(&words)) : NULL;
    dcr_buf_release(&words);
    return text;
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
        view_text(s, v, "gain", *c->expected ? c->expected : c->gain_text);
        view_text(s, v, "confidence", confidence_word(c->confidence));
        view_text(s, v, "because", c->confidence_because);
        view_text(s, v, "basis", basis(s, c));
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
