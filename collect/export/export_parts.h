/* export_parts.h - between export.c and the two formats. */
#ifndef COLLECT_EXPORT_PARTS_H
#define COLLECT_EXPORT_PARTS_H

#include "lib/base/buf.h"
#include "lib/archive/clocks.h"
#include "lib/trace/trace.h"

#include <stdio.h>

struct export_writer {
    FILE *out;
    struct dcr_buf line, payload, cell; /* cell: result of export_text */
    struct dct_info info;               /* of the current trace; rank from the archive */
    struct dcr_host host;               /* host of the recording */
    struct dcr_hosts hosts;
    int64_t base_ns; /* Unix nanoseconds that are zero in the Chrome format */
    uint64_t n_events, n_traces, n_files, n_unreadable;
    uint64_t *tracks; /* seen in this trace: a thread's id, or above 2^32 a GPU's stream */
    size_t n_tracks, cap_tracks;
};

struct export_style {
    void (*begin)(struct export_writer *w);
    void (*event)(struct export_writer *w, const struct dct_event *e); /* w->payload holds its raw payload as text */
    void (*gpu)(struct export_writer *w, const struct dct_gpu_event *e);
    /* These may be NULL. */
    void (*trace)(struct export_writer *w);                                    /* a new trace begins */
    void (*thread)(struct export_writer *w, uint64_t track, const char *name); /* "" = none */
    void (*end)(struct export_writer *w);
};
extern const struct export_style export_chrome, export_csv;

/** export_text - foreign text fit for a line (lib/base/text.h), whole. borrows, until the next call. */
const char *export_text(struct export_writer *w, const char *text);
/** export_line - write the line that is ready. */
void export_line(struct export_writer *w);
extern const char *const export_gpu_kinds[DCT_N_GPU];
/** export_note_track - remember a track, each once. */
void export_note_track(struct export_writer *w, uint64_t track);

#endif
