/* documents.c - the list of text documents of a report. */
#include "render/findings/narrate.h"

#include "render/pages/pages.h"
#include "render/write/markdown.h"
#include "render/write/text.h"

#include <string.h>

/* run: -1 = of the report */
static void add(struct report *rep, int run, const char *name, const char *title, struct dcr_buf *b, int *failed)
{
    *failed |= b->failed;
    rep->documents[rep->n_documents++] = (struct document){
        .run = run,
        .name = name,
        .path = run < 0 ? name : report_text(rep, "runs/%s/%s", rep->runs[run].slug, name),
        .title = title,
        .bytes = dcr_arena_strndup(&rep->arena, dcr_buf_text(b), b->failed ? 0 : b->len),
        .len = b->len,
    };
    dcr_buf_clear(b);
}

int documents_make(struct report *rep, struct dcr_err *err)
{
    enum { PER_REPORT = 3, PER_RUN = 2 };
    struct dcr_buf b = {0};
    struct doc d = {0};
    int failed = 0;
    rep->documents =
        dcr_arena_alloc(&rep->arena, (size_t)(PER_REPORT + PER_RUN * rep->n_runs) * sizeof *rep->documents);
    page_of_analysis(rep, &d);
    write_markdown(&d, &b);
    doc_release(&d);
    add(rep, -1, "BOTTLENECK_ANALYSIS.md", "Bottleneck analysis", &b, &failed);
    page_of_summary(rep, &d);
    write_text(&d, &b);
    doc_release(&d);
    add(rep, -1, "bottleneck_summary.txt", "Summary", &b, &failed);
    narrate_report_json(rep, &b);
    add(rep, -1, "report.json", "Every number of this report", &b, &failed);
    for (int i = 0; i < rep->n_runs; i++) {
        const struct run_result *r = &rep->runs[i];
        page_of_profile(rep, r, &d);
        write_text(&d, &b);
        doc_release(&d);
        add(rep, i, "profiling_report.txt", report_text(rep, "%s: profiling report", r->label), &b, &failed);
        narrate_profiling_analysis_json(rep, r, &b);
        add(rep, i, "profiling_analysis.json", report_text(rep, "%s: every number", r->label), &b, &failed);
    }
    dcr_buf_release(&b);
    return failed ? dcr_err_set(err, DCR_FATAL, "out of memory writing the report's documents") : 0;
}
