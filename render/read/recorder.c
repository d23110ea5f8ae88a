/* recorder.c - see recorder.h. */
#include "render/read/recorder.h"

#include <string.h>

struct recorder recorder_of(const char *text)
{
    static const struct {
        const char *begin;
        enum recorder_state state;
    } known[] = {{"nothing recorded because ", RECORDER_NOTHING},
                 {"nothing", RECORDER_NOTHING},
                 {"absent: ", RECORDER_ABSENT},
                 {"n/a because ", RECORDER_NOT_AVAILABLE}};
    if (!*text)
        return (struct recorder){.state = RECORDER_UNSAID, .text = "", .because = ""};
    if (strcmp(text, "ok") == 0 || strncmp(text, "ok:", 3) == 0)
        return (struct recorder){.state = RECORDER_OK, .text = text, .because = ""};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i].begin);
        if (strncmp(text, known[i].begin, n))
            continue;
        const char *because = known[i].begin[n - 1] == ' ' ? text + n : "";
        return (struct recorder){.state = known[i].state,
                                 .text = text,
                                 .because = because,
                                 .is_no_gpu = known[i].state == RECORDER_NOTHING &&
                                              strcmp(because, "the program used no GPU") == 0};
    }
    return (struct recorder){.state = RECORDER_OTHER, .text = text, .because = text};
}
