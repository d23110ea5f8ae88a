/* ncu_sums.c - sums the counters of a kernel's launches, or says why it cannot: see ncu_counters.h. */
#include "render/import/ncu/ncu_counters.h"

#include "lib/base/buf.h"

static const char *const format_names[NCU_N_FORMATS] = {"FP64", "FP32", "FP16", "tensor cores"};
static const char *const op_names[NCU_N_PLAIN][NCU_N_OPS] = {
    {"dadd", "dmul", "dfma"}, {"fadd", "fmul", "ffma"}, {"hadd", "hmul", "hfma"}};

static const char *kept(struct run *r, struct dcr_buf *b)
{
    const char *text = dcr_arena_strdup(&r->arena, dcr_buf_text(b));
    dcr_buf_release(b);
    return text;
}

/* Keeps the operations and their formats, and the reason if some were not counted. */
static void keep_flop(struct run *r, const struct ncu_sums *s, struct run_kernel_counts *k)
{
    struct dcr_buf counted = {0}, missing = {0};
    int most = -1;
    k->flop = 0;
    k->flop_why = REASON(NONE);
    for (int f = 0; f < NCU_N_FORMATS; f++) {
        if (!s->n_format[f])
            continue;
        dcr_buf_printf(&counted, "%s%s", counted.len ? ", " : "", format_names[f]);
        if (s->n_format[f] < s->n)
            k->flop_why = REASON(FLOP_OF_SOME_LAUNCHES, slot_count(s->n_format[f]), slot_count(s->n));
        most = s->flop[f] > (most < 0 ? 0 : s->flop[most]) ? f : most;
        k->flop += s->flop[f];
        for (int op = 0; f < NCU_N_PLAIN && op < NCU_N_OPS; op++)
            if (s->n_partial[f][op])
                dcr_buf_printf(&missing, "%s%s", missing.len ? ", " : "", op_names[f][op]);
    }
    k->format = most < 0 ? "" : format_names[most];
    if (!counted.len)
        k->flop_why = REASON(FLOP_NOT_COUNTED);
    else if (s->n_hidden_tensor)
        k->flop_why = REASON(FLOP_OF_TENSOR_CORES);
    k->flop = k->flop_why.code ? -1 : k->flop;
    int is_counted = counted.len > 0;
    k->counted = kept(r, &counted);
    k->missing = kept(r, &missing);
    k->peak_flop_per_s = -1;
    k->peak_flop_source = "";
    if (most == NCU_TENSOR) {
        k->peak_flop_why = REASON(PEAK_OF_TENSOR_CORES);
    } else if (most < 0 && is_counted) {
        k->peak_flop_why = REASON(PEAK_OF_NO_FLOP);
    } else if (most < 0 || !(s->peak_flop_ns[most] > 0)) {
        k->peak_flop_why = REASON(PEAK_NOT_OF_FLOP);
    } else {
        k->peak_flop_per_s = s->peak_flop[most] / s->peak_flop_ns[most];
        k->peak_flop_source = s->peak_flop_from[most] == NCU_FROM_PEAK ? "ncu: most in a cycle x clock"
                                                                       : "ncu: achieved / its share of the peak";
    }
}

static void keep_bytes(const struct ncu_sums *s, struct run_kernel_counts *k)
{
    static const char *const from[] = {
        [NCU_FROM_PEAK] = "ncu: most in a cycle x clock",
        [NCU_FROM_SHARE] = "ncu: achieved / its share of the peak",
        [NCU_FROM_BUSY] = "ncu: achieved / DRAM throughput (of the busiest part of the memory: a lower bound)"};
    k->bytes = s->n_bytes == s->n ? s->bytes : -1;
    if (k->bytes < 0)
        k->bytes_why = s->n_bytes ? REASON(TRAFFIC_OF_SOME_LAUNCHES, slot_count(s->n_bytes), slot_count(s->n))
                                  : REASON(TRAFFIC_NOT_COUNTED);
    k->peak_bytes_per_s = s->peak_bytes_ns > 0 ? s->peak_bytes / s->peak_bytes_ns : -1;
    k->peak_bytes_source = s->peak_bytes_ns > 0 ? from[s->peak_bytes_from] : "";
    k->peak_bytes_why = s->peak_bytes_ns > 0 ? REASON(NONE) : REASON(PEAK_OF_MEMORY);
}

void ncu_sums_keep(struct run *r, const char *file, const char *kernel, const struct ncu_sums *s)
{
    struct run_kernel_counts k = {.file = file, .kernel = kernel, .n = s->n, .ns = s->n_time == s->n ? s->ns : -1};
    keep_flop(r, s, &k);
    keep_bytes(s, &k);
    r->kernels = arena_grow(&r->arena, r->kernels, (size_t)r->n_kernels, &r->kernels_cap, sizeof *r->kernels);
    r->kernels[r->n_kernels++] = k;
}
