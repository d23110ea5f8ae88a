/* git.h - which commit of whose code ran, read without running git; whether it was changed, by git. */
#ifndef COLLECT_GIT_H
#define COLLECT_GIT_H

#include <jansson.h>
#include <stddef.h>

/** git_of_command - {"commit": ..., "branch": ..., "folder": ..., "of": ...} of the work tree that holds
 *    "program"         the program, when it is named by a path and neither interpreter nor launcher; else
 *    "argument"        the first argument that is a file in a work tree, scripts and executables before others; else
 *    "working folder"  the folder where it is started.
 *  A program that PATH finds, or an interpreter, says nothing of the code that it runs, even where it lies in a work
 *  tree (pyenv is one). A work tree without a commit is not passed over for the next.
 *  words    the command; shape (n)
 *  gives; NULL when there is none */
json_t *git_of_command(char *const *words, size_t n);
/** git_put_dirty - ask git: "dirty", have files under version control been changed in the folder since the commit?
 * Files that git does not follow do not count. Its monitors and hooks are not run, nothing is locked, and a work tree
 * of another user, which git does not trust, is not looked at. Where only the content tells, git runs the filters that
 *  the repository names (git-lfs). What it does not tell is in "missing".
 *  timeout_ms  then git is ended, with its filters */
void git_put_dirty(json_t *git, int timeout_ms);

#endif
