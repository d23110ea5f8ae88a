/* pack_libraries.c - limits and libraries from the collectors' records into job_metadata.json: ranks that had the same
 * objects mapped share an entry. See parts.h. */
#include "collect/pack/parts.h"

#include "collect/record/libraries.h"
#include "collect/record/meta.h"

#include <string.h>

/* Of a list: the entry of the rank, or the one without a rank (a program without ranks). */
static json_t *entry_of(const json_t *list, int rank, int is_own)
{
    size_t i;
    json_t *o, *without = NULL;
    json_array_foreach((json_t *)list, i, o)
    {
        const json_t *of = json_object_get(o, "rank");
        if (json_is_integer(of) && json_integer_value(of) == rank)
            return o;
        if (!of)
            without = o;
    }
    return is_own ? without : NULL;
}

static int is_same(const json_t *group, const json_t *entry)
{
    return json_equal(json_object_get(group, "paths"), json_object_get(entry, "paths")) &&
           json_is_true(json_object_get(group, "is_cut")) == json_is_true(json_object_get(entry, "is_cut"));
}

static void put_entry(json_t *groups, json_t *entry, int rank)
{
    size_t i;
    json_t *group, *same = NULL;
    json_array_foreach(groups, i, group) if (!same && is_same(group, entry)) same = group;
    if (!same) {
        same = json_copy(entry);
        json_object_del(same, "rank");
        json_object_set_new(same, "ranks", json_array());
        json_array_append_new(groups, same);
    }
    json_array_append_new(json_object_get(same, "ranks"), json_integer(rank));
}

static const char *reason_of(const json_t *record, const char *key)
{
    const char *reason = json_string_value(json_object_get(json_object_get(record, "missing"), key));
    return reason ? reason : "no collector's record tells";
}

/* What the processes themselves left: the collector adds it to its record when the program has ended, and here it
 * stands for a collector that was killed. gives */
static json_t *left_by_processes(const struct pack *p)
{
    struct libraries *l = p->is_spool ? libraries_new() : NULL;
    if (l)
        libraries_read(l, p->request->spool, LIBRARIES_ALL);
    json_t *list = l ? libraries_describe(l) : json_array();
    libraries_free(l);
    return list;
}

void pack_libraries(const struct pack *p, json_t *o)
{
    const json_t *first = pack_first_record(p);
    json_t *groups = json_array(), *left = left_by_processes(p);
    for (size_t i = 0; i < p->n_ranks; i++) {
        const struct pack_rank *r = &p->ranks[i];
        json_t *entry = entry_of(json_object_get(r->record, "libraries"), r->rank, 1);
        if (!entry)
            entry = entry_of(json_object_get(p->launcher, "libraries"), r->rank, 0);
        if (!entry)
            entry = entry_of(left, r->rank, p->launcher && json_object_get(r->record, "collector_pid"));
        if (json_is_array(json_object_get(entry, "paths")))
            put_entry(groups, entry, r->rank);
    }
    if (json_array_size(groups))
        json_object_set(o, "libraries", groups);
    else
        meta_missing(o, "libraries", reason_of(first, "libraries"));
    if (json_object_get(first, "library_versions"))
        pack_json_copy(o, first, "library_versions");
    else if (json_array_size(groups))
        json_object_set_new(o, "library_versions", libraries_versions(groups, 0));
    else
        meta_missing(o, "library_versions", reason_of(first, "libraries"));
    if (json_object_get(first, "limits"))
        pack_json_copy(o, first, "limits");
    else
        meta_missing(o, "limits", reason_of(first, "limits"));
    json_decref(groups);
    json_decref(left);
}
