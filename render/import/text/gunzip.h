/* gunzip.h - reads a stream that may be gzip-compressed (told by its first bytes, not by its name) as a plain one. It
 * also keeps the beginning, so that the content can be told before it is read. Used by render/import. */
#ifndef RENDER_IMPORT_TEXT_GUNZIP_H
#define RENDER_IMPORT_TEXT_GUNZIP_H

#include "lib/base/stream.h"

struct gunzip;
enum { GUNZIP_HEAD_BYTES = 1 << 16 };

/** gunzip_open - look at the beginning of s.
 *  s        borrows until gunzip_close
 *  out      gives; a plain stream passes through unchanged
 *  errors   DCR_FAIL: compressed data that are damaged before their first byte; those of s */
int gunzip_open(struct gunzip **out, struct dcr_stream *s, struct dcr_err *err) DCR_MUST_CHECK;
/** gunzip_stream - the decompressed stream, from its first byte; name as of s. Members after the first are read on, as
 *  gzip does; a cut or damaged member fails with DCR_FAIL. */
struct dcr_stream gunzip_stream(struct gunzip *g);
/** gunzip_head - the first bytes of the decompressed data (at most GUNZIP_HEAD_BYTES), followed by WINDOW_PAD zeros
 * (json_window.h). borrows */
const char *gunzip_head(const struct gunzip *g, size_t *n);
/** gunzip_is_failed - do the data fail within the head? The stream gives the bytes before, then the failure. */
int gunzip_is_failed(const struct gunzip *g);
/** gunzip_is_compressed - is there anything to decompress? */
int gunzip_is_compressed(const struct gunzip *g);
void gunzip_close(struct gunzip *g);

#endif
