/* spans_native.c - spans from native traces while somebody reads them; see spans.h. Ranks and clocks are known when all
 * of a run has been read: until then ranges have their trace's own times. Test: tests/unit/test_timeline.c */
#include "render/site/spans_inside.h"

#include "lib/clocks.h"
#include "lib/member.h"
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

/* ---- when all have been read ----------------------------------------------------------------------------- */

/* The tracks of a file become those of its rank. */
static void place(struct spans *s, const struct run *run, uint32_t file)
{
    const struct dct_info *info = &s->files[file].info;
    int node = -1, rank = -1;
    (void)dcr_role_of(s->files[file].name, &node, &rank);
    for (int i = 0; node < 0 && run && i < run->ranks_len; i++)
        node = run->ranks[i].rank == rank ? run->ranks[i].node : node;
    for (size_t i = 0; i < s->n_tracks; i++)
        if (s->tracks[i].file == file) {
            s->tracks[i].rank = rank >= 0 ? rank : info->rank >= 0 ? info->rank : 0;
            s->tracks[i].node = node >= 0 ? node : info->node;
        }
}

void spans_place(struct spans *s, const struct run *run)
{
    struct dcr_hosts hosts = {.arena = &s->arena};
    struct dcr_host *of = dcr_arena_alloc(&s->arena, (s->n_files + 1) * sizeof *of);
    for (uint32_t f = 0; f < s->n_files; f++)
        if (s->files[f].name) {
            const struct dct_info *info = &s->files[f].info;
            of[f] = dcr_host_of(&hosts, info->host, info->mono_ns, info->real_ns,
                                run ? run_clock_of(run, info->host) : NULL);
            place(s, run, f);
        }
    for (size_t i = 0; i < s->n; i++) {
        struct span *p = &s->span[i];
        uint32_t f = s->tracks[p->row >> 6].file;
        if (f >= s->n_files || !s->files[f].name)
            continue;
        int64_t start_ns = dcr_host_time(&of[f], p->start_ns), end_ns = dcr_host_time(&of[f], p->start_ns + p->dur_ns);
        p->start_ns = start_ns;
        p->dur_ns = end_ns > start_ns ? end_ns - start_ns : 0;
    }
    if (run)
        spans_foreign_place(s, run);
    s->n_hosts = hosts.n_seen;
    s->n_measured_hosts = hosts.n_measured;
    s->clock_error_ns = hosts.error_ns;
}
