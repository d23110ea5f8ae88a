/* kineto_header.c - see kineto_header.h. */
#include "render/import/kineto/kineto_header.h"

#include "render/import/text/json_window.h"
#include "render/model/build.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static int64_t int_of(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_integer(v) ? (int64_t)json_integer_value(v) : -1;
}

void kineto_header_take(struct kineto_header *h, const char *key, size_t key_len, const char *value, size_t len)
{
    json_t *v = json_loadb(value, len, 0, NULL);
    if (json_text_is(key, key_len, "deviceProperties") && json_is_array(v)) {
        json_decref(h->properties);
        h->properties = json_incref(v);
    } else if (json_is_object(v)) {
        h->rank = int_of(v, "rank");
        h->world_size = int_of(v, "world_size");
    }
    json_decref(v);
}

/* Of all listed devices; NULL: they differ, or one has no name. */
static const char *common_model(const struct kineto_header *h)
{
    const char *model = NULL;
    for (size_t k = 0; k < json_array_size(h->properties); k++) {
        const char *name = json_string_value(json_object_get(json_array_get(h->properties, k), "name"));
        if (!name || (model && strcmp(name, model) != 0))
            return NULL;
        model = name;
    }
    return model;
}

void kineto_header_name(const struct kineto_header *h, struct foreign_trace *out, struct dcr_arena *arena)
{
    const char *first = json_string_value(json_object_get(json_array_get(h->properties, 0), "name"));
    const char *common = common_model(h);
    out->first_model = first ? text_clean(arena, first) : "";
    for (int i = 0; i < out->n_devices; i++) {
        struct run_device *d = &out->devices[i];
        d->rank = h->rank;
        if (common) /* some lists lack the device that was used */
            d->model = text_clean(arena, common);
        for (size_t k = 0; k < json_array_size(h->properties); k++) {
            const json_t *p = json_array_get(h->properties, k);
            const char *name = json_string_value(json_object_get(p, "name"));
            if (int_of(p, "id") != d->device)
                continue;
            if (name)
                d->model = text_clean(arena, name);
            int64_t bytes = int_of(p, "totalGlobalMem");
            d->memory_total_bytes = bytes > 0 ? bytes : 0;
        }
    }
}

int64_t kineto_rank_named(const char *path)
{
    int64_t rank = -1;
    const char *slash = strrchr(path, '/');
    for (const char *p = slash ? slash : path; (p = strcasestr(p, "rank")) != NULL;) {
        p += sizeof "rank" - 1;
        p += *p == '-' || *p == '_';
        size_t n = strspn(p, "0123456789");
        if (n == 0 || n > 9)
            continue;
        int64_t is = strtoll(p, NULL, 10);
        if (rank >= 0 && rank != is)
            return -1;
        rank = is;
    }
    return rank;
}

void kineto_header_release(struct kineto_header *h)
{
    json_decref(h->properties);
    h->properties = NULL;
}
