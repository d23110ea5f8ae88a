/* test_markdown.c - Markdown pages: tables, linkable headings, nothing active. */
#include "render/site/theme/markdown.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <string.h>

static char *html(const char *text)
{
    struct dcr_buf out = {0};
    assert_int_equal(markdown_to_html(text, strlen(text), "in-", &out, NULL), 0);
    char *copy = strdup(dcr_buf_text(&out));
    dcr_buf_release(&out);
    return copy;
}

static void assert_has(const char *text, const char *want)
{
    char *got = html(text);
    if (!strstr(got, want))
        fail_msg("'%s' is not in:\n%s", want, got);
    free(got);
}

static void assert_lacks(const char *text, const char *unwanted)
{
    char *got = html(text);
    if (strstr(got, unwanted))
        fail_msg("'%s' is in:\n%s", unwanted, got);
    free(got);
}

static void test_tables(void **state)
{
    (void)state;
    const char *table = "before\n\n| Nodes | Step *time* |\n| :-- | --: |\n| 1 | 160 `a|b` |\n| 2 \\| 3 | |\n\nafter\n";
    assert_has(table, "<th scope=\"col\">Nodes</th><th scope=\"col\" class=\"num\">Step <em>time</em></th>");
    assert_has(table, "<td>1</td><td class=\"num\">160 <code>a|b</code></td>");
    assert_has(table, "<td>2 | 3</td><td class=\"num\"></td>");
    assert_has(table, "<p>after</p>");
    assert_has(table, "aria-label=\"table 1\"");
    assert_has("# Exact `sums`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", "aria-label=\"Exact sums, table 1\"");
    assert_has("| a |\nno rule", "<p>| a |\nno rule</p>");
    assert_has("a | b\n--- | ---\n1 | 2\n", "<td>1</td><td>2</td>");
    assert_has("| a | b |\n|---|---|\n| <script>x</script> | [l](javascript:x) |\n", "<td><!-- raw HTML omitted -->");
    assert_has("| a | b |\n|---|---|\n| - | # 2 |\n| 3. | > *4* |\n",
               "<tr><td>-</td><td># 2</td></tr>\n<tr><td>3.</td><td>&gt; <em>4</em></td></tr>");
}

static void test_headings(void **state)
{
    (void)state;
    assert_has("# A b: `c` & D\n", "<h2 id=\"in-a-b-c-d\">A b: <code>c</code> &amp; D</h2>");
    assert_has("## Run\n\n## Run\n\n## Run\n", "<h3 id=\"in-run-3\">");
    assert_has("## \xc3\xa9\n", "<h3 id=\"in-section\">");
}

static void test_nothing_active(void **state)
{
    (void)state;
    assert_lacks("<script>alert(1)</script>\n\n<b onclick=x>a</b>\n", "<script");
    assert_lacks("<b onclick=x>a</b>\n", "onclick");
    assert_lacks("[a](javascript:alert(1))\n", "javascript:");
    assert_has("bytes \xff\xfe here\n", "\xef\xbf\xbd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_headings),
        cmocka_unit_test(test_nothing_active),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
