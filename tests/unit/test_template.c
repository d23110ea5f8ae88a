/* test_template.c - the template language: values, sections, partials, blank lines, and messages that name the
 * place. */
#include "render/site/theme/template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <string.h>

static struct dcr_err err;

static const struct template *find_partial(void *ctx, const char *name, struct dcr_err *e)
{
    if (!strcmp(name, "self"))
        return *(struct template **)ctx;
    dcr_err_set(e, DCR_FAIL, "no partial '%s'", name);
    return NULL;
}

/* returns  the text, to be freed; NULL with the sentence in err */
static char *fill(const char *text, const char *json)
{
    struct template *t = NULL;
    struct dcr_buf out = {0};
    char *result = NULL;
    err = (struct dcr_err){0};
    json_t *data = json_loads(json, 0, NULL);
    assert_non_null(data);
    struct template_source partials = {find_partial, &t};
    if (template_parse(&t, "page.html", text, strlen(text), &err) == 0 &&
        template_render(t, data, &partials, &out, &err) == 0)
        result = strdup(dcr_buf_text(&out));
    template_free(t);
    dcr_buf_release(&out);
    json_decref(data);
    return result;
}

static void assert_filled(const char *text, const char *json, const char *want)
{
    char *got = fill(text, json);
    if (!got)
        fail_msg("'%s': %s", text, err.text);
    assert_string_equal(got, want);
    free(got);
}

static void assert_refused(const char *text, const char *json, const char *sentence)
{
    char *got = fill(text, json);
    assert_null(got);
    if (!strstr(err.text, sentence))
        fail_msg("'%s' is not in '%s'", sentence, err.text);
}

static void test_values(void **state)
{
    (void)state;
    assert_filled("a {{x}} b", "{\"x\": \"<&>\\\"'\"}", "a &lt;&amp;&gt;&quot;&#39; b");
    assert_filled("{{{x}}}|{{ x }}", "{\"x\": \"<b>\"}", "<b>|&lt;b&gt;");
    assert_filled("<a href=\"{{%x}}\">", "{\"x\": \"a b/c.html#d\"}", "<a href=\"a%20b/c.html#d\">");
    assert_filled("{{%x}}", "{\"x\": \"javascript:alert(1)\"}", "javascript%3Aalert%281%29");
    assert_filled("{{%x}}", "{\"x\": \"//host/a\"}", "/host/a");
    assert_filled("{{n}} {{o.p.q}}", "{\"n\": 12, \"o\": {\"p\": {\"q\": \"deep\"}}}", "12 deep");
    assert_filled("[{{x}}]", "{\"x\": null}", "[]");
    assert_filled("{{~x}}", "{\"x\": \"use --batch 12 ms <b>\"}", "use <code>--batch</code> 12\xc2\xa0ms &lt;b&gt;");
    assert_filled("{{~x}}", "{\"x\": \"a--b 4 nodes\"}", "a--b 4 nodes");
    assert_filled("{ {{! gone }}}", "{}", "{ }");
}

static void test_sections(void **state)
{
    (void)state;
    assert_filled("{{#l}}<{{.}}>{{/l}}", "{\"l\": [\"a\", \"b\"]}", "<a><b>");
    assert_filled("{{#l}}{{a}}{{z}} {{/l}}", "{\"z\": \"!\", \"l\": [{\"a\": \"1\"}, {\"a\": \"2\"}]}", "1! 2! ");
    assert_filled("{{#o}}{{a}}{{/o}}", "{\"o\": {\"a\": \"x\"}}", "x");
    assert_filled("{{#t}}yes{{/t}}{{^t}}no{{/t}}", "{\"t\": true}", "yes");
    assert_filled("{{#t}}yes{{/t}}{{^t}}no{{/t}}", "{\"t\": []}", "no");
    assert_filled("{{#t}}yes{{/t}}{{^t}}no{{/t}}", "{\"t\": \"\"}", "no");
    assert_filled("{{#a}}{{#b}}{{x}}{{/b}}{{/a}}", "{\"a\": {\"x\": \"outer\", \"b\": {\"x\": \"inner\"}}}", "inner");
}

static void test_lines_of_tags_leave_none(void **state)
{
    (void)state;
    assert_filled("a\n{{#l}}\n  <{{.}}>\n{{/l}}\nb\n", "{\"l\": [\"1\", \"2\"]}", "a\n  <1>\n  <2>\nb\n");
    assert_filled("  {{! note }}  \nb\n", "{}", "b\n");
    assert_filled("{{#t}}\nx\n{{/t}}\n{{#t}}\ny\n{{/t}}\n", "{\"t\": true}", "x\ny\n");
    assert_filled("a {{#t}}x{{/t}}\n", "{\"t\": true}", "a x\n");
}

static void test_mistakes_name_the_place(void **state)
{
    (void)state;
    assert_refused("a\nb\n{{#l}}\n", "{}", "theme template 'page.html' line 3: this section is never closed: 'l'");
    assert_refused("a\n{{x", "{}", "line 2: a tag is never closed");
    assert_refused("{{/x}}", "{}", "line 1: no section is open");
    assert_refused("{{#a}}\n{{#b}}\n{{/a}}{{/b}}", "{}", "line 3: this end does not match the section open here: 'b'");
    assert_refused("\n\n{{naem}}", "{\"name\": \"x\"}", "line 3: nothing is called 'naem'");
    assert_refused("{{#naem}}{{/naem}}", "{}", "line 1: nothing is called 'naem'");
    assert_refused("{{x}}", "{\"x\": [1]}", "line 1: this is no text");
    assert_refused("{{}}", "{}", "no name");
    assert_refused("\n{{>other}}", "{}", "theme template 'page.html' line 2: no partial 'other'");
    assert_refused("x{{>self}}", "{}", "partials are nested too deeply");
    assert_refused("{{#l}}\n{{#l}}{{.}}{{/l}}{{/l}}", "{\"l\": [1, 2]}", "line 2: this list is already open: 'l'");
    assert_refused("{{#l}}{{>self}}{{/l}}", "{\"l\": [1, 2]}", "this list is already open: 'l'");
    assert_filled("{{#l}}{{#l}}{{.}}{{/l}},{{/l}}", "{\"l\": [{\"l\": [1, 2]}, {\"l\": [3]}]}", "12,3,");
}

/* Any bytes give a sentence or a page, never a crash. The seed is fixed; the sanitizer build checks memory. */
static void test_mutated_templates(void **state)
{
    (void)state;
    static const char base[] =
        "<h1>{{x}}</h1>\n{{#l}}\n  <a href=\"{{%.}}\">{{~.}}</a>\n{{/l}}\n{{^t}}{{{x}}}{{/t}}{{>self}}{{! c }}\n";
    static const char bits[] = "{}#^/>!%~.\n x<";
    unsigned seed = 11;
    int n_good = 0;
    for (int k = 0; k < 4000; k++) {
        char text[sizeof base];
        memcpy(text, base, sizeof base);
        for (int m = 0; m < 1 + k % 4; m++) {
            seed = seed * 1103515245u + 12345u;
            size_t at = (seed >> 8) % (sizeof base - 1);
            text[at] = bits[(seed >> 20) % (sizeof bits - 1)];
        }
        char *got = fill(text, "{\"x\": \"1\", \"l\": [\"a\", \"b\"], \"t\": true}");
        n_good += got != NULL;
        if (!got)
            assert_true(strstr(err.text, "page.html") != NULL);
        free(got);
    }
    assert_true(n_good < 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_lines_of_tags_leave_none),
        cmocka_unit_test(test_mistakes_name_the_place),
        cmocka_unit_test(test_mutated_templates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
