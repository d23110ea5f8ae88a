/* device_peaks.c - see device_peaks.h. Rates of dense products without structured sparsity. FP16, BF16 and FP8 use
 * tensor or matrix cores. FP64 and FP32 use ordinary ones, because a trace does not state whether FP32 products ran as
 * TF32. */
#include "render/model/device_peaks.h"

#include <string.h>

struct device_peak {
    const char *model;                  /* as the driver calls it */
    double fp64, fp32, fp16, bf16, fp8; /* 10^12 operations a second; 0 = none, or not known */
    double memory;                      /* 10^12 bytes a second */
    const char *source;
};

static const char v100[] = "NVIDIA V100 datasheet (2020)", a100[] = "NVIDIA A100 datasheet (2021)",
                  h100[] = "NVIDIA H100 architecture whitepaper (2023)", h200[] = "NVIDIA H200 datasheet (2024)",
                  b200[] = "NVIDIA Blackwell datasheet, HGX B200 (2024)",
                  mi300x[] = "AMD Instinct MI300X datasheet (2023)",
                  turing[] = "NVIDIA Turing whitepaper, RTX 2080 Ti (2018)",
                  gp100[] = "NVIDIA Quadro GP100 datasheet (2017)";

/* The devices in the traces that dcreport was tested with, and the H200. */
static const struct device_peak table[] = {
    {"Tesla V100-SXM2-16GB", 7.8, 15.7, 125, 0, 0, 0.9, v100},
    {"Tesla V100-SXM2-32GB", 7.8, 15.7, 125, 0, 0, 0.9, v100},
    {"Tesla V100-DGXS-32GB", 7.8, 15.7, 125, 0, 0, 0.9, v100},
    {"NVIDIA A100-SXM4-40GB", 9.7, 19.5, 312, 312, 0, 1.555, a100},
    {"NVIDIA A100-PG509-200", 9.7, 19.5, 312, 312, 0, 1.555, a100}, /* an A100-SXM4-40GB by its PCI identity, 20B0 */
    {"NVIDIA A100-SXM4-80GB", 9.7, 19.5, 312, 312, 0, 2.039, a100},
    {"NVIDIA H100 80GB HBM3", 33.5, 66.9, 989.4, 989.4, 1978.9, 3.35, h100},
    {"NVIDIA H200", 34, 67, 989.5, 989.5, 1979, 4.8, h200},
    {"NVIDIA B200", 37, 75, 2250, 2250, 4500, 7.7, b200},
    {"AMD Instinct MI300X", 81.7, 163.4, 1307.4, 1307.4, 2614.9, 5.3, mi300x},
    {"AMD Instinct MI300X VF", 81.7, 163.4, 1307.4, 1307.4, 2614.9, 5.3, mi300x},
    {"NVIDIA GeForce RTX 2080 Ti", 0.42, 13.4, 53.8, 0, 0, 0.616, turing},
    {"Quadro GP100", 5.2, 10.3, 20.7, 0, 0, 0.717, gp100},
};

static double flop_peak(const struct device_peak *d, const char *format)
{
    return strcmp(format, "FP64") == 0   ? d->fp64
           : strcmp(format, "FP32") == 0 ? d->fp32
           : strcmp(format, "FP16") == 0 ? d->fp16
           : strcmp(format, "BF16") == 0 ? d->bf16
           : strcmp(format, "FP8") == 0  ? d->fp8
                                         : 0;
}

void device_peaks_add(struct foreign_trace *t)
{
    const struct device_peak *d = NULL;
    for (size_t i = 0; t->n_devices && i < sizeof table / sizeof *table; i++)
        if (strcmp(t->devices[0].model, table[i].model) == 0)
            d = &table[i];
    const struct reason why = t->n_devices ? REASON(PEAK_UNLISTED) : REASON(PEAK_OF_HOST);
    for (int i = 0; i < t->n_work; i++) {
        struct run_kernel_counts *k = &t->work[i];
        k->file = t->file;
        k->peak_flop_per_s = d ? 1e12 * flop_peak(d, k->format) : 0;
        k->peak_bytes_per_s = d ? 1e12 * d->memory : 0;
        k->peak_flop_source = k->peak_bytes_source = d ? d->source : "";
        k->peak_flop_why = k->peak_flop_per_s > 0        ? REASON(NONE)
                           : !*k->format && t->n_devices ? REASON(TYPES_UNTOLD)
                                                         : why;
        k->peak_bytes_why = d ? REASON(NONE) : why;
    }
}
