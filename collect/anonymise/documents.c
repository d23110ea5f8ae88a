/* documents.c - see documents.h. Test: tests/integration/collect_anonymise.sh */
#include "collect/anonymise/documents.h"

#include "lib/archive/member.h"
#include "lib/base/csv.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ----------------------------------------------------------------------------------------- */

/* How to treat a text, according to its key. */
enum rule {
    RULE_NONE, /* unknown: replaced by a neutral word */
    RULE_SENTENCE,
    RULE_PATH,
    RULE_HOST,
    RULE_JOB,
    RULE_BOOT,
    RULE_BRANCH,
    RULE_COMMIT,
    RULE_COMMAND,   /* an array of words */
    RULE_VARIABLES, /* an object of environment variables */
    RULE_LABELS,    /* an object that the user fills */
    RULE_LEFT_OUT   /* objects whose name is a path */
};

static enum rule rule_of(const char *key)
{
    /* Keys stand between blanks. Sentences of the collector are followed by names of hardware and software. */
    static const struct {
        enum rule rule;
        const char *keys;
    } rules[] = {
        {RULE_PATH, " folder path paths nvtx_chained adopt "},
        {RULE_HOST, " host measured_on reference "},
        {RULE_JOB, " job_id job "},
        {RULE_BOOT, " boot_id "},
        {RULE_BRANCH, " branch "},
        {RULE_COMMIT, " commit "},
        {RULE_COMMAND, " command "},
        {RULE_VARIABLES, " variables environment "},
        {RULE_LABELS, " labels "},
        {RULE_LEFT_OUT, " not_packed "},
        {RULE_SENTENCE,
         " missing monitors counters incomplete_because notes reason several_runs of told_to_end nvtx mpi io cuda"
         " not_loaded steps process_monitor state cpus_allowed note says disturbed capture_range"
         " name node_kind cpu_model kernel version gpu_driver unit precision format mpi_library"
         " collector_version model backend blas nccl kernels_best allreduce_dtype scenario knob windows_from"
         " windows_read_by "}};
    char word[64];
    int n = snprintf(word, sizeof word, " %s ", key);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && n < (int)sizeof word && !strchr(key, ' '); i++)
        if (strstr(rules[i].keys, word))
            return rules[i].rule;
    return RULE_NONE;
}

/* Objects whose values all have the same rule, whatever their keys. */
static int is_of_one_kind(const char *key, enum rule rule)
{
    return rule == RULE_JOB || rule == RULE_VARIABLES || rule == RULE_LABELS || strcmp(key, "missing") == 0 ||
           strcmp(key, "monitors") == 0 || strcmp(key, "counters") == 0;
}

static json_t *string_of(struct dcr_buf *b)
{
    json_t *o = json_string(dcr_buf_text(b));
    dcr_buf_release(b);
    return o ? o : json_string("");
}

/* Options and numbers stay, because they show how the program was run. Other values of options are replaced. */
static json_t *hide_argument(struct hide *h, const char *word)
{
    struct dcr_buf b = {0};
    size_t n = strcspn(word, "=");
    int is_option = word[0] == '-' && strspn(word, "-") < n;
    for (size_t i = 0; i < n && is_option; i++)
        is_option = isalpha((unsigned char)word[i]) || word[i] == '-' || word[i] == '_';
    if (is_option) {
        hide_name(h, dcr_arena_strndup(&h->arena, word, n), &b);
        if (word[n]) {
            json_t *value = hide_argument(h, word + n + 1);
            dcr_buf_printf(&b, "=%s", json_string_value(value));
            json_decref(value);
        }
        return string_of(&b);
    }
    int is_kept = hide_is_number(word) || hide_is_program(word) || word[strspn(word, "-")] == '\0';
    if (is_kept)
        dcr_buf_puts(&b, word);
    else if (strchr(word, '/') && !strstr(word, "://"))
        hide_path(h, word, &b);
    else
        dcr_buf_puts(&b, hide_as(h, HIDE_ARGUMENT, word));
    return string_of(&b);
}

static int has(const char *text, const char *part)
{
    return strcasestr(text, part) != NULL;
}

static enum hide_class class_of_variable(const char *key)
{
    int is_job = has(key, "JOB") && (has(key, "ID") || has(key, "NAME")) && !has(key, "NUM") && !has(key, "UID") &&
                 !has(key, "GID");
    return is_job                                                       ? HIDE_JOB
           : has(key, "USER") || has(key, "LOGNAME") || has(key, "UID") ? HIDE_USER
           : has(key, "NODENAME")                                       ? HIDE_HOST
                                                                        : HIDE_TEXT;
}

/* Numbers that count something, and words from a fixed choice: "OMP_PROC_BIND=close". */
static int is_kept_variable(const char *key, const char *value)
{
    static const char *const plain[] = {"",        "true",   "false", "on",      "off",     "yes",    "no",
                                        "close",   "spread", "cores", "threads", "auto",    "static", "dynamic",
                                        "sockets", "TRUE",   "FALSE", "master",  "passive", "active", "block",
                                        "cyclic",  "Ring",   "Tree",  "Simple",  "INFO",    "WARN"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(value, plain[i]) == 0)
            return 1;
    /* The number of an account or of a group. NCCL_IB_GID_INDEX has another meaning. */
    int is_of_group = has(key, "ACCOUNT") || (has(key, "GID") && !has(key, "INDEX"));
    return hide_is_number(value) && class_of_variable(key) == HIDE_TEXT && !is_of_group;
}

/* Labels that the report calculates with. */
static int is_report_label(const char *key)
{
    return strcmp(key, "global_batch") == 0 || strcmp(key, "peak_gflop_per_s") == 0 ||
           strcmp(key, "peak_gb_per_s") == 0;
}

static json_t *hide_string(struct hide *h, enum rule rule, const char *key, const char *text)
{
    static const enum hide_class classes[] = {[RULE_HOST] = HIDE_HOST,
                                              [RULE_JOB] = HIDE_JOB,
                                              [RULE_BOOT] = HIDE_BOOT,
                                              [RULE_BRANCH] = HIDE_BRANCH,
                                              [RULE_COMMIT] = HIDE_COMMIT};
    struct dcr_buf b = {0};
    switch (rule) {
    case RULE_SENTENCE:
        hide_sentence(h, text, &b);
        return string_of(&b);
    case RULE_PATH:
        hide_path(h, text, &b);
        return string_of(&b);
    case RULE_COMMAND:
        return hide_argument(h, text);
    case RULE_VARIABLES:
        return is_kept_variable(key, text) ? json_string(text) : NULL;
    case RULE_LABELS:
        return json_string(hide_is_number(text) ? text : hide_as(h, HIDE_LABEL, text));
    case RULE_HOST:
    case RULE_JOB:
    case RULE_BOOT:
    case RULE_BRANCH:
    case RULE_COMMIT:
        return json_string(*text ? hide_as(h, classes[rule], text) : "");
    default:
        return json_string(!*text || hide_is_number(text) ? text : hide_as(h, HIDE_TEXT, text));
    }
}

static json_t *hide_json(struct hide *h, enum rule rule, const char *key, const json_t *v)
{
    if (json_is_string(v))
        return hide_string(h, rule, key, json_string_value(v));
    if (json_is_array(v)) {
        json_t *out = json_array();
        for (size_t i = 0; i < json_array_size(v); i++)
            json_array_append_new(out, hide_json(h, rule, key, json_array_get(v, i)));
        return out;
    }
    if (!json_is_object(v))
        return json_deep_copy(v);
    json_t *out = json_object(), *value;
    const char *name;
    int is_alike = is_of_one_kind(key, rule);
    json_object_foreach((json_t *)v, name, value)
    {
        struct dcr_buf b = {0};
        enum rule inside = is_alike                                             ? rule
                           : rule == RULE_LEFT_OUT && strcmp(name, "name") == 0 ? RULE_PATH
                                                                                : rule_of(name);
        if (rule == RULE_LABELS && !is_report_label(name))
            dcr_buf_puts(&b, hide_as(h, HIDE_LABEL, name));
        else
            hide_name(h, name, &b);
        json_object_set_new(out, dcr_buf_text(&b), hide_json(h, inside, name, value));
        dcr_buf_release(&b);
    }
    return out;
}

json_t *documents_json(struct hide *h, const json_t *document)
{
    return hide_json(h, RULE_NONE, "", document);
}

void documents_learn(struct hide *h, const json_t *v)
{
    const char *key;
    json_t *value;
    size_t i;
    json_array_foreach((json_t *)v, i, value) documents_learn(h, value);
    json_object_foreach((json_t *)v, key, value)
    {
        enum rule rule = rule_of(key);
        const char *text = json_string_value(value), *name;
        json_t *inner;
        if (text && (rule == RULE_HOST || rule == RULE_JOB))
            hide_learn(h, rule == RULE_HOST ? HIDE_HOST : HIDE_JOB, text);
        json_object_foreach(rule == RULE_VARIABLES || rule == RULE_LABELS || rule == RULE_JOB ? value : NULL, name,
                            inner)
        {
            enum hide_class c = rule == RULE_JOB      ? HIDE_JOB
                                : rule == RULE_LABELS ? HIDE_LABEL
                                                      : class_of_variable(name);
            if (c != HIDE_TEXT)
                hide_learn(h, c, json_string_value(inner));
        }
        if (json_is_object(value) || json_is_array(value))
            documents_learn(h, value);
    }
}

/* ---- members --------------------------------------------------------------------------------------- */

static int is_known_part(const char *part)
{
    int node, rank, number = 0;
    size_t n = strlen(part);
    if (dcr_name_number(part, n, "rank") >= 0 || dcr_name_number(part, n, "node") >= 0 ||
        strcmp(part, "program.json") == 0)
        return 1;
    enum dcr_role role = dcr_role_of(part, &node, &rank);
    if (role == DCR_ROLE_TRACE) /* trace-<pid>.dct, trace-<pid>-<n>.dct */
        return sscanf(part, "trace-%*[0-9-].dct%n", &number) == 0 && number && !part[number];
    return role < DCR_ROLE_TRACE || role == DCR_ROLE_RANK || role == DCR_ROLE_CALIBRATION;
}

const char *documents_member(struct hide *h, const char *name)
{
    char trace[PATH_MAX], summary[PATH_MAX];
    int node, rank;
    struct dcr_buf b = {0};
    if (dcr_role_of(name, &node, &rank) == DCR_ROLE_SUMMARY && dcr_trace_name(name, trace, sizeof trace) == 0 &&
        dcr_summary_name(documents_member(h, trace), summary, sizeof summary) == 0)
        return dcr_arena_strdup(&h->arena, summary);
    for (const char *end; *name; name = *end ? end + 1 : end) {
        end = name + strcspn(name, "/");
        char *part = dcr_arena_strndup(&h->arena, name, (size_t)(end - name));
        if (is_known_part(part))
            dcr_buf_puts(&b, part);
        else
            hide_path(h, part, &b);
        if (*end)
            dcr_buf_putc(&b, '/');
    }
    name = dcr_arena_strdup(&h->arena, dcr_buf_text(&b));
    dcr_buf_release(&b);
    return name;
}

/* ---- tables ---------------------------------------------------------------------------------------- */

static void put_cell(struct hide *h, const char *column, const char *text, struct dcr_buf *row)
{
    struct dcr_buf b = {0};
    if (!column || strcmp(column, "interface") == 0 || strcmp(column, "device") == 0) {
        hide_name(h, text, &b);
        text = dcr_buf_text(&b);
    } else if (*text && !hide_is_number(text)) {
        text = hide_as(h, strcmp(column, "reference") == 0 ? HIDE_HOST : HIDE_TEXT, text);
    }
    dcr_csv_put(row, text);
    row->failed |= b.failed;
    dcr_buf_release(&b);
}

/* A row that cannot be read is replaced by a bad row, because its content could name anything. */
static void put_row(struct hide *h, const struct dcr_csv *c, int is_head, int is_bad, struct dcr_buf *row)
{
    dcr_buf_clear(row);
    for (int i = 0; !is_bad && i < dcr_csv_n_columns(c); i++) {
        const char *column = dcr_csv_name(c, i);
        dcr_buf_puts(row, i ? "," : "");
        put_cell(h, is_head ? NULL : column, is_head ? column : dcr_csv_text(c, i), row);
    }
    if (is_bad)
        dcr_buf_puts(row, dcr_csv_n_columns(c) > 1 ? "?" : "?,?");
    if (!is_bad || !dcr_csv_is_cut(c))
        dcr_buf_putc(row, '\n');
}

int documents_csv(struct hide *h, struct dcr_stream *in, documents_sink sink, void *ctx, struct dcr_err *err)
{
    struct dcr_csv *c = NULL;
    struct dcr_buf row = {0};
    int rc = dcr_csv_open(&c, in, err), is_head = 1, is_bad = 0;
    if (rc == DCR_FAIL) /* not a table: nothing of it is copied */
        return DCR_OK;
    while (rc == DCR_OK) {
        put_row(h, c, is_head, is_bad, &row);
        is_head = 0;
        rc = row.failed ? dcr_err_set(err, DCR_FATAL, "out of memory") : sink(ctx, dcr_buf_text(&row), row.len, err);
        if (rc == DCR_OK && (rc = dcr_csv_next(c, err)) == DCR_FAIL)
            is_bad = 1, rc = DCR_OK;
        else
            is_bad = 0;
    }
    dcr_buf_release(&row);
    dcr_csv_close(c);
    return rc == DCR_END ? DCR_OK : rc;
}

/* ---- summaries of traces ----------------------------------------------------------------------------- */

/* Names in the form of traces, so that a summary and its trace agree. */
static json_t *name_of(struct hide *h, const json_t *name)
{
    struct dcr_buf b = {0};
    hide_name(h, json_string_value(name) ? json_string_value(name) : "", &b);
    return string_of(&b);
}

static void hide_head(struct hide *h, json_t *o, const json_t *traces)
{
    static const char *const names[] = {"ended_in", "host", "notes"};
    json_t *trace = json_object_get(o, "trace"), *phases = json_object_get(o, "phases");
    const char *name = json_string_value(json_object_get(trace, "name"));
    if (name) {
        name = documents_member(h, name);
        json_object_set_new(trace, "name", json_string(name));
        json_object_update_existing(trace, json_object_get(traces, name));
    }
    for (size_t i = 0; i < json_array_size(phases); i++)
        json_array_set_new(json_array_get(phases, i), 0, name_of(h, json_array_get(json_array_get(phases, i), 0)));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_object_get(o, names[i]))
            json_object_set_new(o, names[i],
                                i == 0 ? name_of(h, json_object_get(o, names[i]))
                                       : hide_json(h, rule_of(names[i]), names[i], json_object_get(o, names[i])));
}

static void hide_line(struct hide *h, json_t *o, const json_t *traces)
{
    static const char *const names[] = {"name", "domain", "category"};
    json_t *file = json_object_get(o, "file");
    if (json_object_get(o, "trace"))
        hide_head(h, o, traces);
    else if (json_array_size(file))
        json_array_set_new(file, 0, name_of(h, json_array_get(file, 0)));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_object_get(o, names[i]))
            json_object_set_new(o, names[i], name_of(h, json_object_get(o, names[i])));
}

int documents_summary(struct hide *h, struct dcr_stream *in, const json_t *traces, documents_sink sink, void *ctx,
                      struct dcr_err *err)
{
    struct dcr_lines l = {.s = in};
    struct dcr_buf line = {0};
    int rc;
    while ((rc = dcr_next_line(&l, &line, err)) == DCR_OK) {
        json_t *o = json_loadb(dcr_buf_text(&line), line.len, 0, NULL);
        char *text = NULL;
        if (json_is_object(o)) {
            hide_line(h, o, traces);
            text = json_dumps(o, JSON_COMPACT);
        }
        json_decref(o);
        rc = text ? sink(ctx, text, strlen(text), err)
                  : dcr_err_set(err, DCR_FAIL, "cannot read '%s': the JSON of a line is not an object", in->name);
        free(text);
        if (rc || (rc = sink(ctx, "\n", 1, err)) != 0)
            break;
    }
    dcr_buf_release(&line);
    return rc == DCR_END ? DCR_OK : rc;
}
