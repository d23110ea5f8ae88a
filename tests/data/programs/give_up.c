/* give_up.c - gives up rights or settings in the order of its arguments, and then names ten ranges. Arguments:
 * clearenv, noenv (another environment), unset (NVTX's variable alone), chroot (to the current folder), user (to be
 * nobody), exec (and start itself anew with the remaining arguments), fork (the child goes on with the remaining
 * arguments), server. The latter starts fifty children, by fork and by vfork, that become nobody and start another
 * program, as a server of root's does. */
#define _GNU_SOURCE
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int serve(void)
{
    int status = 0;
    for (int i = 0; i < 50 && status == 0; i++) {
        pid_t pid = i % 2 ? vfork() : fork();
        if (pid == 0) {
            if (setuid(65534) == 0)
                execlp("true", "true", (char *)NULL);
            _exit(6);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            status = -1;
    }
    return status;
}

int main(int argc, char **argv)
{
    static char *nothing[1];
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "clearenv") == 0)
            clearenv();
        else if (strcmp(argv[i], "noenv") == 0)
            environ = nothing;
        else if (strcmp(argv[i], "unset") == 0)
            unsetenv("NVTX_INJECTION64_PATH");
        else if (strcmp(argv[i], "chroot") == 0 && (chroot(".") != 0 || chdir("/") != 0))
            return 3;
        else if (strcmp(argv[i], "user") == 0 && setuid(65534) != 0)
            return 4;
        else if (strcmp(argv[i], "server") == 0 && serve() != 0)
            return 6;
        else if (strcmp(argv[i], "fork") == 0) {
            int status = 0;
            pid_t pid = fork();
            if (pid != 0)
                return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0 ? 7 : 0;
        } else if (strcmp(argv[i], "exec") == 0) {
            argv[i] = argv[0];
            execv(argv[0], argv + i);
            return 5;
        }
    }
    for (int i = 0; i < 10; i++) {
        nvtxRangePushA("range");
        nvtxRangePop();
    }
    printf("%s %s\n", getenv("DCC_SPOOL") ? "spool" : "no-spool", getenv("HOME") ? "home" : "no-home");
    return 0;
}
