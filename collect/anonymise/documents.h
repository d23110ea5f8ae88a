/* documents.h - the texts of an archive without its names: JSON documents, tables, summaries. Texts that are neither
 * numbers nor known texts of ours become neutral words. */
#ifndef COLLECT_ANONYMISE_DOCUMENTS_H
#define COLLECT_ANONYMISE_DOCUMENTS_H

#include "collect/anonymise/hide.h"
#include "lib/base/stream.h"

/** documents_learn - learns the hosts, users, jobs and labels in a JSON document of the collector. */
void documents_learn(struct hide *h, const json_t *document);
/** documents_json - a copy of such a document. gives */
json_t *documents_json(struct hide *h, const json_t *document);
/** documents_member - the new name of a member: folders and files with known names keep theirs.
 *  returns  borrows from h */
const char *documents_member(struct hide *h, const char *name);

/* Gets the text piece by piece. returns 0 or a negative grade */
typedef int (*documents_sink)(void *ctx, const char *bytes, size_t n, struct dcr_err *err);
/** documents_csv - copies a table; numbers stay as written. */
int documents_csv(struct hide *h, struct dcr_stream *in, documents_sink sink, void *ctx,
                  struct dcr_err *err) DCR_MUST_CHECK;
/** documents_summary - copies the summary of a trace.
 *  traces  {name: {"size": ..., "fingerprint": "..."}} of the traces in the new archive, which have other bytes
 *  errors  DCR_FAIL: a line that is not a JSON object */
int documents_summary(struct hide *h, struct dcr_stream *in, const json_t *traces, documents_sink sink, void *ctx,
                      struct dcr_err *err) DCR_MUST_CHECK;

#endif
