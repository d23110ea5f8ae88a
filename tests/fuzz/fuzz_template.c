/* fuzz_template.c - any bytes as two templates of a theme, separated by a NUL; the second is the partial {{>b}} of the
 * first. Filled with data of every kind: no crash, no leak, no endless loop, and every refusal has a reason. */
#include "render/site/theme/template.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct both {
    struct template *a, *b;
};

static const struct template *find(void *ctx, const char *name, struct dcr_err *err)
{
    const struct both *t = ctx;
    if (!strcmp(name, "a"))
        return t->a;
    if (!strcmp(name, "b"))
        return t->b;
    dcr_err_set(err, DCR_FAIL, "no partial '%s'", name);
    return NULL;
}

static const json_t *made_data(void)
{
    static json_t *made;
    if (!made)
        made = json_loads(
            "{\"s\":\"1.5 ms <--batch> \\\"&'\",\"e\":\"\",\"n\":null,\"t\":true,\"f\":false,\"i\":-3,\"r\":0.5,"
            "\"o\":{\"s\":\"x\",\"o\":{\"i\":1}},\"l\":[{\"i\":1,\"l\":[\"p\",\"q\"]},{\"i\":2,\"l\":[]}],\"z\":[]}",
            0, NULL);
    return made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *nul = size ? memchr(text, 0, size) : NULL;
    size_t n = nul ? (size_t)(nul - text) : size;
    struct dcr_err err = {0};
    struct both t = {0};
    struct dcr_buf out = {0};
    int rc = template_parse(&t.a, "a.html", text, n, &err);
    if (!rc)
        rc = nul ? template_parse(&t.b, "b.html", nul + 1, size - n - 1, &err)
                 : template_parse(&t.b, "b.html", "", 0, &err);
    if (!rc)
        rc = template_render(t.a, made_data(), &(struct template_source){find, &t}, &out, &err);
    if (rc && err.text[0] == '\0')
        abort();
    dcr_buf_release(&out);
    template_free(t.a);
    template_free(t.b);
    return 0;
}
