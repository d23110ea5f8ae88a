/* source.h - a source of samples is a small table of functions. To add one: write source_<name>.c (source_disk.c is the
 * shortest to copy), list it in source_all(). The sampler calls all of them from one thread.
 *
 * sample() returns its error. A value that cannot be read is an empty cell and a reason, never 0. */
#ifndef COLLECT_SOURCE_H
#define COLLECT_SOURCE_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stdint.h>
#include <sys/types.h>

struct outputs;
struct perf;

/* Both clocks, read together before the sources are asked. */
struct tick {
    int64_t mono_ns;
    int64_t real_ms;
    int is_last; /* the program has ended */
};

struct source_config {
    const char *host_dir;     /* folder of this host below the spool, "host-node1"; NULL: do not sample the host */
    int rank;                 /* of this collector's program; -1: ranks are found among its descendants */
    pid_t pid;                /* the program */
    const char *clock_folder; /* folder in which the collector of rank 0 writes its address for clients; NULL: there is
                               * only one collector */
    const char *spool;        /* where ranks without a launcher leave their links */
    const struct perf *perf;  /* its performance counters, or NULL */
    /* For tests, else NULL: a folder that replaces / for /proc and /sys of the network and of the memory controllers,
     * and what opens their counters */
    const char *root;
    int (*open_counter)(uint32_t type, uint64_t config, int cpu);
};

struct source {
    const char *name;   /* key in the metadata's "monitors" */
    const char *header; /* of <host_dir>/<name>_monitor.csv, as for outputs_rows, which is sampled once per host; NULL:
                         * it is sampled once per collector and writes its own files */
    size_t ctx_bytes;   /* size of its context, which is zero at first */
    /* DCR_FAIL: the source is absent, the sentence says why */
    int (*configure)(void *ctx, const struct source_config *config, struct dcr_err *err);
    /* append rows to an empty buffer. DCR_WARN: some of their cells are empty; DCR_FAIL: no row; DCR_END: nothing was
     * due. out: for a source without a header */
    int (*sample)(void *ctx, const struct tick *now, struct dcr_buf *rows, struct outputs *out, struct dcr_err *err);
    void (*destroy)(void *ctx); /* also after configure has failed */
    /* nothing happened since the previous sample, so the next one may come later. NULL: samples come at the interval */
    int (*is_idle)(const void *ctx);
    int least_gap_ms; /* least time between two samples, whatever the interval; 0: none */
};

extern const struct source source_cpu, source_memory, source_disk, source_net, source_gpu, source_process, source_clock;
/** source_all - the sources in a fixed order, NULL at the end. */
const struct source *const *source_all(void);
/** source_configure - gives a context for source_sample; source_destroy. NULL: the source is absent, err says why */
void *source_configure(const struct source *s, const struct source_config *config, struct dcr_err *err);
/** source_sample - one sample, whose rows go to its file. returns  as sample */
int source_sample(const struct source *s, void *ctx, const struct tick *now, struct outputs *out, struct dcr_err *err);
void source_destroy(const struct source *s, void *ctx);

/* ---- where rows go ---------------------------------------------------------------------------- */

/** outputs_open - files are created below the spool folder with their first row. A file that reaches 16 MB is thinned
 * (thin.h): its older half becomes a quarter. host_dir: of struct source_config. gives; outputs_close. */
struct outputs *outputs_open(const char *spool, const char *host_dir);
/** outputs_bound - set a limit other than 16 MB, for tests. */
void outputs_bound(struct outputs *o, size_t bytes);
/** outputs_rows - append rows (each with its newline) to the file of that relative name, header first when it is new.
 *  header   names, each followed by a comma (SOURCE_CELL)
 *  errors   DCR_FAIL: the rows cannot be written. The file then ends with the previous row, and later rows are refused
 *           at once */
int outputs_rows(struct outputs *o, const char *name, const char *header, const char *rows, size_t n,
                 struct dcr_err *err) DCR_MUST_CHECK;
void outputs_close(struct outputs *o);

/* ---- cells ------------------------------------------------------------------------------------ */

/* A header from an X-macro of lib/archive/format.h: X("a","s") X("b","s") gives "a,b,". */
#define SOURCE_CELL(name, unit) name ","
void cell_time(struct dcr_buf *row, const struct tick *now); /* "1700000000.123," */
void cell_int(struct dcr_buf *row, int64_t value);           /* "42," */
void cell_unsigned(struct dcr_buf *row, uint64_t value);
/** cell_if, cell_real_if - an empty cell when the value is not known. */
void cell_if(struct dcr_buf *row, int is_known, uint64_t value);
void cell_real_if(struct dcr_buf *row, int is_known, double value, int digits);
void cell_text(struct dcr_buf *row, const char *text);
/** cell_end - the last comma becomes the end of the line. */
void cell_end(struct dcr_buf *row);

#endif
