/* redact.h - command lines without what looks like a secret. It errs on the side of leaving out. */
#ifndef COLLECT_REDACT_H
#define COLLECT_REDACT_H

#include "lib/base/buf.h"

#include <stddef.h>

#define REDACTED "(redacted)"

/** redact_is_secret_name - does the name of an option or variable say that its value is a token, key or password?
 *  "--hf-token", "API_KEY", "db.password", yes; "--max-tokens", "--tokenizer", "--keyframes", no, nor PWD,
 *  the working folder. The one list of such words: for command lines, labels and the environment. */
int redact_is_secret_name(const char *name, size_t n);
/** redact_text - append text to out: what follows NAME= or --NAME with such a name becomes REDACTED, also inside a
 *  longer text (sh -c "..."), as do words that look like tokens by themselves, and the user part of URLs.
 *  returns  not 0 when the text ends with an option whose value is the next word: redact_is_secret_value tells then
 *           whether it is one. A name of many meanings is judged by the value too: `-pin on`, `--file-access random`,
 *           `--sig-figs 3` stay, `--pin 1234` does not. */
int redact_text(const char *text, struct dcr_buf *out);
/** redact_is_secret_value - is this the secret that redact_text announced?  meaning: what it returned */
int redact_is_secret_value(int meaning, const char *value);

/* What the next word is, if the one before says so. */
enum { REDACT_NEXT_ANY = 0, REDACT_NEXT_VALUE, REDACT_NEXT_PAIR, REDACT_NEXT_SECRET };

/* Where on a command line the next word stands. All zero at its start. */
struct redact_line {
    const struct redact_program *program; /* one with secret options of its own: curl, mysql, sshpass ... */
    int is_behind_subcommand;
    int next;    /* REDACT_NEXT_* */
    int meaning; /* what redact_text returned of the word before */
};
/** redact_word - append the next word of a command line to out, without secrets: what redact_text finds, and what only
 *  the program tells: `curl -u me:x`, `--user me:x`, `mysql -px`, `sshpass -p x`. A word with blanks in it is read as a
 *  shell would. Numbers (-p 2, -u 64, --user 1000:1000) stay. */
void redact_word(struct redact_line *line, const char *word, struct dcr_buf *out);

#endif
