/* main.c - dcreport: archives in, a report out. The steps of the pipeline and nothing else; see `man dcreport`. */
#include "lib/base/fs.h"
#include "lib/base/outfile.h"
#include "lib/base/progress.h"
#include "lib/base/text.h"
#include "render/findings/rules/analyse.h"
#include "render/findings/rules/compare.h"
#include "render/findings/checks.h"
#include "render/findings/changes_said.h"
#include "render/findings/compare_doc.h"
#include "render/findings/narrate.h"
#include "render/pages/pages.h"
#include "render/options.h"
#include "render/outputs.h"
#include "render/read/evidence.h"
#include "render/say/say.h"
#include "render/site/site.h"
#include "render/write/markdown.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Says which archives were found, because none was named. */
static void say_found(const struct options *o)
{
    enum { SHOWN = 4 };
    if (o->is_quiet || o->found.gl_pathc == 0)
        return;
    int n = o->n_archives > SHOWN + 1 ? SHOWN : o->n_archives;
    for (int i = 0; i < n; i++)
        text_print(stdout, "%s%s", i ? ", " : "No archive was named. Reading ", o->archives[i]);
    if (n < o->n_archives)
        printf(" and %d more", o->n_archives - n);
    text_print(stdout, ". Writing %s.\n", o->out_dir);
}

static int settings(const struct options *o, struct analyse_options *out, struct dcr_err *err)
{
    *out = (struct analyse_options){.nodes = o->nodes, .thresholds = thresholds_default()};
    return o->thresholds ? thresholds_read(&out->thresholds, o->thresholds, err) : 0;
}

/* Analyses and narrates the baseline, takes what the comparison needs, and frees the rest. */
static int compare_with(struct report *rep, const struct options *o, const struct analyse_options *how,
                        struct dcr_err *err)
{
    struct evidence old = {0};
    struct report before = {0};
    int rc = evidence_read(&old, o->baseline, o->n_baseline, 1, err);
    if (rc == 0)
        rc = analyse(&before, old.runs, (int)old.inputs.n,
                     &(struct analyse_options){.nodes = how->nodes, .thresholds = how->thresholds}, err);
    if (rc == 0) {
        narrate(&before);
        rep->baseline = "";
        rep->before = dcr_arena_alloc(&rep->arena, (old.inputs.n + 1) * sizeof *rep->before);
        for (size_t i = 0; i < old.inputs.n; i++) {
            rep->baseline = report_text(rep, "%s%s%s", rep->baseline, i ? ", " : "", old.runs[i]->archive);
            rep->before[rep->n_before++] = report_source(&rep->arena, old.runs[i]);
        }
        for (size_t i = 0; i < old.n_left_out; i++)
            report_add_note(rep, NOTE_GAP, -1, NOTE_LEFT_OUT_FILE,
                            PHRASE(LEFT_OUT_OF_BASELINE, slot_name(old.left_out[i])));
        for (size_t i = 0; i < old.n_copies; i++)
            report_add_note(rep, NOTE_CAVEAT, -1, NOTE_COPY, PHRASE(USED_ONCE_OF_BASELINE, slot_name(old.copies[i])));
        report_drop_note(rep, NOTE_ONE_NODE_COUNT); /* the user asked for before and after */
        int n_compared = compare(rep, &before);
        changes_of_report(rep, &before);
        if (n_compared <= 0 && !rep->changes)
            report_add_note(rep, NOTE_GAP, -1, NOTE_NO_COMPARISON,
                            PHRASE(NO_COMPARISON, slot_reason(&rep->no_comparison)), said_no_changes(rep));
        narrate_comparisons(rep);
        narrate_changes(rep);
    }
    report_free(&before);
    evidence_release(&old);
    return rc;
}

/* The words of a gap after the name of its run: ": No steps were recorded ..."; NULL: it is not about one run. */
static const char *lack_of(const struct note *gap)
{
    return gap->kind == NOTE_GAP && gap->run >= 0 ? strstr(gap->text, ": ") : NULL;
}

static int is_same_lack(const struct note *a, const struct note *b)
{
    const char *x = lack_of(a), *y = lack_of(b);
    return x && y && strcmp(x, y) == 0;
}

/* Prints what is missing. Runs that lack the same share a line: "3 runs: No steps were recorded ..." */
static void print_gaps(const struct report *rep)
{
    puts("Missing:");
    for (int i = 0; i < rep->n_notes; i++) {
        const struct note *gap = &rep->notes[i];
        int is_printed = gap->kind != NOTE_GAP, n_runs = 1;
        for (int k = 0; k < i && !is_printed; k++)
            is_printed = is_same_lack(gap, &rep->notes[k]);
        if (is_printed)
            continue;
        for (int k = i + 1; k < rep->n_notes; k++)
            n_runs += is_same_lack(gap, &rep->notes[k]);
        if (n_runs > 1)
            text_print(stdout, "  %d runs%s\n", n_runs, lack_of(gap));
        else
            text_print(stdout, "  %s\n", gap->text);
    }
}

/* Prints the findings, the gaps, and where the report is. */
static void conclude(const struct options *o, const struct report *rep)
{
    if (o->is_quiet)
        return;
    text_print(stdout, "%s\n", rep->verdict);
    const char *expected = rep->first_claim >= 0 ? rep->claims[rep->first_claim].expected : "";
    if (*rep->first_command)
        text_print(stdout, "%s: %s\n%s%s",
                   rep->is_first_measuring ? "Measure again while nothing else runs" : "Try first", rep->first_command,
                   expected, *expected ? "\n" : "");
    for (int i = 0; i < rep->n_notes; i++) /* the first note, and each note about all runs */
        if (rep->notes[i].kind == NOTE_CAVEAT && (i == 0 || rep->notes[i].run < 0))
            text_print(stdout, "Note: %s\n", rep->notes[i].text);
    if (rep->n_gaps)
        print_gaps(rep);
    size_t n = o->out_dir ? strlen(o->out_dir) : 0;
    while (n > 0 && o->out_dir[n - 1] == '/')
        n--;
    if (o->out_dir)
        text_print(stdout, "Open %.*s/index.html\n", (int)n, o->out_dir);
}

static int write_document(const char *path, struct dcr_buf *b, struct dcr_err *err)
{
    int rc =
        b->failed ? dcr_err_set(err, DCR_FATAL, "out of memory") : dcr_write_file(path, dcr_buf_text(b), b->len, err);
    dcr_buf_clear(b);
    return rc;
}

/* Prints and writes the checks. A failure is printed even with --quiet. */
static int check(struct report *rep, const struct options *o, struct checks *out, struct dcr_err *err)
{
    struct dcr_buf b = {0};
    struct doc d = {0};
    int rc = checks_run(rep, o->checks, o->n_checks, out, err);
    for (int i = 0; rc == 0 && i < out->n; i++) {
        const struct check *c = &out->list[i];
        if (!(c->holds || c->is_skipped) || !o->is_quiet)
            text_print(stdout, "%s: %s on %s: %s\n",
                       c->holds         ? "holds"
                       : c->is_skipped  ? "not applicable"
                       : c->is_measured ? "FAILS"
                                        : "not measured",
                       c->rule, c->on, c->text);
    }
    if (rc == 0 && o->junit) {
        checks_junit(out, &b);
        rc = write_document(o->junit, &b, err);
    }
    if (rc == 0 && o->summary) {
        page_of_checks(rep, out, &d);
        write_markdown(&d, &b);
        dcr_buf_putc(&b, '\n'); /* more Markdown may follow, for instance in the summary of a CI step */
        doc_release(&d);
        rc = write_document(o->summary, &b, err);
    }
    dcr_buf_release(&b);
    return rc;
}

/* The timelines of the site take what they need while the runs are read. Where something depends on all that was named
 * (a check that holds, a change), all of it must be there. */
static int read_runs(struct evidence *e, const struct options *o, struct dcr_err *err)
{
    run_watch(o->out_dir ? site_watch() : NULL);
    int is_strict = o->n_checks > 0 || o->n_baseline > 0;
    int rc = evidence_read(e, o->archives, o->n_archives, is_strict, err);
    run_watch(NULL);
    return rc;
}

/* The report lists these files too, but a user who expects more of one should learn it at once. */
static void say_passed(const struct options *o, const struct evidence *e)
{
    if (o->is_quiet || !e->n_passed)
        return;
    char more[40] = " is";
    if (e->n_passed > 1)
        snprintf(more, sizeof more, " and %zu more are", e->n_passed - 1);
    dcr_say("dcreport", "'%.200s'%s left out: no archive of a run and no file of a known tool; see `man dcreport`",
            e->passed, more);
}

static int publish(struct report *rep, const struct options *o, const struct evidence *e, struct dcr_err *err)
{
    int rc = documents_make(rep, err);
    if (rc)
        return rc;
    struct site_options site = {.out_dir = o->out_dir,
                                .theme_dir = o->theme_dir,
                                .single_file = o->single_file,
                                .inputs = e->inputs.list,
                                .runs = e->runs,
                                .n_inputs = (int)e->inputs.n};
    progress_begin("writing the report", 0, 0);
    rc = site_publish(rep, &site, err);
    progress_end();
    return rc;
}

/* Checks before the long work that the report and its extra files can be written. */
static int check_places(const struct options *o, struct dcr_err *err)
{
    const char *const beside[][2] = {
        {"--single-file", o->single_file}, {"--junit", o->junit}, {"--summary", o->summary}};
    int rc = o->out_dir ? site_check_out(o->out_dir, err) : 0;
    for (size_t i = 0; rc == 0 && o->out_dir && i < sizeof beside / sizeof *beside; i++)
        if (beside[i][1])
            rc = site_check_outside(o->out_dir, beside[i][0], beside[i][1], err);
    return rc ? rc : outputs_check(o, err);
}

static void print_phrasebook(void)
{
    struct dcr_buf b = {0};
    say_phrasebook(&b);
    fputs(dcr_buf_text(&b), stdout);
    dcr_buf_release(&b);
}

int main(int argc, char **argv)
{
    struct options o;
    struct dcr_err err = {0};
    struct report rep = {0};
    struct evidence evidence = {0};
    struct checks checks = {0};
    struct analyse_options how;
    dcr_hold_standard_streams();
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the file size limit then fails with an error */
    int rc = options_parse(&o, argc, argv, &err);
    if (rc)
        goto out;
    if (o.is_phrasebook)
        print_phrasebook();
    if (o.is_help || o.is_version)
        fputs(o.is_help ? options_usage() : "dcreport " DCR_VERSION "\n", stdout);
    if (o.is_help || o.is_version || o.is_phrasebook) {
        rc = dcr_flush_standard_output(&err);
        goto out;
    }
    if (!o.is_quiet)
        progress_allow("dcreport");
    say_found(&o);
    if ((rc = checks_parse(o.checks, o.n_checks, &err)) || (rc = check_places(&o, &err)) ||
        (rc = settings(&o, &how, &err)) || (rc = read_runs(&evidence, &o, &err)))
        goto out;
    say_passed(&o, &evidence);
    how.left_out = evidence.left_out;
    how.n_left_out = evidence.n_left_out;
    how.copies = evidence.copies;
    how.n_copies = evidence.n_copies;
    how.none = evidence.none;
    how.n_none = evidence.n_none;
    if ((rc = analyse(&rep, evidence.runs, (int)evidence.inputs.n, &how, &err)))
        goto out;
    narrate(&rep);
    if ((o.n_baseline && (rc = compare_with(&rep, &o, &how, &err))) ||
        (o.out_dir && (rc = publish(&rep, &o, &evidence, &err))))
        goto out;
    conclude(&o, &rep);
    if (o.n_checks)
        rc = check(&rep, &o, &checks, &err);
    if (rc == 0)
        rc = dcr_flush_standard_output(&err);
    if (rc == 0 && o.is_open)
        rc = outputs_open(o.out_dir, &err);
out:
    if (rc)
        dcr_say("dcreport", "%s", err.text);
    int status = rc           ? DCR_EXIT_INPUT
                 : o.n_checks ? (checks.n_failed ? DCR_EXIT_CHECK : DCR_EXIT_OK)
                 : rep.n_gaps ? DCR_EXIT_GAPS
                              : DCR_EXIT_OK;
    report_free(&rep);
    evidence_release(&evidence);
    options_release(&o);
    return status;
}
