/* trace_texts.c - texts of the program besides names of events and payloads: see trace_inside.h. */
#include "lib/trace/trace_inside.h"

#include <stdio.h>
#include <stdlib.h>

/* Every piece of a trace repeats the definitions that it needs. */
static int is_same(const char *text, const char *bytes, size_t len)
{
    return text && strlen(text) == len && memcmp(text, bytes, len) == 0;
}

static int is_said(const struct dct_reader *r, const char *sentence, size_t len)
{
    const char *text = r->notes.data;
    for (size_t at = 0, end; at < r->notes.len; at = end + 1) {
        const char *newline = memchr(text + at, '\n', r->notes.len - at);
        end = newline ? (size_t)(newline - text) : r->notes.len;
        if (end - at == len && memcmp(text + at, sentence, len) == 0)
            return 1;
    }
    return 0;
}

static const char *keep_text(struct dct_reader *r, const char *bytes, size_t len)
{
    if (r->n_text_bytes + len > MAX_TEXT_TOTAL)
        return NULL;
    r->n_text_bytes += len + sizeof(max_align_t); /* at most what the arena takes */
    return dcr_arena_strndup(&r->arena, bytes, len);
}

static void set_text(struct dct_reader *r, struct dcr_map *m, uint64_t key, const char *bytes, size_t len)
{
    uint32_t i;
    if (dcr_map_get(m, key, &i) && is_same(r->texts[i], bytes, len))
        return;
    const char *text = r->n_texts < MAX_NAME_ID ? keep_text(r, bytes, len) : NULL;
    if (!text)
        return;
    r->texts = arena_grow(&r->arena, r->texts, r->n_texts, &r->cap_texts, sizeof *r->texts);
    dcr_map_set(m, key, r->n_texts);
    r->texts[r->n_texts++] = text;
}

static void set_name(struct dct_reader *r, const char ***names, size_t *n, uint32_t id, const char *bytes, size_t len)
{
    if (id < *n && is_same((*names)[id], bytes, len))
        return;
    const char *text = keep_text(r, bytes, len);
    if (!text)
        return;
    while (id >= *n)
        *names = arena_grow(&r->arena, *names, *n, n, sizeof **names);
    (*names)[id] = text;
}

void dct_define(struct dct_reader *r, const struct dct_slot *s)
{
    const char *bytes = (const char *)(s + 1);
    size_t len = (size_t)s->t_ns;
    switch (s->kind) {
    case DCT_NOTE:
        if (is_said(r, bytes, len))
            break;
        if (r->notes.len && !r->notes.failed)
            dcr_buf_putc(&r->notes, '\n');
        dcr_buf_add(&r->notes, bytes, len);
        break;
    case DCT_STRING:
        if (s->name < MAX_NAME_ID)
            set_name(r, &r->names, &r->n_names, s->name, bytes, len);
        break;
    case DCT_DOMAIN:
        set_name(r, &r->domains, &r->n_domains, s->domain, bytes, len);
        break;
    case DCT_CATEGORY:
        set_text(r, &r->category_of, dct_domain_key(s->domain, s->name), bytes, len);
        break;
    case DCT_THREAD:
        set_text(r, &r->thread_of, s->name, bytes, len);
        break;
    case DCT_SCHEMA:
        set_text(r, &r->schema_of, dct_domain_key(s->domain, s->name), bytes, len);
        break;
    default:
        break;
    }
}

const char *dct_category(struct dct_reader *r, uint32_t domain, uint32_t category)
{
    uint32_t i;
    if (dcr_map_get(&r->category_of, dct_domain_key(domain, category), &i))
        return r->texts[i];
    char number[16];
    int n = snprintf(number, sizeof number, "#%u", category);
    set_text(r, &r->category_of, dct_domain_key(domain, category), number, (size_t)n);
    return dcr_map_get(&r->category_of, dct_domain_key(domain, category), &i) ? r->texts[i] : "";
}

void dct_keep_attr(struct open_range *o, const struct dct_slot *s)
{
    o->attr = dct_attr_in(s);
    if ((o->attr.payload_type & 0xff) == DCT_PAYLOAD_RAW && o->attr.payload) {
        o->raw = malloc(o->attr.payload);
        if (o->raw)
            memcpy(o->raw, s + 1, o->attr.payload);
    }
}

static void add_payload(struct open_range *o, struct dct_attr a, const void *bytes)
{
    uint32_t type = o->attr.payload_type & 0xff;
    size_t before = type == DCT_PAYLOAD_RAW && o->raw ? o->attr.payload : 0;
    if ((a.payload_type & 0xff) != DCT_PAYLOAD_RAW || !a.payload || (type != DCT_PAYLOAD_NONE && !before))
        return;
    /* whole slots, so that the next item begins where it may */
    size_t padded = (before + DCT_SLOT_BYTES - 1) / DCT_SLOT_BYTES * DCT_SLOT_BYTES;
    char *both = calloc(1, padded + a.payload);
    if (!both)
        return;
    if (before)
        memcpy(both, o->raw, before);
    memcpy(both + padded, bytes, a.payload);
    free(o->raw);
    o->raw = both;
    o->attr.payload_type = (o->attr.payload_type & ~0xffu) | DCT_PAYLOAD_RAW;
    o->attr.payload = padded + a.payload;
}

void dct_add_attr(struct open_range *o, const struct dct_slot *s)
{
    add_payload(o, dct_attr_in(s), s + 1);
}

void dct_add_kept(struct open_range *o, const struct open_range *end)
{
    if (end->raw)
        add_payload(o, end->attr, end->raw);
}
