/* pack_libraries.c - limits and libraries from the collectors' records into job_metadata.json: ranks that had the same
 * objects mapped share an entry. See pack_parts.h. */
#include "collect/pack_parts.h"

#include "collect/meta.h"

#include <string.h>

/* Of a list that a record holds: the entry of the rank, or the one without a rank (a program without ranks). */
static json_t *entry_of(const json_t *record, int rank, int is_own)
{
    size_t i;
    json_t *o, *without = NULL;
    json_array_foreach(json_object_get(record, "libraries"), i, o)
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
           json_integer_value(json_object_get(group, "n_left_out")) ==
               json_integer_value(json_object_get(entry, "n_left_out"));
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

void pack_libraries(const struct pack *p, json_t *o)
{
    const json_t *first = pack_first_record(p);
    json_t *groups = json_array();
    for (size_t i = 0; i < p->n_ranks; i++) {
        const struct pack_rank *r = &p->ranks[i];
        json_t *entry = entry_of(r->record, r->rank, 1);
        if (!entry)
            entry = entry_of(p->launcher, r->rank, 0);
        if (json_is_array(json_object_get(entry, "paths")))
            put_entry(groups, entry, r->rank);
    }
    if (json_array_size(groups))
        json_object_set(o, "libraries", groups);
    else
        meta_missing(o, "libraries", reason_of(first, "libraries"));
    json_decref(groups);
    static const char *const keys[] = {"library_versions", "limits"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_object_get(first, keys[i]))
            pack_json_copy(o, first, keys[i]);
        else
            meta_missing(o, keys[i], reason_of(first, i == 0 ? "libraries" : keys[i]));
}
