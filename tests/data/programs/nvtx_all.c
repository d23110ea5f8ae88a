/* nvtx_all.c - every function of NVTX's core that the collector records, called once or twice; needs NVTX's headers.
 * With an argument also: threads, fork, exec of itself, and a shared object with a separate copy of NVTX (argument: its
 * path). */
#include <nvtx3/nvToolsExt.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

static nvtxEventAttributes_t attributes(void)
{
    nvtxEventAttributes_t a;
    memset(&a, 0, sizeof a);
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    return a;
}

static void plain(void)
{
    nvtxEventAttributes_t a = attributes();
    nvtxNameCategoryA(5, "five");
    nvtxNameCategoryW(6, L"s\u00e9chs");
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = "mark ex";
    a.category = 5;
    nvtxMarkEx(&a);
    nvtxMarkA("mark a");
    nvtxMarkW(L"mark w \u4e16\U0001f600");
    nvtxRangeId_t ex = nvtxRangeStartEx(&a), plain_id = nvtxRangeStartA("start a"), wide = nvtxRangeStartW(L"start w");
    nvtxRangeEnd(plain_id);
    nvtxRangeEnd(ex);
    nvtxRangeEnd(wide);
    int levels[6];
    levels[0] = nvtxRangePushEx(&a);
    levels[1] = nvtxRangePushA("push a");
    levels[2] = nvtxRangePushW(L"push w");
    levels[3] = nvtxRangePop();
    levels[4] = nvtxRangePop();
    levels[5] = nvtxRangePop();
    printf("levels %d %d %d %d %d %d, too many %d\n", levels[0], levels[1], levels[2], levels[3], levels[4], levels[5],
           nvtxRangePop());
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "main thread");
    nvtxRangePushA(NULL);
    nvtxRangePop();
    nvtxMarkEx(NULL);
}

static void payloads(nvtxDomainHandle_t d)
{
    nvtxEventAttributes_t a = attributes();
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = "u64";
    a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    a.payload.ullValue = UINT64_MAX - 1;
    nvtxDomainMarkEx(d, &a);
    a.message.ascii = "i64";
    a.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    a.payload.llValue = -5;
    nvtxDomainMarkEx(d, &a);
    a.message.ascii = "f64";
    a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    a.payload.dValue = 0.25;
    nvtxDomainMarkEx(d, &a);
    a.payload.ullValue = ~0ull; /* the upper half is not part of the 32-bit ones */
    a.message.ascii = "u32";
    a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
    a.payload.uiValue = 7;
    nvtxDomainMarkEx(d, &a);
    a.message.ascii = "i32";
    a.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    a.payload.iValue = -7;
    nvtxDomainMarkEx(d, &a);
    a.message.ascii = "f32";
    a.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
    a.payload.fValue = -1.5f;
    nvtxDomainMarkEx(d, &a);
}

static void domains(void)
{
    nvtxDomainHandle_t d = nvtxDomainCreateA("all"), wide = nvtxDomainCreateW(L"w\u00efde"),
                       again = nvtxDomainCreateA("all");
    nvtxEventAttributes_t a = attributes();
    nvtxDomainNameCategoryA(d, 5, "five of all");
    nvtxDomainNameCategoryW(wide, 5, L"f\u00fcnf");
    a.category = 5;
    a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    a.message.registered = nvtxDomainRegisterStringA(d, "registered");
    nvtxRangeId_t id = nvtxDomainRangeStartEx(d, &a);
    nvtxDomainRangePushEx(d, &a);
    a.message.registered = nvtxDomainRegisterStringW(wide, L"registered w");
    nvtxDomainRangePushEx(wide, &a);
    a.messageType = NVTX_MESSAGE_TYPE_UNICODE;
    a.message.unicode = L"unicode";
    nvtxDomainRangePushEx(again, &a);
    nvtxDomainRangePop(d);
    nvtxDomainRangePop(d);
    nvtxDomainRangePop(wide);
    nvtxDomainRangeEnd(d, id);
    payloads(d);
    nvtxDomainDestroy(wide);
    nvtxInitialize(NULL);
}

static void *thread_main(void *arg)
{
    nvtxRangePushA("in thread");
    nvtxRangePop();
    return arg;
}

static void processes_and_threads(const char *self, const char *library)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, thread_main, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    void (*in_library)(void);
    void *handle = dlopen(library, RTLD_NOW);
    *(void **)&in_library = handle ? dlsym(handle, "in_library") : NULL;
    if (in_library)
        in_library();
    if (handle)
        dlclose(handle); /* its NVTX is unloaded, but its names stay */
    nvtxRangePushA("outer");
    pid_t child = fork();
    if (child == 0) {
        nvtxRangePushA("in child");
        nvtxRangePop();
        exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    nvtxRangePop();
    execl(self, self, "--after-exec", (char *)NULL);
    perror("exec");
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--after-exec") == 0) {
        nvtxMarkA("after exec");
        return 0;
    }
    plain();
    domains();
    if (argc > 1) {
        fflush(stdout);
        processes_and_threads(argv[0], argv[1]);
        return 1;
    }
    return 0;
}
