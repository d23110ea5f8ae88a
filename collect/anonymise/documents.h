/* documents.h - the texts of an archive without its names: JSON documents, tables, summaries. What is not known to be
 * ours, and is no number, becomes a word that says nothing. */
#ifndef COLLECT_ANONYMISE_DOCUMENTS_H
#define COLLECT_ANONYMISE_DOCUMENTS_H

#include "collect/anonymise/hide.h"
#include "lib/base/stream.h"

/** documents_learn - the hosts, users, jobs and labels that a JSON document of the collector tells. */
void documents_learn(struct hide *h, const json_t *document);
/** documents_json - a copy of such a document. gives */
json_t *documents_json(struct hide *h, const json_t *document);
/** documents_member - where a member stands afterwards: folders and files of known names keep theirs.
 *  returns  borrows from h */
const char *documents_member(struct hide *h, const char *name);

/* Gets the text, a piece after the other. returns 0 or a negative grade */
typedef int (*documents_sink)(void *ctx, const char *bytes, size_t n, struct dcr_err *err);
/** documents_csv - a table: numbers stay as they are written. */
int documents_csv(struct hide *h, struct dcr_stream *in, documents_sink sink, void *ctx,
                  struct dcr_err *err) DCR_MUST_CHECK;
/** documents_summary - the summary of a trace.
 *  traces  {name: {"size": ..., "fingerprint": "..."}} of the traces in the new archive, which have other bytes
 *  errors  DCR_FAIL: a line that is no JSON object */
int documents_summary(struct hide *h, struct dcr_stream *in, const json_t *traces, documents_sink sink, void *ctx,
                      struct dcr_err *err) DCR_MUST_CHECK;

#endif
