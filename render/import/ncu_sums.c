/* ncu_sums.c - what the counters of a kernel's launches come to, or why they do not: see ncu_counters.h. */
#include "render/import/ncu_counters.h"

#include "lib/buf.h"

#define PROFILE "profile with --set roofline, or --section SpeedOfLight_RooflineChart"

static const char *const format_names[NCU_N_FORMATS] = {"FP64", "FP32", "FP16", "tensor cores"};
static const char *const op_names[NCU_N_PLAIN][NCU_N_OPS] = {
    {"dadd", "dmul", "dfma"}, {"fadd", "fmul", "ffma"}, {"hadd", "hmul", "hfma"}};

static const char *kept(struct run *r, struct dcr_buf *b)
{
    const char *text = dcr_arena_strdup(&r->arena, dcr_buf_text(b));
    dcr_buf_release(b);
    return text;
}

/* "n/a because ..." of something that only some of the launches say; what: it, how: to have it counted */
static const char *partly(struct run *r, const char *what, int64_t n, int64_t of, const char *how)
{
    struct dcr_buf b = {0};
    if (n == 0)
        dcr_buf_printf(&b, "n/a because %s not counted: %s", what, how);
    else
        dcr_buf_printf(&b, "n/a because %s counted in %lld of %lld launches only", what, (long long)n, (long long)of);
    return kept(r, &b);
}

/* Operations, of which formats, and what is not in them. */
static void keep_flop(struct run *r, const struct ncu_sums *s, struct run_kernel_counts *k)
{
    struct dcr_buf counted = {0}, missing = {0};
    int most = -1;
    k->flop = 0;
    k->flop_because = "";
    for (int f = 0; f < NCU_N_FORMATS; f++) {
        if (!s->n_format[f])
            continue;
        dcr_buf_printf(&counted, "%s%s", counted.len ? ", " : "", format_names[f]);
        if (s->n_format[f] < s->n)
            k->flop_because = partly(r, "operations were", s->n_format[f], s->n, "");
        most = s->flop[f] > (most < 0 ? 0 : s->flop[most]) ? f : most;
        k->flop += s->flop[f];
        for (int op = 0; f < NCU_N_PLAIN && op < NCU_N_OPS; op++)
            if (s->n_partial[f][op])
                dcr_buf_printf(&missing, "%s%s", missing.len ? ", " : "", op_names[f][op]);
    }
    k->format = most < 0 ? "" : format_names[most];
    if (!counted.len)
        k->flop_because = partly(r, "operations were", 0, s->n, PROFILE);
    else if (s->n_hidden_tensor)
        k->flop_because = "n/a because tensor cores ran and their operations were not counted: add "
                          "--metrics regex:sm__ops_path_tensor_src.*";
    k->flop = *k->flop_because ? -1 : k->flop;
    int is_counted = counted.len > 0;
    k->counted = kept(r, &counted);
    k->missing = kept(r, &missing);
    k->peak_flop_per_s = -1;
    if (most == NCU_TENSOR) {
        k->peak_flop_source = "n/a because ncu says no peak of tensor cores: it differs by format and sparsity";
    } else if (most < 0 && is_counted) {
        k->peak_flop_source = "n/a because it does no operations of these formats";
    } else if (most < 0 || !(s->peak_flop_ns[most] > 0)) {
        k->peak_flop_source = "n/a because ncu's shares of peak here are not of operations ('Compute (SM) throughput' "
                              "is of the busiest unit): " PROFILE;
    } else {
        k->peak_flop_per_s = s->peak_flop[most] / s->peak_flop_ns[most];
        k->peak_flop_source = s->peak_flop_from[most] == NCU_FROM_PEAK ? "ncu: most in a cycle x clock"
                                                                       : "ncu: achieved / its share of the peak";
    }
}

static void keep_bytes(struct run *r, const struct ncu_sums *s, struct run_kernel_counts *k)
{
    static const char *const from[] = {
        [NCU_FROM_PEAK] = "ncu: most in a cycle x clock",
        [NCU_FROM_SHARE] = "ncu: achieved / its share of the peak",
        [NCU_FROM_BUSY] = "ncu: achieved / DRAM throughput (of the busiest part of the memory: a lower bound)"};
    k->bytes = s->n_bytes == s->n ? s->bytes : -1;
    k->bytes_because = k->bytes >= 0 ? ""
                                     : partly(r, "traffic with the device's memory was", s->n_bytes, s->n,
                                              "profile with --section MemoryWorkloadAnalysis, or --metrics "
                                              "dram__bytes.sum");
    k->peak_bytes_per_s = s->peak_bytes_ns > 0 ? s->peak_bytes / s->peak_bytes_ns : -1;
    k->peak_bytes_source = s->peak_bytes_ns > 0
                               ? from[s->peak_bytes_from]
                               : "n/a because nothing says which share of the memory's peak was "
                                 "achieved: add --metrics dram__bytes.sum.pct_of_peak_sustained_elapsed";
}

void ncu_sums_keep(struct run *r, const char *file, const char *kernel, const struct ncu_sums *s)
{
    struct run_kernel_counts k = {.file = file, .kernel = kernel, .n = s->n, .ns = s->n_time == s->n ? s->ns : -1};
    keep_flop(r, s, &k);
    keep_bytes(r, s, &k);
    r->kernels = arena_grow(&r->arena, r->kernels, (size_t)r->n_kernels, &r->kernels_cap, sizeof *r->kernels);
    r->kernels[r->n_kernels++] = k;
}
