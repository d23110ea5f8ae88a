/* json_string.c - see json_string.h. */
#include "lib/base/json_string.h"

#include "lib/base/buf.h"
#include "lib/base/utf8.h"

#include <stdlib.h>
#include <string.h>

json_t *json_string_shown(const char *bytes)
{
    size_t room = 3 * strlen(bytes) + 1;
    char *clean = malloc(room);
    if (!clean)
        return NULL;
    utf8_clean(bytes, clean, room);
    json_t *s = json_string(clean);
    free(clean);
    return s;
}

json_t *json_string_kept(const char *bytes)
{
    json_t *s = json_string(bytes);
    return s ? s : json_string_shown(bytes);
}

json_t *json_read(struct dcr_stream *s, struct dcr_err *err)
{
    enum { MAX_BYTES = 256 << 20 };
    struct dcr_buf b = {0};
    json_error_t why;
    json_t *o = NULL;
    if (dcr_stream_slurp(s, &b, MAX_BYTES, err) == 0) {
        o = json_loadb(dcr_buf_text(&b), b.len, JSON_REJECT_DUPLICATES, &why);
        if (!json_is_object(o)) {
            dcr_err_set(err, DCR_FAIL, "cannot read '%s': %s; write or copy it again", s->name,
                        o ? "its JSON is not an object" : why.text);
            json_decref(o);
            o = NULL;
        }
    }
    dcr_buf_release(&b);
    return o;
}
