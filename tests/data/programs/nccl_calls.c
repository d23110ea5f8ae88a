/* nccl_calls.c - calls NCCL where that works without a GPU, in a library that is opened late (argument: its path). Its
 * NVTX ranges begin before CUDA is used. Prints its version and the results of the calls: 0 for success. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

struct id { /* ncclUniqueId */
    char bytes[128];
};

int main(int argc, char **argv)
{
    void *l = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*get_version)(int *), (*get_id)(struct id *), (*start)(void), (*end)(void),
        (*init_all)(void **, int, const int *), (*init_rank)(void **, int, struct id, int),
        (*all_reduce)(const void *, void *, size_t, int, int, void *, void *),
        (*send)(const void *, size_t, int, int, void *, void *);
    if (!l) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    *(void **)&get_version = dlsym(l, "ncclGetVersion");
    *(void **)&get_id = dlsym(l, "ncclGetUniqueId");
    *(void **)&start = dlsym(l, "ncclGroupStart");
    *(void **)&end = dlsym(l, "ncclGroupEnd");
    *(void **)&init_all = dlsym(l, "ncclCommInitAll");
    *(void **)&init_rank = dlsym(l, "ncclCommInitRank");
    *(void **)&all_reduce = dlsym(l, "ncclAllReduce");
    *(void **)&send = dlsym(l, "ncclSend");
    if (!get_version || !get_id || !start || !end || !init_all || !init_rank || !all_reduce || !send)
        return 3;
    int version = 0, devices[1] = {0};
    void *comm = NULL;
    struct id id = {{0}};
    enum { FLOAT32 = 7, MAX = 2 };
    float x[25] = {0};
    get_version(&version);
    int got_id = get_id(&id), started = start();
    /* no communicator: refused as an invalid argument, after the range has begun */
    int reduced = all_reduce(x, x, 25, FLOAT32, MAX, NULL, NULL), sent = send(x, 25, FLOAT32, 3, NULL, NULL);
    int ended = end(), all = init_all(&comm, 1, devices), one = init_rank(&comm, 1, id, 0);
    printf("version %d id %d start %d reduce %d send %d end %d all %d one %d\n", version, got_id, started, reduced,
           sent, ended, all, one);
    return 0;
}
