/* columns.h - what a column of a monitor's table holds, by its name: "utilization.gpu [%]", "gpu0_mem_MB", "GPU 1 power
 * (W)". Inside render/import only. Test: tests/unit/test_smi.c */
#ifndef RENDER_IMPORT_TEXT_COLUMNS_H
#define RENDER_IMPORT_TEXT_COLUMNS_H

#include "render/import/text/gpu_samples.h"

enum column_kind {
    COLUMN_OTHER = 0,
    COLUMN_TIME,
    COLUMN_EPOCH, /* "epoch": Unix seconds or the epoch of a training; its values tell which */
    COLUMN_SAMPLE,
    COLUMN_INDEX, /* the number of the GPU of a row */
    COLUMN_NAME,  /* its uuid, or the address on its bus */
};

struct column {
    enum column_kind kind;
    enum gpu_sample what; /* of COLUMN_SAMPLE */
    int gpu;              /* in the name, -1 = none */
    int is_bare;          /* the name does not mention a GPU */
    int is_smi;           /* a name of nvidia-smi itself */
    double factor; /* of numbers without a unit; for times, to seconds. NAN: the name has no unit, or an unknown one */
    int has_unit;
};

/** column_of - the first n bytes of a name, as it stands in the header. */
struct column column_of(const char *name);

/** column_words - names that are understood, for a sentence. */
#define COLUMN_TIME_WORDS "time, timestamp or date"
#define COLUMN_SAMPLE_WORDS "gpu_util [%], gpu_mem [MiB], gpu_power [W] or gpu_temp [C]"

#endif
