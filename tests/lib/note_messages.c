/* note_messages.c - notes the messages that the unit tests provoke. The linker replaces X by the functions __wrap_X
 * below (mk/tests.mk). They note the format and the text of each message in a file of the folder MESSAGES_SEEN, from
 * which tests/golden/messages.py finds the messages that no test provoked. */
#include "lib/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Notes each text once, and only some of a test that makes thousands. */
static void note(const char *text)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static uint64_t known[4096];
    static size_t n;
    const char *folder = getenv("MESSAGES_SEEN");
    uint64_t hash = 14695981039346656037U; /* FNV-1a */
    int old = errno, fd = -1;
    size_t i = 0;
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211U;
    pthread_mutex_lock(&lock);
    while (i < n && known[i] != hash)
        i++;
    if (folder && i == n && n < sizeof known / sizeof *known) {
        char path[4096];
        known[n++] = hash;
        snprintf(path, sizeof path, "%s/unit-%ld", folder, (long)getpid());
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
    if (fd >= 0) {
        dprintf(fd, "%s\n", text);
        close(fd);
    }
    pthread_mutex_unlock(&lock);
    errno = old;
}

/* at: the place of fmt among the arguments */
#define NOTED(result, name, at, args, call)           \
    result __real_##name args;                        \
    result __wrap_##name args DCR_PRINTF(at, at + 1); \
    result __wrap_##name args                         \
    {                                                 \
        char text[4096];                              \
        va_list ap;                                   \
        va_start(ap, fmt);                            \
        vsnprintf(text, sizeof text, fmt, ap);        \
        va_end(ap);                                   \
        note(fmt);                                    \
        note(text);                                   \
        call;                                         \
    }

NOTED(int, dcr_err_set, 3, (struct dcr_err * err, int grade, const char *fmt, ...),
      return __real_dcr_err_set(err, grade, "%s", text))
NOTED(int, dcr_err_sys, 3, (struct dcr_err * err, int grade, const char *fmt, ...),
      return __real_dcr_err_sys(err, grade, "%s", text))
NOTED(int, dcr_err_while, 2, (struct dcr_err * err, const char *fmt, ...), return __real_dcr_err_while(err, "%s", text))
NOTED(int, dcr_err_file, 3, (struct dcr_err * err, int grade, const char *fmt, ...),
      return __real_dcr_err_file(err, grade, "%s", text))
NOTED(int, dcr_err_advise, 2, (struct dcr_err * err, const char *fmt, ...),
      return __real_dcr_err_advise(err, "%s", text))
NOTED(void, dcr_say, 2, (const char *program, const char *fmt, ...), __real_dcr_say(program, "%s", text))
