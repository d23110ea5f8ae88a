/* options.h - the command line of dccollect. */
#ifndef COLLECT_OPTIONS_H
#define COLLECT_OPTIONS_H

#include "collect/export/export.h"
#include "collect/pack/pack.h"
#include "lib/base/err.h"

#include <stddef.h>

enum command {
    COMMAND_HELP,
    COMMAND_VERSION,
    COMMAND_RUN,
    COMMAND_PACK,
    COMMAND_VERIFY,
    COMMAND_LS,
    COMMAND_EXPORT,
    COMMAND_ANONYMISE,
    COMMAND_CALIBRATE
};

/* How much of each process's trace is kept. */
enum keep { KEEP_RING, KEEP_ALL, KEEP_SUMMARY };

/* An option that may be repeated. */
struct option_list {
    const char **items;
    size_t n;
};

struct options {
    enum command command;
    const char *output;               /* -o */
    const char *calibration;          /* --calibration */
    const char *spool;                /* --spool, or the folder to pack */
    const char *clock;                /* --clock; NULL = the spool */
    struct option_list adopt, labels; /* labels: "key=value" */
    int emulate_nodes;
    int interval_ms;
    int n_nodes;               /* --nodes; 0 = not given */
    int mpi;                   /* --mpi: 0 = off, 1 = on, -1 = when the program is linked with it */
    int cuda;                  /* --cuda: 0 = off */
    int python;                /* --python: 0 = off */
    int counters;              /* --counters: 0 = off */
    int io;                    /* --io: 0 = off */
    int io_us;                 /* --io-threshold, microseconds */
    int max_mb;                /* --max-mb */
    int keep;                  /* --keep; enum keep */
    int max_disk_mb;           /* --max-disk-mb; 0 = not given */
    int sync_s;                /* --sync-seconds; 0 = off */
    int traces;                /* --traces; enum pack_traces */
    int format;                /* --format of export; enum export_format */
    int is_long;               /* ls -l */
    const char *steps;         /* --steps "A:B", NULL = all */
    double delay_s;            /* --delay */
    double duration_s;         /* --duration; 0 = to the end */
    const char *capture_range; /* --capture-range; NULL = everything */
    char **program;            /* argv of the program, NULL-terminated; or the archives to read */
    int n_program;
};

/** options_parse - borrows argv. errors  DCR_FAIL; the sentence says what to write instead */
int options_parse(struct options *o, int argc, char **argv, struct dcr_err *err) DCR_MUST_CHECK;
void options_release(struct options *o);
extern const char options_usage[];

#endif
