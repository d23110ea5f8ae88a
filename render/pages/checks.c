/* checks.c - results of checks; see pages.h. */
#include "render/pages/pages.h"

void page_of_checks(const struct report *rep, const struct checks *c, struct doc *d)
{
    int n_failed = c->n_failed - c->n_unmeasured, n_held = c->n - c->n_failed - c->n_skipped;
    doc_heading(d, 2, "dcreport: ");
    if (n_failed || !c->n_unmeasured)
        doc_text(d, "%d of %d checks %s", n_failed ? n_failed : n_held, c->n, n_failed ? "failed" : "hold");
    if (c->n_unmeasured)
        doc_text(d, "%s%d of %d not measured", n_failed ? ", " : "", c->n_unmeasured, c->n);
    if (c->n_skipped)
        doc_text(d, ", %d not applicable", c->n_skipped);
    doc_paragraph(d, "%s", rep->verdict);
    doc_table(d, "|Check|On|Found");
    for (int i = 0; i < c->n; i++) {
        const struct check *k = &c->list[i];
        doc_row(d);
        doc_open(d, DOC_CELL);
        if (k->holds || k->is_skipped)
            doc_text(d, "%s", k->holds ? "holds" : "not applicable");
        else
            doc_strong(d, "%s", k->is_measured ? "fails" : "not measured");
        doc_cell(d, "%s", k->rule);
        doc_cell(d, "%s", k->on);
        doc_cell(d, "%s: %s", k->what, k->text);
    }
}
