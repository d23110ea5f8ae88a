/* caveats.c - see caveats.h. */
#include "render/pages/caveats.h"

#include "render/say/say.h"

#include <string.h>

/* More caveats than this would hide the verdict, so the others are folded away under their number. */
enum { CAVEATS_SHOWN = 3 };

int note_concerns(const struct note *n, int run)
{
    return run < 0 || n->run < 0 || n->run == run;
}

/* Notes on all runs weigh most, then notes on the largest run, whose numbers the verdict uses. */
static int weight(const struct report *rep, const struct note *n)
{
    int most = 0;
    for (int i = 0; i < rep->n_notes; i++)
        if (rep->notes[i].run >= 0 && rep->runs[rep->notes[i].run].n_ranks > most)
            most = rep->runs[rep->notes[i].run].n_ranks;
    return n->run < 0 ? 0 : rep->runs[n->run].n_ranks == most ? 1 : 2;
}

/* Is it a note that follows from ranks without cores, if that is the finding? */
static int is_of_cores(enum note_id id)
{
    return id == NOTE_OVERSUBSCRIBED || id == NOTE_OWN_THREADS || id == NOTE_RUN_DELAY || id == NOTE_BOUND ||
           id == NOTE_THROTTLED || id == NOTE_STEAL || id == NOTE_NEIGHBOURS;
}

static int has_said(const struct phrase *p, enum phrase_id id)
{
    for (int i = 0; i < SAID_MAX; i++)
        if (p[i].id == id)
            return 1;
    return 0;
}

int is_note_told(const struct report *rep, const struct note *n)
{
    const struct claim *first = rep->first_claim >= 0 && rep->n_claims ? &rep->claims[rep->first_claim] : NULL;
    if (rep->n_comparisons)
        return 0;
    if (n->id == NOTE_EMULATED || n->id == NOTE_ONE_KERNEL)
        return has_said(rep->sure[SURE_UNKNOWN], PHRASE_NODES_OF_RANKS) ||
               has_said(rep->sure[SURE_UNKNOWN], PHRASE_NODES_OF_PARTS) ||
               has_said(rep->sure[SURE_UNKNOWN], PHRASE_NODES_OF_KERNEL);
    return first && first->cls == CLASS_SHARED && is_of_cores(n->id) && n->run >= 0 &&
           (n->run == first->run || (first->run < 0 && rep->runs[n->run].series == first->series));
}

static int is_same_kind(const struct note *a, const struct note *b)
{
    return a->id == b->id && a->kind == b->kind && a->said[0].id == b->said[0].id && a->run >= 0 && b->run >= 0;
}

/* One line for notes of one kind on several runs: the weightiest note, and the number of runs. */
static void add(struct caveats *c, const struct report *rep, const struct note *n, int is_of_all, struct dcr_arena *a)
{
    int more = 0;
    for (int i = 0; is_of_all && i < c->n; i++)
        if (is_same_kind(c->list[i].note, n))
            return;
    for (int i = 0; is_of_all && i < rep->n_notes; i++)
        more += &rep->notes[i] != n && is_same_kind(&rep->notes[i], n);
    c->list[c->n] = (struct caveat){.note = n, .text = n->text};
    if (more) {
        struct phrase said[NOTE_PHRASES];
        struct dcr_buf b = {0};
        memcpy(said, n->said, sizeof said);
        said[said[1].id == PHRASE_NONE ? 1 : NOTE_PHRASES - 1] = PHRASE(SAME_OF_RUNS, slot_count(more));
        dcr_buf_printf(&b, "%s: %s", rep->runs[n->run].label, say_note(a, said, NOTE_PHRASES));
        c->list[c->n].text = dcr_arena_strdup(a, dcr_buf_text(&b));
        dcr_buf_release(&b);
    }
    c->n++;
}

/* On a page about one run in the order of the report, on others the weightiest first. */
static void add_notes(struct caveats *c, const struct report *rep, int run, struct dcr_arena *a)
{
    enum { WEIGHTS = 3 };
    for (int turn = 0; turn < (run < 0 ? WEIGHTS : 1); turn++)
        for (int i = 0; i < rep->n_notes; i++) {
            const struct note *n = &rep->notes[i];
            if (n->kind == NOTE_CAVEAT && note_concerns(n, run) &&
                (run >= 0 || (weight(rep, n) == turn && !is_note_told(rep, n))))
                add(c, rep, n, run < 0, a);
        }
}

static void add_endings(struct caveats *c, const struct run *run, struct dcr_arena *a)
{
    for (int i = 0; i < run->n_endings; i++)
        c->list[c->n++] =
            (struct caveat){.text = say_note(a, &PHRASE(ARCHIVE_INCOMPLETE, slot_name(run->endings[i].text)), 1)};
}

/* For a page about all runs whose answer is about one series: is the note on a run of another series? */
static int is_beside_answer(const struct report *rep, const struct note *n)
{
    return n && n->run >= 0 && rep->headline_series >= 0 && rep->runs[n->run].series != rep->headline_series;
}

/* A single caveat is not folded. */
static void choose(struct caveats *c, const struct report *rep, int is_of_all)
{
    int n_shown = 0, n_beside = 0;
    for (int i = 0; i < c->n; i++) {
        int is_beside = is_of_all && is_beside_answer(rep, c->list[i].note);
        c->list[i].is_shown = n_shown < CAVEATS_SHOWN && !is_beside;
        n_shown += c->list[i].is_shown;
        n_beside += is_beside;
    }
    for (int i = 0; i < c->n && n_shown + 1 == c->n && !n_beside; i++)
        c->list[i].is_shown = 1;
}

struct caveats gaps_of(const struct report *rep, struct dcr_arena *a)
{
    struct caveats c = {.list = dcr_arena_alloc(a, ((size_t)rep->n_notes + 1) * sizeof *c.list)};
    for (int i = 0; i < rep->n_notes; i++)
        if (rep->notes[i].kind == NOTE_GAP)
            add(&c, rep, &rep->notes[i], 1, a);
    for (int i = 0; i < c.n; i++)
        c.list[i].is_shown = !is_beside_answer(rep, c.list[i].note);
    return c;
}

struct caveats caveats_of(const struct report *rep, int run, struct dcr_arena *a)
{
    struct caveats c = {0};
    int n_endings = run >= 0 ? rep->runs[run].run->n_endings : 0;
    c.list = dcr_arena_alloc(a, (size_t)(rep->n_notes + n_endings + 1) * sizeof *c.list);
    add_notes(&c, rep, run, a);
    if (run >= 0)
        add_endings(&c, rep->runs[run].run, a);
    choose(&c, rep, run < 0);
    return c;
}
