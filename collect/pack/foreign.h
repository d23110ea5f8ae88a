/* foreign.h - evidence of other tools among what is packed. */
#ifndef COLLECT_PACK_FOREIGN_H
#define COLLECT_PACK_FOREIGN_H

#include "collect/pack/parts.h"

/** pack_recognise - the role of a file that its name says little of; kind is set when a tool is recognised, else NULL.
 */
enum dcr_role pack_recognise(const char *path, enum dcr_role by_name, const char **kind);

/** pack_export_reports - a report of Nsight Systems gets the SQLite export beside it that a reader needs: made by nsys
 * when there is one on PATH, else its command stands in the metadata and in the closing line. */
void pack_export_reports(struct pack *p);
/** pack_forget_exports - remove what pack_export_reports made. */
void pack_forget_exports(struct pack *p);

/** pack_check_results - is there anything among the members that a run leaves?
 *  errors   DCR_FAIL: only files of no known kind, so that this is the wrong folder */
int pack_check_results(const struct pack *p, struct dcr_err *err) DCR_MUST_CHECK;

#endif
