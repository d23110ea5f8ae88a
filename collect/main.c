/* main.c - dccollect: run, pack, verify, ls, export, anonymise. The only file that prints results and chooses the exit
 * status. */
#include "collect/anonymise/anonymise.h"
#include "collect/drain/drain.h"
#include "collect/record/calibrate.h"
#include "collect/pack/ls.h"
#include "collect/run/environment.h"
#include "collect/run/options.h"
#include "collect/pack/pack.h"
#include "collect/run/run.h"
#include "collect/pack/verify.h"
#include "lib/base/outfile.h"
#include "lib/base/progress.h"
#include "lib/base/text.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void complain(const char *sentence)
{
    dcr_say("dccollect", "%s", sentence);
}

/* The closing line of a command. */
static void conclude(const char *sentence)
{
    text_print(stderr, "dccollect: %s\n", sentence);
}

static int end_command(int rc, const char *message, const struct dcr_err *err)
{
    if (rc)
        complain(err->text);
    else
        conclude(message);
    return rc ? DCR_EXIT_INPUT : DCR_EXIT_OK;
}

static int do_run(const struct options *o)
{
    char message[4096];
    int status = DCR_EXIT_SELF;
    struct dcr_err err = {0};
    if (o->output && isatty(STDERR_FILENO)) /* on a terminal only, so that elsewhere only the program's output
                                             * appears */
        text_print(stderr, "dccollect: recording %s; the archive will be %s\n", o->program[0], o->output);
    int rc = run_program(o, message, sizeof message, &status, &err);
    signal(SIGPIPE, SIG_IGN); /* keep the program's status even if nobody reads the closing line */
    if (rc != 0)
        complain(err.text);
    if (message[0])
        conclude(message);
    return status;
}

static int do_pack(const struct options *o)
{
    char message[4096];
    struct dcr_err err = {0};
    struct pack_request request = {.spool = o->spool,
                                   .output = o->output,
                                   .calibration = o->calibration,
                                   .traces = (enum pack_traces)o->traces,
                                   .adopt = o->adopt.items,
                                   .n_adopt = o->adopt.n,
                                   .n_nodes = o->n_nodes,
                                   .emulate_nodes = o->emulate_nodes};
    if (drain_rescue(request.spool, &err) != 0)
        complain(err.text);
    err = (struct dcr_err){0};
    int is_replaced = access(o->output, F_OK) == 0;
    int status = end_command(pack_spool(&request, message, sizeof message, &err), message, &err);
    if (status == DCR_EXIT_OK && is_replaced) /* the spool can be of an older run than that archive was */
        text_print(stderr, "  It replaced the archive that had this name.\n");
    return status;
}

static int list(const char *path, int is_long)
{
    struct dcr_buf text = {0};
    struct dcr_err err = {0};
    int rc = ls_archive(path, is_long, &text, &err);
    if (text.data)
        fputs(dcr_clean_text(text.data), stdout); /* an archive may hold any bytes */
    dcr_buf_release(&text);
    if (rc)
        complain(err.text);
    return rc ? DCR_EXIT_INPUT : DCR_EXIT_OK;
}

static int do_export(const struct options *o)
{
    char message[1024];
    struct dcr_err err = {0};
    int rc = export_archive(o->program[0], o->output, (enum export_format)o->format, message, sizeof message, &err);
    return end_command(rc, message, &err);
}

static int do_anonymise(const struct options *o)
{
    char message[4096];
    struct dcr_buf said = {0};
    struct dcr_err err = {0};
    int rc = anonymise_archive(o->program[0], o->program[1], &said, message, sizeof message, &err);
    if (rc == 0 && said.data)
        fputs(dcr_clean_text(said.data), stdout);
    dcr_buf_release(&said);
    return end_command(rc, message, &err);
}

static int check_archive(const char *path)
{
    char name[PATH_MAX]; /* to print */
    struct verify_report report = {0};
    struct dcr_err err = {0};
    snprintf(name, sizeof name, "%s", path);
    dcr_clean_line(name);
    int rc = verify_archive(path, &report, &err);
    if (rc)
        complain(err.text);
    else if (report.n_problems)
        printf("%s: FAILED, %d problem%s\n%s", name, report.n_problems, report.n_problems == 1 ? "" : "s",
               dcr_buf_text(&report.text));
    else /* The counts are printed by `ls`, and for a run by the closing line. */
        printf("%s: ok, %d members, %d trace%s read to the end%s\n", name, report.n_members, report.n_traces,
               report.n_traces == 1 ? "" : "s", report.is_complete ? "" : ", marked incomplete");
    verify_release(&report);
    return rc ? DCR_EXIT_INPUT : report.n_problems ? DCR_EXIT_CHECK : DCR_EXIT_OK;
}

static int look_at_all(const struct options *o)
{
    int worst = DCR_EXIT_OK;
    for (int i = 0; i < o->n_program; i++) {
        int status = o->command == COMMAND_LS ? list(o->program[i], o->is_long) : check_archive(o->program[i]);
        worst = status > worst ? status : worst;
    }
    return worst;
}

int main(int argc, char **argv)
{
    struct options o;
    struct dcr_err err = {0};
    int status = DCR_EXIT_OK;
    dcr_hold_standard_streams();
    if (options_parse(&o, argc, argv, &err) != 0) {
        complain(err.text);
        status = argc > 1 && strcmp(argv[1], "run") == 0 ? DCR_EXIT_SELF : DCR_EXIT_INPUT;
        goto out;
    }
    if (o.command != COMMAND_RUN) { /* for run, the terminal and the signals belong to the program until it ends */
        progress_allow("dccollect");
        signal(SIGXFSZ, SIG_IGN); /* exceeding the limit of a file's size becomes an ordinary error */
    }
    switch (o.command) {
    case COMMAND_RUN:
        status = do_run(&o);
        break;
    case COMMAND_PACK:
        status = do_pack(&o);
        break;
    case COMMAND_EXPORT:
        status = do_export(&o);
        break;
    case COMMAND_VERIFY:
    case COMMAND_LS:
        status = look_at_all(&o);
        break;
    case COMMAND_ANONYMISE:
        status = do_anonymise(&o);
        break;
    case COMMAND_CALIBRATE:
        status = DCR_EXIT_INPUT;
        environment_set_waits();
        if (calibrate_start(o.program - 1, &err) != 0)
            complain(err.text);
        break;
    case COMMAND_VERSION:
        printf("dccollect %s\n", DCR_VERSION);
        break;
    case COMMAND_HELP:
        fputs(options_usage, stdout);
        break;
    }
    if (dcr_flush_standard_output(&err) != 0 && status == DCR_EXIT_OK) {
        complain(err.text);
        status = DCR_EXIT_INPUT;
    }
out:
    options_release(&o);
    return status;
}
