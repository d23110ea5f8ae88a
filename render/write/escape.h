/* escape.h - all escaping of the site: one function per context. Bytes that are not UTF-8 and control characters become
 * U+FFFD, so that content of an archive is always shown as text. */
#ifndef RENDER_WRITE_ESCAPE_H
#define RENDER_WRITE_ESCAPE_H

#include "lib/base/buf.h"

/** html_text - between tags or inside a quoted attribute value: & < > " ' are escaped; line breaks and tabs stay. */
void html_text(struct dcr_buf *out, const char *text);
/** html_prose - a sentence of the report: as html_text, program options ("--batch") set as code that does not
 * break, and no break between a number and its unit. */
void html_prose(struct dcr_buf *out, const char *text);
/** html_url - a relative link: everything but letters, digits and - . _ ~ / # is percent-encoded, the colon too, so
 *  that no text from an archive can name a scheme. */
void html_url(struct dcr_buf *out, const char *path);
/* The ids given so far on a page. Zero it before use; release used. */
struct html_ids {
    struct dcr_buf used; /* each id with a line feed on both sides */
};
/** html_id - append the id of a heading: its words in lower case joined by hyphens, "-2" and so on after repeated ones;
 *  "at-" precedes a digit. */
void html_id(struct html_ids *ids, const char *heading, struct dcr_buf *out);
/** base64_add - bytes as base64 (RFC 4648), for data URIs and policies. */
void base64_add(struct dcr_buf *out, const void *bytes, size_t n);

#endif
