/* summary_words.h - words that stand for numbers in the text of a summary. Used only by summary_write.c and
 * summary_read.c. */
#ifndef DCR_SUMMARY_WORDS_H
#define DCR_SUMMARY_WORDS_H

#include "lib/archive/format.h"

static const char *const io_kinds[DCT_N_IO] = {"read", "write", "other"};
static const struct name_kind {
    int kind;
    const char *text;
} name_kinds[] = {{DCT_PUSH, "range"}, {DCT_START, "process range"}, {DCT_MARK, "mark"}, {DCT_SPAN, "observed"}};

#endif
