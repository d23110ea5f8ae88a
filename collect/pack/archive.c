/* archive.c - job_metadata.txt: the metadata for people, one fact a line. */
#include "collect/pack/parts.h"

#include "lib/base/buf.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void put_value(struct dcr_buf *b, const json_t *v)
{
    if (json_is_string(v))
        dcr_buf_puts(b, json_string_value(v));
    else if (json_is_integer(v))
        dcr_buf_printf(b, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v))
        dcr_buf_printf(b, "%.14g", json_real_value(v));
    else if (json_is_boolean(v))
        dcr_buf_puts(b, json_is_true(v) ? "yes" : "no");
    else
        dcr_buf_puts(b, "unknown");
}

static void put_time(struct dcr_buf *b, const char *label, const json_t *seconds)
{
    char text[64];
    time_t t = (time_t)json_number_value(seconds);
    struct tm tm;
    if (!seconds || !gmtime_r(&t, &tm) || !strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm))
        return;
    dcr_buf_printf(b, "%s: %s\n", label, text);
}

/* Nested objects and lists become indented lines. */
static void put_object(struct dcr_buf *b, const json_t *o, int indent)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)o, key, value)
    {
        if (json_is_object(value)) {
            if (json_object_size(value) == 0)
                continue;
            dcr_buf_printf(b, "%*s%s:\n", indent, "", key);
            put_object(b, value, indent + 2);
            continue;
        }
        if (json_is_array(value)) {
            size_t n = json_array_size(value);
            if (n == 0)
                continue;
            dcr_buf_printf(b, "%*s%s:", indent, "", key);
            int is_flat = !json_is_object(json_array_get(value, 0));
            for (size_t i = 0; i < n; i++) {
                const json_t *item = json_array_get(value, i);
                if (is_flat) {
                    dcr_buf_putc(b, ' ');
                    put_value(b, item);
                } else {
                    dcr_buf_printf(b, "\n%*s- %zu\n", indent + 2, "", i);
                    put_object(b, item, indent + 4);
                }
            }
            if (is_flat)
                dcr_buf_putc(b, '\n');
            continue;
        }
        dcr_buf_printf(b, "%*s%s: ", indent, "", key);
        put_value(b, value);
        dcr_buf_putc(b, '\n');
    }
}

const char *pack_text(struct pack *p)
{
    struct dcr_buf b = {0};
    const json_t *started = json_object_get(p->metadata, "started"), *ended = json_object_get(p->metadata, "ended");
    put_time(&b, "start", started);
    put_time(&b, "end", ended);
    if (started && ended)
        dcr_buf_printf(&b, "duration: %.1f s\n", json_number_value(ended) - json_number_value(started));
    put_object(&b, p->metadata, 0);
    const char *text = dcr_arena_strdup(&p->arena, dcr_buf_text(&b));
    dcr_buf_release(&b);
    return text;
}
