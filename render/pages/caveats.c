/* caveats.c - see caveats.h. */
#include "render/pages/caveats.h"

#include "render/say/say.h"

/* More caveats than this would bury the verdict: the others are folded away behind their number. */
enum { CAVEATS_SHOWN = 3 };

int note_concerns(const struct note *n, int run)
{
    return run < 0 || n->run < 0 || n->run == run;
}

/* What is about all runs weighs most, then the largest run, whose numbers the verdict has. */
static int weight(const struct report *rep, const struct note *n)
{
    int most = 0;
    for (int i = 0; i < rep->n_notes; i++)
        if (rep->notes[i].run >= 0 && rep->runs[rep->notes[i].run].n_ranks > most)
            most = rep->runs[rep->notes[i].run].n_ranks;
    return n->run < 0 ? 0 : rep->runs[n->run].n_ranks == most ? 1 : 2;
}

static void add(struct caveats *c, const struct note *n)
{
    c->list[c->n++] = (struct caveat){.note = n, .text = n->text};
}

/* On a page about one run in the order of the report, on others the weightiest first. */
static void add_notes(struct caveats *c, const struct report *rep, int run)
{
    enum { WEIGHTS = 3 };
    for (int turn = 0; turn < (run < 0 ? WEIGHTS : 1); turn++)
        for (int i = 0; i < rep->n_notes; i++) {
            const struct note *n = &rep->notes[i];
            if (n->kind == NOTE_CAVEAT && note_concerns(n, run) && (run >= 0 || weight(rep, n) == turn))
                add(c, n);
        }
}

static void add_endings(struct caveats *c, const struct run *run, struct dcr_arena *a)
{
    for (int i = 0; i < run->n_endings; i++)
        c->list[c->n++] =
            (struct caveat){.text = say_note(a, &PHRASE(ARCHIVE_INCOMPLETE, slot_name(run->endings[i].text)), 1)};
}

/* The same was said above, of another run, which weighs more. */
static int is_repeated(const struct caveats *c, int at)
{
    const struct note *n = c->list[at].note;
    for (int i = 0; i < at && n; i++)
        if (c->list[i].note && c->list[i].note->id == n->id && c->list[i].note->run != n->run)
            return 1;
    return 0;
}

/* One alone is not folded, unless it repeats what is shown. */
static void choose(struct caveats *c)
{
    int n_shown = 0;
    for (int i = 0; i < c->n; i++) {
        c->list[i].is_shown = n_shown < CAVEATS_SHOWN && !is_repeated(c, i);
        n_shown += c->list[i].is_shown;
    }
    for (int i = 0; i < c->n && n_shown + 1 == c->n; i++)
        c->list[i].is_shown = !is_repeated(c, i);
}

struct caveats caveats_of(const struct report *rep, int run, struct dcr_arena *a)
{
    struct caveats c = {0};
    int n_endings = run >= 0 ? rep->runs[run].run->n_endings : 0;
    c.list = dcr_arena_alloc(a, (size_t)(rep->n_notes + n_endings + 1) * sizeof *c.list);
    add_notes(&c, rep, run);
    if (run >= 0)
        add_endings(&c, rep->runs[run].run, a);
    choose(&c);
    return c;
}
