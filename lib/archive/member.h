/* member.h - what a member of a run archive is, told by its name. The writer puts the answer into the manifest; the
 * reader asks only when there is none. Names and roles: docs/FORMAT.md. */
#ifndef DCR_MEMBER_H
#define DCR_MEMBER_H

#include "lib/archive/format.h"

#include <stddef.h>

enum { DCR_MAX_RANK = 65535 };

/** dcr_name_number - "rank12" with prefix "rank" is 12; -1 when the word of len bytes is something else, or the
 *  number is above 65535. */
int dcr_name_number(const char *word, size_t len, const char *prefix);

/** dcr_role_of - role of a member.
 *  name        path inside the archive or results folder
 *  node, rank  overwritten from folders node<i>/ and rank<r>/ (the innermost counts) or from the name
 *              steps-rank<r>.csv; -1 = the name does not tell */
enum dcr_role dcr_role_of(const char *name, int *node, int *rank);

/** dcr_role_text - the word of a role in the manifest. dcr_role_of_text is the inverse: DCR_N_ROLES for an unknown word
 * or NULL. */
const char *dcr_role_text(enum dcr_role role);
enum dcr_role dcr_role_of_text(const char *text);

/** dcr_summary_name - name of a trace's summary: rank0/trace-12.dct has rank0/summary-12.jsonl, any other
 *  name gets ".summary.jsonl".                                                  returns  0; -1 when out is too small */
int dcr_summary_name(const char *trace, char *out, size_t n);
/** dcr_trace_name - the inverse; -1 when the name is not that of a summary. */
int dcr_trace_name(const char *summary, char *out, size_t n);

#endif
