/* text.h - foreign text made fit for people. */
#ifndef DCR_TEXT_H
#define DCR_TEXT_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"

#include <stdio.h>

/** text_clean - a copy of foreign text for one-line output, cut at 4096 bytes. Line feeds and tabs become spaces; bytes
 *  that are not UTF-8 and invisible characters (utf8.h) become "?". NULL gives "". */
const char *text_clean(struct dcr_arena *a, const char *text);
/** text_xml - append text as content or attribute value of XML. & < > " are escaped. Control characters become spaces
 * because XML cannot hold them. text is valid UTF-8. */
void text_xml(struct dcr_buf *out, const char *text);

/** text_print - fprintf for texts that may hold foreign names; cleaned by dcr_clean_text (err.h). */
void text_print(FILE *to, const char *fmt, ...) DCR_PRINTF(2, 3);
/** text_json - append text as a JSON string with its quotes. Any bytes are allowed; invalid UTF-8 and invisible
 *  characters become U+FFFD (utf8_next in utf8.h). */
void text_json(struct dcr_buf *out, const char *text);

#endif
