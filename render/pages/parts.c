/* parts.c - what several pages say alike; see parts.h. */
#include "render/pages/parts.h"

#include "render/pages/caveats.h"
#include "render/say/say.h"

#include "render/narrate/efficiencies.h"

void section_of_answer(const struct report *rep, struct doc *d)
{
    doc_open(d, DOC_PARAGRAPH);
    doc_strong(d, "%s", rep->headline);
    doc_paragraph(d, "%s", rep->support);
    doc_paragraph(d, "%s", rep->first_action);
    if (rep->first_command && *rep->first_command) {
        doc_command(d, "Try first", rep->first_command);
        doc_paragraph(d, "%s", rep->first_expected);
    }
    doc_paragraph(d, "%s", rep->how_sure);
}

void text_of_efficiency(const struct run_result *r, struct doc *d)
{
    struct dcr_buf b = {0};
    efficiencies_put(r, &b);
    doc_text(d, "%s%s ", efficiencies_name(r), r->pop.has ? "" : ":");
    doc_buf(d, &b);
}

void text_of_host_efficiency(const struct run_result *r, struct doc *d)
{
    struct dcr_buf b = {0};
    efficiencies_put_host(r, &b);
    doc_text(d, "Parallel efficiency of the hosts%s ", r->pop_host.has ? "" : ":");
    doc_buf(d, &b);
}

void text_of_reason(struct doc *d, const struct reason *why)
{
    struct dcr_buf b = {0};
    say_put_reason(&b, why);
    doc_buf(d, &b);
}

void paragraph_of_reason(struct doc *d, const struct reason *why, const char *end)
{
    doc_open(d, DOC_PARAGRAPH);
    text_of_reason(d, why);
    doc_text(d, "%s", end);
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

void section_of_confidence(const struct run_result *r, struct doc *d)
{
    doc_paragraph(d, "Confidence: %s%s%s.", confidence_word(r->confidence), *r->confidence_because ? ": " : "",
                  r->confidence_because);
}
