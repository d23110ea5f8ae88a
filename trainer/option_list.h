/* option_list.h - the options of dcrnn-train: one table for the parser and for --help (options.c). What each does at
 * length is in docs/man/dcrnn-train.1. */
#ifndef TRAINER_OPTION_LIST_H
#define TRAINER_OPTION_LIST_H

/* X(enumerator, name, argument or NULL, help); a NULL name starts a section. One table for parser and help. */
#define OPTIONS(X)                                                                                                  \
    X(SECTION_DATA, NULL, NULL, "Data")                                                                             \
    X(OPT_DATA, "data", "FILE", "speeds by rows: CSV, pandas HDF5, npy, npz; folder of windows (else generated)")   \
    X(OPT_HEADER, "header", "WHEN", "is the first line a header: auto, yes, no (auto)")                             \
    X(OPT_SENSOR_IDS, "sensor-ids", "FILE", "names of the columns, for data without a header")                      \
    X(OPT_DATA_KEY, "data-key", "NAME", "frame of an HDF5 file, array of an npz file (the only one)")               \
    X(OPT_DATA_FEATURE, "data-feature", "N", "which feature of an array is the speed (0)")                          \
    X(OPT_START_TIME, "start-time", "TIME", "of the first row, for data without times (midnight)")                  \
    X(OPT_GRAPH, "graph", "FILE", "the sensors' road graph; needed with --data")                                    \
    X(OPT_GRAPH_FORMAT, "graph-format", "F", "auto, distances, weights, distance-matrix, weight-matrix (auto)")     \
    X(OPT_GRAPH_SUBSET, "graph-subset", NULL, "pass over sensors of the graph that the data lack")                  \
    X(OPT_SENSORS, "sensors", "N", "generated data: sensors (48)")                                                  \
    X(OPT_DAYS, "days", "N", "generated data: days (14)")                                                           \
    X(OPT_DATA_SEED, "data-seed", "N", "generated data: seed (1)")                                                  \
    X(OPT_WRITE_DATA, "write-data", "DIR", "write the generated speeds.csv and distances.csv, then end")            \
    X(SECTION_MODEL, NULL, NULL, "Model")                                                                           \
    X(OPT_UNITS, "units", "N", "hidden units per sensor and layer (32)")                                            \
    X(OPT_LAYERS, "layers", "N", "recurrent layers of encoder and decoder (2)")                                     \
    X(OPT_HOPS, "hops", "K", "diffusion steps per support (2)")                                                     \
    X(OPT_FILTER, "filter", "F", "dual_random_walk, random_walk, laplacian (dual_random_walk)")                     \
    X(OPT_RECURSION, "recursion", "R", "start of the second support: published, reset (published)")                 \
    X(OPT_INPUT, "input-steps", "N", "rows the model sees (12)")                                                    \
    X(OPT_FORECAST, "forecast-steps", "N", "rows it forecasts (12)")                                                \
    X(SECTION_TRAINING, NULL, NULL, "Training")                                                                     \
    X(OPT_BATCH, "batch", "N", "windows per step, all ranks together (64)")                                         \
    X(OPT_WEAK, "weak", NULL, "--batch is per rank: work grows with the ranks")                                     \
    X(OPT_ACCUMULATE, "accumulate", "K", "a step in K parts whose gradients are added up: less memory (1)")         \
    X(OPT_EPOCHS, "epochs", "N", "end after N epochs (3)")                                                          \
    X(OPT_STEPS, "steps", "N", "end after N steps, if that comes first")                                            \
    X(OPT_LR, "lr", "X", "learning rate of Adam (0.01)")                                                            \
    X(OPT_MILESTONES, "lr-milestones", "LIST", "epochs after which the rate is cut to a tenth (20,30,40,50)")       \
    X(OPT_CLIP, "clip", "X", "largest gradient norm, 0 = no limit (5)")                                             \
    X(OPT_SAMPLING, "sampling-decay", "X", "scheduled sampling's tau in steps, 0 = always own predictions (2000)")  \
    X(OPT_SEED, "seed", "N", "of weights, order and coins (1)")                                                     \
    X(OPT_PATIENCE, "patience", "N", "end after N epochs without a better validation (off)")                        \
    X(OPT_VALIDATE, "validate-every", "N", "epochs between validations, 0 = at the end only (1)")                   \
    X(OPT_VALIDATION_WINDOWS, "validation-windows", "N", "validate on N windows spread over the split (all)")       \
    X(OPT_TEST, "test", NULL, "score the test split whenever the validation is the best so far")                    \
    X(OPT_EXPLODE, "explode-factor", "X", "stop when the loss stays above X times its best, 0 = never (10)")        \
    X(SECTION_LOADING, NULL, NULL, "Loading")                                                                       \
    X(OPT_WORKERS, "loader-workers", "N", "threads that make batches ahead; 0 = every batch when it is needed (0)") \
    X(OPT_PREFETCH, "prefetch", "N", "batches that workers make ahead (2)")                                         \
    X(OPT_PINNED, "pinned", "yes|no", "batches in page-locked memory, which a GPU copies from by itself (yes)")     \
    X(OPT_WINDOWS, "windows", "FILE", "read training windows from a file, see --write-windows (from memory)")       \
    X(OPT_STAGE, "stage-windows", NULL, "write such a file into --out first, and read that")                        \
    X(OPT_WINDOWS_FORMAT, "windows-format", "F", "of a file to be written: raw, text (deflated) (raw)")             \
    X(OPT_WINDOWS_CHUNK, "windows-chunk", "N", "of a file to be written: rows that are decoded together (24)")      \
    X(OPT_COLD, "cold", NULL, "read windows from the disk, past the page cache")                                    \
    X(OPT_WRITE_WINDOWS, "write-windows", "FILE", "write the data for --windows, then end")                         \
    X(SECTION_RANKS, NULL, NULL, "Ranks")                                                                           \
    X(OPT_RANK_WEIGHTS, "rank-weights", "LIST", "shares of the ranks in the global batch: 2,1,1 (equal)")           \
    X(OPT_NO_OVERLAP, "no-overlap", NULL, "send gradients after the backward pass instead of during it")            \
    X(OPT_BUCKET, "bucket-bytes", "N", "of gradients that travel in one piece, as 32-bit floats (262144)")          \
    X(OPT_DTYPE, "allreduce-dtype", "T", "how gradients travel: fp32, bf16; none: only to measure (fp32)")          \
    X(OPT_COMM_TIMEOUT, "comm-timeout", "S", "seconds that a rank may wait for others, 0 = for ever (300)")         \
    X(SECTION_RUN, NULL, NULL, "Run")                                                                               \
    X(OPT_OUT, "out", "DIR", "folder for metrics.csv, steps-rank<r>.csv, program.json, checkpoint.bin (dcrnn-out)") \
    X(OPT_CHECKPOINT, "checkpoint-every", "N", "steps between checkpoints; `2epochs` counts epochs (never)")        \
    X(OPT_FSYNC, "checkpoint-fsync", "yes|no", "wait until a checkpoint is on the disk (yes)")                      \
    X(OPT_RESUME, "resume", "FILE", "continue from a checkpoint")                                                   \
    X(OPT_THREADS, "threads", "N", "threads of each rank (1)")                                                      \
    X(OPT_KERNELS, "kernels", "K", "of the CPU: avx512, avx2, portable (auto: the best it can run)")                \
    X(OPT_BACKEND, "backend", "B", "where steps are computed: cpu, cuda (cpu)")                                     \
    X(OPT_PRECISION, "precision", "P", "of products, with cuda: fp32, tf32, bf16 (fp32)")                           \
    X(OPT_CUDA_GRAPH, "cuda-graph", "WHEN", "launch a step as one CUDA graph: yes, no (yes)")                       \
    X(OPT_SHARE_GPU, "share-gpu", NULL, "let several ranks use one GPU, standing for nodes (emulated, for tests)")  \
    X(OPT_PROGRESS, "progress", "N", "steps between progress lines on a terminal (10)")                             \
    X(OPT_SCENARIO, "scenario", "NAME", "options of a run whose bottleneck is known; a name or a FILE.conf")        \
    X(OPT_SCENARIO_SEED, "scenario-seed", "N", "decides the sizes that it draws (1)")                               \
    X(OPT_KNOB, "knob", "on|off", "the bottleneck is there, or removed (on)")                                       \
    X(OPT_SHOW_SCENARIO, "show-scenario", NULL, "print what the scenario is, then end")                             \
    X(OPT_BASELINE, "baseline", NULL, "score three simple forecasts on validation and test split, then end")        \
    X(OPT_VERIFY, "verify", "DIR", "compare the model with a folder of reference vectors; exit status 0 or 1")      \
    X(OPT_GRADIENT, "gradient-to", "FILE", "write the first step's global gradient as text, then end")              \
    X(OPT_CHECK, "check-options", NULL, "look at the options of a training only, then end: exit status 0 or 2")     \
    X(OPT_CHECK_DATA, "check-data", NULL, "the same, and read data and graph as a training would")                  \
    X(OPT_HELP, "help", NULL, "show this text")                                                                     \
    X(OPT_VERSION, "version", NULL, "show the version")

#endif
