/* optable.c - see optable.h. */
#include "render/device/optable.h"

#include "render/model/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const char *text, size_t len, uint64_t seed)
{
    uint64_t h = seed ^ (len * 0x9e3779b97f4a7c15u), w = 0;
    for (; len >= 8; text += 8, len -= 8) {
        memcpy(&w, text, 8);
        h = (h ^ w) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    w = 0;
    memcpy(&w, text, len);
    h = (h ^ w) * 0xff51afd7ed558ccdu;
    return h ^ h >> 32;
}

/* Does the text hold one of the words, ASCII case folded? Words in lower case; the list ends with NULL. */
static int holds(const char *text, size_t len, const char *const *words)
{
    for (; *words; words++) {
        size_t n = strlen(*words);
        for (size_t i = 0; i + n <= len; i++) {
            size_t k = 0;
            while (k < n &&
                   ((text[i + k] >= 'A' && text[i + k] <= 'Z') ? text[i + k] | 0x20 : text[i + k]) == (*words)[k])
                k++;
            if (k == n)
                return 1;
        }
    }
    return 0;
}

/* The name before its template arguments, which may hold any type's name. */
static size_t plain_length(const char *text, size_t len)
{
    const char *arguments = memchr(text, '<', len);
    return arguments ? (size_t)(arguments - text) : len;
}

/* Kernels whose names contain words of products and attention although they are neither: those of the library
 * fbgemm_gpu, conversions, and FlashAttention's work on sums and outputs. */
static int is_helper_name(const char *text, size_t len)
{
    static const char *const words[] = {"fbgemm_gpu",    "convert",         "conversion",
                                        "flash_bwd_dot", "splitkv_combine", NULL};
    return holds(text, plain_length(text, len), words);
}

/* Tensor-core kernels by name: the list of PyTorch's TensorBoard plugin, and the names of later libraries. "nvjet_" are
 * cuBLAS's products for Hopper and later; FlashAttention exists for tensor cores alone; "tensor16x8" is part of cuDNN's
 * names; "xdl" and "gtcx" belong to AMD's matrix cores. */
static int is_tensor_name(const char *text, size_t len)
{
    static const char *const words[] = {"h884",
                                        "s884",
                                        "h1688",
                                        "s1688",
                                        "hmma",
                                        "i8816",
                                        "16816",
                                        "dgrad_1x1_stride_2x2",
                                        "first_layer_wgrad_kernel",
                                        "conv1x1",
                                        "conv2d_c1_k1",
                                        "direct_group",
                                        "xmma_implicit_gemm",
                                        "xmma_sparse_conv",
                                        "xmma_warp_specialized_implicit_gemm",
                                        "xmma_gemm",
                                        "xmma_sparse_gemm",
                                        "c1_k1",
                                        "tensorop",
                                        "wgmma",
                                        "hgmma",
                                        "bgmma",
                                        "mfma",
                                        "_mi16x16",
                                        "_mi32x32",
                                        "nvjet_",
                                        "flash_fwd",
                                        "flash_bwd",
                                        "flashattn",
                                        "fmhasm",
                                        "tensor16x8",
                                        "xdlops",
                                        "_xdl_",
                                        "_gtcx",
                                        NULL};
    return holds(text, len, words) && !is_helper_name(text, len);
}

/* Matrix products, convolutions and attention that could run on tensor cores; those of is_tensor_name count too. */
static int is_eligible_name(const char *text, size_t len)
{
    static const char *const words[] = {"gemm",    "conv", "dgrad", "wgrad", "fprop",
                                        "cutlass", "xmma", "fmha",  "cijk_", NULL};
    return holds(text, plain_length(text, len), words) && !is_helper_name(text, len);
}

/* "Memcpy DtoH (Device -> Pageable)", "DtoH", "[CUDA memcpy Device-to-Host]", "CUDA_MEMCPY_KIND_DTOH",
 * "CopyDeviceToHost". */
static int is_to_host_name(const char *text, size_t len)
{
    static const char *const words[] = {"dtoh", "device-to-host", "devicetohost", NULL};
    return holds(text, len, words);
}

static enum op_kind kind_of(enum op_kind kind, const char *text, size_t len)
{
    static const char *const words[] = {"nccl", "rccl", NULL};
    return kind == OP_COMPUTE && holds(text, len, words) ? OP_COMM : kind;
}

static void put(struct optable *s, struct name_entry *e)
{
    size_t i = e->hash & (s->table_cap - 1);
    while (s->table[i])
        i = (i + 1) & (s->table_cap - 1);
    s->table[i] = e;
}

static void make_room(struct optable *s)
{
    if (s->table_cap >= 2 * (s->n + 1))
        return;
    s->table_cap = s->table_cap ? 2 * s->table_cap : 1024;
    s->table = dcr_arena_alloc(&s->arena, s->table_cap * sizeof *s->table);
    for (size_t i = 0; i < s->n; i++)
        put(s, s->entries[i]);
}

struct name_entry *optable_entry(struct optable *s, int device, enum op_kind kind, const char *text, size_t len)
{
    uint64_t hash = hash_of(text, len, (uint64_t)device * 4 + (uint64_t)kind);
    if (s->table_cap) {
        for (size_t i = hash & (s->table_cap - 1); s->table[i]; i = (i + 1) & (s->table_cap - 1)) {
            struct name_entry *e = s->table[i];
            /* A kernel's entry keeps the kind found by its name: OP_COMM entries are asked for as OP_COMPUTE. */
            if (e->hash == hash && e->device == device && e->len == len && memcmp(e->text, text, len) == 0)
                return e;
        }
    }
    enum op_kind real = kind_of(kind, text, len);
    /* Classified before the name is dropped: operations of one kind share an entry. */
    if (s->n >= OPTABLE_MAX && !(len == strlen(OPTABLE_OTHER) && memcmp(text, OPTABLE_OTHER, len) == 0)) {
        struct name_entry *e = optable_entry(s, device, real, OPTABLE_OTHER, strlen(OPTABLE_OTHER));
        e->kind = real;
        return e;
    }
    make_room(s);
    struct name_entry *e = dcr_arena_alloc(&s->arena, sizeof *e);
    *e = (struct name_entry){.text = dcr_arena_strndup(&s->arena, text, len),
                             .len = len,
                             .hash = hash,
                             .device = device,
                             .index = (uint32_t)s->n,
                             .kind = real,
                             .is_to_host = kind == OP_MEMCPY && is_to_host_name(text, len),
                             .is_tensor = is_tensor_name(text, len),
                             .is_eligible = is_eligible_name(text, len)};
    s->entries = arena_grow(&s->arena, s->entries, s->n, &s->cap, sizeof *s->entries);
    s->entries[s->n++] = e;
    put(s, e);
    return e;
}

void optable_add(struct name_entry *e, int64_t dur_ns)
{
    e->min_ns = e->n == 0 || dur_ns < e->min_ns ? dur_ns : e->min_ns;
    e->max_ns = e->n == 0 || dur_ns > e->max_ns ? dur_ns : e->max_ns;
    e->n++;
    if (__builtin_add_overflow(e->sum_ns, dur_ns, &e->sum_ns))
        e->sum_ns = dur_ns < 0 ? INT64_MIN : INT64_MAX;
    double from_mean = (double)dur_ns - e->mean_ns;
    e->mean_ns += from_mean / (double)e->n;
    e->squares += from_mean * ((double)dur_ns - e->mean_ns);
}

static int compare(const void *a, const void *b)
{
    const struct device_name *x = a, *y = b;
    if (x->sum_ns != y->sum_ns)
        return x->sum_ns > y->sum_ns ? -1 : 1;
    int c = strcmp(x->name, y->name);
    return c ? c : (int)x->kind - (int)y->kind;
}

struct device_name *optable_of(const struct optable *s, int device, struct dcr_arena *arena, int *n_out)
{
    int n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += s->entries[i]->device == device;
    struct device_name *out = dcr_arena_alloc(arena, (size_t)(n + 1) * sizeof *out);
    n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct name_entry *e = s->entries[i];
        if (e->device == device)
            out[n++] = (struct device_name){.name = text_clean(arena, e->text),
                                            .kind = e->kind,
                                            .n = e->n,
                                            .sum_ns = e->sum_ns,
                                            .min_ns = e->min_ns,
                                            .max_ns = e->max_ns,
                                            .stddev_ns = e->n > 1 ? sqrt(e->squares / (double)(e->n - 1)) : 0};
    }
    if (n)
        qsort(out, (size_t)n, sizeof *out, compare);
    *n_out = n;
    return out;
}

void optable_release(struct optable *s)
{
    dcr_arena_release(&s->arena);
    memset(s, 0, sizeof *s);
}
