/* manifest_sum.h - the checksum of manifest.json that the file itself holds (docs/FORMAT.md), so that a checksum covers
 * every byte of an archive's content. It is the SHA-256 of the manifest with 64 zeros in its place. */
#ifndef DCR_MANIFEST_SUM_H
#define DCR_MANIFEST_SUM_H

#include "lib/base/err.h"

#include <stddef.h>

#define DCR_MANIFEST_SUM "manifest_sha256"
/* Placeholder until the checksum is known. */
#define DCR_MANIFEST_NO_SUM "0000000000000000000000000000000000000000000000000000000000000000"

/** dcr_manifest_seal - writes the checksum into text, whose first DCR_MANIFEST_SUM has the value DCR_MANIFEST_NO_SUM.
 *  returns  0, or -1 when there is no such place */
int dcr_manifest_seal(char *text, size_t n);
/** dcr_manifest_check - is text unchanged since it was sealed? A manifest of version 1 needs no checksum, but if it has
 * one, it must be right.
 *  returns  0; DCR_FAIL when the checksum is missing or wrong: why is a sentence about "its manifest" */
int dcr_manifest_check(const char *text, size_t n, long long version, const char **why) DCR_MUST_CHECK;

#endif
