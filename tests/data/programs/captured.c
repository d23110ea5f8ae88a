/* captured.c - captures from 0.2 to 0.5 s and from 1.5 to 2 s after its start, so that with "--delay 1" only the second
 * one is recorded. */
#include <nvtx3/nvToolsExt.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_until(double t)
{
    while (now() < t)
        usleep(1000);
}

int main(void)
{
    const double begun = now(), captures[][2] = {{0.2, 0.5}, {1.5, 2}};
    for (int i = 0; i < 2; i++) {
        sleep_until(begun + captures[i][0]);
        nvtxRangePushA("capture");
        nvtxRangePushA("step");
        sleep_until(begun + captures[i][1]);
        nvtxRangePop();
        nvtxRangePop();
    }
    return 0;
}
