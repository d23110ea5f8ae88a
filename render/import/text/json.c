/* json.c - see json.h. */
#include "render/import/text/json.h"

#include "lib/base/buf.h"
#include "lib/base/utf8.h"

#include <math.h>
#include <string.h>

enum { MAX_JSON_BYTES = 64 << 20 };

json_t *json_slurp(struct dcr_stream *s, struct dcr_err *err)
{
    struct dcr_buf b = {0};
    json_t *root = NULL;
    json_error_t e;
    if (dcr_stream_slurp(s, &b, MAX_JSON_BYTES, err))
        goto out;
    const char *text = dcr_buf_text(&b);
    size_t mark = utf8_mark(text, b.len);
    root = json_loadb(text + mark, b.len - mark, JSON_REJECT_DUPLICATES, &e);
    if (!root)
        dcr_err_set(err, DCR_FAIL, "cannot read '%s': it is not JSON (line %d: %s); write or copy it again", s->name,
                    e.line, e.text);
    else if (!json_is_object(root)) {
        dcr_err_set(err, DCR_FAIL, "cannot read '%s': its JSON is not an object; write or copy it again", s->name);
        json_decref(root);
        root = NULL;
    }
out:
    dcr_buf_release(&b);
    return root;
}

const char *json_text(struct run *r, const json_t *object, const char *key)
{
    return run_text(r, json_string_value(json_object_get(object, key)));
}

int64_t json_int(const json_t *object, const char *key, int64_t lo, int64_t hi, int64_t absent)
{
    const json_t *v = json_object_get(object, key);
    int64_t n;
    if (json_is_integer(v)) {
        n = json_integer_value(v);
    } else if (json_is_real(v)) {
        double x = json_real_value(v);
        if (!(fabs(x) < 9e18) || x != floor(x)) /* not a whole number */
            return absent;
        n = (int64_t)x;
    } else {
        return absent;
    }
    return n < lo || n > hi ? absent : n;
}

double json_number_or(const json_t *object, const char *key, double absent)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_number(v))
        return absent;
    double x = json_number_value(v);
    return isfinite(x) && x >= 0 ? x : absent;
}
