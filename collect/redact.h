/* redact.h - command lines without what looks like a secret. It errs on the side of leaving out. */
#ifndef COLLECT_REDACT_H
#define COLLECT_REDACT_H

#include "lib/buf.h"

#include <stddef.h>

#define REDACTED "(redacted)"

/** redact_is_secret_name - does the name of an option or variable say that its value is a token, key or password?
 *  "--hf-token", "API_KEY", "db.password", yes; "--max-tokens", "--tokenizer", "--keyframes", no. */
int redact_is_secret_name(const char *name, size_t n);
/** redact_text - append text to out: what follows NAME= or --NAME with such a name becomes REDACTED, also inside a
 *  longer text (sh -c "..."), as do words that look like tokens by themselves, and the user part of URLs.
 *  returns  1 when the text ends with an option whose value is the next word: that is a secret then */
int redact_text(const char *text, struct dcr_buf *out);

#endif
