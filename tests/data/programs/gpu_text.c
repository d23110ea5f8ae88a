/* gpu_text.c - the GPU events of a trace as text, a line each in file order, then the losses.
 *   gpu_text FILE.dct */
#include "lib/trace/trace.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

static void put(void *ctx, const struct dct_gpu_event *e)
{
    static const char *const kinds[] = {
#define X(id, text) text,
        DCT_GPU_ACTIVITIES(X)
#undef X
    };
    const struct dct_gpu *g = &e->gpu;
    (void)ctx;
    printf("%s [%s] dur=%" PRId64 " bytes=%" PRIu64 " device=%" PRIu32 " context=%" PRIu32 " stream=%" PRIu32
           " corr=%" PRIu32 " graph=%" PRIu32 " node=%" PRIx64 " detail=%d",
           kinds[g->activity], e->name, (e->end_ns - e->start_ns + 500) / 1000 * 1000, e->bytes, g->device, g->context,
           g->stream, g->correlation, g->graph, g->node, g->detail);
    if (g->activity == DCT_GPU_KERNEL)
        printf(" grid=%" PRIu32 ",%" PRIu32 ",%" PRIu32 " block=%" PRIu32 ",%" PRIu32 ",%" PRIu32
               " regs=%d shared=%" PRIu32 "+%" PRIu32,
               e->kernel.grid[0], e->kernel.grid[1], e->kernel.grid[2], e->kernel.block[0], e->kernel.block[1],
               e->kernel.block[2], g->registers, e->kernel.static_shared, e->kernel.dynamic_shared);
    printf(" t=%" PRId64 "\n", e->start_ns);
}

int main(int argc, char **argv)
{
    struct dcr_err err = {0};
    struct dct_reader *r;
    struct dct_info info;
    struct dct_event e;
    struct dct_loss loss;
    int rc, fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0)
        return 2;
    struct dcr_stream s = dcr_stream_fd(&fd, argv[1]);
    if (dct_open(&r, &s, &info, &err) != 0) {
        puts(err.text);
        return 2;
    }
    dct_listen(r, (struct dct_listener){.gpu = put});
    while ((rc = dct_next(r, &e, &err)) == 0)
        ;
    dct_get_loss(r, &loss);
    printf("dropped=%" PRIu64 " bad=%" PRIu64 " missing=%" PRIu64 "\n", loss.n_dropped, loss.n_bad_blocks,
           loss.n_missing_blocks);
    dct_close(r);
    return rc == DCR_END ? 0 : 1;
}
