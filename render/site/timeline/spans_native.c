/* spans_native.c - spans from native traces while these are read; see spans.h. Ranks and clocks are known when all of a
 * run has been read: until then ranges have their trace's own times. Test: tests/unit/test_timeline.c */
#include "render/site/timeline/spans_inside.h"

#include "lib/archive/clocks.h"
#include "lib/archive/member.h"
#include "render/model/build.h"

#include <string.h>

/* ---- while a trace is read ------------------------------------------------------------------------------- */

uint32_t spans_trace(struct spans *s, const char *member, const struct dct_info *info)
{
    s->files = arena_grow(&s->arena, s->files, s->n_files, &s->files_cap, sizeof *s->files);
    struct span_file *f = &s->files[s->n_files];
    *f = (struct span_file){.name = member ? dcr_arena_strdup(&s->arena, member) : NULL};
    if (info)
        f->info = *info;
    spans_forget(s);
    return (uint32_t)s->n_files++;
}

void spans_event(struct spans *s, uint32_t file, const struct dct_event *e)
{
    if (e->kind == DCT_FILE || e->start_ns < 0 || e->end_ns > RUN_MAX_TIME_NS)
        return;
    bool is_flight = e->kind == DCT_SPAN && strcmp(e->category, DCT_IN_FLIGHT) == 0;
    bool is_beside = e->kind == DCT_START || is_flight;
    size_t track = spans_track(s, 0, 0, file, is_beside ? 0 : e->track, is_beside);
    uint64_t payload = e->payload_type == DCT_PAYLOAD_U64 || e->payload_type == DCT_PAYLOAD_I64 ? e->payload : 0;
    spans_add_stable(s, track, is_beside ? 0 : e->depth, e->domain, e->category, e->name, e->start_ns, e->end_ns,
                     e->kind == DCT_SPAN ? e->bytes : payload);
}

void spans_trace_end(struct spans *s, uint32_t file, struct dct_reader *t)
{
    for (size_t i = 0; i < s->n_tracks; i++)
        if (s->tracks[i].file == file && !s->tracks[i].is_beside)
            s->tracks[i].name = text_clean(&s->arena, dct_thread_name(t, s->tracks[i].id));
    spans_forget(s);
}
