/* unit_main.c - the program of the unit tests: runs the test under whose name it was started. */
#include <stdio.h>
#include <string.h>

/* Each test is a file of tests/unit, compiled with another name for its main. The Makefile writes the list of them. */
#define TEST(name) int name##_main(void);
#include "unit.def"
#undef TEST

static const struct {
    const char *name;
    int (*main)(void);
} tests[] = {
#define TEST(name) {#name, name##_main},
#include "unit.def"
};

int main(int argc, char **argv)
{
    const char *slash = argc ? strrchr(argv[0], '/') : NULL, *name = slash ? slash + 1 : argc ? argv[0] : "";
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (strcmp(tests[i].name, name) == 0)
            return tests[i].main();
    fprintf(stderr, "no test has the name '%s'; start this program by a link of that name\n", name);
    return 2;
}
