/* test_paint.c - painters: PNG files that libpng reads back, with provenance; SVG that is well-formed and holds its
 * text. */
#include "render/draw/chart.h"
#include "render/draw/paint_pdf.h"
#include "render/draw/paint_png.h"
#include "render/draw/paint_svg.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <string.h>

static struct typeface *typeface;

static int begin(void **state)
{
    (void)state;
    typeface = typeface_new();
    return typeface == NULL;
}

static int end(void **state)
{
    (void)state;
    typeface_free(typeface);
    typeface_forget();
    return 0;
}

static void draw(struct canvas *c, const char *label)
{
    static const double v[2] = {30, 10};
    const struct stack_part parts[2] = {{"compute", INK_COMPUTE}, {label, INK_COMM}};
    const struct stack_bar bar = {.label = label, .value = v};
    const struct chart_stack spec = {
        .text = {label, "step time, ms", "ms", NULL}, .parts = parts, .n_parts = 2, .bars = &bar, .n_bars = 1};
    chart_stack(c, (struct box){10, 10, 280, 180}, &spec);
}

static void paint(struct dcr_buf *out, const char *label, const char *note)
{
    struct paint_png *png;
    struct dcr_err err = {0};
    const struct png_note notes[] = {{"Title", "a title"}, {"Description", note}};
    assert_int_equal(paint_png_new(&png, 300, 200, 2, typeface, &err), 0);
    draw(paint_png_canvas(png), label);
    assert_int_equal(paint_png_finish(png, notes, 2, out, &err), 0);
    paint_png_free(png);
}

struct reading {
    const struct dcr_buf *file;
    size_t at;
};

static void read_bytes(png_structp png, png_bytep out, size_t n)
{
    struct reading *r = png_get_io_ptr(png);
    if (r->at + n > r->file->len)
        png_error(png, "ends early");
    memcpy(out, r->file->data + r->at, n);
    r->at += n;
}

/* gives; png_destroy_read_struct */
static void read_png(const struct dcr_buf *file, png_structp *png, png_infop *info)
{
    struct reading r = {file, 0};
    *png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    *info = png_create_info_struct(*png);
    if (setjmp(png_jmpbuf(*png)))
        fail_msg("libpng does not read the file back");
    png_set_read_fn(*png, &r, read_bytes);
    png_read_png(*png, *info, PNG_TRANSFORM_EXPAND, NULL);
}

static void test_png_is_read_back(void **state)
{
    (void)state;
    struct dcr_buf file = {0};
    paint(&file, "transfer", "text with \xc2\xb5");
    png_structp png;
    png_infop info;
    read_png(&file, &png, &info);
    assert_int_not_equal(png_get_valid(png, info, PNG_INFO_PLTE), 0);
    assert_int_equal(png_get_color_type(png, info), PNG_COLOR_TYPE_RGB); /* as expanded */
    assert_int_equal(png_get_image_width(png, info), 600);
    assert_int_equal(png_get_image_height(png, info), 400);
    assert_int_equal(png_get_x_pixels_per_meter(png, info), 7559); /* 192 dots per inch */
    png_textp text;
    int n_text = 0;
    png_get_text(png, info, &text, &n_text);
    assert_int_equal(n_text, 2);
    assert_string_equal(text[0].key, "Title");
    assert_string_equal(text[0].text, "a title");
    assert_string_equal(text[1].text, "text with \xc2\xb5");
    assert_int_equal(png_get_valid(png, info, PNG_INFO_tIME), 0); /* no clock in the file */
    /* The compute column is there, in its colour: one third of the way down its bar. */
    png_bytepp rows = png_get_rows(png, info);
    int blue = 0;
    for (int y = 0; y < 400; y++)
        for (int x = 0; x < 600; x++)
            blue += rows[y][3 * x] == 0x00 && rows[y][3 * x + 1] == 0x5a && rows[y][3 * x + 2] == 0x91;
    assert_true(blue > 5000);
    png_destroy_read_struct(&png, &info, NULL);
    dcr_buf_release(&file);
}

/* More shades than a palette holds: each is drawn, or one that looks the same. */
static void test_many_shades(void **state)
{
    (void)state;
    static const enum ink inks[] = {INK_COMPUTE, INK_COMM, INK_WAIT};
    enum { SHADES = 300, BAND = 10, INKS = sizeof inks / sizeof *inks };
    struct paint_png *sheet;
    struct dcr_err err = {0};
    struct dcr_buf file = {0};
    assert_int_equal(paint_png_new(&sheet, SHADES, BAND * INKS, 1, typeface, &err), 0);
    for (int k = 0; k < INKS; k++)
        for (int i = 0; i < SHADES; i++) {
            double x = i, y = BAND * k;
            const struct point p[] = {{x, y}, {x + 1, y}, {x + 1, y + BAND}, {x, y + BAND}};
            canvas_area(paint_png_canvas(sheet), p, 4, inks[k], (i + 1.0) / SHADES);
        }
    assert_int_equal(paint_png_finish(sheet, NULL, 0, &file, &err), 0);
    paint_png_free(sheet);
    png_structp png;
    png_infop info;
    read_png(&file, &png, &info);
    png_bytepp rows = png_get_rows(png, info);
    int n_other = 0;
    for (int k = 0; k < INKS; k++)
        for (int i = 0; i < SHADES; i++)
            for (int c = 0; c < 3; c++) {
                double a = (i + 1.0) / SHADES, ink = ink_rgb(inks[k]) >> (16 - 8 * c) & 0xff;
                double off = rows[BAND * k + BAND / 2][3 * i + c] - (255 * (1 - a) + ink * a);
                n_other += off > 1 || off < -1;
                assert_true(off < 6 && off > -6);
            }
    assert_true(n_other > 0);
    png_destroy_read_struct(&png, &info, NULL);
    dcr_buf_release(&file);
}

static void test_same_strokes_same_bytes(void **state)
{
    (void)state;
    struct dcr_buf a = {0}, b = {0}, c = {0};
    paint(&a, "transfer", "x");
    paint(&b, "transfer", "x");
    paint(&c, "waiting", "x");
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    assert_true(a.len != c.len || memcmp(a.data, c.data, a.len) != 0);
    dcr_buf_release(&a);
    dcr_buf_release(&b);
    dcr_buf_release(&c);
}

static void test_sizes_out_of_range(void **state)
{
    (void)state;
    struct paint_png *png;
    struct dcr_err err = {0};
    assert_int_equal(paint_png_new(&png, 0, 10, 2, typeface, &err), DCR_FAIL);
    assert_int_equal(paint_png_new(&png, 1e6, 10, 2, typeface, &err), DCR_FAIL);
    assert_int_equal(paint_png_new(&png, NAN, 10, 2, typeface, &err), DCR_FAIL);
    assert_null(png);
}

static void svg(struct dcr_buf *out, const char *label)
{
    struct paint_svg p;
    paint_svg_begin(&p, 300, 200, typeface, "wide", label, out);
    draw(&p.canvas, label);
    paint_svg_end(&p);
    assert_false(out->failed);
}

static void test_svg_has_text_and_classes(void **state)
{
    (void)state;
    struct dcr_buf out = {0};
    svg(&out, "a<b & \"c\" </text>\xff");
    const char *text = dcr_buf_text(&out);
    assert_non_null(strstr(text, "class=\"f-compute\" fill=\"#005a91\""));
    assert_non_null(strstr(text, "a&lt;b &amp; &quot;c&quot; &lt;/text&gt;\xef\xbf\xbd"));
    assert_non_null(strstr(text, "role=\"img\" aria-label=\"a&lt;b"));
    assert_null(strstr(text, "style="));
    assert_null(strstr(text, " id="));
    assert_null(strstr(text, "a<b"));
    dcr_buf_release(&out);
}

static void pdf(struct dcr_buf *out, const char *label)
{
    struct paint_pdf *p;
    struct dcr_err err = {0};
    assert_int_equal(paint_pdf_new(&p, 340, 200, 252.0 / 340, typeface, out, &err), 0);
    draw(paint_pdf_canvas(p), label);
    const struct pdf_note note = {"a title", label, "hash", "2031-04-25T10:15:00Z"};
    assert_int_equal(paint_pdf_finish(p, &note, &err), 0);
    paint_pdf_free(p);
    assert_false(out->failed);
}

static bool holds(const struct dcr_buf *file, const char *text)
{
    return memmem(file->data, file->len, text, strlen(text)) != NULL;
}

static void test_pdf_is_one_column_with_its_fonts(void **state)
{
    (void)state;
    struct dcr_buf a = {0}, b = {0}, c = {0};
    pdf(&a, "transfer");
    pdf(&b, "transfer");
    pdf(&c, "waiting");
    assert_memory_equal(a.data, "%PDF-", 5);
    assert_true(holds(&a, "%%EOF"));
    assert_true(holds(&a, "/MediaBox [ 0 0 252 "));
    assert_true(holds(&a, "/FontFile2"));
    assert_true(holds(&a, "DejaVuSans"));
    assert_true(holds(&a, "/Title (a title)"));
    assert_true(holds(&a, "/CreationDate (20310425101500Z)"));
    assert_false(holds(&a, "/Subtype /Image"));
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    assert_true(a.len != c.len || memcmp(a.data, c.data, a.len) != 0);
    dcr_buf_release(&a);
    dcr_buf_release(&b);
    dcr_buf_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_png_is_read_back),         cmocka_unit_test(test_same_strokes_same_bytes),
        cmocka_unit_test(test_sizes_out_of_range),       cmocka_unit_test(test_pdf_is_one_column_with_its_fonts),
        cmocka_unit_test(test_svg_has_text_and_classes), cmocka_unit_test(test_many_shades),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
