/* manifest_sum.c - see manifest_sum.h. */
#include "lib/archive/manifest_sum.h"

#include "lib/base/hash.h"

#include <string.h>

enum { DIGITS = DCR_SHA256_HEX - 1 };

/* The digits after the first "manifest_sha256"; the writer puts it before all free text. NULL: none. */
static const char *digits_of(const char *text, size_t n)
{
    static const char key[] = "\"" DCR_MANIFEST_SUM "\"";
    const char *end = text + n, *at = memmem(text, n, key, sizeof key - 1);
    if (!at)
        return NULL;
    for (at += sizeof key - 1; at < end && (*at == ' ' || *at == ':'); at++)
        ;
    return at < end && *at == '"' && end - at > DIGITS + 1 && at[DIGITS + 1] == '"' ? at + 1 : NULL;
}

static void sum(const char *text, size_t n, const char *digits, char out[DCR_SHA256_HEX])
{
    struct dcr_sha256 *h = dcr_sha256_new();
    size_t before = (size_t)(digits - text);
    dcr_sha256_add(h, text, before);
    dcr_sha256_add(h, DCR_MANIFEST_NO_SUM, DIGITS);
    dcr_sha256_add(h, digits + DIGITS, n - before - DIGITS);
    dcr_sha256_finish(h, out);
}

int dcr_manifest_seal(char *text, size_t n)
{
    const char *digits = digits_of(text, n);
    char hex[DCR_SHA256_HEX];
    if (!digits || memcmp(digits, DCR_MANIFEST_NO_SUM, DIGITS) != 0)
        return -1;
    sum(text, n, digits, hex);
    memcpy(text + (digits - text), hex, DIGITS);
    return 0;
}

int dcr_manifest_check(const char *text, size_t n, long long version, const char **why)
{
    const char *digits = digits_of(text, n);
    char hex[DCR_SHA256_HEX];
    *why = "";
    if (!digits && version < 2)
        return DCR_OK;
    if (!digits) {
        *why = "its manifest lacks the checksum of itself";
        return DCR_FAIL;
    }
    sum(text, n, digits, hex);
    if (memcmp(digits, hex, DIGITS) == 0)
        return DCR_OK;
    *why = "its manifest is not as it was written (its own checksum, SHA-256, differs)";
    return DCR_FAIL;
}
