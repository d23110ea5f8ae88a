/* buf.h - a growable byte buffer with a ceiling.
 *
 * Failure (no memory, ceiling reached) is sticky: later calls do nothing, `failed` is set, and the
 * caller checks once at the end. data is always NUL-terminated when len > 0 or after dcr_buf_text. */
#ifndef DCR_BUF_H
#define DCR_BUF_H

#include "lib/base/err.h"

#include <stddef.h>

struct dcr_buf {
    char *data;
    size_t len, cap;
    size_t max; /* ceiling in bytes; 0 = 1 GiB */
    int failed;
};

void dcr_buf_add(struct dcr_buf *b, const void *bytes, size_t n);
void dcr_buf_puts(struct dcr_buf *b, const char *text);
void dcr_buf_putc(struct dcr_buf *b, char c);
/* Numbers are printed in the C locale: no program here calls setlocale(LC_NUMERIC). */
void dcr_buf_printf(struct dcr_buf *b, const char *fmt, ...) DCR_PRINTF(2, 3);
/** dcr_buf_text - the content as a C string ("" when empty or failed). borrows, until the next call. */
const char *dcr_buf_text(struct dcr_buf *b);
/** dcr_buf_clear - len = 0, memory kept. */
void dcr_buf_clear(struct dcr_buf *b);
/** dcr_buf_release - free everything; the struct may be used again. */
void dcr_buf_release(struct dcr_buf *b);

#endif
