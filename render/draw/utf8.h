/* utf8.h - text from archives is bytes; pictures and pages need characters. */
#ifndef DCR_DRAW_UTF8_H
#define DCR_DRAW_UTF8_H

#include <stddef.h>
#include <stdint.h>

/** utf8_next - the next character of text as valid UTF-8: a byte that begins none (RFC 3629), every control character
 * of C0 and C1, and every one that turns the direction of text (U+202A to U+202E, U+2066 to U+2069), becomes U+FFFD.
 *  text  not at its end
 *  out   gives; 1 to 4 bytes and a NUL
 *  code  gives; the code point
 *  returns  bytes of text used, 1 to 4. Test: tests/unit/test_site.c */
size_t utf8_next(const char *text, char out[5], uint32_t *code);

/** utf8_clean - copy text to out by utf8_next, cut between characters when out is too small.
 *  returns  bytes written without the NUL */
size_t utf8_clean(const char *text, char *out, size_t out_size);

#endif
