/* publish_guard.c - see publish_guard.h. Called by publish.c. Test: tests/unit/test_publish.c */
#include "render/site/publish_guard.h"

#include "lib/fs.h"
#include "lib/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int publish_read_whole(const char *path, size_t max, struct dcr_buf *out, struct dcr_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot read '%s'", path);
    struct dcr_stream s = dcr_stream_fd(&fd, path);
    int rc = dcr_stream_slurp(&s, out, max, err);
    close(fd);
    return rc;
}

/* ---- signals: held back until the next file --------------------------------------------------------- */

static const int held[] = {SIGINT, SIGTERM, SIGHUP};
static volatile sig_atomic_t came;

static void note_signal(int number)
{
    came = number;
}

void publish_hold_signals(struct publish *p)
{
    struct sigaction act = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
    sigemptyset(&act.sa_mask);
    came = 0;
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        sigaction(held[i], NULL, &p->before[i]);
        if (p->before[i].sa_handler != SIG_IGN) /* nohup */
            sigaction(held[i], &act, NULL);
    }
    p->holds_signals = true;
}

void publish_release_signals(const struct publish *p)
{
    if (!p->holds_signals)
        return;
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        sigaction(held[i], &p->before[i], NULL);
    if (came)
        raise(came);
    came = 0;
}

int publish_stopped_by(void)
{
    return came;
}

/* ---- what a killed dcreport left --------------------------------------------------------------------- */

/* Process numbers mean something on one host and until its next start only. */
int publish_whose(struct dcr_buf *out, struct dcr_err *err)
{
    char host[256] = "";
    struct dcr_err ignored;
    gethostname(host, sizeof host - 1);
    dcr_buf_printf(out, "%s\n", host);
    if (publish_read_whole("/proc/sys/kernel/random/boot_id", 64, out, &ignored))
        dcr_buf_puts(out, "unknown\n");
    return out->failed ? dcr_err_set(err, DCR_FATAL, "out of memory") : 0;
}

/* Is "<base>.<pid>.partial" the name, and the process gone? */
static bool is_of_the_dead(const char *name, const char *base)
{
    size_t n = strlen(base);
    char *end;
    if (strncmp(name, base, n) != 0 || name[n] != '.' || name[n + 1] < '1' || name[n + 1] > '9')
        return false;
    errno = 0;
    long pid = strtol(name + n + 1, &end, 10);
    return errno == 0 && pid <= INT_MAX && strcmp(end, ".partial") == 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* Whatever goes wrong here is no reason to make no report. */
void publish_remove_leftovers(const char *out, const char *us)
{
    char **names = NULL;
    size_t n = 0;
    struct dcr_err ignored;
    const char *base = strrchr(out, '/') + 1;
    char *parent = strndup(out, (size_t)(base - out));
    if (parent && dcr_list_dir(parent, &names, &n, &ignored) == 0)
        for (size_t i = 0; i < n; i++) {
            struct dcr_buf text = {0};
            char *partial = NULL, *mark = NULL;
            if (is_of_the_dead(names[i], base) && asprintf(&partial, "%s%s", parent, names[i]) >= 0 &&
                asprintf(&mark, "%s/" PUBLISH_UNFINISHED, partial) >= 0 &&
                publish_read_whole(mark, 512, &text, &ignored) == 0 && strcmp(dcr_buf_text(&text), us) == 0 &&
                dcr_remove_tree(partial, &ignored)) {
                /* it stays, under a name that says what it is */
            }
            free(partial);
            free(mark);
            dcr_buf_release(&text);
        }
    dcr_free_names(names, n);
    free(parent);
}
