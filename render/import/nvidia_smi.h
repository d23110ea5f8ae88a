/* nvidia_smi.h - which columns and GPUs a monitor's table has: a log of nvidia-smi, or a table of another monitor.
 * Inside render/import only. */
#ifndef RENDER_IMPORT_NVIDIA_SMI_H
#define RENDER_IMPORT_NVIDIA_SMI_H

#include "lib/base/err.h"
#include "render/import/text/gpu_samples.h"

enum { SMI_MAX_COLUMNS = 64, SMI_MAX_LINE = 4096 };

/* The log as lines; columns that are known. */
struct smi_log {
    char **lines;
    double *t; /* of each line; < 0: none */
    size_t n;
    enum gpu_sample what[SMI_MAX_COLUMNS];
    double factor[SMI_MAX_COLUMNS];        /* of numbers without a unit: "memory.used [GiB]" */
    int gpu[SMI_MAX_COLUMNS];              /* GPU of the column, -1 = that of the row */
    int is_smi;                            /* a name is of nvidia-smi itself */
    int has_gpus;                          /* a column is of a GPU named in its header */
    int is_unitless[SMI_MAX_COLUMNS];      /* its name has no unit */
    double time_factor;                    /* of times that are numbers, to seconds; NAN = not said */
    int is_open;                           /* the last line has no end */
    int n_columns, time_column, id_column; /* -1 = none */
    char *names[SMI_MAX_COLUMNS];          /* of the header, in its line      shape (n_names), 0 without a header */
    int n_names;
    size_t n_behind; /* lines after another header, which are not read */
};

/** smi_record_end - the line feed or the end of text after the record that begins at p; a line feed in quotes belongs
 *  to a cell. */
const char *smi_record_end(const char *p);
/** smi_split - the cells of a line, trimmed in place. cells: shape (SMI_MAX_COLUMNS). returns  how many */
int smi_split(char *line, char **cells);
/** smi_cells_in - the same number, for a line that is not changed. */
int smi_cells_in(const char *line);
/** smi_is_header - are the cells names of columns, one of which is a sample of a GPU? returns  2: a name of nvidia-smi;
 * 1: a name of another monitor; 0: no header */
int smi_is_header(char *const *cells, int n);
/** smi_by_unit - what a value with a unit is a sample of; only the first of its kind in a line counts. seen: counts
 *  them */
enum gpu_sample smi_by_unit(const char *cell, int *seen);

/** smi_by_header - columns and their names by the first line, which is split. In a column whose unit is unknown,
 *  numbers without a unit are no values; left gets the name of such a column. returns  how many */
int smi_by_header(struct smi_log *g, struct samples_left *left);
/** smi_check_units - stop reading columns whose numbers have no unit. unknown: gets their names, shape
 * (SMI_MAX_COLUMNS) */
void smi_check_units(struct smi_log *g, const char **unknown, int *n_unknown);
/** smi_read_times - the times of all lines. Without a column of times, rows with all columns are samples, and add_rows
 *  counts them. */
void smi_read_times(struct smi_log *g);
/** smi_by_first_row - columns of a log without a header, from the first row that has a time.
 *  errors   DCR_FAIL: nothing tells what a column is */
int smi_by_first_row(struct smi_log *g, const char *name, struct dcr_err *err) DCR_MUST_CHECK;
/** smi_burst_length - the number of GPUs in a log that does not identify them. returns  0: bursts of unequal length; 1:
 *  no bursts */
int smi_burst_length(const struct smi_log *g);

#endif
