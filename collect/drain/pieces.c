/* pieces.c - see pieces.h. Test: tests/integration/collect_keep.sh */
#include "collect/drain/pieces.h"

#include "lib/archive/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Limit for pieces that wait to be summed up: this many more than the pieces kept. At the limit no further piece
 * begins. */
enum { MOST_BEHIND = 2 };

static const char *path_of_old(const struct pieces *p, uint32_t number, char *path, size_t n)
{
    snprintf(path, n, "%s.%u", p->path, number);
    return path;
}

static void lose(struct pieces *p)
{
    if (p->follow)
        follow_abandon(p->follow);
    p->follow = NULL;
    p->is_lost = 1;
}

static void give(struct pieces *p, int fd)
{
    if (fd < 0 || (p->follow && follow_give(p->follow, fd, NULL) != 0))
        lose(p);
}

/* Gives the older pieces and the piece of fd to the process that sums them up. */
static void give_all(struct pieces *p, int fd)
{
    char old[PATH_MAX + 16];
    if (p->is_lost || follow_start(&p->follow, p->path, p->name, p->segment, p->segment->begin.bytes, NULL) != 0) {
        p->is_lost = 1;
        return;
    }
    for (uint32_t i = p->n_removed + 1; i <= p->n_old && !p->is_lost; i++) {
        int older = open(path_of_old(p, i, old, sizeof old), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        give(p, older);
        if (older >= 0)
            close(older);
    }
    if (!p->is_lost)
        give(p, fd);
}

static int is_behind(const struct pieces *p)
{
    return p->follow && follow_n_waiting(p->follow) >= (uint32_t)(p->bounds.n_pieces + MOST_BEHIND);
}

int pieces_next(struct pieces *p, int *fd, struct dcr_err *err)
{
    char old[PATH_MAX + 16];
    if (is_behind(p))
        return dcr_err_set(err, DCR_FAIL, DCR_STOP_NOTE "events came faster than they could be summed up");
    path_of_old(p, p->n_old + 1, old, sizeof old);
    if (rename(p->path, old) != 0)
        return dcr_err_sys(err, DCR_FAIL, "cannot rename '%s'", p->path);
    int next = open(p->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (next < 0) {
        int rc = dcr_err_sys(err, DCR_FAIL, "cannot create '%s'", p->path);
        return rename(old, p->path) == 0 ? rc : DCR_FAIL;
    }
    int must_remove = (int)(p->n_old - p->n_removed) + 2 > p->bounds.n_pieces;
    if (p->follow)
        give(p, *fd);
    else if (must_remove)
        give_all(p, *fd);
    p->n_old++;
    for (; (int)(p->n_old - p->n_removed) + 1 > p->bounds.n_pieces; p->n_removed++)
        unlink(path_of_old(p, p->n_removed + 1, old, sizeof old));
    p->entry->n_old = p->n_old;
    p->entry->n_removed = p->n_removed;
    close(*fd);
    *fd = next;
    return DCR_OK;
}

void pieces_end(struct pieces *p, int fd, struct follow **list)
{
    if (p->follow)
        give(p, fd);
    if (p->follow)
        follow_end(p->follow, list);
    p->follow = NULL;
}
