/* git.h - the commit of the code that ran, read without running git; git itself is asked whether the code was
 * changed. */
#ifndef COLLECT_GIT_H
#define COLLECT_GIT_H

#include <jansson.h>
#include <stddef.h>

/** git_of_command - {"commit": ..., "branch": ..., "folder": ..., "of": ...} of the work tree that holds
 *    "program"         the program, when it is named by a path and neither interpreter nor launcher; else
 *    "argument"        the first argument that is a file in a work tree, scripts and executables before others; else
 *    "working folder"  the folder where it is started.
 *  A program found by PATH, or an interpreter, is not the code that runs, even if it lies in a work tree (pyenv is
 *  one). A work tree without a commit is not skipped for the next.
 *  words    the command; shape (n)
 *  gives; NULL when there is none */
json_t *git_of_command(char *const *words, size_t n);
/** git_put_dirty - ask git whether files under version control have changed in the folder since the commit ("dirty").
 * Untracked files do not count. Monitors and hooks of git are not run, and nothing is locked. Work trees of other users
 * are skipped, because git does not trust them. If git has to compare contents, it runs the repository's filters
 * (git-lfs). If git gives no answer, the reason is in "missing".
 *  timeout_ms  after this time git and its filters are killed */
void git_put_dirty(json_t *git, int timeout_ms);

#endif
