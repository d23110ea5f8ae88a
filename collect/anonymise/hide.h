/* hide.h - the names of one archive and their replacements: the same name gets the same word everywhere. Words are
 * numbered in the order in which names appear, so that the same archive gives the same words. */
#ifndef COLLECT_ANONYMISE_HIDE_H
#define COLLECT_ANONYMISE_HIDE_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"

#include <jansson.h>

/* X(enumerator, word) */
#define HIDE_CLASSES(X)          \
    X(HIDE_HOST, "host")         \
    X(HIDE_DOMAIN, "domain")     \
    X(HIDE_USER, "user")         \
    X(HIDE_PATH, "path")         \
    X(HIDE_JOB, "job")           \
    X(HIDE_LABEL, "label")       \
    X(HIDE_BRANCH, "branch")     \
    X(HIDE_COMMIT, "commit")     \
    X(HIDE_BOOT, "boot")         \
    X(HIDE_ADDRESS, "address")   \
    X(HIDE_ARGUMENT, "argument") \
    X(HIDE_TEXT, "text")
enum hide_class {
#define X(id, word) id,
    HIDE_CLASSES(X)
#undef X
        HIDE_N_CLASSES
};

/* Set `members` and zero the rest before use; release with hide_release. */
struct hide {
    struct dcr_arena arena;
    struct dcr_buf key;
    json_t *members;       /* names that stay when a sentence quotes them. borrows */
    json_t *aliases;       /* "host gpu17" -> "host-1" */
    json_t *words;         /* hosts and users, replaced inside any text: "gpu17" -> "host-1" */
    json_t *told;          /* job names and labels, replaced inside our own sentences */
    int n[HIDE_N_CLASSES]; /* number of names met */
    size_t longest;        /* bytes of the longest text in words and told */
};

/** hide_as - the word that stands for a name of a class, "host-1". borrows from h */
const char *hide_as(struct hide *h, enum hide_class c, const char *name);

/** hide_learn - also replace this name inside other text. A host is also replaced without its domain. These stay: names
 * that many machines share (root, localhost), names that the report needs (step, data), and names of one character.
 *  c  HIDE_HOST, HIDE_USER: in all text; another class: only in sentences of the collector */
void hide_learn(struct hide *h, enum hide_class c, const char *name);
/** hide_learn_homes - learn the users of all home folders ("/home/x", "/users/x") that n bytes name. */
void hide_learn_homes(struct hide *h, const char *bytes, size_t n);

/** hide_path - append a path, absolute or not, one word for each part. Folders of the operating system (/usr/lib,
 * /proc), short endings (.so, .csv), well-known programs, "." and ".." stay. */
void hide_path(struct hide *h, const char *path, struct dcr_buf *out);
/** hide_name - append a program's name for a range, a thread or a file. Hosts, users, paths, URLs, network and mail
 * addresses are replaced, the rest stays. */
void hide_name(struct hide *h, const char *name, struct dcr_buf *out);
/** hide_sentence - append a sentence of the collector. It replaces what hide_name replaces, and also job names and
 * quoted texts, except quoted names of members. */
void hide_sentence(struct hide *h, const char *sentence, struct dcr_buf *out);
/** hide_is_program - is the word a common program: an interpreter, a launcher, dcrnn-train? */
int hide_is_program(const char *word);
/** hide_is_number - is the text a number, a time or a list of numbers, and not a network address? */
int hide_is_number(const char *text);

void hide_release(struct hide *h);

#endif
