/* names.h - the texts a program has named, in the segment: copied once, numbered, never freed. Registered strings and
 * domains are handed to the program as pointers into these tables. No function takes a lock or allocates; two threads
 * that bring the same new text at once may use up room for two. */
#ifndef DCC_NAMES_H
#define DCC_NAMES_H

#include "collect/guest/segment.h"

#include <stddef.h>

/** names_hash - of a C string; *len its length, at most max bytes, cut before a UTF-8 sequence that does not fit. */
uint32_t names_hash(const char *text, size_t max, uint32_t *len);
/** names_intern - number of the text, a new one when needed.
 *  flags     of a new name: WINDOW_NAME_*
 *  is_often  it is one of many, of a range: the last eighth of the table is for files, categories and domains
 *  returns   0: the table is full, or its texts are */
uint32_t names_intern(struct segment *s, const char *text, uint32_t len, uint32_t hash, uint32_t flags, int is_often);
/** names_find - the number that the text has; 0: none. */
uint32_t names_find(const struct segment *s, const char *text, uint32_t len, uint32_t hash);
/** names_domain - number of the domain with that name. When all are taken, the last one serves for the rest. */
uint32_t names_domain(struct segment *s, uint32_t name);
/** names_say - this process says what a number means (struct segment_said). Forgotten when there is no room; the
 *  record of the run says so. */
void names_say(struct segment *s, uint32_t process, int kind, uint32_t domain, uint32_t id, uint32_t name);

#endif
