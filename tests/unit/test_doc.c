/* test_doc.c - a page as a tree, and the result of each writer. */
#include "render/doc/doc.h"
#include "render/site/theme/markdown.h"
#include "render/write/html.h"
#include "render/write/markdown.h"
#include "render/write/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void assert_written(struct doc *d, void (*write)(const struct doc *, struct dcr_buf *), const char *want)
{
    struct dcr_buf b = {0};
    write(d, &b);
    assert_string_equal(dcr_buf_text(&b), want);
    dcr_buf_release(&b);
}

/* One block of each kind, and empty blocks. */
static void make_page(struct doc *d)
{
    *d = (struct doc){0};
    doc_heading(d, 1, "Runs of %s", "DCRNN");
    doc_paragraph(d, "%s", "");
    doc_open(d, DOC_PARAGRAPH);
    doc_strong(d, "Read this first:");
    doc_list(d, DOC_BULLETS);
    doc_item(d, "%d caveat", 1);
    doc_item(d, "another, ");
    doc_code(d, "--batch 2");
    doc_list(d, DOC_NUMBERS);
    doc_heading(d, 2, "What to do");
    doc_command(d, "Try first", "dcrnn-train --batch 2");
    doc_list(d, DOC_NUMBERS);
    doc_item(d, "First");
    doc_item(d, "second");
    doc_table(d, "Part|#ms|Remark");
    doc_row(d);
    doc_cell(d, "compute");
    doc_cell(d, "%s", "86.5");
    doc_row(d);
    doc_open(d, DOC_CELL);
    doc_strong(d, "step");
    doc_cell(d, "%d", 100);
    doc_cell(d, "of one rank");
    doc_details(d, "4 nodes");
    doc_paragraph(d, "Compute limits.");
    doc_end(d);
    doc_paragraph(d, "The end.");
}

static void test_markdown(void **state)
{
    (void)state;
    struct doc d;
    make_page(&d);
    assert_written(
        &d, write_markdown,
        "# Runs of DCRNN\n\n**Read this first:**\n\n- 1 caveat\n- another, `--batch 2`\n\n## What to do\n\n"
        "```\ndcrnn-train --batch 2\n```\n\n1. First\n2. second\n\n"
        "| Part | ms | Remark |\n| --- | ---: | --- |\n| compute | 86.5 | |\n| **step** | 100 | of one rank |\n\n"
        "**4 nodes**\n\nCompute limits.\n\nThe end.\n");
    doc_release(&d);
}

/* No text becomes markup or ends its line, cell, code or fence. */
static void test_markdown_escapes(void **state)
{
    (void)state;
    struct doc d = {0};
    doc_paragraph(&d, "%s", "<b> | *a* _b_ [x](y) `c` \\ & ~ # < 0.1 %\nnext");
    doc_table(&d, "a|b");
    doc_row(&d);
    doc_cell(&d, "x|y");
    doc_open(&d, DOC_CELL);
    doc_code(&d, "x|`y`");
    doc_command(&d, "", "echo ```");
    assert_written(&d, write_markdown,
                   "\\<b\\> \\| \\*a\\* \\_b\\_ \\[x\\](y) \\`c\\` \\\\ \\& \\~ \\# < 0.1 % next\n\n"
                   "| a | b |\n| --- | --- |\n| x\\|y | `x\\|'y'` |\n\n````\necho ```\n````\n");
    doc_release(&d);
}

static void test_text(void **state)
{
    (void)state;
    struct doc d;
    make_page(&d);
    assert_written(&d, write_text,
                   "Runs of DCRNN\n=============\n\nRead this first:\n\n- 1 caveat\n- another, --batch 2\n\n"
                   "What to do\n----------\n\nTry first: dcrnn-train --batch 2\n\n1. First\n2. second\n\n"
                   "Part       ms  Remark\ncompute  86.5\nstep      100  of one rank\n\n"
                   "4 nodes\n  Compute limits.\n\nThe end.\n");
    doc_release(&d);
}

static void test_html(void **state)
{
    (void)state;
    struct doc d;
    make_page(&d);
    assert_written(
        &d, write_html,
        "<h1 id=\"runs-of-dcrnn\">Runs of DCRNN</h1>\n<p><strong>Read this first:</strong></p>\n"
        "<ul>\n<li>1 caveat</li>\n<li>another, <code>--batch 2</code></li>\n</ul>\n"
        "<h2 id=\"what-to-do\">What to do</h2>\n<pre><code>dcrnn-train --batch 2\n</code></pre>\n"
        "<ol>\n<li>First</li>\n<li>second</li>\n</ol>\n"
        "<section class=\"scroll\" tabindex=\"0\" aria-label=\"Table 1\"><table>\n<thead>\n<tr>"
        "<th scope=\"col\">Part</th><th scope=\"col\" class=\"num\">ms</th><th scope=\"col\">Remark</th></tr>\n"
        "</thead>\n<tbody>\n<tr><td>compute</td><td class=\"num\">86.5</td><td></td></tr>\n"
        "<tr><td><strong>step</strong></td><td class=\"num\">100</td><td>of one rank</td></tr>\n"
        "</tbody>\n</table></section>\n"
        "<details><summary>4 nodes</summary>\n<p>Compute limits.</p>\n</details>\n<p>The end.</p>\n");
    doc_release(&d);
}

static void test_html_escapes(void **state)
{
    (void)state;
    struct doc d = {0};
    doc_heading(&d, 2, "<script>");
    doc_heading(&d, 2, "Script");
    doc_command(&d, "", "a && <b>");
    assert_written(&d, write_html,
                   "<h2 id=\"script\">&lt;script&gt;</h2>\n<h2 id=\"script-2\">Script</h2>\n"
                   "<pre><code>a &amp;&amp; &lt;b&gt;\n</code></pre>\n");
    doc_release(&d);
}

/* Options of programs in plain text are code: not inside of words, and not two hyphens alone. */
static void test_options_are_code(void **state)
{
    (void)state;
    struct doc d = {0};
    doc_paragraph(&d, "--batch 32 halves it (--to=/T/x.2) by 5 %%, a--b and -- do not. See --x=A.");
    assert_written(&d, write_html,
                   "<p><code>--batch</code> 32 halves it (<code>--to=/T/x.2</code>) by 5\xc2\xa0%, a--b and -- do not. "
                   "See <code>--x=A</code>.</p>\n");
    assert_written(&d, write_markdown,
                   "`--batch` 32 halves it (`--to=/T/x.2`) by 5 %, a--b and -- do not. See `--x=A`.\n");
    doc_release(&d);
}

/* A line takes 96 characters, not bytes, and no number is torn from its unit. */
static void test_text_wraps(void **state)
{
    (void)state;
    struct doc d = {0};
    char words[97], want[256];
    memset(words, 'x', 90);
    snprintf(words + 90, sizeof words - 90, " %s", "\xc3\xa9 1");
    doc_paragraph(&d, "%s 12 %% and", words);
    doc_list(&d, DOC_BULLETS);
    doc_item(&d, "%.90s next to it", words);
    snprintf(want, sizeof want, "%s\n12 %% and\n\n- %.90s\n  next to it\n", words, words);
    assert_written(&d, write_text, want);
    doc_release(&d);
}

/* A row of one cell is a heading for the others and does not widen a column; without headings there is no such row. */
static void test_text_tables(void **state)
{
    (void)state;
    struct doc d = {0};
    doc_table(&d, "|#|");
    doc_row(&d);
    doc_cell(&d, "a very long name of a file");
    doc_row(&d);
    doc_cell(&d, "  read");
    doc_cell(&d, "8");
    doc_cell(&d, "calls");
    doc_row(&d);
    doc_cell(&d, "  write");
    doc_open(&d, DOC_CELL);
    doc_cell(&d, "n/a");
    assert_written(&d, write_text, "a very long name of a file\n  read   8  calls\n  write     n/a\n");
    doc_release(&d);
}

/* write_html keeps a number and its unit on one line. */
static void may_break(struct dcr_buf *b)
{
    for (char *at = b->data; at && (at = strstr(at, "\xc2\xa0")); at++) {
        *at = ' ';
        memmove(at + 1, at + 2, strlen(at + 2) + 1);
    }
}

/* cmark and write_html escape different quotation marks: all become '"'. */
static void one_quote(struct dcr_buf *b)
{
    static const char *const forms[] = {"&quot;", "&#39;", "'"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (char *at = b->data; at && (at = strstr(at, forms[i])); at++) {
            size_t n = strlen(forms[i]);
            *at = '"';
            memmove(at + 1, at + n, strlen(at + n) + 1);
        }
}

/* One writer names a table by its heading, the other by its number. */
static void no_label(struct dcr_buf *b)
{
    static const char begin[] = " aria-label=\"", end[] = "\"><table>";
    for (char *at = b->data; at && (at = strstr(at, begin)); at++) {
        char *rest = strstr(at, end);
        assert_non_null(rest);
        memmove(at, rest, strlen(rest) + 1);
    }
}

/* A reader of the Markdown sees the same as in the HTML, for any text. */
static void test_markdown_reads_as_html(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "- a",  "-",         "---",  "+ b",       "12. c",        "3) d",  "-3.91 ms",  "* e",     "# f",
        "> g",  "=== h",     "1.5x", "a_b_c *d*", "<b>&amp;</b>", "x | y", "[a](b)",    "![a](b)", "\\",
        "a\\*", "`x` ``y``", "~~~",  "| a | b |", "<!-- x -->",   "&#35;", "a < b",     "<a@b.c>", "|",
        "_a_",  "__b__",     "1.",   "+",         "***",          "a~b~",  "\"q\" 'r'", "[x]: /y", "<"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct doc d = {0};
        struct dcr_buf markdown = {0}, read = {0}, written = {0};
        doc_heading(&d, 2, "%s", texts[i]);
        doc_paragraph(&d, "%s", texts[i]);
        doc_open(&d, DOC_PARAGRAPH);
        doc_strong(&d, "%s", texts[i]);
        doc_list(&d, DOC_BULLETS);
        doc_item(&d, "%s", texts[i]);
        doc_command(&d, "", texts[i]);
        doc_list(&d, DOC_NUMBERS);
        doc_item(&d, "%s", texts[i]);
        doc_table(&d, "a|#b");
        doc_row(&d);
        doc_cell(&d, "%s", texts[i]);
        doc_open(&d, DOC_CELL);
        doc_strong(&d, "%s", texts[i]);
        write_markdown(&d, &markdown);
        write_html(&d, &written);
        assert_int_equal(markdown_to_html(dcr_buf_text(&markdown), markdown.len, "", &read, NULL), 0);
        no_label(&read);
        no_label(&written);
        one_quote(&read);
        one_quote(&written);
        may_break(&read);
        may_break(&written);
        for (char *h = read.data; (h = strstr(h, "h3")); h++) /* a page reads Markdown one level lower */
            h[1] = '2';
        assert_string_equal(dcr_buf_text(&read), dcr_buf_text(&written));
        dcr_buf_release(&markdown);
        dcr_buf_release(&read);
        dcr_buf_release(&written);
        doc_release(&d);
    }
}

static void test_failed_text(void **state)
{
    (void)state;
    struct doc d = {0};
    struct dcr_buf no_memory = {.failed = 1}, out = {0};
    doc_paragraph(&d, "text ");
    doc_buf(&d, &no_memory);
    write_markdown(&d, &out);
    assert_true(out.failed);
    dcr_buf_release(&out);
    doc_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_markdown),
        cmocka_unit_test(test_markdown_escapes),
        cmocka_unit_test(test_markdown_reads_as_html),
        cmocka_unit_test(test_html),
        cmocka_unit_test(test_html_escapes),
        cmocka_unit_test(test_options_are_code),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_wraps),
        cmocka_unit_test(test_text_tables),
        cmocka_unit_test(test_failed_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
