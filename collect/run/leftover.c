/* leftover.c - see leftover.h. */
#include "collect/run/leftover.h"

#include "collect/guest/segment.h"
#include "collect/record/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Does the file hold the text, in its first 4 MB? */
static int holds(const char *path, const char *text, size_t len)
{
    static char all[4 << 20];
    int n = procfs_read(path, all, sizeof all, NULL);
    return n > 0 && memmem(all, (size_t)n, text, len) != NULL;
}

/* Time since boot at which a process began, in ticks; 0: not known. */
static uint64_t began(const char *pid)
{
    char path[320], text[2048];
    struct procfs_stat s;
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    return procfs_read(path, text, sizeof text, NULL) > 0 && procfs_stat(text, &s) == 0 ? s.begun : 0;
}

/* Kernel threads have no session, and a session from outside this process id namespace has no number here. No process
 * below us is in one if we are not. Reading a file of each of thousands of kernel threads would take longer. */
static int is_elsewhere(const char *pid)
{
    return getsid(0) != 0 && getsid((pid_t)strtol(pid, NULL, 10)) == 0;
}

/* Does the process have the segment in its environment, or has it mapped it? */
static int belongs(const char *pid, const char *segment)
{
    char path[320], text[PATH_MAX + 16];
    size_t n = (size_t)snprintf(text, sizeof text, SEGMENT_VARIABLE "=%s", segment);
    if (n + 1 > sizeof text)
        return 0;
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    if (holds(path, text, n + 1)) /* with the NUL, so that a longer name with this beginning does not match */
        return 1;
    snprintf(path, sizeof path, "/proc/%.20s/maps", pid);
    return holds(path, segment, strlen(segment));
}

int leftover_look(const char *segment, char *pids, size_t n)
{
    int count = 0;
    DIR *d = segment ? opendir("/proc") : NULL;
    const struct dirent *e;
    uint64_t own = began("self"), other;
    *pids = '\0';
    while (d && (e = readdir(d)) != NULL) {
        if (!isdigit((unsigned char)e->d_name[0]) || strtol(e->d_name, NULL, 10) == (long)getpid() ||
            is_elsewhere(e->d_name) ||
            ((other = began(e->d_name)) && other < own) || /* older than the segment: its pages need not be listed */
            !belongs(e->d_name, segment))
            continue;
        size_t used = strlen(pids);
        if (used + strlen(e->d_name) + 3 < n)
            snprintf(pids + used, n - used, "%s%.20s", count ? ", " : "", e->d_name);
        count++;
    }
    if (d)
        closedir(d);
    return count;
}
