/* names.h - the texts of programs in the segment: copied once, numbered, never freed. Programs get registered strings
 * and domains as pointers into these tables. No function takes a lock or allocates. Two threads that bring the same new
 * text at the same time may use room for two. */
#ifndef DCC_NAMES_H
#define DCC_NAMES_H

#include "collect/guest/segment.h"

#include <stddef.h>

/** names_hash - of a C string; *len its length, at most max bytes, cut before a UTF-8 sequence that does not fit. */
uint32_t names_hash(const char *text, size_t max, uint32_t *len);
/** names_intern - number of the text, a new one when needed.
 *  flags     for a new name: WINDOW_NAME_*
 *  is_often  the name is one of many range names; the last eighth of the table is reserved for files, categories and
 *            domains
 *  returns   0: the table is full, or the room for texts */
uint32_t names_intern(struct segment *s, const char *text, uint32_t len, uint32_t hash, uint32_t flags, int is_often);
/** names_find - number of the text; 0: none. */
uint32_t names_find(const struct segment *s, const char *text, uint32_t len, uint32_t hash);
/** names_domain - number of the domain with that name. When all numbers are taken, the last one is shared. */
uint32_t names_domain(struct segment *s, uint32_t name);
/** names_say - publishes what a number means in this process (struct segment_said). Without room it is forgotten, and
 * the record of the run says so. */
void names_say(struct segment *s, uint32_t process, int kind, uint32_t domain, uint32_t id, uint32_t name);

#endif
