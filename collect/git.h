/* git.h - which commit of whose code ran, read without running git. */
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

#endif
