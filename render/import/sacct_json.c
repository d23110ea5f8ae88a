/* sacct_json.c - `sacct --json`: jobs and their steps as the rows that `sacct -P` would write. Versions of Slurm differ
 * in what is a word, a list of words or an object. source: Slurm REST API, dbv0.0.37 to v0.0.41. Test:
 * tests/unit/test_logs.c */
#include "render/import/text/parsers.h"

#include "render/import/text/json.h"

#include <stdio.h>
#include <string.h>

int sacct_json_is(const char *head, size_t n)
{
    static const char *const words[] = {"\"jobs\"", "\"job_id\"", "lurm"}; /* Slurm, slurmdbd */
    int n_found = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        n_found += memmem(head, n, words[i], strlen(words[i])) != NULL;
    return n && *head == '{' && n_found == (int)(sizeof words / sizeof *words);
}

/* A word, the first of a list of words, or the value of "current" or "number"; numbers as text. out: "" = none of it */
static void word_of(const json_t *v, char *out, size_t cap)
{
    static const char *const inner[] = {"current", "number"};
    *out = '\0';
    if (json_is_array(v)) {
        word_of(json_array_get(v, 0), out, cap);
    } else if (json_is_string(v)) {
        snprintf(out, cap, "%s", json_string_value(v));
    } else if (json_is_integer(v)) {
        snprintf(out, cap, "%lld", (long long)json_integer_value(v));
    } else if (json_is_object(v)) {
        for (size_t i = 0; i < sizeof inner / sizeof *inner && !*out; i++)
            word_of(json_object_get(v, inner[i]), out, cap);
    }
}

static void add_word(struct run *r, struct foreign_table *t, const json_t *v)
{
    char text[256];
    word_of(v, text, sizeof text);
    table_add(r, t, "%s", text);
}

/* Seconds as sacct writes them: 00:10:02, 2-03:00:00. */
static void add_elapsed(struct run *r, struct foreign_table *t, const json_t *of)
{
    const json_t *v = json_object_get(json_object_get(of, "time"), "elapsed");
    long long s = json_is_integer(v) ? (long long)json_integer_value(v) : -1;
    if (s < 0)
        table_add(r, t, "%s", "");
    else if (s < 86400)
        table_add(r, t, "%02lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    else
        table_add(r, t, "%lld-%02lld:%02lld:%02lld", s / 86400, s / 3600 % 24, s / 60 % 60, s % 60);
}

/* "17.0": from one word, or made of the job's number and the step's. */
static void add_step_id(struct run *r, struct foreign_table *t, const json_t *id, const char *job)
{
    char text[256], step[64];
    word_of(id, text, sizeof text);
    word_of(json_object_get(id, "step_id"), step, sizeof step);
    if (*step && strchr(step, '.'))
        table_add(r, t, "%s", step);
    else if (*step || (*text && !strchr(text, '.')))
        table_add(r, t, "%s.%s", job, *step ? step : text);
    else
        table_add(r, t, "%s", text);
}

static void add_step(struct run *r, struct foreign_table *t, const json_t *step, const char *job)
{
    const json_t *who = json_object_get(step, "step");
    add_step_id(r, t, json_object_get(who, "id"), job);
    add_word(r, t, json_object_get(who, "name"));
    table_add(r, t, "%s", "");
    add_word(r, t, json_object_get(step, "state"));
    add_elapsed(r, t, step);
    add_word(r, t, json_object_get(json_object_get(step, "nodes"), "count"));
}

int sacct_json_read(struct run *r, struct dcr_stream *s, struct dcr_err *err)
{
    json_t *o = json_slurp(s, err), *job, *step;
    if (!o)
        return DCR_FAIL;
    const json_t *jobs = json_object_get(o, "jobs");
    struct foreign_table *t = NULL;
    size_t i, k;
    json_array_foreach(jobs, i, job)
    {
        char id[64];
        const json_t *state = json_object_get(job, "state");
        word_of(json_object_get(job, "job_id"), id, sizeof id);
        if (!*id)
            continue;
        if (!t)
            t = run_add_table(r, s->name, FOREIGN_SACCT, "Slurm's accounting of the job and its steps",
                              "JobID|JobName|Partition|State|Elapsed|NNodes");
        table_add(r, t, "%s", id);
        add_word(r, t, json_object_get(job, "name"));
        add_word(r, t, json_object_get(job, "partition"));
        add_word(r, t, state ? state : json_object_get(job, "job_state"));
        add_elapsed(r, t, job);
        add_word(r, t, json_object_get(job, "allocation_nodes"));
        json_array_foreach(json_object_get(job, "steps"), k, step) add_step(r, t, step, id);
    }
    json_decref(o);
    return t ? 0
             : dcr_err_set(err, DCR_FAIL,
                           "'%s' is output of sacct --json without a job; check the job ids given to sacct", s->name);
}
