/* json_string.c - see json_string.h. */
#include "lib/base/json_string.h"

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
