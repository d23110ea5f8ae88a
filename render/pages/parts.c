/* parts.c - parts that several pages share; see parts.h. */
#include "render/pages/parts.h"

#include "render/metrics/known.h"
#include "render/findings/rules/compare.h"
#include "render/pages/caveats.h"
#include "render/say/facts.h"
#include "render/say/say.h"

#include "render/findings/efficiencies.h"
#include "render/findings/run_said.h"

#include <string.h>

/* If there are more than PARAGRAPH_MAX sentences of support, LEAD_MAX of them follow the headline. The others are under
 * "Why". */
enum { LEAD_MAX = 2, PARAGRAPH_MAX = 3 };

const struct said *finding_of_answer(const struct report *rep)
{
    return rep->said.headline.id != PHRASE_NONE ? &rep->said : NULL;
}

static int is_split(const struct report *rep)
{
    return finding_of_answer(rep) && rep->said.support[LEAD_MAX + 1].id != PHRASE_NONE;
}

void paragraph_of_phrases(struct doc *d, const struct phrase *p, int n)
{
    doc_paragraph(d, "%s", say_phrases(&d->arena, p, n));
}

void heading_of(struct doc *d, int level, struct phrase words)
{
    doc_heading(d, level, "%s", say_phrase(&d->arena, &words));
}

void table_of(struct doc *d, int level, const struct table_said *is)
{
    if (level)
        doc_heading(d, level, "%s", say_caption(&d->arena, is));
    doc_table(d, say_columns(&d->arena, is));
}

/* Causes that could not be judged get a second paragraph. */
static void paragraphs_of_judged(struct doc *d, const struct phrase *judged)
{
    int n = n_judged(judged);
    paragraph_of_phrases(d, judged, n);
    for (int i = n; i < JUDGED_MAX; i += PARAGRAPH_MAX)
        paragraph_of_phrases(d, judged + i, JUDGED_MAX - i < PARAGRAPH_MAX ? JUDGED_MAX - i : PARAGRAPH_MAX);
}

void section_of_lead(const struct report *rep, struct doc *d, int level)
{
    (void)level; /* it has no heading */
    if (rep->n_comparisons)
        paragraph_of_phrases(d, rep->said.support, SAID_MAX);
    else if (is_split(rep))
        paragraph_of_phrases(d, rep->said.support, LEAD_MAX);
    else
        doc_paragraph(d, "%s", rep->support);
    if (!rep->n_comparisons && rep->ranking[0].id != PHRASE_NONE)
        paragraph_of_phrases(d, rep->ranking, RANKING_MAX);
}

/* For a comparison: forecast beside result, and what limits now. */
static void section_of_change(const struct report *rep, struct doc *d, int level)
{
    const struct comparison *c = &rep->comparisons[rep->n_comparisons - 1];
    if (c->forecast[0].id != PHRASE_NONE) {
        heading_of(d, level, PHRASE(HEAD_FORECAST));
        paragraph_of_phrases(d, c->forecast, COMPARED_MAX);
    }
    if (*rep->limits_now) {
        heading_of(d, level, PHRASE(HEAD_LIMITS_NOW));
        doc_paragraph(d, "%s", rep->limits_now);
    }
}

void paragraphs_of_comparison(const struct report *rep, const struct comparison *c, struct doc *d)
{
    if (c != &rep->comparisons[rep->n_comparisons - 1]) { /* the last is the answer */
        doc_paragraph(d, "%s", c->sentence);
        paragraph_of_phrases(d, c->said.support, SAID_MAX);
        paragraph_of_phrases(d, c->forecast, COMPARED_MAX);
        paragraph_of_phrases(d, c->sure[SURE_CAUSE], SAID_MAX);
        paragraph_of_phrases(d, c->sure[SURE_UNKNOWN], SAID_MAX);
    }
    paragraph_of_phrases(d, c->more, COMPARED_MAX);
}

void section_of_why(const struct report *rep, struct doc *d, int level)
{
    if (rep->n_comparisons) {
        section_of_change(rep, d, level);
        return;
    }
    const struct phrase *why = is_split(rep) ? rep->said.support + LEAD_MAX : NULL;
    if (!why && rep->ruled_out[0].id == PHRASE_NONE)
        return;
    doc_heading(d, level, why ? "Why" : "Other causes"); /* all reasons stand below the headline */
    for (int i = 0; why && i < SAID_MAX - LEAD_MAX; i += PARAGRAPH_MAX)
        paragraph_of_phrases(d, why + i,
                             SAID_MAX - LEAD_MAX - i < PARAGRAPH_MAX ? SAID_MAX - LEAD_MAX - i : PARAGRAPH_MAX);
    paragraphs_of_judged(d, rep->ruled_out);
}

/* A paragraph after its label; nothing if the text is empty. */
static void labelled(struct doc *d, const char *label, const char *text)
{
    if (!text || !*text)
        return;
    doc_open(d, DOC_PARAGRAPH);
    doc_strong(d, "%s:", label);
    doc_text(d, " %s", text);
}

void section_of_action(const struct report *rep, struct doc *d, int level)
{
    heading_of(d, level, PHRASE(HEAD_FIRST));
    if (rep->first_of && *rep->first_of)
        labelled(d, rep->first_of, rep->first.text);
    else
        doc_paragraph(d, "%s", rep->first.text);
    if (rep->first_elsewhere && *rep->first_elsewhere) {
        paragraph_of_phrases(d, &PHRASE(ON_CLUSTER), 1);
        doc_command(d, "Submit", rep->first_elsewhere);
    } else if (rep->first_command && *rep->first_command) {
        doc_command(d, rep->is_first_measuring ? "Measure again" : "Try first", rep->first_command);
    }
    labelled(d, "Expected", rep->first.expected);
    labelled(d, "Check", rep->first.check);
    doc_paragraph(d, "%s", rep->first.result ? rep->first.result : "");
    doc_paragraph(d, "%s", rep->first.also ? rep->first.also : "");
}

void list_of_sure(const struct phrase sure[N_SURE_ITEMS][SAID_MAX], int is_comparison, struct doc *d)
{
    doc_list(d, DOC_BULLETS);
    for (int i = 0; i < N_SURE_ITEMS; i++) {
        if (sure[i][0].id == PHRASE_NONE)
            continue;
        doc_open(d, DOC_ITEM);
        doc_strong(d, "%s:", sure_label((enum sure_item)i, is_comparison));
        doc_text(d, " %s", say_phrases(&d->arena, sure[i], SAID_MAX));
    }
}

void section_of_certainty(const struct report *rep, struct doc *d, int level)
{
    heading_of(d, level, PHRASE(HEAD_SURE));
    list_of_sure(rep->sure, rep->n_comparisons > 0, d);
}

void section_of_answer(const struct report *rep, struct doc *d, int level)
{
    doc_open(d, DOC_PARAGRAPH);
    doc_strong(d, "%s", rep->headline);
    section_of_lead(rep, d, level);
    section_of_why(rep, d, level);
    section_of_action(rep, d, level);
    section_of_certainty(rep, d, level);
}

static void paragraph_of_efficiency(const struct run_result *r, enum fact_id name,
                                    void (*put)(const struct run_result *, struct dcr_buf *), struct doc *d)
{
    struct dcr_buf b = {0};
    put(r, &b);
    doc_paragraph(d, "%s ", say_fact_row(name)->name);
    doc_buf(d, &b);
    doc_text(d, ".");
}

void paragraphs_of_efficiency(const struct run_result *r, struct doc *d)
{
    if (r->pop.has)
        paragraph_of_efficiency(r, r->pop.is_of_gpus ? FACT_EFFICIENCY_OF_GPUS : FACT_EFFICIENCY, efficiencies_put, d);
    if (r->pop_host.has && efficiencies_has_host(r))
        paragraph_of_efficiency(r, FACT_EFFICIENCY_OF_HOSTS, efficiencies_put_host, d);
}

void paragraph_of_reason(struct doc *d, const struct reason *why)
{
    doc_paragraph(d, "%s", say_because(&d->arena, why));
}

void mark_reason(struct doc *d, struct marks *m, const struct reason *why)
{
    const char *mark = why->code == REASON_NOT_MEASURED ? "" : say_row(why->code)->mark;
    if (!*mark)
        return;
    doc_text(d, " ");
    doc_code(d, "%s", mark);
    if (!strchr(m->used, *mark))
        m->used[strlen(m->used)] = *mark;
}

void cell_without(struct doc *d, struct marks *m, const struct reason *why)
{
    doc_cell(d, "–");
    mark_reason(d, m, why);
}

void paragraph_of_marks(struct doc *d, const struct marks *m)
{
    doc_open(d, DOC_PARAGRAPH);
    for (const char *c = m->used; *c; c++) {
        const char mark[] = {*c, '\0'};
        doc_text(d, c == m->used ? "" : " ");
        doc_code(d, "%s", mark);
        doc_text(d, ": %s.", say_mark(mark));
    }
}

void text_of_clause(struct doc *d, const struct reason *why)
{
    struct dcr_buf b = {0};
    say_put_clause(&b, why);
    doc_buf(d, &b);
}

void section_of_notes(const struct report *rep, int run, struct doc *d)
{
    for (int i = 0; i < rep->n_notes; i++) {
        const struct note *n = &rep->notes[i];
        if (!note_concerns(n, run))
            continue;
        doc_details(d, n->kind == NOTE_CAVEAT ? "CAVEAT" : "MISSING");
        doc_paragraph(d, "%s", n->text);
        doc_end(d);
    }
}

int is_part_of_any(const struct report *rep, int from, int to, enum part p)
{
    for (int i = from; i < to; i++)
        if (rep->runs[i].has_steps && is_part_known(&rep->runs[i], p))
            return 1;
    return 0;
}

void paragraph_of_missing(struct doc *d, const char *const *names, int n)
{
    if (n)
        paragraph_of_phrases(d, &PHRASE(PARTS_WITHOUT_VALUE, slot_name(say_list(&d->arena, names, n))), 1);
}

struct phrase phrase_of_confidence(const struct run_result *r)
{
    const struct slot level = slot_name(confidence_word(r->confidence));
    return *r->confidence_because ? PHRASE(CONFIDENCE_OF_RUN, level, slot_name(r->confidence_because))
                                  : PHRASE(CONFIDENCE_OF_RUN_ALONE, level);
}

void paragraphs_of_run(const struct run_result *r, struct doc *d)
{
    struct said said = r->said;
    said.where = (struct slot){0}; /* the heading states it */
    doc_paragraph(d, "%s", said.headline.id == PHRASE_NONE ? r->headline : say_headline(&d->arena, &said));
    doc_paragraph(d, "%s", r->support);
    paragraphs_of_judged(d, r->judged);
    const struct phrase sure = phrase_of_confidence(r);
    paragraph_of_phrases(d, &sure, 1);
}

struct phrase phrase_of_counted(const struct run_result *r)
{
    return PHRASE(STEPS_COUNTED, slot_count(r->n_counted), slot_name(steps_source_words(r->steps_source)));
}
