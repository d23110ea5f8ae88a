/* accounting.c - jobs that a table of sacct says did not end by themselves. Called by findings.c and narrate. */
#include "render/analyse/analyse.h"
#include "render/model/cells.h"
#include "render/say/format.h"

#include <string.h>

/* States of sacct(1), JOB STATE CODES; the most telling first: a job whose step ran out of memory is often FAILED. */
static const struct {
    const char *state, *words;
} states[] = {
    {"OUT_OF_MEMORY", "ran out of memory (ask for more with --mem, or use less)"},
    {"NODE_FAIL", "lost a node"},
    {"TIMEOUT", "reached its time limit (ask for more with --time)"},
    {"CANCELLED", "was cancelled"},
};
enum { N_STATES = sizeof states / sizeof *states };

/* Index into states, N_STATES none. "CANCELLED by 0"; narrow columns cut a word and put a '+': "OUT_OF_ME+". */
static int state_of(const char *cell)
{
    size_t n = strcspn(cell, " +");
    int i = 0;
    while (i < N_STATES && (n < 4 || strncmp(cell, states[i].state, n) != 0 || (cell[n] != '+' && states[i].state[n])))
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

const char *accounting_ended(struct report *rep, const struct foreign_table *t)
{
    enum { SHOWN = 3 };
    int state = table_column(t, "State"), id = table_column(t, "JobID"), n = 0;
    const char *text = "";
    id = id < 0 ? table_column(t, "JobIDRaw") : id;
    for (size_t i = 0; state >= 0 && id >= 0 && i < table_rows(t); i++) {
        const char *job = table_cell(t, i, id);
        int worst = N_STATES, is_told = 0;
        for (size_t k = 0; k < table_rows(t) && !is_told; k++) {
            if (!is_same_job(job, table_cell(t, k, id)))
                continue;
            is_told = k < i;
            int one = state_of(table_cell(t, k, state));
            worst = one < worst ? one : worst;
        }
        if (is_told || worst == N_STATES || n++ >= SHOWN)
            continue;
        text = report_text(rep, "%s%s job %.*s %s", text, n > 1 ? "," : "", (int)job_length(job), job,
                           states[worst].words);
    }
    return n == 0
               ? ""
               : report_text(rep, "By Slurm's accounting in %s'%s'%s%s.",
                             t->n_left_out ? report_text(rep, "the first %zu rows of ", table_rows(t)) : "", t->file,
                             text,
                             n > SHOWN ? report_text(rep, ", and %d more did not end by themselves", n - SHOWN) : "");
}
