/* report.c - see report.h: the store of a report's texts and notes. */
#include "render/metrics/report.h"

#include "render/say/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

DCR_PRINTF(2, 0) static const char *text_of(struct report *rep, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0)
        return "";
    char *text = dcr_arena_alloc(&rep->arena, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, fmt, ap);
    return text;
}

const char *sure_label(enum sure_item i, int is_comparison)
{
    static const char *const labels[][2] = {
#define X(id, label, of_comparison) {label, of_comparison},
        SURE_ITEMS(X)
#undef X
    };
    return labels[i][is_comparison];
}

const struct run_result *run_of_point(const struct report *rep, const struct series_point *p)
{
    return &rep->runs[p->runs[0]];
}

const char *report_text(struct report *rep, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = text_of(rep, fmt, ap);
    va_end(ap);
    return text;
}

void report_put_note(struct report *rep, enum note_kind kind, int run, enum note_id id,
                     const struct phrase said[NOTE_PHRASES])
{
    struct note n = {.kind = kind, .run = run, .id = id, .text = say_note(&rep->arena, said, NOTE_PHRASES)};
    if (run >= 0)
        n.text = report_text(rep, "%s: %s", rep->runs[run].label, n.text);
    keep_phrases(&rep->arena, said, n.said);
    rep->notes = arena_grow(&rep->arena, rep->notes, (size_t)rep->n_notes, &rep->notes_cap, sizeof *rep->notes);
    rep->notes[rep->n_notes++] = n;
    rep->n_gaps += kind == NOTE_GAP;
}

void run_put_note(struct report *rep, struct run_result *r, const struct phrase said[NOTE_PHRASES])
{
    if (r->n_notes == RUN_MAX_NOTES)
        return;
    struct run_note *n = &r->notes[r->n_notes++];
    *n = (struct run_note){.text = say_sentences(&rep->arena, said, NOTE_PHRASES)};
    memcpy(n->said, said, sizeof n->said);
}

void report_drop_note(struct report *rep, enum note_id id)
{
    int kept = 0;
    for (int i = 0; i < rep->n_notes; i++) {
        if (rep->notes[i].id == id)
            rep->n_gaps -= rep->notes[i].kind == NOTE_GAP;
        else
            rep->notes[kept++] = rep->notes[i];
    }
    rep->n_notes = kept;
}

void report_free(struct report *rep)
{
    if (!rep)
        return;
    dcr_arena_release(&rep->arena);
    memset(rep, 0, sizeof *rep);
}
