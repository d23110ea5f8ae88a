/* make_ranks.c - makes a spool as the collectors of many ranks leave it: make_ranks DIR RANKS STEPS [RANKS-PER-NODE
 * [OFFSET-NS DRIFT-PPM]]. Every rank has a trace of a training loop (data_load, forward, backward with two buckets
 * of gradients in flight, all_reduce, optimizer), every node a CPU monitor. Times come from a small generator of
 * numbers: the same arguments, the same bytes. With an offset the clocks of all nodes but the first are behind by it
 * at the start and lose so many parts per million more. Their clock monitors say so. Their calendars are an hour
 * behind. MAKE_RANKS_LATE=NAME: the last rank is in a range of that name for 30 ms of each step, and the others wait
 * for it. */
#include "lib/archive/format.h"
#include "lib/base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STEP = 1, DATA, FORWARD, BACKWARD, ALL_REDUCE, OPTIMIZER, BUCKET, OWN, N_NAMES };
static const char *const names[] = {"",         "step",       "data_load", "forward",
                                    "backward", "all_reduce", "optimizer", "all_reduce_bucket"};
enum { C_STEP = 1, C_DATA, C_COMPUTE, C_COMM, N_CATEGORIES };
static const char *const categories[] = {"", "step", "data", "compute", "comm"};

static FILE *out;
static unsigned char block[DCT_BLOCK_BYTES];
static struct dct_block_header head;
static uint64_t state;
static int64_t offset_ns;
static double drift;
static int is_skewed;   /* the current node */
static const char *own; /* NULL: no rank is late */

/* Time on the clock of the node. */
static int64_t on_node(int64_t t)
{
    return is_skewed ? t - offset_ns - (int64_t)(drift * (double)(t - 1000000000)) : t;
}

static int64_t between(int64_t lo, int64_t hi)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return lo + (int64_t)((state >> 33) % (uint64_t)(hi - lo));
}

static void must(int is_good, const char *what)
{
    if (!is_good) {
        perror(what);
        exit(1);
    }
}

static void begin_block(uint32_t track)
{
    uint64_t seq = head.magic && head.track == track ? head.seq + 1 : 0;
    memset(block, 0, sizeof block);
    head = (struct dct_block_header){.magic = DCT_BLOCK_MAGIC, .state = DCT_BLOCK_SEALED, .track = track, .seq = seq};
}

static void end_block(void)
{
    head.crc32c = dcr_crc32c(0, block + sizeof head, (size_t)head.used_slots * DCT_SLOT_BYTES);
    memcpy(block, &head, sizeof head);
    must(fwrite(block, sizeof block, 1, out) == 1, "write");
}

static void put(const void *slots, uint32_t n)
{
    if (sizeof head + (head.used_slots + n) * DCT_SLOT_BYTES > sizeof block) {
        end_block();
        begin_block(head.track);
    }
    memcpy(block + sizeof head + head.used_slots * DCT_SLOT_BYTES, slots, n * DCT_SLOT_BYTES);
    head.used_slots += n;
}

static void define(int kind, unsigned domain, unsigned id, const char *text)
{
    struct dct_slot s[8] = {{.kind = (uint8_t)kind, .n_extra = 7, .domain = (uint16_t)domain, .name = id}};
    s[0].t_ns = (int64_t)strlen(text);
    memcpy(&s[1], text, strlen(text));
    put(s, 8);
}

static void push(int kind, unsigned name, unsigned category, int64_t t, uint64_t payload, uint64_t id)
{
    struct dct_slot s[3] = {{.kind = (uint8_t)kind, .domain = 1, .name = name, .t_ns = on_node(t)}};
    struct dct_attr a = {.category = category, .payload_type = DCT_PAYLOAD_U64, .payload = payload};
    memcpy(&s[1], &a, sizeof a);
    s[2].t_ns = (int64_t)id;
    s[0].n_extra = kind == DCT_START ? 2 : 1;
    put(s, 1u + s[0].n_extra);
}

static void pop(int64_t t)
{
    put(&(struct dct_slot){.kind = DCT_POP, .domain = 1, .t_ns = on_node(t)}, 1);
}

static void end(int64_t t, uint64_t id)
{
    struct dct_slot s[2] = {{.kind = DCT_END, .n_extra = 1, .domain = 1, .t_ns = on_node(t)}, {.t_ns = (int64_t)id}};
    put(s, 2);
}

static int64_t range(unsigned name, unsigned category, int64_t t, int64_t ns, uint64_t payload)
{
    push(DCT_PUSH, name, category, t, payload, 0);
    pop(t + ns);
    return t + ns;
}

static void write_trace(const char *path, int rank, int node, int n_steps, int is_late)
{
    const int64_t late_ns = own ? 30000000 : 0;
    struct dct_file_header h = {.magic = DCT_MAGIC,
                                .version = DCT_VERSION,
                                .block_bytes = DCT_BLOCK_BYTES,
                                .rank = rank,
                                .node = -1,
                                .pid = (uint32_t)(1000 + rank),
                                .mono_ns = on_node(1000000000),
                                .real_ns = 1700000000000000000 - (is_skewed ? 3600000000000 : 0)};
    snprintf(h.host, sizeof h.host, "n%d", node);
    out = fopen(path, "wb");
    must(out != NULL, path);
    memset(block, 0, sizeof block);
    memcpy(block, &h, sizeof h);
    must(fwrite(block, sizeof block, 1, out) == 1, "write");
    memset(&head, 0, sizeof head);
    begin_block(0);
    define(DCT_DOMAIN, 1, 0, "generated");
    for (unsigned i = 1; i <= BUCKET; i++)
        define(DCT_STRING, 0, i, names[i]);
    if (own)
        define(DCT_STRING, 0, OWN, own);
    for (unsigned i = 1; i < N_CATEGORIES; i++)
        define(DCT_CATEGORY, 1, i, categories[i]);
    end_block();
    begin_block((uint32_t)(1000 + rank));
    int64_t t = 2000000000;
    for (int i = 0; i < n_steps; i++) {
        push(DCT_PUSH, STEP, C_STEP, t, (uint64_t)i, 0);
        t = range(DATA, C_DATA, t + 500, between(200000, 400000), 0);
        if (is_late)
            t = range(OWN, 0, t + 100, late_ns, 0);
        t = range(FORWARD, C_COMPUTE, t + 300, between(4000000, 4200000), 0);
        push(DCT_PUSH, BACKWARD, C_COMPUTE, t + 300, 0, 0);
        int64_t begin = t + 300;
        push(DCT_START, BUCKET, C_COMM, begin + 2000000, 262144, (uint64_t)(2 * i));
        end(begin + 2000000 + between(500000, 900000), (uint64_t)(2 * i));
        push(DCT_START, BUCKET, C_COMM, begin + 5000000, 262144, (uint64_t)(2 * i + 1));
        t = begin + between(8000000, 8400000);
        pop(t);
        int64_t wait = between(100000, 900000) + (is_late ? 0 : late_ns);
        push(DCT_PUSH, ALL_REDUCE, C_COMM, t + 200, 524288, 0);
        end(t + 200 + wait / 2, (uint64_t)(2 * i + 1));
        pop(t + 200 + wait);
        t = range(OPTIMIZER, C_COMPUTE, t + 400 + wait, between(300000, 320000), 0);
        t += 700;
        pop(t);
        t += between(1000, 20000);
    }
    end_block();
    must(fclose(out) == 0, path);
}

static void make_dir(const char *path)
{
    must(mkdir(path, 0777) == 0, path);
}

static void write_rank(const char *dir, int rank, int n_ranks, int n_steps, int per_node)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/rank%d", dir, rank);
    make_dir(path);
    is_skewed = rank / per_node > 0 && (offset_ns || drift != 0);
    int started = 1700000000 - (is_skewed ? 3600 : 0); /* nor do the calendars agree */
    snprintf(path, sizeof path, "%s/rank%d/rank.json", dir, rank);
    FILE *f = fopen(path, "w");
    must(f != NULL, path);
    fprintf(f,
            "{\"rank\": %d, \"local_rank\": %d, \"world_size\": %d, \"state\": \"ended\", \"host\": \"n%d\",\n"
            " \"boot_id\": \"boot-%d\", \"cpus_allowed\": \"%d\", \"started\": %d.0, \"ended\": %d.0,\n"
            " \"started_ns\": %" PRId64 ", \"ended_ns\": %" PRId64 ", \"exit_status\": 0, \"signal\": 0, \"pid\": %d,\n"
            " \"command\": [\"made\", \"by\", \"a generator\"], \"folder\": \"/\", \"interval_ms\": 100,\n"
            " \"collector_version\": \"test\", \"adopt\": [], \"labels\": {}, \"environment\": {},\n"
            " \"scheduler\": {\"name\": \"none\"}}\n",
            rank, rank % per_node, n_ranks, rank / per_node, rank / per_node, rank % per_node, started, started + 60,
            on_node(1000000000), on_node(61000000000), 1000 + rank);
    must(fclose(f) == 0, path);
    snprintf(path, sizeof path, "%s/rank%d/trace-%d.dct", dir, rank, 1000 + rank);
    state = (uint64_t)rank * 7919 + 1;
    write_trace(path, rank, rank / per_node, n_steps, own && rank == n_ranks - 1);
}

static void write_node(const char *dir, int node)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/host-n%d", dir, node);
    make_dir(path);
    snprintf(path, sizeof path, "%s/host-n%d/host.json", dir, node);
    FILE *f = fopen(path, "w");
    must(f != NULL, path);
    fprintf(f,
            "{\"boot_id\": \"boot-%d\", \"cpu_model\": \"made up\", \"cores\": 64, \"memory_bytes\": 1000000000,\n"
            " \"monitors\": {\"cpu\": \"ok\"}}\n",
            node);
    must(fclose(f) == 0, path);
    snprintf(path, sizeof path, "%s/host-n%d/cpu_monitor.csv", dir, node);
    f = fopen(path, "w");
    must(f != NULL, path);
    fprintf(f, "timestamp,cpu_percent,memory_percent,memory_used_gb,memory_total_gb,t_ns\n");
    for (int i = 0; i < 600; i++)
        fprintf(f, "%d.%d00,%" PRId64 ".5,50,0.5,1,%" PRId64 "\n", 1700000000 + i / 10, i % 10, between(80, 99),
                1000000000 + (int64_t)i * 100000000);
    must(fclose(f) == 0, path);
    if (node == 0 || (offset_ns == 0 && drift == 0))
        return;
    snprintf(path, sizeof path, "%s/host-n%d/clock_monitor.csv", dir, node);
    f = fopen(path, "w");
    must(f != NULL, path);
    fprintf(f, "timestamp,t_ns,offset_ns,error_ns,reference\n");
    is_skewed = 1;
    for (int i = 0; i < 7; i++) {
        int64_t t = 1000000000 + (int64_t)i * 10000000000;
        fprintf(f, "%d.000,%" PRId64 ",%" PRId64 ",250,n0\n", 1700000000 + 10 * i, on_node(t), t - on_node(t));
    }
    must(fclose(f) == 0, path);
}

int main(int argc, char **argv)
{
    int n_ranks = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    int n_steps = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
    int per_node = argc > 4 ? (int)strtol(argv[4], NULL, 10) : 8;
    offset_ns = argc > 5 ? strtoll(argv[5], NULL, 10) : 0;
    drift = argc > 6 ? strtod(argv[6], NULL) * 1e-6 : 0;
    own = getenv("MAKE_RANKS_LATE");
    if (n_ranks < 1 || n_steps < 1 || per_node < 1) {
        fprintf(stderr, "usage: make_ranks DIR RANKS STEPS [RANKS-PER-NODE [OFFSET-NS DRIFT-PPM]]\n");
        return 2;
    }
    make_dir(argv[1]);
    for (int i = 0; i < n_ranks; i++)
        write_rank(argv[1], i, n_ranks, n_steps, per_node);
    for (int i = 0; i * per_node < n_ranks; i++)
        write_node(argv[1], i);
    return 0;
}
