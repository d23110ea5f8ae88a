/* codelines.h - which line of a program a thread was in: the innermost frame outside of libraries, and the innermost
 * torch.nn.Module. A thread without a frame at an instant, as that of the backward pass, is replaced by the thread with
 * most frames, because that one called it. Inside render/device only. source: docs/metrics.md#lines-of-code.
 * Test: tests/unit/test_code_lines.c */
#ifndef RENDER_DEVICE_CODELINES_H
#define RENDER_DEVICE_CODELINES_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "render/model/foreign.h"

struct code_log;

/** code_log_new - max_bytes: of frames in memory. gives; free with code_log_free. NULL: out of memory */
struct code_log *code_log_new(size_t max_bytes);
/** code_log_add - a frame or a module, by its name in the trace; thread: of any numbering. */
void code_log_add(struct code_log *l, int64_t thread, const char *name, size_t len, int64_t start_ns, int64_t end_ns);
/** code_log_settle - all frames are in.   errors   DCR_FATAL: no memory or no temporary file */
int code_log_settle(struct code_log *l, struct dcr_err *err) DCR_MUST_CHECK;
/** code_log_busiest - the thread with most frames. After code_log_settle */
int64_t code_log_busiest(const struct code_log *l);
/** code_log_spend - adds [from, to), in which a GPU idled because the host was late; thread: the one that launched the
 *  GPU's next work. Without a GPU: adds time that no operator covers; thread: the busiest. After code_log_settle */
void code_log_spend(struct code_log *l, int64_t thread, int64_t from, int64_t to);
/** code_log_at - number of the line at an instant, for code_log_line; -1 = none. */
int64_t code_log_at(struct code_log *l, int64_t thread, int64_t t_ns);
/** code_log_line - the line of that number. Texts: in the arena */
struct code_line code_log_line(const struct code_log *l, int64_t at, struct dcr_arena *arena);
/** code_log_finish - the lines with idle time, longest first; texts and array in arena. */
void code_log_finish(struct code_log *l, struct dcr_arena *arena, struct code_lines *out);
void code_log_free(struct code_log *l);

#endif
