/* no_evidence.h - files that no format knows. Some are plainly no evidence (a README, a program's log or
 * configuration, a picture), others may be a damaged or packed file of a tool. Inside render/import only. */
#ifndef RENDER_IMPORT_NO_EVIDENCE_H
#define RENDER_IMPORT_NO_EVIDENCE_H

#include <stddef.h>

/** is_no_evidence - is a file that no format accepted plainly no evidence?
 *  head     its first n bytes, as they lie in the file; is_whole: there are no more
 *  name     of the file: an empty .json is a trace that was not written
 *  returns  0: compressed or packed data, the beginning of a database, a trace or a table of a known tool, JSON with a
 *           trace's words, or that does not end: the user should hear of it. 1: none of this */
int is_no_evidence(const char *head, size_t n, int is_whole, const char *name);

#endif
