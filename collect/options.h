/* options.h - the command line of dccollect. */
#ifndef COLLECT_OPTIONS_H
#define COLLECT_OPTIONS_H

#include "lib/err.h"

#include <stddef.h>

enum command { COMMAND_HELP, COMMAND_VERSION, COMMAND_RUN, COMMAND_PACK, COMMAND_VERIFY, COMMAND_LS };

struct options {
    enum command command;
    const char *output; /* -o */
    const char *spool;  /* --spool, or the folder to pack */
    const char **adopt;
    size_t n_adopt;
    const char **labels; /* "key=value" */
    size_t n_labels;
    int emulate_nodes;
    int interval_ms;
    int n_nodes;    /* --nodes; 0 = not given */
    char **program; /* argv of the program, NULL-terminated; or the archives to look at */
    int n_program;
};

/** options_parse - argv is borrowed. errors  DCR_FAIL with what to write instead */
int options_parse(struct options *o, int argc, char **argv, struct dcr_err *err) DCR_MUST_CHECK;
void options_release(struct options *o);
extern const char options_usage[];

#endif
