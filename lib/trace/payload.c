/* payload.c - see payload.h. Numbers and texts come from a file: nothing is trusted before it is checked. */
#include "lib/trace/payload.h"

#include "lib/archive/format.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GOES_ON " ..."                   /* stands for the entries of a definition that did not fit */
#define FIRST_OWN_ID (UINT64_C(1) << 24) /* smaller numbers are NVTX's own */

/* NVTX's predefined types of a fixed size (nvToolsExtPayload.h), on Linux of 64 bits. */
enum how { SIGNED, UNSIGNED, REAL, HEX };
static const struct type {
    uint8_t number, size, how;
} types[] = {{1, 1, SIGNED},    {2, 1, UNSIGNED},  {3, 2, SIGNED},    {4, 2, UNSIGNED},  {5, 4, SIGNED},
             {6, 4, UNSIGNED},  {7, 8, SIGNED},    {8, 8, UNSIGNED},  {9, 8, SIGNED},    {10, 8, UNSIGNED},
             {11, 1, SIGNED},   {12, 1, UNSIGNED}, {13, 2, SIGNED},   {14, 2, UNSIGNED}, {15, 4, SIGNED},
             {16, 4, UNSIGNED}, {17, 8, SIGNED},   {18, 8, UNSIGNED}, {19, 4, REAL},     {20, 8, REAL},
             {22, 8, UNSIGNED}, {23, 8, HEX},      {32, 1, HEX},      {43, 4, REAL},     {44, 8, REAL},
             {68, 4, UNSIGNED}, {69, 4, HEX},      {71, 4, UNSIGNED}, {72, 8, UNSIGNED}, {73, 4, UNSIGNED},
             {74, 8, UNSIGNED}};

/* The entries of a definition, after its head: "schema 7 'x' size=16:" when word is "schema". NULL: another kind or
 * ID. */
static const char *entries_of(const char *text, const char *word, uint64_t id, uint64_t *size)
{
    size_t n = strlen(word);
    char *end;
    if (!text || strncmp(text, word, n) != 0 || text[n] != ' ' || strtoull(text + n, &end, 10) != id)
        return NULL;
    const char *at = strstr(end, "' size=");
    *size = at ? strtoull(at + 7, &end, 10) : 0;
    return at && *end == ':' ? end + 1 : NULL;
}

/* A number that ends at a comma or the text's end; NULL when there is none at `at`. */
static const char *number_at(const char *at, uint64_t *out)
{
    char *end;
    if (!isdigit((unsigned char)*at))
        return NULL;
    *out = strtoull(at, &end, 10);
    return end;
}

struct field {
    const char *name;
    int len;
    uint64_t number, offset, flags, length; /* as in the text */
    int is_text;                            /* characters inside the payload: of size bytes, or up to a NUL */
    const struct type *type;                /* a predefined type, or NULL */
    const char *words;                      /* entries of an enumeration, or NULL */
    uint64_t size;                          /* 0: not known */
};

/* The field at `at`. returns where the next one begins, NULL when there is none */
static const char *next_field(const char *at, struct field *f)
{
    at += *at == ' ';
    f->name = at;
    for (; (at = strchr(at, ' ')) != NULL; at++) {
        f->flags = f->length = 0;
        const char *end = number_at(at + 1, &f->number);
        end = end && *end == '@' ? number_at(end + 1, &f->offset) : NULL;
        if (end && *end == '/')
            end = number_at(end + 1, &f->flags);
        if (end && *end == '*')
            end = number_at(end + 1, &f->length);
        if (!end || (*end && *end != ','))
            continue;
        f->len = (int)(at - f->name);
        return end + (*end == ',');
    }
    return NULL;
}

/* The word of an enumeration that stands for the value. */
static int put_word(struct dcr_buf *out, const char *at, uint64_t value)
{
    while (at && *at && strcmp(at, GOES_ON) != 0) {
        at += *at == ' ';
        const char *name = at, *end = NULL;
        uint64_t number = 0;
        for (; (at = strchr(at, '=')) != NULL; at++)
            if ((end = number_at(at + 1, &number)) != NULL && (!*end || *end == ','))
                break;
        if (!at)
            return 0;
        if (number == value) {
            dcr_buf_printf(out, "%.*s", (int)(at - name), name);
            return 1;
        }
        at = end + (*end == ',');
    }
    return 0;
}

static void put_hex(struct dcr_buf *out, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dcr_buf_printf(out, "%02x", bytes[i]);
}

static uint64_t bits_of(const unsigned char *bytes, size_t size)
{
    uint64_t v = 0;
    memcpy(&v, bytes, size);
    return v;
}

static void put_value(struct dcr_buf *out, const struct type *type, const unsigned char *bytes)
{
    uint64_t v = bits_of(bytes, type->size);
    float f;
    double d;
    switch (type->how) {
    case SIGNED: { /* the sign bit of the narrower type, carried up */
        uint64_t sign = UINT64_C(1) << (8 * type->size - 1);
        dcr_buf_printf(out, "%" PRId64, (int64_t)((v ^ sign) - sign));
        break;
    }
    case UNSIGNED:
        dcr_buf_printf(out, "%" PRIu64, v);
        break;
    case REAL:
        memcpy(&f, bytes, sizeof f);
        if (type->size == sizeof d)
            memcpy(&d, bytes, sizeof d);
        else
            d = (double)f;
        dcr_buf_printf(out, "%.9g", d);
        break;
    default:
        dcr_buf_printf(out, "0x%" PRIx64, v);
        break;
    }
}

/* Characters inside the payload, one byte each: arrays of NVTX's char types, or its strings with a length. */
static int is_text(const struct field *f)
{
    enum { POINTER = 1 << 1, UNION_OR_OFFSET = 3 << 2, FIXED = 1, ZERO_TERMINATED = 2 };
    static const uint8_t numbers[] = {1, 2, 25, 75, 76};
    uint64_t array = f->flags >> 4 & 7;
    return memchr(numbers, (int)(f->number & 0xff), sizeof numbers) && f->number < 256 &&
           !(f->flags & (POINTER | UNION_OR_OFFSET)) && (f->length ? array <= FIXED : array == ZERO_TERMINATED);
}

static void put_text(struct dcr_buf *out, const struct field *f, const unsigned char *bytes, uint64_t n)
{
    uint64_t room = n - f->offset, most = f->length && f->length < room ? f->length : room;
    const unsigned char *at = bytes + f->offset, *end = memchr(at, 0, most);
    uint64_t len = end ? (uint64_t)(end - at) : most;
    dcr_buf_putc(out, '"');
    for (uint64_t i = 0; i < len; i++)
        dcr_buf_putc(out, at[i] < ' ' || at[i] == 127 ? '?' : (char)at[i]);
    dcr_buf_puts(out, !end && len == room && (!f->length || f->length > room) ? "...\"" : "\"");
}

static void find_type(struct field *f, payload_schema_fn schema, void *ctx)
{
    f->type = NULL;
    f->size = 0;
    f->words = f->number >= FIRST_OWN_ID ? entries_of(schema(ctx, f->number), "enum", f->number, &f->size) : NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types && !f->words; i++)
        if (types[i].number == f->number)
            f->type = &types[i];
    if (f->type)
        f->size = f->type->size;
    f->is_text = is_text(f);
    if (f->is_text)
        f->size = f->length;
    else if (f->flags || f->length || f->size > 8) /* pointers, arrays and texts outside of the payload */
        f->size = 0;
}

static void put_field(struct dcr_buf *out, const struct field *f, const unsigned char *bytes, uint64_t n)
{
    dcr_buf_printf(out, "%.*s=", f->len, f->name);
    if (f->is_text && f->offset < n)
        put_text(out, f, bytes, n);
    else if (!f->size && !f->is_text)
        dcr_buf_printf(out, "(NVTX type %" PRIu64 ")", f->number);
    else if (f->is_text || f->offset > n || f->size > n - f->offset) /* a text up to its NUL has no size */
        dcr_buf_puts(out, "(cut off)");
    else if (f->type)
        put_value(out, f->type, bytes + f->offset);
    else if (!put_word(out, f->words, bits_of(bytes + f->offset, f->size)))
        dcr_buf_printf(out, "%" PRIu64, bits_of(bytes + f->offset, f->size));
}

static void put_item(struct dcr_buf *out, const struct dct_raw *item, const unsigned char *bytes,
                     payload_schema_fn schema, void *ctx)
{
    uint64_t size, behind = 0;
    const char *at = entries_of(schema(ctx, item->schema), "schema", item->schema, &size);
    struct field f;
    int n = 0;
    for (; at && *at && strcmp(at, GOES_ON) != 0; n++) {
        if ((at = next_field(at, &f)) == NULL)
            break;
        find_type(&f, schema, ctx);
        if (f.offset == 0 && n > 0) /* NVTX: after the previous field, at its place in a struct */
            f.offset = f.size && !f.is_text ? (behind + f.size - 1) / f.size * f.size : behind;
        behind = f.size && f.size < UINT32_MAX && f.offset < UINT32_MAX ? f.offset + f.size : UINT32_MAX;
        if (n)
            dcr_buf_puts(out, "; ");
        put_field(out, &f, bytes, item->kept);
    }
    if (n && at && *at)
        dcr_buf_puts(out, "; (more fields than the recorder kept)");
    if (n)
        return;
    dcr_buf_printf(out, "schema %" PRIu64 "=", item->schema);
    put_hex(out, bytes, item->kept);
    if (item->kept < item->size)
        dcr_buf_puts(out, "...");
}

void payload_put(struct dcr_buf *out, const void *raw, size_t n, payload_schema_fn schema, void *ctx)
{
    const unsigned char *at = raw;
    struct dct_raw item;
    for (size_t used = 0; at && n - used >= sizeof item;) {
        memcpy(&item, at + used, sizeof item);
        if (used)
            dcr_buf_puts(out, "; ");
        used += sizeof item;
        if (item.kept > n - used)
            return;
        put_item(out, &item, at + used, schema, ctx);
        size_t padded = ((size_t)item.kept + DCT_SLOT_BYTES - 1) / DCT_SLOT_BYTES * DCT_SLOT_BYTES;
        used += padded < n - used ? padded : n - used;
    }
}
