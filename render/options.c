/* options.c - see options.h. */
#include "render/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

const char *options_usage(void)
{
    return "usage: dcreport ARCHIVE... -o DIR [options]\n"
           "\n"
           "Reads run archives made by dccollect and writes a report one can open: index.html, a page per run,\n"
           "BOTTLENECK_ANALYSIS.md, bottleneck_summary.txt, report.json and charts.\n"
           "\n"
           "  -o, --output DIR        where the report goes; replaced whole if it is a report already\n"
           "  -n, --nodes N           number of nodes of archives that do not say\n"
           "  -t, --thresholds FILE   thresholds of the verdict (docs/thresholds lists them)\n"
           "      --theme DIR         templates and style instead of the default theme\n"
           "  -q, --quiet             print nothing but errors\n"
           "  -h, --help              this text\n"
           "      --version           the version\n"
           "\n"
           "Exit status: 0 report made; 2 bad input or usage, nothing written; 3 report made, with gaps it names.\n";
}

static int parse_nodes(struct options *o, const char *text, struct dcr_err *err)
{
    enum { MAX_NODES = 65535 };
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (end == text || *end || errno || n < 1 || n > MAX_NODES)
        return dcr_err_set(err, DCR_FAIL, "--nodes takes a number from 1 to %d, not '%.60s'", MAX_NODES, text);
    o->nodes = (int)n;
    return 0;
}

int options_parse(struct options *o, int argc, char **argv, struct dcr_err *err)
{
    static const struct option table[] = {{"output", required_argument, NULL, 'o'},
                                          {"nodes", required_argument, NULL, 'n'},
                                          {"thresholds", required_argument, NULL, 't'},
                                          {"theme", required_argument, NULL, 'T'},
                                          {"quiet", no_argument, NULL, 'q'},
                                          {"help", no_argument, NULL, 'h'},
                                          {"version", no_argument, NULL, 'V'},
                                          {NULL, 0, NULL, 0}};
    memset(o, 0, sizeof *o);
    opterr = 0;
    optind = 0; /* start over: tests parse more than once */
    int c, rc = 0;
    while (rc == 0 && (c = getopt_long(argc, argv, ":o:n:t:qh", table, NULL)) != -1) {
        switch (c) {
        case 'o':
            o->out_dir = optarg;
            break;
        case 'n':
            rc = parse_nodes(o, optarg, err);
            break;
        case 't':
            o->thresholds = optarg;
            break;
        case 'T':
            o->theme_dir = optarg;
            break;
        case 'q':
            o->is_quiet = 1;
            break;
        case 'h':
            o->is_help = 1;
            return 0;
        case 'V':
            o->is_version = 1;
            return 0;
        case ':':
            rc = dcr_err_set(err, DCR_FAIL, "option '%s' needs a value; see dcreport --help", argv[optind - 1]);
            break;
        default:
            rc = dcr_err_set(err, DCR_FAIL, "there is no option '%s'; see dcreport --help", argv[optind - 1]);
        }
    }
    if (rc)
        return rc;
    o->archives = argv + optind;
    o->n_archives = argc - optind;
    if (o->n_archives == 0)
        return dcr_err_set(err, DCR_FAIL, "no archive given; usage: dcreport ARCHIVE... -o DIR");
    if (!o->out_dir || !*o->out_dir)
        return dcr_err_set(err, DCR_FAIL, "no output folder given; add -o DIR");
    return 0;
}
