/* scenario_run.c - the options of one run of a scenario, its numbers drawn; see scenario.h. The file is read by
 * scenario.c. */
#include "trainer/scenarios/scenario_inside.h"

#include "lib/base/text.h"
#include "trainer/model/rng.h"

#include <stdlib.h>
#include <string.h>

/* Adds options to text, with numbers in place of {names}. returns the length; n_text or more: no room */
static size_t put_options(const struct scenario *s, const char *options, uint64_t seed, char *text, size_t len,
                          size_t n_text)
{
    for (const char *at = options; *at && len < n_text;) {
        size_t n = strcspn(at, "{");
        len += (size_t)snprintf(text + len, n_text - len, "%.*s", (int)n, at);
        at += n;
        if (!*at || len >= n_text)
            continue;
        n = strcspn(at, "}");
        int k = scenario_draw_index(s, at + 1, n - 1);
        const struct scenario_range r = k < 0 ? (struct scenario_range){0, 0} : s->draws[k].range;
        uint64_t by = k < 0 ? 1 : (uint64_t)s->draws[k].by;
        uint64_t value =
            k < 0 ? seed
                  : by * rng_below(seed, RNG_SCENARIO, (uint64_t)k, ((uint64_t)r.high - (uint64_t)r.low) / by + 1);
        len += (size_t)snprintf(text + len, n_text - len, "%lld", (long long)value + r.low);
        at += n + 1;
    }
    return len;
}

/* The options of this choice, in the order in which they count. returns how many of parts are filled, -1 when the
 * scenario says nothing for so many ranks */
static int choose(const struct scenario *s, const struct scenario_choice *c, const char *parts[3])
{
    int has_ranks = 0, n = 0;
    parts[n++] = s->common;
    parts[n++] = c->is_off ? s->off : s->on;
    for (int i = 0; i < SCENARIO_N_RANKS; i++) {
        has_ranks |= s->on_ranks[i] != NULL;
        if (!c->is_off && scenario_n_ranks_of[i] == c->n_ranks && s->on_ranks[i])
            parts[n++] = s->on_ranks[i];
    }
    return has_ranks && !c->is_off && n == 2 ? -1 : n;
}

int scenario_words(const struct scenario *s, const struct scenario_choice *c, char *text, size_t n_text, char **words,
                   int *n_words, struct dcr_err *err)
{
    const char *parts[3];
    int n_parts = choose(s, c, parts);
    size_t len = 0;
    *n_words = 0;
    if (n_parts < 0)
        return dcr_err_set(err, DCR_FAIL, "scenario '%s' says nothing for %d ranks; run it on 1, 2 or 4", s->path,
                           c->n_ranks);
    for (int i = 0; i < n_parts && len < n_text; i++) {
        len = put_options(s, parts[i], c->seed, text, len, n_text);
        len += len < n_text ? (size_t)snprintf(text + len, n_text - len, " ") : 0;
    }
    for (char *at = text + strspn(text, " \t"); len < n_text && *at; at += strspn(at, " \t")) {
        if (*n_words == SCENARIO_MAX_WORDS)
            break;
        words[(*n_words)++] = at;
        at += strcspn(at, " \t");
        if (*at)
            *at++ = 0;
    }
    if (len >= n_text || *n_words == SCENARIO_MAX_WORDS)
        return dcr_err_set(err, DCR_FAIL, "scenario '%s' has more options than there is room for", s->path);
    return 0;
}

int scenario_launched_ranks(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        int n = text ? (int)strtol(text, NULL, 10) : 0;
        if (n > 0)
            return n;
    }
    return 1;
}

/* The options with the knob on or off as one line, a space in front of each word. */
static int options_line(const struct scenario *s, const struct scenario_choice *c, int is_off, char line[SCENARIO_TEXT],
                        struct dcr_err *err)
{
    const struct scenario_choice each = {c->seed, is_off, c->n_ranks};
    char text[SCENARIO_TEXT], *words[SCENARIO_MAX_WORDS];
    size_t len = 0;
    int n_words = 0, rc = scenario_words(s, &each, text, sizeof text, words, &n_words, err);
    *line = 0;
    for (int i = 0; !rc && i < n_words; i++) /* as long as in text, which they came from */
        len += (size_t)snprintf(line + len, SCENARIO_TEXT - len, " %s", words[i]);
    return rc;
}

int scenario_is_idle(const struct scenario *s, const struct scenario_choice *c)
{
    int is_idle = 0, saves_elsewhere = 0;
    for (int i = 0; i < SCENARIO_N_RANKS; i++) {
        if (scenario_n_ranks_of[i] == c->n_ranks)
            is_idle = s->has_gain[i] && s->gain[i].low <= 0;
        else
            saves_elsewhere |= s->has_gain[i] && s->gain[i].low > 0;
    }
    return is_idle && saves_elsewhere;
}

int scenario_show(const struct scenario *s, const struct scenario_choice *c, FILE *out, struct dcr_err *err)
{
    text_print(out, "scenario: %s\nfile: %s\nseed: %llu\nwhy: %s\n", s->name, s->path, (unsigned long long)c->seed,
               s->why);
    if (*s->needs)
        text_print(out, "needs: %s\n", s->needs);
    char line[SCENARIO_TEXT];
    for (int is_off = 0; is_off < 2; is_off++) {
        int rc = options_line(s, c, is_off, line, err);
        if (rc)
            return rc;
        text_print(out, "%s:%s\n", is_off ? "off" : "on", line);
    }
    if (scenario_is_idle(s, c))
        fprintf(out, "note: on %d rank%s the knob saves nothing; start it by `mpirun -n 2` or `mpirun -n 4`\n",
                c->n_ranks, c->n_ranks == 1 ? "" : "s");
    fprintf(out,
            "note: class N: the class that the report of N ranks has to name; gain N: percent of the step that the "
            "knob saves\n");
    for (int i = 0; i < SCENARIO_N_RANKS; i++)
        if (s->classes[i])
            text_print(out, "class %d: %s\n", scenario_n_ranks_of[i], s->classes[i]);
    for (int i = 0; i < SCENARIO_N_RANKS; i++)
        if (s->has_gain[i])
            fprintf(out, "gain %d: %d..%d\n", scenario_n_ranks_of[i], s->gain[i].low, s->gain[i].high);
    return 0;
}
