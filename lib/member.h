/* member.h - what a member of a run archive is, told by its name. The writer puts the answer into the manifest; the
 * reader asks only when there is none. Names and roles: docs/FORMAT.md. */
#ifndef DCR_MEMBER_H
#define DCR_MEMBER_H

#include "lib/format.h"

#include <stddef.h>

/** dcr_name_number - "rank12" with prefix "rank" is 12; -1 when the word of len bytes is something else, or the
 *  number is above 65535. */
int dcr_name_number(const char *word, size_t len, const char *prefix);

/** dcr_role_of - role of a member.
 *  name        path inside the archive or results folder
 *  node, rank  overwritten: from folders node<i>/ and rank<r>/ (the innermost counts) or from a file
 *              steps-rank<r>.csv; -1 = the name does not tell */
enum dcr_role dcr_role_of(const char *name, int *node, int *rank);

#endif
