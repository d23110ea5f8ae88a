/* utf8.h - decodes and cleans text from archives, which is only bytes, for pictures, pages and terminals, which need
 * characters. */
#ifndef DCR_UTF8_H
#define DCR_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Invisible characters are never shown, because a reader cannot see them and a terminal obeys some of them. They are
 * controls (C0, C1), formats (Unicode's Cf: writing direction, zero width, tags), and line separators (U+2028,
 * U+2029). */

/** utf8_next - the next character of text as valid UTF-8 (RFC 3629). Invalid bytes and invisible characters become
 * U+FFFD.
 *  text     not empty
 *  out      gives; 1 to 4 bytes and a NUL
 *  code     gives; the code point
 *  returns  bytes of text used, 1 to 4. Test: tests/unit/test_site.c */
size_t utf8_next(const char *text, char out[5], uint32_t *code);

/** utf8_clean - copy text to out by utf8_next; if out is too small, the copy is cut between characters.
 *  returns  bytes written without the NUL */
size_t utf8_clean(const char *text, char *out, size_t out_size);

/** utf8_mask - clean in place: each byte that utf8_next would replace becomes '?'.
 *  n      bytes of text
 *  blank  replaces line feeds, tabs and carriage returns; 0 = line feeds and tabs stay, carriage returns become '?' */
void utf8_mask(char *text, size_t n, char blank);

/** utf8_mark - bytes of the byte-order mark with which some programs begin a text file.
 *  n        bytes of text
 *  returns  3; 0: text begins otherwise */
size_t utf8_mark(const char *text, size_t n);

#endif
