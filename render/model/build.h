/* build.h - growing a run while its archive is read. Used by render/read only. */
#ifndef RENDER_MODEL_BUILD_H
#define RENDER_MODEL_BUILD_H

#include "lib/reduce/summary.h"
#include "lib/base/text.h"
#include "render/model/run.h"

/* Largest rank and node number accepted from an archive, to limit the memory that a false number can take. */
enum { RUN_MAX_RANK = 65535, RUN_MAX_NODE = 65535 };

/** run_text - text_clean into the run's arena. */
const char *run_text(struct run *r, const char *text);

/** run_new - an empty run with everything unknown. gives; free with run_free. */
struct run *run_new(const char *archive_path);
/** run_rank_at / run_node_at - the entry of that number, made when it is new; NULL when the number is out of range.
 *  Pointers are valid until the next call that adds an entry. */
struct run_rank *run_rank_at(struct run *r, int64_t rank);
struct run_node *run_node_at(struct run *r, int64_t node);
/** run_take_steps - give the steps of a reduced trace to the rank; arrays are borrowed. Steps whose numbers do not
 *  ascend are renumbered. */
void run_take_steps(struct run_rank *k, const struct reduced *from);
/** run_number_steps - if the steps of one rank had to be renumbered, renumber those of all ranks, because ranks are
 *  matched by step number. Call once, when all ranks have their steps. */
void run_number_steps(struct run *r);
/** run_is_mpi_frame - is it MPI_Init, MPI_Init_thread or MPI_Finalize? Every program calls these once; they are not
 *  communication. */
int run_is_mpi_frame(const char *name);
/** run_observe_mpi / run_observe_file - add calls to the run's tables; kind DCT_IO_*. Names are copied. */
void run_observe_mpi(struct run *r, const char *name, const struct dct_io *calls);
/** run_observe_before - add a collective to the rank's table. Names are copied. */
void run_observe_before(struct run *r, struct run_rank *k, const struct run_rank_call *call);
void run_observe_file(struct run *r, const char *name, int kind, const struct dct_io *calls);
/** run_add_ranges - adds the ranges that the program named to those of the run, by name. Texts are borrowed from the
 *  run's arena. */
void run_add_ranges(struct run *r, const struct summary *from);
/** run_sort_ranges - sorts them by self time, longest first. */
void run_sort_ranges(struct run *r);
/** run_sort_observed - sorts them into their documented order. */
void run_sort_observed(struct run *r);

/** run_add_trace - keep the results of a foreign trace; arrays are borrowed from the run's arena. */
void run_add_trace(struct run *r, const struct foreign_trace *t);
/** run_take_trace_steps - steps that traces of other tools mark become those of their ranks, if the run has no other
 *  steps and one trace for each rank; else a gap says why not. */
void run_take_trace_steps(struct run *r);
/** run_add_table - a table of a foreign file, empty. columns: as in struct foreign_table; texts are borrowed.
 *  returns  borrows, until the next call */
struct foreign_table *run_add_table(struct run *r, const char *file, enum foreign_kind kind, const char *caption,
                                    const char *columns);
/** table_add - the next cell, row by row; rows beyond FOREIGN_MAX_ROWS are counted but not kept. */
void table_add(struct run *r, struct foreign_table *t, const char *fmt, ...) DCR_PRINTF(3, 4);
/** run_sort_traces - traces and tables by file name. */
void run_sort_traces(struct run *r);

/** run_settle - set counts without a table to 0, so that code that walks through a run need not check. A run that was
 *  read has both. A run made by hand, or by a reader that gave up half-way, may lack the table. */
void run_settle(struct run *r);
/** run_sort - ranks, nodes and pairs into their documented order. */
void run_sort(struct run *r);

/** sampled_add - one sample: t in seconds on the file's clock. */
void sampled_add(struct run *r, struct sampled *s, double t, double value);

#endif
