/* main.c - dcreport: archives in, a report out. The steps of the pipeline and nothing else; see docs/man/dcreport.1. */
#include "render/analyse/analyse.h"
#include "render/narrate/narrate.h"
#include "render/options.h"
#include "render/read/inputs.h"
#include "render/read/read.h"
#include "render/site/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Progress for people: on a terminal only. */
static void say(const struct options *o, const char *what, const char *which)
{
    if (!o->is_quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "dcreport: %s%s%s\n", what, *which ? " " : "", which);
}

/* Reads what was named; what was only found in a folder and cannot be used is left out of `in` and becomes a gap. */
static int read_inputs(const struct options *o, struct inputs *in, struct run **runs, struct dcr_err *err)
{
    size_t n = 0;
    struct dcr_err first = {0}, e;
    const char **left = dcr_arena_alloc(&in->arena, (in->n + 1) * sizeof *left);
    size_t n_left = 0;
    for (size_t i = 0; i < in->n; i++) {
        const struct input *x = &in->list[i];
        say(o, "reading", x->path);
        e = (struct dcr_err){0};
        int rc = x->root ? run_read_files(&runs[n], x->path, x->root, x->names, x->n_names, &e)
                         : run_read(&runs[n], x->path, &e);
        if (rc == 0) {
            in->list[n++] = *x;
            continue;
        }
        if (!x->is_found || rc == DCR_FATAL) {
            *err = e;
            return rc;
        }
        first = n_left ? first : e;
        left[n_left++] = dcr_arena_strdup(&in->arena, e.text);
    }
    in->n = n;
    for (size_t i = 0; n && i < n_left; i++)
        run_add_gap(runs[0], "Left out: %s.", left[i]);
    if (n == 0)
        *err = first;
    return n ? 0 : DCR_FAIL;
}

/* Of what was read, the archives: their traces are read again for the timelines.            returns  how many */
static int archives_of(const struct inputs *in, struct run **runs, const char **paths, struct run **of)
{
    int n = 0;
    for (size_t i = 0; i < in->n; i++)
        if (!in->list[i].root) {
            paths[n] = in->list[i].path;
            of[n++] = runs[i];
        }
    return n;
}

static int settings(const struct options *o, struct analyse_options *out, struct dcr_err *err)
{
    *out = (struct analyse_options){.nodes = o->nodes, .thresholds = thresholds_default()};
    return o->thresholds ? thresholds_read(&out->thresholds, o->thresholds, err) : 0;
}

/* What was found, what is missing, where to look. */
static void conclude(const struct options *o, const struct report *rep)
{
    if (o->is_quiet)
        return;
    if (rep->n_notes > rep->n_gaps)
        printf("Note: %s\n", rep->notes[0].text);
    printf("%s\n", rep->verdict);
    if (rep->n_gaps) {
        printf("%d %s missing:\n", rep->n_gaps, rep->n_gaps == 1 ? "thing is" : "things are");
        for (int i = 0; i < rep->n_notes; i++)
            if (rep->notes[i].kind == NOTE_GAP)
                printf("  %s\n", rep->notes[i].text);
    }
    size_t n = strlen(o->out_dir);
    while (n > 0 && o->out_dir[n - 1] == '/')
        n--;
    printf("Open %.*s/index.html\n", (int)n, o->out_dir);
}

int main(int argc, char **argv)
{
    struct options o;
    struct dcr_err err = {0};
    struct report rep = {0};
    struct inputs inputs = {0};
    struct run **runs = NULL, **archive_runs = NULL;
    const char **archives = NULL;
    struct analyse_options how;
    int rc = options_parse(&o, argc, argv, &err);
    if (rc)
        goto out;
    if (o.is_help || o.is_version) {
        fputs(o.is_help ? options_usage() : "dcreport " DCR_VERSION "\n", stdout);
        return fflush(stdout) ? DCR_EXIT_INPUT : DCR_EXIT_OK;
    }
    if ((rc = inputs_find(&inputs, o.archives, o.n_archives, &err)))
        goto out;
    runs = calloc(inputs.n + 1, sizeof *runs);
    archives = calloc(inputs.n + 1, sizeof *archives);
    archive_runs = calloc(inputs.n + 1, sizeof *archive_runs);
    if (!runs || !archives || !archive_runs) {
        rc = dcr_err_set(&err, DCR_FATAL, "out of memory");
        goto out;
    }
    if ((rc = settings(&o, &how, &err)) || (rc = site_check_out(o.out_dir, &err)) ||
        (rc = read_inputs(&o, &inputs, runs, &err)) || (rc = analyse(&rep, runs, (int)inputs.n, &how, &err)))
        goto out;
    narrate(&rep);
    if ((rc = narrate_documents(&rep, &err)))
        goto out;
    say(&o, "writing", o.out_dir);
    struct site_options site = {.out_dir = o.out_dir,
                                .theme_dir = o.theme_dir,
                                .archives = archives,
                                .runs = archive_runs,
                                .n_archives = archives_of(&inputs, runs, archives, archive_runs)};
    if ((rc = site_publish(&rep, &site, &err)))
        goto out;
    conclude(&o, &rep);
out:
    if (rc)
        fprintf(stderr, "dcreport: %s\n", err.text);
    int status = rc ? DCR_EXIT_INPUT : rep.n_gaps ? DCR_EXIT_GAPS : DCR_EXIT_OK;
    report_free(&rep);
    for (size_t i = 0; runs && i < inputs.n; i++)
        run_free(runs[i]);
    free(runs);
    free(archive_runs);
    free(archives);
    inputs_release(&inputs);
    return status;
}
