/* differing.c - in what two runs of different configurations differ, by name. Called by caveats.c. */
#include "render/analyse/analyse.h"

#include <string.h>

enum { MAX_NAMED = 6 };

struct names {
    struct report *rep;
    const char *text;
    int n;
};

static void add(struct names *x, const char *name, size_t n)
{
    if (x->n++ < MAX_NAMED)
        x->text = report_text(x->rep, "%s%s%.*s", x->text, *x->text ? ", " : "", (int)(n < 60 ? n : 60), name);
}

static void add_if(struct names *x, int differs, const char *name)
{
    if (differs)
        add(x, name, strlen(name));
}

/* The value of the option that begins at words[i]: behind its '=', the next word, or "" of a flag. */
static const char *value_at(const struct run *a, int i)
{
    const char *equals = strchr(a->command[i], '=');
    return equals ? equals + 1 : i + 1 < a->n_command && a->command[i + 1][0] != '-' ? a->command[i + 1] : "";
}

static const char *value_of(const struct run *a, const char *option, size_t n)
{
    for (int i = 0; i < a->n_command; i++)
        if (strncmp(a->command[i], option, n) == 0 && (!a->command[i][n] || a->command[i][n] == '='))
            return value_at(a, i);
    return NULL;
}

/* Options of a that b has otherwise, or, when `only_missing`, not at all. */
static void add_options(struct names *x, const struct run *a, const struct run *b, int only_missing)
{
    for (int i = 0; i < a->n_command; i++) {
        const char *option = a->command[i];
        size_t n = strcspn(option, "=");
        if (option[0] != '-' || !option[1] || scaling_is_masked(option))
            continue;
        const char *there = value_of(b, option, n);
        if (only_missing ? !there : !there || strcmp(there, value_at(a, i)) != 0)
            add(x, option, n);
    }
}

const char *differing_keys(struct report *rep, const struct run_result *first, const struct run_result *second)
{
    struct names x = {rep, "", 0};
    const struct run *a = first->run, *b = second->run;
    const struct run_program *p = &a->program, *q = &b->program;
    int per_node[2] = {first->n_nodes > 0 ? first->n_ranks / first->n_nodes : 0,
                       second->n_nodes > 0 ? second->n_ranks / second->n_nodes : 0};
    if (strcmp(p->name, q->name) != 0)
        return "program"; /* their options have nothing in common */
    add_options(&x, a, b, 0);
    add_options(&x, b, a, 1);
    int by_option = x.n;
    add_if(&x, strcmp(p->precision, q->precision) != 0 && !by_option, "precision");
    add_if(&x, strcmp(p->backend, q->backend) != 0 && !by_option, "back end");
    add_if(&x, strcmp(p->dataset, q->dataset) != 0 && !by_option, "data");
    add_if(&x, p->threads != q->threads && !by_option, "threads");
    add_if(&x, per_node[0] != per_node[1], "ranks per node");
    add_if(&x, strcmp(p->model, q->model) != 0 && !x.n, "model");
    add_if(&x, p->global_batch != q->global_batch && first->n_nodes == second->n_nodes && !x.n, "batch");
    add_if(&x, !x.n, "command");
    if (x.n > MAX_NAMED)
        x.text = report_text(rep, "%s and %d more", x.text, x.n - MAX_NAMED);
    return x.text;
}
