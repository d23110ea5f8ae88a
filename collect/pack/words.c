/* words.c - see words.h. */
#include "collect/pack/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void add(char *out, size_t n, const char *option, const char *value)
{
    size_t used = strlen(out);
    snprintf(out + used, n - used, " %s %s", option, value);
}

void words_window(const json_t *collector, char *out, size_t n)
{
    static const struct {
        const char *key, *option;
    } keys[] = {{"steps", "--steps"},
                {"delay_s", "--delay"},
                {"duration_s", "--duration"},
                {"capture_range", "--capture-range"}};
    const json_t *window = json_object_get(collector, "window");
    char options[600] = "", number[40];
    *out = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *value = json_object_get(window, keys[i].key);
        snprintf(number, sizeof number, "%g", json_number_value(value));
        if (value)
            add(options, sizeof options, keys[i].option, json_is_string(value) ? json_string_value(value) : number);
    }
    if (*options)
        snprintf(out, n, "in the window of%s: ", options);
}

void words_dropped(uint64_t n_events, char *out, size_t n)
{
    snprintf(out, n, "%" PRIu64 " %s", n_events,
             n_events == 0   ? "dropped"
             : n_events == 1 ? "event dropped (a range has two)"
                             : "events dropped (a range has two)");
}

const char *words_no_mpi(const json_t *collector, size_t n_ranks)
{
    static const char because[] = "nothing recorded because ", quietly[] = "MPI calls are not recorded: ";
    const char *text = json_string_value(json_object_get(collector, "mpi"));
    if (!text || strncmp(text, because, sizeof because - 1) != 0 ||
        (!strstr(text, "Open MPI") && !(n_ranks > 1 && strstr(text, "linked with MPI"))))
        return "";
    text += sizeof because - 1;
    return strncmp(text, quietly, sizeof quietly - 1) == 0 ? text + sizeof quietly - 1 : text;
}
