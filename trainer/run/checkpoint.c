/* checkpoint.c - the file of checkpoint.h (header, tensors, CRC-32C of all before it: 4 bytes), and the times at which
 * a run writes it. */
#include "trainer/run/train_internal.h"

#include "lib/base/fs.h"
#include "lib/base/hash.h"
#include "trainer/model/dcrnn.h"
#include "trainer/model/graph.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "DCRNNckp"
#define VERSION 1
#define BYTE_ORDER_MARK 0x01020304u

struct header {
    char magic[8];
    uint32_t byte_order;
    uint32_t version;
    int64_t file_bytes;
    struct checkpoint_key key;
    struct checkpoint_state state;
};
_Static_assert(sizeof(struct header) == 24 + 12 * 8 + 10 * 8, "no padding may reach the file");

size_t checkpoint_bytes(size_t n_params)
{
    return sizeof(struct header) + CHECKPOINT_N_TENSORS * n_params * sizeof(float) + sizeof(uint32_t);
}

struct out {
    int fd;
    uint32_t crc;
};

static int put(struct out *o, const void *bytes, size_t n)
{
    o->crc = dcr_crc32c(o->crc, bytes, n);
    return dcr_write_all(o->fd, bytes, n);
}

int checkpoint_write(const char *path, int is_synced, const struct checkpoint_key *key,
                     const struct checkpoint_state *state, float *const tensors[CHECKPOINT_N_TENSORS],
                     struct dcr_err *err)
{
    char partial[4096];
    struct header h = {.magic = MAGIC, .byte_order = BYTE_ORDER_MARK, .version = VERSION, .key = *key, .state = *state};
    h.file_bytes = (int64_t)checkpoint_bytes((size_t)key->n_params);
    if (snprintf(partial, sizeof partial, "%s.partial", path) >= (int)sizeof partial)
        return dcr_err_set(err, DCR_FAIL, "the name '%.200s...' is too long; choose a shorter one", path);
    struct out o = {0};
    if (dcr_open_partial(path, partial, &o.fd, err) != 0)
        return dcr_err_while(err, "writing the checkpoint");
    int bad = put(&o, &h, sizeof h);
    for (int i = 0; !bad && i < CHECKPOINT_N_TENSORS; i++)
        bad = put(&o, tensors[i], (size_t)key->n_params * sizeof *tensors[i]);
    uint32_t crc = o.crc;
    bad = bad || put(&o, &crc, sizeof crc) || (is_synced && fsync(o.fd));
    int rc = bad ? dcr_err_file(err, DCR_FAIL, "cannot write '%s'", path) : dcr_commit_file(o.fd, partial, path, err);
    if (rc)
        unlink(partial);
    close(o.fd);
    if (rc == 0 && is_synced)
        rc = dcr_sync_folder(path, err);
    return rc ? dcr_err_while(err, "writing the checkpoint") : DCR_OK;
}

static const char *number(int64_t v, char text[24])
{
    snprintf(text, 24, "%lld", (long long)v);
    return text;
}

/* A number written by another version may have no name here. */
static const char *recursion(int64_t v, char text[24])
{
    return v == DCRNN_PUBLISHED || v == DCRNN_RESET ? dcrnn_recursion_name((enum dcrnn_recursion)v) : number(v, text);
}

static const char *filter(int64_t v, char text[24])
{
    return v >= GRAPH_LAPLACIAN && v <= GRAPH_DUAL_RANDOM_WALK ? graph_filter_name((enum graph_filter)v)
                                                               : number(v, text);
}

static int check_key(const char *path, const struct checkpoint_key *mine, const struct checkpoint_key *theirs,
                     struct dcr_err *err)
{
    char there[24], here[24];
#define X(field, text, name)                                                                                         \
    if (mine->field != theirs->field)                                                                                \
        return dcr_err_set(err, DCR_FAIL,                                                                            \
                           "checkpoint '%s' was written by another run: " text " differs (there %s, here %s)", path, \
                           name(theirs->field, there), name(mine->field, here));
    CHECKPOINT_KEYS(X)
#undef X
    return 0;
}

/* Are these counts that a run can have? Steps and epochs are looked up by them. */
static int is_state_possible(const struct checkpoint_state *s)
{
    return s->step >= 0 && s->epoch >= 0 && s->step_in_epoch >= 0 && s->step_in_epoch <= s->step && s->n_updates >= 0 &&
           s->epochs_since_best >= 0 && s->n_ranks >= 1;
}

static int check_header(const char *path, const struct header *h, int64_t file_bytes, const struct checkpoint_key *key,
                        struct dcr_err *err)
{
    if (file_bytes < (int64_t)sizeof *h || memcmp(h->magic, MAGIC, sizeof h->magic))
        return dcr_err_set(err, DCR_FAIL, "'%s' is not a checkpoint of this program; check --resume", path);
    if (h->byte_order != BYTE_ORDER_MARK)
        return dcr_err_set(err, DCR_FAIL,
                           "checkpoint '%s' was written on a machine of the other byte order; resume on such a machine",
                           path);
    if (h->version != VERSION)
        return dcr_err_set(err, DCR_FAIL,
                           "checkpoint '%s' has format version %u, this program reads version %d; resume with the "
                           "version that wrote it",
                           path, h->version, VERSION);
    if (h->file_bytes != file_bytes)
        return dcr_err_set(
            err, DCR_FAIL,
            "checkpoint '%s' has %lld of its %lld bytes; use another copy, or start again without --resume", path,
            (long long)file_bytes, (long long)h->file_bytes);
    int rc = check_key(path, key, &h->key, err);
    if (!rc && file_bytes != (int64_t)checkpoint_bytes((size_t)h->key.n_params))
        rc = dcr_err_set(err, DCR_FAIL,
                         "checkpoint '%s' is damaged: its size does not fit its number of parameters; use another "
                         "copy, or start again without --resume",
                         path);
    return rc;
}

static int read_all(int fd, char *at, size_t n)
{
    while (n) {
        ssize_t k = read(fd, at, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k == 0) /* the file became shorter */
            errno = EIO;
        if (k <= 0)
            return -1;
        at += k;
        n -= (size_t)k;
    }
    return 0;
}

int checkpoint_read(const char *path, const struct checkpoint_key *key, struct checkpoint_state *state,
                    float *const tensors[CHECKPOINT_N_TENSORS], struct dcr_err *err)
{
    int rc = DCR_FAIL;
    struct stat st;
    struct header h = {0};
    char *bytes = NULL;
    size_t n_each = (size_t)key->n_params * sizeof(float), n_body = CHECKPOINT_N_TENSORS * n_each;
    uint32_t stored, crc;
    int fd = -1;
    if (dcr_open_file("checkpoint", path, &fd, err))
        return rc;
    if (fstat(fd, &st)) {
        dcr_err_file(err, rc, "cannot read checkpoint '%s'", path);
        goto out;
    }
    if (!S_ISREG(st.st_mode)) {
        dcr_err_set(err, rc, "checkpoint '%s' is not a file; check the name given to --resume", path);
        goto out;
    }
    if (st.st_size >= (off_t)sizeof h && read_all(fd, (char *)&h, sizeof h)) {
        dcr_err_file(err, rc, "cannot read checkpoint '%s'", path);
        goto out;
    }
    rc = check_header(path, &h, st.st_size, key, err);
    if (rc)
        goto out;
    rc = DCR_FAIL;
    bytes = malloc(n_body + sizeof stored);
    if (!bytes || read_all(fd, bytes, n_body + sizeof stored)) {
        dcr_err_file(err, rc, "cannot read checkpoint '%s'", path);
        goto out;
    }
    memcpy(&stored, bytes + n_body, sizeof stored);
    crc = dcr_crc32c(dcr_crc32c(0, &h, sizeof h), bytes, n_body);
    if (crc != stored) {
        dcr_err_set(err, rc,
                    "checkpoint '%s' has the wrong checksum; use another copy, or start again without "
                    "--resume",
                    path);
        goto out;
    }
    if (!is_state_possible(&h.state)) {
        dcr_err_set(err, rc,
                    "checkpoint '%s' has impossible counts of steps, epochs or ranks; use another copy, or start again "
                    "without --resume",
                    path);
        goto out;
    }
    rc = 0;
    *state = h.state;
    for (int i = 0; i < CHECKPOINT_N_TENSORS; i++)
        memcpy(tensors[i], bytes + (size_t)i * n_each, n_each);
out:
    if (fd >= 0)
        close(fd);
    free(bytes);
    return rc;
}

/* ---- when a run writes it, and which one is left when training diverges -------------------------------
 *
 * Weights can be spoiled by the very update after which they are saved, and only the next loss shows it. So the
 * checkpoint before stays under a second name until the new one has been seen to be good. */

/* Gives the good checkpoint a second name, because the next checkpoint will take its first name. On file systems with
 * one name per file it is renamed. Then checkpoint.bin is missing for a moment, but there is always a good checkpoint.
 */
static void keep_good_one(struct train *t)
{
    if (!t->checkpoint_is_good)
        return;
    unlink(t->checkpoint_before);
    if (link(t->checkpoint_path, t->checkpoint_before) && rename(t->checkpoint_path, t->checkpoint_before))
        return; /* it is gone, or the folder is not ours any more: writing will report it */
    t->has_checkpoint_before = 1;
}

int train_checkpoint(struct train *t, struct step_times *times, struct dcr_err *err)
{
    float *const tensors[CHECKPOINT_N_TENSORS] = {t->be->params, t->be->adam_m, t->be->adam_v};
    int rc = 0;
    if (t->checkpoint_at == t->at.step && t->checkpoint_at_epoch == t->at.epoch)
        return 0; /* this state is already on disk */
    if (t->divergence.n_suspicious) {
        if (t->c->rank == 0 && !t->has_left_out_checkpoint)
            dcr_say("dcrnn-train",
                    "note: no checkpoint after step %lld: the loss is more than %g times its best; lower --lr",
                    (long long)t->at.step, t->divergence.factor);
        t->has_left_out_checkpoint = 1;
        return 0;
    }
    t->checkpoint_at = t->at.step;
    t->checkpoint_at_epoch = t->at.epoch;
    if (t->c->rank == 0) {
        struct phase phase = phase_begin(MARK_CHECKPOINT, checkpoint_bytes(t->be->n_params));
        if (t->be->fetch)
            t->be->fetch(t->be);
        t->at.n_updates = t->be->step;
        keep_good_one(t);
        rc = checkpoint_write(t->checkpoint_path, t->o->checkpoint_fsync, &t->key, &t->at, tensors, err);
        phase_end(phase, times);
    }
    t->checkpoint_is_good = 0;
    return rc;
}

void train_forget_checkpoint_before(struct train *t)
{
    if (t->has_checkpoint_before)
        unlink(t->checkpoint_before);
    t->has_checkpoint_before = 0;
}

void train_checkpoint_proves_good(struct train *t, struct step_times *times)
{
    t->has_left_out_checkpoint = 0;
    if (t->checkpoint_at < 0 || t->checkpoint_is_good)
        return;
    t->checkpoint_is_good = 1;
    if (t->has_checkpoint_before) {
        /* freeing the blocks of a large file takes milliseconds, which are part of the cost of checkpoints */
        struct phase phase = phase_begin(MARK_CHECKPOINT, 0);
        train_forget_checkpoint_before(t);
        phase_end(phase, times);
    }
}

/* On rank 0: deletes the spoiled checkpoint and restores the good one. */
static void restore_good_one(struct train *t)
{
    if (t->checkpoint_at < 0 || t->checkpoint_is_good)
        return;
    if (t->has_checkpoint_before && rename(t->checkpoint_before, t->checkpoint_path) == 0)
        t->checkpoint_is_good = 1;
    else
        unlink(t->checkpoint_path);
    t->has_checkpoint_before = 0;
}

int train_diverged(struct train *t, double loss, double norm, struct dcr_err *err)
{
    char why[160];
    t->result->has_diverged = 1;
    if (t->c->rank == 0)
        restore_good_one(t);
    if (isfinite(loss) && isfinite(norm))
        snprintf(why, sizeof why, "the loss, now %.4g mph, was above %g times its best, %.4g, for %d step%s", loss,
                 t->divergence.factor, t->divergence.best, t->divergence.n_suspicious,
                 t->divergence.n_suspicious == 1 ? "" : "s");
    else
        snprintf(why, sizeof why, "loss %g, gradient norm %g", fabs(loss), fabs(norm));
    return dcr_err_set(err, DCR_FAIL,
                       "training diverged in step %lld (epoch %lld): %s; start again with a lower --lr%s%s",
                       (long long)t->at.step, (long long)t->at.epoch + 1, why,
                       t->checkpoint_is_good ? " or resume the last good checkpoint with one: " : "",
                       t->checkpoint_is_good ? t->checkpoint_path : "");
}
