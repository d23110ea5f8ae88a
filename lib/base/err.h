/* err.h - how every function of this project reports failure.
 *
 * A fallible function returns int: 0 done, 1 end of data, or a negative grade; its last
 * parameter is a caller-owned `struct dcr_err *`, which may be NULL. Nothing is allocated and
 * nothing is global. Only a main() prints the sentence and chooses the exit status.
 *
 * A sentence says what is wrong and, after the last "; ", what to do. Names stand in 'quotes', commands in `backticks`.
 * dcr_say turns it into two sentences. tests/golden/messages.txt lists all of them. */
#ifndef DCR_ERR_H
#define DCR_ERR_H

#include <stddef.h>

enum {
    DCR_OK = 0,
    DCR_END = 1,     /* no more data; not a failure */
    DCR_WARN = -10,  /* the result is usable, but say so */
    DCR_FAIL = -20,  /* this item is lost, the next may work */
    DCR_FATAL = -30, /* stop using this object */
};

/* Exit statuses, the same for all programs. */
enum {
    DCR_EXIT_OK = 0,
    DCR_EXIT_CHECK = 1, /* a check failed (verify, --verify, --check) */
    DCR_EXIT_INPUT = 2, /* bad input or usage */
    DCR_EXIT_GAPS = 3,  /* the report was made and names its gaps */
    DCR_EXIT_SELF = 125 /* dccollect run: its own failure, not the program's */
};

/* Failures to which a caller reacts differently. */
enum dcr_err_kind {
    DCR_ERR_ANY = 0,
    DCR_ERR_NO_ARCHIVE,  /* the bytes are not a tar archive */
    DCR_ERR_NO_TRACE,    /* begins like a trace but holds no events */
    DCR_ERR_NO_EVIDENCE, /* of no known kind, and nothing in it looks like a damaged file of a known kind */
    DCR_ERR_MACHINE,     /* no memory, or a disk failed: the bytes may be fine (the same holds if sys is not 0) */
};

struct dcr_err {
    int grade; /* 0 until something fails */
    int sys;   /* errno at the time, or 0 */
    enum dcr_err_kind kind;
    char text[768]; /* "what is wrong; what to do": no capital, no full stop */
};

#define DCR_MUST_CHECK __attribute__((warn_unused_result))
#define DCR_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

/** dcr_err_set - replace the sentence.
 *  err      may be NULL
 *  grade    DCR_WARN, DCR_FAIL or DCR_FATAL
 *  fmt      "cannot read 'run7.tar': ends in the middle of a member; copy it again"
 *  returns  grade, so that `return dcr_err_set(...)` reads well */
int dcr_err_set(struct dcr_err *err, int grade, const char *fmt, ...) DCR_PRINTF(3, 4);

/** dcr_err_sys - as dcr_err_set, with ": strerror(errno)" before the advice and errno kept in err->sys. */
int dcr_err_sys(struct dcr_err *err, int grade, const char *fmt, ...) DCR_PRINTF(3, 4);

/** dcr_err_file - as dcr_err_sys, for a file that the user named: a sentence without advice gets that for errno. */
int dcr_err_file(struct dcr_err *err, int grade, const char *fmt, ...) DCR_PRINTF(3, 4);

/** dcr_err_mark - sets the kind of the failure that was just set.
 *  returns  grade */
int dcr_err_mark(struct dcr_err *err, enum dcr_err_kind kind, int grade);

/** dcr_err_while - put "<what>: " in front of the sentence, on the way up.
 *  returns  err->grade (DCR_FAIL when err is NULL) */
int dcr_err_while(struct dcr_err *err, const char *fmt, ...) DCR_PRINTF(2, 3);

/** dcr_err_advise - give a sentence this advice, in the place of what it has.
 *  returns  err->grade (DCR_FAIL when err is NULL) */
int dcr_err_advise(struct dcr_err *err, const char *fmt, ...) DCR_PRINTF(2, 3);

/** dcr_err_why - the sentence without its advice.
 *  out  gives; at most cap bytes with the NUL */
void dcr_err_why(const struct dcr_err *err, char *out, size_t cap);

/** dcr_err_sentences - as dcr_say prints it, without program and full stop: "what is wrong. What to do".
 *  out  gives; at most cap bytes with the NUL; sizeof err->text is always enough */
void dcr_err_sentences(const struct dcr_err *err, char *out, size_t cap);

/** dcr_say - print a message on standard error: "program: what is wrong. What to do."
 *  fmt  a sentence as in dcr_err, often one of them in "%s" */
void dcr_say(const char *program, const char *fmt, ...) DCR_PRINTF(2, 3);

/** dcr_die_of_memory - say so on standard error and abort, where nothing sensible can follow. */
void dcr_die_of_memory(void) __attribute__((noreturn));

/** dcr_clean_text - make a text safe to print on a terminal, in place. Bytes that are not UTF-8 and invisible
 * characters (utf8.h: ESC, changes of the writing direction ...) become '?'; line feeds and tabs stay.
 *  Sentences of dcr_err_* are clean already.
 *  text     may be NULL
 *  returns  text */
char *dcr_clean_text(char *text);

/** dcr_clean_line - the same for text within a line, such as a name: line feeds and tabs become '?' too. */
char *dcr_clean_line(char *text);

#endif
