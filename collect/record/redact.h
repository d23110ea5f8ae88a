/* redact.h - command lines without secrets, by one rule:
 *
 *  - The value of a name such as password, token or key is hidden (--hf-token X, API_KEY=X, "password": X).
 *  - A word that begins as a token of a well-known service is hidden.
 *  - The part before the @ of a URL is hidden, and so is user:password after -u and --user.
 *  - The arguments of a program that takes logins (curl, mysql, sshpass ...) are not recorded. */
#ifndef COLLECT_REDACT_H
#define COLLECT_REDACT_H

#include "lib/base/buf.h"

#include <stddef.h>

#define REDACTED "(redacted)"

/** redact_is_secret_name - does the name of an option or variable mean that its value is a secret? Its last part
 * decides: "--hf-token", "API_KEY", "db.password", yes; "--max-tokens", "--sort-key", "--passes", no, nor PWD, the
 * working folder. This is the only list of such words: for command lines, labels and the environment. */
int redact_is_secret_name(const char *name, size_t n);
/** redact_text - append text to out without its secrets, also inside a longer text (sh -c "...").
 *  returns  not 0 when the text ends with an option whose value is the next word; use redact_word for lists of words */
int redact_text(const char *text, struct dcr_buf *out);

/* Context of the next word on a command line. All zero at its start. */
struct redact_line {
    int meaning;    /* result of redact_text for the previous word */
    int is_value;   /* the previous word is an option */
    int hides_rest; /* a program that takes logins came before */
};
/** redact_word - append the next word of a command line to out, without secrets. A value that is a switch or a small
 * number stays if the name has several meanings (--auth none, --pass 3). */
void redact_word(struct redact_line *line, const char *word, struct dcr_buf *out);

#endif
