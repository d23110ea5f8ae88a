/* manifest_sum.h - the checksum that manifest.json holds of itself (docs/FORMAT.md), so that no byte of an archive's
 * content goes without one. It is the SHA-256 of the manifest with 64 zeros in its place. */
#ifndef DCR_MANIFEST_SUM_H
#define DCR_MANIFEST_SUM_H

#include "lib/base/err.h"

#include <stddef.h>

#define DCR_MANIFEST_SUM "manifest_sha256"
/* What the writer puts there before the checksum is known. */
#define DCR_MANIFEST_NO_SUM "0000000000000000000000000000000000000000000000000000000000000000"

/** dcr_manifest_seal - put the checksum into text, the first DCR_MANIFEST_SUM of which has DCR_MANIFEST_NO_SUM.
 *  returns  0, or -1 when there is no such place */
int dcr_manifest_seal(char *text, size_t n);
/** dcr_manifest_check - is text as it was sealed? Manifests of version 1 need no checksum; one that they hold counts.
 *  returns  0; DCR_FAIL when the checksum is missing or another one: why is a sentence about "its manifest" */
int dcr_manifest_check(const char *text, size_t n, long long version, const char **why) DCR_MUST_CHECK;

#endif
