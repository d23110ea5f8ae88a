/* accounting.c - jobs that were ended or failed, by a table of sacct. Called by findings.c and narrate. */
#include "render/metrics/rule.h"
#include "render/model/cells.h"

#include <string.h>

/* States of sacct(1), JOB STATE CODES; the most telling first: a job whose step ran out of memory is often FAILED. */
static const struct {
    const char *state;
    enum phrase_id said;
} states[N_JOB_ENDS] = {
    [JOB_OUT_OF_MEMORY] = {"OUT_OF_MEMORY", PHRASE_JOB_OUT_OF_MEMORY},
    [JOB_NODE_FAILED] = {"NODE_FAIL", PHRASE_JOB_NODE_FAILED},
    [JOB_TIMED_OUT] = {"TIMEOUT", PHRASE_JOB_TIMED_OUT},
    [JOB_CANCELLED] = {"CANCELLED", PHRASE_JOB_CANCELLED},
};

/* enum job_end, N_JOB_ENDS none. "CANCELLED by 0"; narrow columns cut a word and put a '+': "OUT_OF_ME+". */
static int state_of(const char *cell)
{
    size_t n = strcspn(cell, " +");
    int i = 0;
    while (i < N_JOB_ENDS &&
           (n < 4 || strncmp(cell, states[i].state, n) != 0 || (cell[n] != '+' && states[i].state[n])))
        i++;
    return i;
}

/* "17" of "17.batch" */
static size_t job_length(const char *id)
{
    return strcspn(id, ".");
}

static int is_same_job(const char *a, const char *b)
{
    size_t n = job_length(a);
    return n == job_length(b) && memcmp(a, b, n) == 0;
}

/* The worst state of a job's rows from row i on; N_JOB_ENDS: none, or the job has an earlier row. */
static int worst_of_job(const struct foreign_table *t, size_t i, int id, int state)
{
    int worst = N_JOB_ENDS;
    for (size_t k = 0; k < table_rows(t); k++) {
        if (!is_same_job(table_cell(t, i, id), table_cell(t, k, id)))
            continue;
        if (k < i)
            return N_JOB_ENDS;
        int one = state_of(table_cell(t, k, state));
        worst = one < worst ? one : worst;
    }
    return worst;
}

static int job_column(const struct foreign_table *t)
{
    int id = table_column(t, "JobID");
    return id < 0 ? table_column(t, "JobIDRaw") : id;
}

struct jobs_ended accounting_jobs(struct report *rep, const struct foreign_table *t)
{
    struct jobs_ended all = {.first = ""};
    int state = table_column(t, "State"), id = job_column(t);
    for (size_t i = 0; state >= 0 && id >= 0 && i < table_rows(t); i++) {
        const char *job = table_cell(t, i, id);
        int worst = worst_of_job(t, i, id, state);
        if (worst != N_JOB_ENDS && all.n++ == 0) {
            all.end = (enum job_end)worst;
            all.first = report_text(rep, "%.*s", (int)job_length(job), job);
        }
    }
    return all;
}

int accounting_ended(struct report *rep, const struct foreign_table *t, struct phrase said[NOTE_PHRASES])
{
    struct jobs_ended all = accounting_jobs(rep, t);
    if (!all.n)
        return 0;
    said[0] = (struct phrase){.id = states[all.end].said, .slot = {slot_name(all.first)}};
    said[1] = t->n_left_out ? PHRASE(BY_ACCOUNTING_ROWS, slot_name(t->file), slot_count((int64_t)table_rows(t)))
                            : PHRASE(BY_ACCOUNTING, slot_name(t->file));
    said[2] = all.n > 1 ? PHRASE(MORE_JOBS, slot_count(all.n - 1)) : PHRASE(NONE);
    return 1;
}
