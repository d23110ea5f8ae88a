/* options.c - see options.h. */
#include "render/options.h"

#include "lib/base/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *options_usage(void)
{
    return "usage: dcreport [ARCHIVE...] [-o DIR] [options]\n"
           "       dcreport --baseline OLD.tar... -- NEW.tar... [-o DIR] [options]\n"
           "       dcreport --check RULE... ARCHIVE... [options]\n"
           "\n"
           "Reads run archives made by dccollect and writes a report one can open: index.html, a page per run,\n"
           "BOTTLENECK_ANALYSIS.md, bottleneck_summary.txt, report.json and charts. Without an ARCHIVE it reads\n"
           "results/*.tar.\n"
           "\n"
           "Options:\n"
           "  -o, --output DIR        where the report goes (site); replaced whole if it is a report already\n"
           "  -n, --nodes N           number of nodes of archives that do not say\n"
           "  -t, --thresholds FILE   thresholds of the verdict (docs/thresholds lists them)\n"
           "      --baseline OLD...   compare with the runs before: one archive, or several up to `--`; may be "
           "repeated\n"
           "      --check RULE        exit with 1 unless it holds for every run, as 'exposed_comm<20%'; may be "
           "repeated; no report without -o\n"
           "      --junit FILE        how the checks went as JUnit XML\n"
           "      --summary FILE      how the checks went as Markdown\n"
           "      --theme NAME|DIR    the look: default, paper, or a folder of one's own (docs/themes.md)\n"
           "      --single-file FILE  the whole report once more as one file\n"
           "      --open              open the report with xdg-open when it is written\n"
           "  -q, --quiet             print nothing but errors\n"
           "  -h, --help              show this text\n"
           "      --version           show the version\n"
           "\n"
           "`man dcreport` (in the sources: `man build/man/dcreport.1`) lists the metrics of --check.\n"
           "Exit status: 0 report made, every check holds; 1 a check fails; 2 bad input or usage, nothing written,\n"
           "or --open failed and the report is written; 3 report made, with gaps it names (not with --check).\n";
}

/* Does a word that was taken for an option look like the name of a file, such as "-n.tar"? */
static int is_file(const char *word)
{
    const char *dot = strrchr(word, '.');
    return access(word, F_OK) == 0 || (strncmp(word, "--", 2) != 0 && dot && isalpha((unsigned char)dot[1]));
}

/* word: of the command line in which it stands */
static int parse_nodes(struct options *o, const char *text, const char *word, struct dcr_err *err)
{
    enum { MAX_NODES = 65535 };
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (end == text || *end || errno || n < 1 || n > MAX_NODES)
        return dcr_err_set(err, DCR_FAIL, "--nodes takes a whole number from 1 to %d, not '%.60s'%s", MAX_NODES, text,
                           is_file(word) ? "; put the name of a file after `--`" : "");
    o->nodes = (int)n;
    return 0;
}

static int unknown_option(const char *word, const struct option *table, struct dcr_err *err)
{
    const char *near = nearest_option(word, table);
    if (is_file(word))
        return dcr_err_set(err, DCR_FAIL, "unknown option '%s'; put the name of a file after `--`", word);
    if (near)
        return dcr_err_set(err, DCR_FAIL, "unknown option '%s'; did you mean --%s?", word, near);
    return dcr_err_set(err, DCR_FAIL, "unknown option '%s'; see `dcreport --help`", word);
}

/* Words up to argc. Names that are no options go to the runs before (the baseline), or to the runs. */
static int parse_words(struct options *o, int argc, char **argv, int is_baseline, struct dcr_err *err)
{
    static const struct option table[] = {{"output", required_argument, NULL, 'o'},
                                          {"nodes", required_argument, NULL, 'n'},
                                          {"thresholds", required_argument, NULL, 't'},
                                          {"theme", required_argument, NULL, 'T'},
                                          {"single-file", required_argument, NULL, 'F'},
                                          {"baseline", required_argument, NULL, 'b'},
                                          {"check", required_argument, NULL, 'c'},
                                          {"junit", required_argument, NULL, 'j'},
                                          {"summary", required_argument, NULL, 's'},
                                          {"open", no_argument, NULL, 'O'},
                                          {"quiet", no_argument, NULL, 'q'},
                                          {"help", no_argument, NULL, 'h'},
                                          {"version", no_argument, NULL, 'V'},
                                          {"phrasebook", no_argument, NULL, 'P'}, /* for developers: not in --help */
                                          {NULL, 0, NULL, 0}};
    opterr = 0;
    optind = 0; /* start over */
    int rc = 0;
    while (rc == 0 && !o->is_help && !o->is_version && !o->is_phrasebook) {
        const char *word = argv[optind ? optind : 1]; /* unchanged while the short options of one word are read */
        int c = getopt_long(argc, argv, "-:o:n:t:qh", table, NULL);
        if (c == -1)
            break;
        switch (c) {
        case 1: /* a name between options */
            if (is_baseline && o->n_baseline)
                o->baseline[o->n_baseline++] = optarg;
            else
                o->archives[o->n_archives++] = optarg;
            break;
        case 'b':
            o->baseline[o->n_baseline++] = optarg;
            break;
        case 'c':
            o->checks[o->n_checks++] = optarg;
            break;
        case 'j':
            o->junit = optarg;
            break;
        case 's':
            o->summary = optarg;
            break;
        case 'o':
            o->out_dir = optarg;
            break;
        case 'n':
            rc = parse_nodes(o, optarg, word, err);
            break;
        case 't':
            o->thresholds = optarg;
            break;
        case 'T':
            o->theme_dir = optarg;
            break;
        case 'F':
            o->single_file = optarg;
            break;
        case 'O':
            o->is_open = 1;
            break;
        case 'q':
            o->is_quiet = 1;
            break;
        case 'h':
            o->is_help = 1;
            break;
        case 'V':
            o->is_version = 1;
            break;
        case 'P':
            o->is_phrasebook = 1;
            break;
        case ':':
            rc = dcr_err_set(err, DCR_FAIL, "option '%s' needs a value; see `dcreport --help`", word);
            break;
        default:
            rc = unknown_option(word, table, err);
        }
    }
    for (int i = optind; rc == 0 && i < argc; i++) /* words after -- */
        o->archives[o->n_archives++] = argv[i];
    return rc;
}

/* Position of the `--` that ends `--baseline A B --`: what follows are options and names as before it. 0: there is
 * none. */
static int separator(int argc, char **argv)
{
    int has_baseline = 0;
    for (int i = 1; i < argc; i++) {
        has_baseline |= strncmp(argv[i], "--baseline", 10) == 0;
        if (strcmp(argv[i], "--") == 0)
            return has_baseline ? i : 0;
    }
    return 0;
}

/* `make collect` and slurm/submit write their archives to results/, so a user who names none likely means those. */
static int find_archives(struct options *o, struct dcr_err *err)
{
    int rc = glob("results/*.tar", 0, NULL, &o->found);
    if (rc == GLOB_NOSPACE)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    if (rc)
        return dcr_err_set(
            err, DCR_FAIL,
            "no archive given, and there is no results/*.tar here; name one: `dcreport run.tar -o site/`");
    char **list = realloc(o->archives, (o->found.gl_pathc + 1) * sizeof *list);
    if (!list)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    o->archives = list;
    while (o->n_archives < (int)o->found.gl_pathc) {
        list[o->n_archives] = o->found.gl_pathv[o->n_archives];
        o->n_archives++;
    }
    return 0;
}

int options_parse(struct options *o, int argc, char **argv, struct dcr_err *err)
{
    memset(o, 0, sizeof *o);
    o->archives = calloc((size_t)argc + 1, sizeof *o->archives);
    o->baseline = calloc((size_t)argc + 1, sizeof *o->baseline);
    o->checks = calloc((size_t)argc + 1, sizeof *o->checks);
    if (!o->archives || !o->baseline || !o->checks)
        return dcr_err_set(err, DCR_FATAL, "out of memory");
    int at = separator(argc, argv);
    int rc = parse_words(o, at ? at : argc, argv, at > 0, err);
    if (rc == 0 && at) {
        argv[at] = argv[0]; /* a separate command line */
        rc = parse_words(o, argc - at, argv + at, 0, err);
    }
    if (rc || o->is_help || o->is_version || o->is_phrasebook)
        return rc;
    if (o->n_archives == 0 && o->n_baseline)
        return dcr_err_set(err, DCR_FAIL,
                           "no archive given to compare with the baseline; put the new ones after `--`: "
                           "`dcreport --baseline OLD.tar -- NEW.tar -o DIR`");
    if (o->n_archives == 0 && o->n_checks) /* a check that passes on the wrong archives would mislead */
        return dcr_err_set(err, DCR_FAIL, "no archive given to check; name one: `dcreport --check RULE RUN.tar`");
    if (o->n_archives == 0 && (rc = find_archives(o, err)))
        return rc;
    if ((o->junit || o->summary) && o->n_checks == 0)
        return dcr_err_set(
            err, DCR_FAIL,
            "--junit and --summary write the results of checks; add a check, as in `--check 'exposed_comm<20%%'`");
    if (!o->out_dir && (o->n_checks == 0 || o->is_open))
        o->out_dir = "site";
    return 0;
}

void options_release(struct options *o)
{
    globfree(&o->found);
    free(o->archives);
    free(o->baseline);
    free(o->checks);
    o->archives = o->baseline = NULL;
    o->checks = NULL;
}
