/* trace_texts.c - what the program named: see trace_inside.h. */
#include "lib/trace_inside.h"

#include <stdio.h>

static void set_text(struct dct_reader *r, struct dcr_map *m, uint64_t key, const char *text)
{
    if (r->n_texts >= MAX_NAME_ID || dct_grow(&r->texts, &r->cap_texts, r->n_texts + 1, sizeof *r->texts) != 0 ||
        dcr_map_put(m, key, r->n_texts) != 0)
        return;
    r->texts[r->n_texts++] = text;
}

void dct_define(struct dct_reader *r, const struct dct_slot *s)
{
    const char *bytes = (const char *)(s + 1);
    size_t len = (size_t)s->t_ns;
    if (s->kind == DCT_NOTE) {
        if (r->notes.len && !r->notes.failed)
            dcr_buf_putc(&r->notes, '\n');
        dcr_buf_add(&r->notes, bytes, len);
        return;
    }
    if (r->arena.total_bytes + len > MAX_TEXT_TOTAL)
        return;
    const char *text = dcr_arena_strndup(&r->arena, bytes, len);
    switch (s->kind) {
    case DCT_STRING:
        if (s->name < MAX_NAME_ID && dct_grow(&r->names, &r->n_names, s->name + 1, sizeof *r->names) == 0)
            r->names[s->name] = text;
        break;
    case DCT_DOMAIN:
        if (dct_grow(&r->domains, &r->n_domains, s->domain + 1u, sizeof *r->domains) == 0)
            r->domains[s->domain] = text;
        break;
    case DCT_CATEGORY:
        set_text(r, &r->category_of, dct_domain_key(s->domain, s->name), text);
        break;
    case DCT_THREAD:
        set_text(r, &r->thread_of, s->name, text);
        break;
    case DCT_SCHEMA:
        set_text(r, &r->schema_of, dct_domain_key(s->domain, s->name), text);
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
    snprintf(number, sizeof number, "#%u", category);
    const char *text = dcr_arena_strdup(&r->arena, number);
    set_text(r, &r->category_of, dct_domain_key(domain, category), text);
    return text;
}
