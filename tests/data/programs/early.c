/* early.c - as a library (-DLIBRARY): an IFUNC resolver that asks for a variable and reads a file while the loader
 * still relocates. As a program: prints the results, and writes a file itself. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int early_answer(void);

#ifdef LIBRARY
static int with_file(void)
{
    return 42;
}
static int without_file(void)
{
    return 7;
}
static int (*pick(void))(void)
{
    char byte = 0;
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    int is_read = fd >= 0 && read(fd, &byte, 1) == 1;
    if (fd >= 0)
        close(fd);
    return is_read && !getenv("NO_SUCH_VARIABLE") ? with_file : without_file;
}
__attribute__((visibility("hidden"))) int picked(void) __attribute__((ifunc("pick")));
int early_answer(void)
{
    return picked();
}
#else
int main(void)
{
    FILE *f = fopen("early.out", "w");
    static char zeros[2 << 20];
    int is_written = f && fwrite(zeros, 1, sizeof zeros, f) == sizeof zeros && fclose(f) == 0;
    printf("%d %s\n", early_answer(), is_written && getenv("HOME") ? "home" : "nothing");
    return 0;
}
#endif
