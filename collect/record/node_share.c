/* node_share.c - see node_share.h. Words and bounds: docs/FORMAT.md. */
#include "collect/record/node_share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { CORES, WHOLE, FLAG };
enum { N_WORDS = 4 };

/* The kernel takes periods of 1 ms to 1 s. */
static const struct word {
    const char *name, *key;
    enum kind kind;
    double least, most;
    const char *range;
} words[N_WORDS] = {
    {"cores", "cores", CORES, 0.001, 65536, "a number from 0.001 to 65536, or 0 (not limited)"},
    {"period_us", "period_us", WHOLE, 1000, 1000000, "a whole number from 1000 to 1000000"},
    {"link_bit_per_s", "link_bit_per_s", WHOLE, 0, 1e15, "a whole number from 0 (not shaped) to 10^15"},
    {"default", "is_default", FLAG, 0, 1, "0 or 1"},
};

static int find(const char *name, size_t n)
{
    for (int i = 0; i < N_WORDS; i++)
        if (strlen(words[i].name) == n && memcmp(words[i].name, name, n) == 0)
            return i;
    return -1;
}

/* Digits, and of cores one point before some of them: no sign, no exponent, no blank. */
static int is_number(const char *text, size_t n, enum kind kind)
{
    int n_points = 0;
    for (size_t i = 0; i < n; i++) {
        n_points += text[i] == '.';
        if ((text[i] < '0' || text[i] > '9') && !(text[i] == '.' && kind == CORES && i + 1 < n))
            return 0;
    }
    return n > 0 && n < 20 && n_points <= 1;
}

static json_t *value_of(const struct word *w, const char *text, size_t n)
{
    char number[20];
    if (!is_number(text, n, w->kind))
        return NULL;
    memcpy(number, text, n);
    number[n] = '\0';
    double value = strtod(number, NULL);
    if ((value < w->least && (w->kind != CORES || value > 0)) || value > w->most)
        return NULL;
    return w->kind == CORES  ? json_real(value)
           : w->kind == FLAG ? json_boolean(value > 0)
                             : json_integer(strtoll(number, NULL, 10));
}

static int take(json_t *o, const char *text, const char *word, size_t n, struct dcr_err *err)
{
    const char *equals = memchr(word, '=', n);
    size_t n_name = equals ? (size_t)(equals - word) : n;
    int k = find(word, n_name), shown = n < 80 ? (int)n : 80;
    if (k < 0 || !equals)
        return dcr_err_set(err, DCR_FAIL,
                           NODE_SHARE_VARIABLE " is '%.200s': '%.*s' is not one of cores=, period_us=, link_bit_per_s= "
                                               "and default=; unset the variable outside an emulated node",
                           text, shown, word);
    if (json_object_get(o, words[k].key))
        return dcr_err_set(err, DCR_FAIL, NODE_SHARE_VARIABLE " is '%.200s': it says %s twice", text, words[k].name);
    json_t *value = value_of(&words[k], equals + 1, n - n_name - 1);
    if (!value)
        return dcr_err_set(err, DCR_FAIL, NODE_SHARE_VARIABLE " is '%.200s': %s must be %s, not '%.*s'", text,
                           words[k].name, words[k].range, shown - (int)n_name - 1 > 0 ? shown - (int)n_name - 1 : 0,
                           equals + 1);
    json_object_set_new(o, words[k].key, value);
    return DCR_OK;
}

int node_share_of_text(const char *text, json_t **out, struct dcr_err *err)
{
    json_t *o = json_object();
    int rc = DCR_OK;
    *out = NULL;
    for (const char *at = text + strspn(text, " "); *at && rc == DCR_OK;) {
        size_t n = strcspn(at, " ");
        rc = take(o, text, at, n, err);
        at += n + strspn(at + n, " ");
    }
    for (int i = 0; i < N_WORDS && rc == DCR_OK; i++)
        if (!json_object_get(o, words[i].key))
            rc = dcr_err_set(err, DCR_FAIL, NODE_SHARE_VARIABLE " is '%.200s': it does not say %s=", text,
                             words[i].name);
    if (rc == DCR_OK)
        *out = o;
    else
        json_decref(o);
    return rc;
}

int node_share_of_environment(json_t **out, struct dcr_err *err)
{
    const char *text = getenv(NODE_SHARE_VARIABLE);
    *out = NULL;
    return text && *text ? node_share_of_text(text, out, err) : DCR_OK;
}

/* "50 Mbit/s", decimal as links are sold; three digits as in the report. */
static void rate_words(double bit_per_s, char *out, size_t n)
{
    static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
    size_t u = 0;
    for (; bit_per_s >= 999.5 && u + 1 < sizeof units / sizeof *units; u++)
        bit_per_s /= 1000;
    snprintf(out, n, "%.3g %s", bit_per_s, units[u]);
}

void node_share_words(const json_t *share, int n_nodes, char *out, size_t n)
{
    const json_t *cores = json_object_get(share, "cores"), *link = json_object_get(share, "link_bit_per_s");
    char rate[40];
    out[0] = '\0';
    if (!json_is_number(cores) || !json_is_integer(link))
        return;
    double c = json_number_value(cores);
    rate_words((double)json_integer_value(link), rate, sizeof rate);
    const char *unit = c > 1 ? "cores" : "core", *each = n_nodes == 1 ? "" : " each";
    char part[40] = "cores shared";
    if (c > 0)
        snprintf(part, sizeof part, "%.4g %s", c, unit);
    if (json_integer_value(link))
        snprintf(out, n, "%s, %s%s", part, rate, each);
    else
        snprintf(out, n, "%s%s, %s not shaped", part, c > 0 ? each : "", n_nodes == 1 ? "link" : "links");
}
