#!/usr/bin/env bash
# `make lint`: formatting, banned functions, headers that compile alone, clang's warnings as errors, shellcheck.
. tests/lib/tap.sh

git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { skip "lint" "not a git checkout"; finish; }
for tool in clang clang-format shellcheck; do
    command -v $tool >/dev/null || { skip "lint" "no $tool"; finish; }
done
check "make lint" make --no-print-directory lint
finish
