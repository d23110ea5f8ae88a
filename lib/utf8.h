/* utf8.h - text from archives is bytes; pictures, pages and terminals need characters. */
#ifndef DCR_UTF8_H
#define DCR_UTF8_H

#include <stddef.h>
#include <stdint.h>

/** utf8_decode - the character that text begins with.
 *  text  not at its end
 *  code  gives; the code point, when there is one
 *  returns  its bytes, 1 to 4; 0: they are no valid UTF-8 (RFC 3629), or one of U+FFFE and U+FFFF */
size_t utf8_decode(const char *text, uint32_t *code);

/** utf8_is_unseen - is it a control character (C0, C1), a format character (Unicode's Cf: what turns the direction of
 *  writing, has no width, tags), or a separator of lines (U+2028, U+2029)? Not to be shown: what is seen would not be
 *  what is there, and a terminal obeys some of them.  source: Unicode 15.1, DerivedGeneralCategory.txt */
int utf8_is_unseen(uint32_t code);

/** utf8_next - the next character of text as valid UTF-8: a byte that begins none, and every character that
 * utf8_is_unseen, becomes U+FFFD.
 *  text  not at its end
 *  out   gives; 1 to 4 bytes and a NUL
 *  code  gives; the code point
 *  returns  bytes of text used, 1 to 4. Test: tests/unit/test_site.c */
size_t utf8_next(const char *text, char out[5], uint32_t *code);

/** utf8_clean - copy text to out by utf8_next, cut between characters when out is too small.
 *  returns  bytes written without the NUL */
size_t utf8_clean(const char *text, char *out, size_t out_size);

/** utf8_mask - clean in place: every byte of what utf8_next would replace becomes '?'.
 *  n      bytes of text
 *  blank  what line feeds, tabs and carriage returns become; 0 = line feeds and tabs stay, carriage returns are '?' */
void utf8_mask(char *text, size_t n, char blank);

#endif
