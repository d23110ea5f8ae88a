/* columns.c - see columns.h. Names are compared word by word: case, marks and the order of a unit do not matter. */
#include "render/import/text/columns.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_NAME = 128, MAX_WORDS = 8 };

/* Fields of nvidia-smi, whose units are fixed if the name has none. */
static const struct {
    const char *name;
    enum gpu_sample what;
} smi_fields[] = {{"utilization.gpu", SAMPLE_UTILIZATION}, {"memory.used", SAMPLE_MEMORY_USED},
                  {"memory.total", SAMPLE_MEMORY_TOTAL},   {"power.draw", SAMPLE_POWER},
                  {"temperature.gpu", SAMPLE_TEMPERATURE}, {"clocks.sm", SAMPLE_CLOCK},
                  {"clocks.current.sm", SAMPLE_CLOCK},     {"clocks.max.sm", SAMPLE_CLOCK_MAX}};

/* The rest of a name without its unit and "gpu". */
static const struct {
    const char *words;
    enum column_kind kind;
    enum gpu_sample what;
} synonyms[] = {{"util", COLUMN_SAMPLE, SAMPLE_UTILIZATION},
                {"utilization", COLUMN_SAMPLE, SAMPLE_UTILIZATION},
                {"utilisation", COLUMN_SAMPLE, SAMPLE_UTILIZATION},
                {"usage", COLUMN_SAMPLE, SAMPLE_UTILIZATION},
                {"load", COLUMN_SAMPLE, SAMPLE_UTILIZATION},
                {"busy", COLUMN_SAMPLE, SAMPLE_UTILIZATION},
                {"mem", COLUMN_SAMPLE, SAMPLE_MEMORY_USED},
                {"memory", COLUMN_SAMPLE, SAMPLE_MEMORY_USED},
                {"vram", COLUMN_SAMPLE, SAMPLE_MEMORY_USED},
                {"mem used", COLUMN_SAMPLE, SAMPLE_MEMORY_USED},
                {"used mem", COLUMN_SAMPLE, SAMPLE_MEMORY_USED},
                {"memory used", COLUMN_SAMPLE, SAMPLE_MEMORY_USED},
                {"used memory", COLUMN_SAMPLE, SAMPLE_MEMORY_USED},
                {"memory usage", COLUMN_SAMPLE, SAMPLE_MEMORY_USED},
                {"vram used", COLUMN_SAMPLE, SAMPLE_MEMORY_USED},
                {"mem total", COLUMN_SAMPLE, SAMPLE_MEMORY_TOTAL},
                {"total mem", COLUMN_SAMPLE, SAMPLE_MEMORY_TOTAL},
                {"memory total", COLUMN_SAMPLE, SAMPLE_MEMORY_TOTAL},
                {"total memory", COLUMN_SAMPLE, SAMPLE_MEMORY_TOTAL},
                {"vram total", COLUMN_SAMPLE, SAMPLE_MEMORY_TOTAL},
                {"power", COLUMN_SAMPLE, SAMPLE_POWER},
                {"power draw", COLUMN_SAMPLE, SAMPLE_POWER},
                {"power usage", COLUMN_SAMPLE, SAMPLE_POWER},
                {"temp", COLUMN_SAMPLE, SAMPLE_TEMPERATURE},
                {"temperature", COLUMN_SAMPLE, SAMPLE_TEMPERATURE},
                {"sm clock", COLUMN_SAMPLE, SAMPLE_CLOCK},
                {"clock sm", COLUMN_SAMPLE, SAMPLE_CLOCK},
                {"time", COLUMN_TIME, SAMPLE_NONE},
                {"timestamp", COLUMN_TIME, SAMPLE_NONE},
                {"time stamp", COLUMN_TIME, SAMPLE_NONE},
                {"ts", COLUMN_TIME, SAMPLE_NONE},
                {"t", COLUMN_TIME, SAMPLE_NONE},
                {"date", COLUMN_TIME, SAMPLE_NONE},
                {"datetime", COLUMN_TIME, SAMPLE_NONE},
                {"date time", COLUMN_TIME, SAMPLE_NONE},
                {"elapsed", COLUMN_TIME, SAMPLE_NONE},
                {"elapsed time", COLUMN_TIME, SAMPLE_NONE},
                {"unix time", COLUMN_TIME, SAMPLE_NONE},
                {"epoch time", COLUMN_TIME, SAMPLE_NONE},
                {"epoch", COLUMN_EPOCH, SAMPLE_NONE},
                {"index", COLUMN_INDEX, SAMPLE_NONE},
                {"idx", COLUMN_INDEX, SAMPLE_NONE},
                {"id", COLUMN_INDEX, SAMPLE_NONE},
                {"uuid", COLUMN_NAME, SAMPLE_NONE},
                {"bus id", COLUMN_NAME, SAMPLE_NONE},
                {"pci bus id", COLUMN_NAME, SAMPLE_NONE}};

/* Words for units that are written out, or in another case than the unit. */
static const struct {
    const char *word, *unit;
} unit_words[] = {{"pct", "%"},   {"perc", "%"},  {"percent", "%"}, {"b", "B"},   {"bytes", "B"}, {"kb", "KB"},
                  {"kib", "KiB"}, {"mb", "MB"},   {"mib", "MiB"},   {"gb", "GB"}, {"gib", "GiB"}, {"w", "W"},
                  {"watt", "W"},  {"watts", "W"}, {"mw", "mW"},     {"kw", "kW"}, {"c", "C"},     {"celsius", "C"},
                  {"degc", "C"},  {"mhz", "MHz"}, {"ghz", "GHz"}};

static double seconds_of(const char *unit)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"s", 1},     {"sec", 1},   {"secs", 1},  {"seconds", 1},
                 {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"min", 60}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(unit, units[i].unit) == 0)
            return units[i].seconds;
    return NAN;
}

static const char *unit_of(const char *word)
{
    for (size_t i = 0; i < sizeof unit_words / sizeof *unit_words; i++)
        if (strcasecmp(word, unit_words[i].word) == 0)
            return unit_words[i].unit;
    return NULL;
}

/* The name without "[unit]" or "(unit)", which goes to unit. */
static void take_unit(char *name, char *unit, size_t cap)
{
    char *open = strpbrk(name, "[("), *close = open ? strpbrk(open, "])") : NULL;
    *unit = '\0';
    if (!close)
        return;
    *close = '\0';
    snprintf(unit, cap, "%s", open + 1 + strspn(open + 1, " \t\n"));
    for (size_t k = strlen(unit); k > 0 && isspace((unsigned char)unit[k - 1]); k--)
        unit[k - 1] = '\0';
    memmove(open, close + 1, strlen(close + 1) + 1);
    for (size_t k = strlen(name); k > 0 && isspace((unsigned char)name[k - 1]); k--)
        name[k - 1] = '\0';
}

/* Its words in lower case, cut in place; letters and digits are separate words. '%' is one. returns  how many */
static int words_of(char *name, char *text, char **words)
{
    int n = 0;
    for (const char *p = name; *p && n < MAX_WORDS;) {
        int is_digit = isdigit((unsigned char)*p) != 0;
        if (*p == '%') {
            words[n++] = text;
            *text++ = *p++;
            *text++ = '\0';
            continue;
        }
        if (!isalnum((unsigned char)*p)) {
            p++;
            continue;
        }
        words[n++] = text;
        while (isalnum((unsigned char)*p) && (isdigit((unsigned char)*p) != 0) == is_digit)
            *text++ = (char)tolower((unsigned char)*p++);
        *text++ = '\0';
    }
    return n;
}

static int is_gpu_word(const char *word)
{
    return strcmp(word, "gpu") == 0 || strcmp(word, "cuda") == 0 || strcmp(word, "device") == 0;
}

static struct column smi_field(const char *name, const char *unit)
{
    struct column c = {.gpu = -1, .factor = 1};
    for (size_t i = 0; i < sizeof smi_fields / sizeof *smi_fields; i++)
        if (strcmp(name, smi_fields[i].name) == 0)
            c = (struct column){.kind = COLUMN_SAMPLE,
                                .what = smi_fields[i].what,
                                .gpu = -1,
                                .is_smi = 1,
                                .has_unit = 1,
                                .factor = *unit ? gpu_samples_factor(unit, strlen(unit), smi_fields[i].what) : 1};
    return c;
}

struct column column_of(const char *name)
{
    char plain[MAX_NAME], unit[16], text[2 * MAX_NAME], rest[2 * MAX_NAME] = "", *words[MAX_WORDS];
    snprintf(plain, sizeof plain, "%s", name);
    take_unit(plain, unit, sizeof unit);
    struct column c = smi_field(plain, unit);
    if (c.kind || strlen(name) >= sizeof plain)
        return c;
    int n = words_of(plain, text, words), has_gpu = 0;
    if (!*unit && n > 1 && (unit_of(words[n - 1]) || *words[n - 1] == '%' || !isnan(seconds_of(words[n - 1]))))
        snprintf(unit, sizeof unit, "%s", words[--n]);
    for (int i = 0; i < n; i++) {
        if (is_gpu_word(words[i])) {
            has_gpu = 1;
            if (i + 1 < n && isdigit((unsigned char)*words[i + 1]))
                c.gpu = (int)strtol(words[++i], NULL, 10) % 10000;
            continue;
        }
        size_t k = strlen(rest);
        snprintf(rest + k, sizeof rest - k, "%s%s", k ? " " : "", words[i]);
    }
    const char *exact = unit_of(unit) ? unit_of(unit) : unit;
    c.has_unit = *unit != '\0';
    c.is_bare = !has_gpu;
    if (!*rest && has_gpu && c.gpu < 0 && !c.has_unit)
        c.kind = COLUMN_INDEX;
    else if (!*rest && has_gpu && strcmp(exact, "%") == 0)
        c = (struct column){COLUMN_SAMPLE, SAMPLE_UTILIZATION, c.gpu, 0, 0, 1, 1};
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcmp(rest, synonyms[i].words) == 0) {
            c.kind = synonyms[i].kind;
            c.what = synonyms[i].what;
        }
    if (c.kind == COLUMN_SAMPLE && c.has_unit && isnan(c.factor = gpu_samples_factor(exact, strlen(exact), c.what)))
        c.kind = COLUMN_OTHER; /* a share of the memory, a rate ... */
    else if (c.kind == COLUMN_SAMPLE && !c.has_unit)
        c.factor = NAN;
    if (c.kind == COLUMN_TIME || c.kind == COLUMN_EPOCH)
        c.factor = seconds_of(unit);
    return c;
}
