/* ending.c - see ending.h. */
#include "render/read/ending.h"

#include <stdio.h>
#include <string.h>

#define NO_RANK "no rank was recorded"

static int number_behind(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    int n = 0;
    return at && sscanf(at + strlen(word), "%d", &n) == 1 && n > 0 ? n : 0;
}

struct run_ending ending_of(const char *sentence)
{
    struct run_ending e = {.text = sentence, .rank = -1};
    int is_told = strstr(sentence, " was told to end") || strstr(sentence, " was interrupted");
    if (is_told) /* also one that ended with a status after it */
        e.kind = ENDING_TOLD;
    else if (strstr(sentence, " ended with exit status ") || strstr(sentence, " was ended by signal "))
        e.kind = ENDING_FAILED;
    else if (strstr(sentence, " ended first"))
        e.kind = ENDING_FIRST;
    else {
        e.kind = strncmp(sentence, NO_RANK, sizeof NO_RANK - 1) == 0 ? ENDING_NO_RANK : ENDING_OTHER;
        return e;
    }
    if (sscanf(sentence, "rank %d ", &e.rank) != 1)
        e.rank = -1;
    e.status = number_behind(sentence, "exit status ");
    e.may_be_signal = number_behind(sentence, "may mean signal ");
    if (!e.may_be_signal)
        e.may_be_signal = number_behind(sentence, "stands for signal "); /* as older collectors wrote it */
    e.signal = number_behind(sentence, " ended by signal ");             /* not the one that a status may mean */
    return e;
}
