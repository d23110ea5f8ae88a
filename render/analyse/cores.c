/* cores.c - on how many cores the ranks of a machine may run, all of them together. Called by caveats.c. */
#include "render/analyse/analyse.h"

#include <stdlib.h>

enum { MAX_CPUS = 4096 };

/* "0-1,4" into a set; what is no such list adds nothing more. */
static void add_cpus(unsigned char set[MAX_CPUS], const char *list)
{
    while (*list) {
        char *end;
        long from = strtol(list, &end, 10), to = from;
        if (end == list)
            return;
        if (*end == '-')
            to = strtol(end + 1, &end, 10);
        for (long c = from < 0 ? 0 : from; c <= to && c < MAX_CPUS; c++)
            set[c] = 1;
        list = end + (*end == ',');
    }
}

int cores_of_all(const struct run *a)
{
    unsigned char set[MAX_CPUS] = {0};
    int n = 0;
    for (int i = 0; i < a->ranks_len; i++) {
        if (!*a->ranks[i].cpus_allowed)
            return 0;
        add_cpus(set, a->ranks[i].cpus_allowed);
    }
    for (int i = 0; i < MAX_CPUS; i++)
        n += set[i];
    return n;
}
