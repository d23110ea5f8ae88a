/* test_table_tex.c - tables for LaTeX: escaped text, lines that fit, tables over pages. */
#include "render/site/theme/table_tex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Two columns, words and numbers, of n equal rows. */
static json_t *table_of(const char *heading, const char *cell, int n)
{
    json_t *rows = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(rows, json_pack("{s:s, s:[{s:s}]}", "heading", heading, "cells", "text", cell));
    return json_pack("{s:s, s:[{s:s, s:b}, {s:s, s:b}], s:o}", "caption", "50 % of it", "head", "text", "Name", "num",
                     0, "text", "Time", "num", 1, "rows", rows);
}

static struct dcr_buf tex_of(const char *heading, const char *cell, int n)
{
    struct dcr_buf out = {0};
    json_t *table = table_of(heading, cell, n);
    table_tex(table, "run-1-x", "1.tar (manifest sha256 0123)", &out);
    json_decref(table);
    assert_false(out.failed);
    return out;
}

static void assert_has(struct dcr_buf *b, const char *text)
{
    if (!strstr(dcr_buf_text(b), text))
        fail_msg("'%s' is not in\n%s", text, dcr_buf_text(b));
}

static void test_letters(void **state)
{
    (void)state;
    struct dcr_buf b = tex_of("a_b & 5% {#} $x$ <y> --z ~^\\ |\"", "1.5 \xc2\xb5s", 1);
    assert_has(&b, "a\\_b \\& 5\\% \\{\\#\\} \\$x\\$ $<$y$>$ -{}-{}z "
                   "\\textasciitilde{}\\textasciicircum{}\\textbackslash{} \\textbar{}''");
    assert_has(&b, "1.5~$\\mu$s"); /* a number and its unit stay together */
    assert_has(&b, "\\caption{50 \\% of it}\\label{tab:run-1-x}");
    dcr_buf_release(&b);
    b = tex_of("[train] step", "1", 2); /* \\ and \midrule take an optional argument */
    assert_has(&b, "\\midrule\n{}[train] step & 1 \\\\\n{}[train] step & 1 \\\\\n");
    dcr_buf_release(&b);
    b = tex_of("\xe4\xb8\xad \xe2\x89\xa5 \xef\xbf\xbd", "1",
               1); /* not a letter of the usual fonts, one of mathematics, not a letter */
    assert_has(&b, "U+4E2D $\\ge$ ?");
    dcr_buf_release(&b);
}

static void test_a_narrow_table_is_left_alone(void **state)
{
    (void)state;
    struct dcr_buf b = tex_of("compute", "295 ms", 3);
    assert_has(&b, "% needs \\usepackage{booktabs}\n");
    assert_has(&b, "\\begin{tabular}{@{}lr@{}}\n\\toprule\n");
    assert_has(&b, "compute & 295~ms \\\\\n");
    assert_null(strstr(dcr_buf_text(&b), "allowbreak"));
    dcr_buf_release(&b);
}

static void test_a_wide_table_is_broken(void **state)
{
    (void)state;
    struct dcr_buf b = tex_of("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
                              "std::array<char*, 1>>(int, at::native::FillFunctor<float>)",
                              "12.5 ms", 3);
    assert_has(&b, "% needs \\usepackage{booktabs,array}\n");
    assert_has(&b, ">{\\raggedright\\arraybackslash}p{\\dimexpr0.");
    assert_has(&b, "at::\\allowbreak{}native::\\allowbreak{}vectorized\\_\\allowbreak{}elementwise");
    assert_has(&b, "& 12.5~ms \\\\\n"); /* numbers are not */
    assert_null(strstr(dcr_buf_text(&b), "longtable"));
    dcr_buf_release(&b);
}

static void test_a_long_table_goes_over_pages(void **state)
{
    (void)state;
    struct dcr_buf b = tex_of("step", "1 ms", 200);
    assert_has(&b, "% needs \\usepackage{booktabs,longtable}\n");
    assert_has(&b, "\\endhead\n\\bottomrule\n\\endfoot\n");
    assert_null(strstr(dcr_buf_text(&b), "\\begin{table}"));
    dcr_buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_letters),
        cmocka_unit_test(test_a_narrow_table_is_left_alone),
        cmocka_unit_test(test_a_wide_table_is_broken),
        cmocka_unit_test(test_a_long_table_goes_over_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
