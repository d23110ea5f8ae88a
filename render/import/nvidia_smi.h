/* nvidia_smi.h - which columns and GPUs a log of nvidia-smi has. Inside render/import only. */
#ifndef RENDER_IMPORT_NVIDIA_SMI_H
#define RENDER_IMPORT_NVIDIA_SMI_H

#include "lib/base/err.h"
#include "render/import/text/gpu_samples.h"

enum { SMI_MAX_COLUMNS = 64, SMI_MAX_LINE = 4096 };

/* The log as lines; columns as far as they are known. */
struct smi_log {
    char **lines;
    double *t; /* of each line; < 0: none */
    size_t n;
    enum gpu_sample what[SMI_MAX_COLUMNS];
    double factor[SMI_MAX_COLUMNS];        /* of numbers without a unit: "memory.used [GiB]" */
    int is_open;                           /* the last line has no end */
    int n_columns, time_column, id_column; /* -1 = none */
    char *names[SMI_MAX_COLUMNS];          /* of the header, in its line      shape (n_names), 0 without a header */
    int n_names;
    size_t n_behind; /* lines behind another header, which are not read */
};

/** smi_split - the cells of a line, trimmed in place. cells: shape (SMI_MAX_COLUMNS). returns  how many */
int smi_split(char *line, char **cells);
/** smi_cells_in - the same number, of a line that stays as it is. */
int smi_cells_in(const char *line);
/** smi_by_name - what a column of that name samples. */
enum gpu_sample smi_by_name(const char *name);
/** smi_by_unit - what a value with a unit samples; the first of its kind in a line only. seen: counts them */
enum gpu_sample smi_by_unit(const char *cell, int *seen);

/** smi_by_header - columns and their names by the first line, which is split. Under a unit that is not known numbers
 * without one of their own are none; left gets the name of such a column. returns  how many */
int smi_by_header(struct smi_log *g, struct samples_left *left);
/** smi_read_times - the times of all lines. Without a column of times rows with all columns are samples; who adds them
 *  counts them. */
void smi_read_times(struct smi_log *g);
/** smi_by_first_row - columns of a log without a header, from the first row that has a time.
 *  errors   DCR_FAIL: nothing tells what a column is */
int smi_by_first_row(struct smi_log *g, const char *name, struct dcr_err *err) DCR_MUST_CHECK;
/** smi_burst_length - how many GPUs a log without any identity is of. returns  0: bursts of unequal length; 1: no
 *  bursts */
int smi_burst_length(const struct smi_log *g);

#endif
