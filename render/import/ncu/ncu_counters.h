/* ncu_counters.h - counters of ncu that a roofline needs: by their names, of one launch of a kernel, and summed over
 * all of them. Inside render/import only. Formulas and sources: docs/metrics.md#kernels-by-counters. Test:
 * tests/unit/test_ncu_roofline.c */
#ifndef RENDER_IMPORT_NCU_NCU_COUNTERS_H
#define RENDER_IMPORT_NCU_NCU_COUNTERS_H

#include "render/model/build.h"

/* Formats of operations. Those of tensor cores are separate, whatever their format. */
enum ncu_format { NCU_FP64, NCU_FP32, NCU_FP16, NCU_TENSOR, NCU_N_FORMATS };
enum { NCU_N_OPS = 3 /* add, multiply, both */, NCU_N_PLAIN = NCU_TENSOR, NCU_N_SOURCES = 8 };

/* What is known of one launch; NAN = not counted. Counts are of the launch, rates per cycle or second. */
enum ncu_counter {
    NCU_COUNT,                                           /* thread instructions, by format and operation */
    NCU_PER_CYCLE = NCU_COUNT + NCU_N_PLAIN * NCU_N_OPS, /* the same per cycle */
    NCU_PEAK = NCU_PER_CYCLE + NCU_N_PLAIN * NCU_N_OPS,  /* peak multiply-adds per cycle, by format */
    NCU_PERCENT = NCU_PEAK + NCU_N_PLAIN,                /* achieved percent of that peak */
    NCU_TENSOR_COUNT = NCU_PERCENT + NCU_N_PLAIN,        /* operations by source format: of all results, by result */
    NCU_TENSOR_PER_CYCLE = NCU_TENSOR_COUNT + 2 * NCU_N_SOURCES,
    NCU_TENSOR_USED = NCU_TENSOR_PER_CYCLE + 2 * NCU_N_SOURCES, /* above 0: tensor cores ran */
    NCU_TIME,                                                   /* ns */
    NCU_BYTES,
    NCU_BYTES_READ,
    NCU_BYTES_WRITTEN,
    NCU_BYTES_PER_S,
    NCU_READ_PER_S,
    NCU_WRITTEN_PER_S,
    NCU_CYCLES_PER_S,        /* of the multiprocessors */
    NCU_MEMORY_CYCLES_PER_S, /* of the device's memory */
    NCU_BYTES_PEAK,          /* bytes in a cycle of the memory, at peak */
    NCU_BYTES_PERCENT,       /* achieved percent of that peak */
    NCU_MEMORY_PERCENT,      /* how busy its busiest part was: that or more */
    NCU_N_COUNTERS
};
struct ncu_launch {
    double v[NCU_N_COUNTERS];
};

/** ncu_counter_of - the counter that a name with this unit means, the name being of a section or of the counter itself:
 *  "Memory Throughput" in bytes per second. *factor: from that unit to those above. returns  -1 for none, or another
 *  unit */
int ncu_counter_of(const char *name, const char *unit, double *factor);
/** ncu_flop_of - operations of one instruction that this counter counts,
 * "..._thread_inst_executed_op_hfma_pred_on.sum":
 *  4. returns  0: it counts something else, or rates */
double ncu_flop_of(const char *name);
void ncu_launch_clear(struct ncu_launch *l);
/** ncu_launch_take - a value of counter c; if several names mean one counter, the first counts; if several add up
 *  (tensor cores by result), all count. returns 0: it is impossible: below 0, infinite, a share above 110 % */
int ncu_launch_take(struct ncu_launch *l, int c, double value);
/** ncu_launch_is_empty - no counter of operations or memory was among them. */
int ncu_launch_is_empty(const struct ncu_launch *l);

/* How a peak was found, the most direct way first. */
enum ncu_from { NCU_FROM_NOTHING, NCU_FROM_PEAK, NCU_FROM_SHARE, NCU_FROM_BUSY };

/* Launches of one kernel, added up. Zero to begin with. */
struct ncu_sums {
    int64_t n, n_time, n_bytes, n_format[NCU_N_FORMATS]; /* launches for which it is known */
    int64_t n_hidden_tensor;                             /* launches that used tensor cores without counting them */
    int64_t n_partial[NCU_N_PLAIN][NCU_N_OPS];           /* launches that lack this operation of a format */
    double ns, bytes, flop[NCU_N_FORMATS];
    double peak_flop_ns[NCU_N_PLAIN], peak_flop[NCU_N_PLAIN]; /* time of launches that state it; peak times that time */
    double peak_bytes_ns, peak_bytes;
    enum ncu_from peak_flop_from[NCU_N_PLAIN], peak_bytes_from; /* the least direct of the launches */
};
void ncu_sums_add(struct ncu_sums *s, const struct ncu_launch *l);
/** ncu_sums_keep - into the run's counted kernels. file, kernel: borrows from the run */
void ncu_sums_keep(struct run *r, const char *file, const char *kernel, const struct ncu_sums *s);

#endif
