/* table_tex.c - see table_tex.h. */
#include "render/site/theme/table_tex.h"

#include "lib/base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS_MAX 64
/* Width of an article's line, in digits: at 10 pt, and at \\scriptsize. */
#define LINE_PLAIN 66.0
#define LINE_SMALLEST 84.0
#define GAP_PLAIN 2.4   /* between two columns */
#define GAP_WIDE 1.5    /* with \tabcolsep of 3 pt */
#define SHORT_COLUMN 20 /* a column of words no wider than this is not broken */
#define PAGE_LINES 42   /* a longer table goes over several pages */
#define WORD_MAX 12     /* longer ones may be broken: names of kernels, paths, checksums */
#define PIECE_MAX 16    /* letters without a place to break, in a checksum */

struct column {
    bool is_number;
    double cells, word; /* widths of the longest cell and of the longest word of its head */
    double width;       /* width that the column gets */
};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static const char *cell_text(const json_t *row, size_t column)
{
    return column == 0 ? text_of(row, "heading")
                       : text_of(json_array_get(json_object_get(row, "cells"), column - 1), "text");
}

/* What TeX needs for a letter that has a meaning to it, or that its fonts lack; NULL: the letter itself. */
static const char *special(uint32_t code)
{
    static const struct {
        uint32_t code;
        const char *tex;
    } map[] = {{'\\', "\\textbackslash{}"},
               {'{', "\\{"},
               {'}', "\\}"},
               {'$', "\\$"},
               {'&', "\\&"},
               {'#', "\\#"},
               {'%', "\\%"},
               {'_', "\\_"},
               {'~', "\\textasciitilde{}"},
               {'^', "\\textasciicircum{}"},
               {'<', "$<$"},
               {'>', "$>$"},
               {'|', "\\textbar{}"},
               {'"', "''"},
               {'-', "-{}"}, /* two of them are no dash */
               {0xa0, "~"},
               {0xb1, "$\\pm$"},
               {0xb2, "$^2$"},
               {0xb3, "$^3$"},
               {0xb5, "$\\mu$"},
               {0xb7, "$\\cdot$"},
               {0xd7, "$\\times$"},
               {0x3bc, "$\\mu$"},
               {0x2013, "--"},
               {0x2014, "---"},
               {0x2026, "\\ldots{}"},
               {0x202f, "\\,"},
               {0x2192, "$\\to$"},
               {0x2212, "$-$"},
               {0x2264, "$\\le$"},
               {0x2265, "$\\ge$"},
               {0xfffd, "?"}};
    for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
        if (map[i].code == code)
            return map[i].tex;
    return NULL;
}

/* A letter after which a word may be broken. */
static bool is_joint(char c)
{
    return c && strchr("/_.,:;()<>=-[]&*@|", c);
}

static size_t word_length(const char *text)
{
    return strcspn(text, " ");
}

/* is_tied: a number stays with its unit; is_broken: long words have places to break. */
static void put_text(struct dcr_buf *out, const char *text, bool is_tied, bool is_broken)
{
    bool may_break = false;
    int n_whole = 0, n_piece = 0; /* of the word so far, and since the last place to break */
    while (*text) {
        char c[5];
        uint32_t code;
        if (n_whole == 0)
            may_break = is_broken && word_length(text) > WORD_MAX;
        text += utf8_next(text, c, &code);
        const char *tex = special(code);
        if (code == ' ')
            dcr_buf_putc(out, is_tied ? '~' : ' ');
        else if (tex)
            dcr_buf_puts(out, tex);
        else if (code >= 0x180) /* no letter of the usual fonts */
            dcr_buf_printf(out, "U+%04X", (unsigned)code);
        else
            dcr_buf_puts(out, c);
        n_whole = code == ' ' ? 0 : n_whole + 1;
        n_piece = code == ' ' ? 0 : n_piece + 1;
        bool is_place = is_joint(c[0]) ? !is_joint(*text) : n_piece == PIECE_MAX;
        if (may_break && n_whole && *text && *text != ' ' && is_place) {
            dcr_buf_puts(out, "\\allowbreak{}");
            n_piece = 0;
        }
    }
}

/* Width as Computer Modern sets the text, in digits; rather too large than too small. */
static double width_of(const char *text, size_t n)
{
    double width = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c & 0xc0) == 0x80) /* the rest of a letter */
            continue;
        width += strchr("mwMW%<>@&", c) ? 1.7 : c >= 'A' && c <= 'Z' ? 1.45 : strchr(" .,:;'|!()[]/", c) ? 0.75 : 1.0;
    }
    return width;
}

static double whole_width(const char *text)
{
    return width_of(text, strlen(text));
}

static double longest_word(const char *text)
{
    double longest = 0;
    while (*text) {
        size_t n = word_length(text);
        longest = width_of(text, n) > longest ? width_of(text, n) : longest;
        text += n + (text[n] == ' ');
    }
    return longest;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

static size_t measure(const json_t *table, struct column *column)
{
    const json_t *head = json_object_get(table, "head"), *rows = json_object_get(table, "rows");
    size_t n = json_array_size(head) < COLUMNS_MAX ? json_array_size(head) : COLUMNS_MAX;
    for (size_t i = 0; i < n; i++) {
        const char *title = text_of(json_array_get(head, i), "text");
        column[i] = (struct column){.is_number = json_is_true(json_object_get(json_array_get(head, i), "num")),
                                    .cells = 1,
                                    .word = longest_word(title)};
        for (size_t r = 0; r < json_array_size(rows); r++)
            column[i].cells = greater(column[i].cells, whole_width(cell_text(json_array_get(rows, r), i)));
        column[i].width = greater(column[i].cells, whole_width(title));
    }
    return n;
}

/* The rest of the line goes to the columns of long words, by their length. returns the width of a line */
static double share_out(struct column *column, size_t n)
{
    double fixed = GAP_WIDE * (double)(n - 1), wanted = 0, least = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_long = !column[i].is_number && column[i].cells > SHORT_COLUMN;
        column[i].width = is_long ? 0 : greater(column[i].cells, column[i].word);
        fixed += column[i].width;
        wanted += is_long ? column[i].cells : 0;
        least += is_long ? SHORT_COLUMN : 0;
    }
    double line = greater(fixed + least, LINE_SMALLEST);
    for (size_t i = 0; i < n; i++)
        if (column[i].width <= 0)
            column[i].width = SHORT_COLUMN + (line - fixed - least) * column[i].cells / wanted;
    return line;
}

/* Lines of a row at these widths. */
static double lines_of(const json_t *row, const struct column *column, size_t n)
{
    double lines = 1;
    for (size_t i = 0; i < n; i++) {
        double whole = whole_width(cell_text(row, i)) / column[i].width;
        lines = greater(lines, (double)(int64_t)(whole + 0.999));
    }
    return lines;
}

static bool is_over_pages(const json_t *rows, const struct column *column, size_t n)
{
    double lines = 0;
    for (size_t r = 0; r < json_array_size(rows); r++)
        lines += lines_of(json_array_get(rows, r), column, n);
    return lines > PAGE_LINES;
}

static void put_columns(const struct column *column, size_t n, bool is_wide, struct dcr_buf *out)
{
    double all = GAP_WIDE * (double)(n - 1);
    for (size_t i = 0; i < n; i++)
        all += column[i].width;
    dcr_buf_puts(out, "@{}");
    for (size_t i = 0; i < n; i++) {
        if (is_wide) /* a share of the line, with the gap after it */
            dcr_buf_printf(out, "%s>{\\ragged%s\\arraybackslash}p{\\dimexpr%.4f\\linewidth-%s\\tabcolsep}",
                           i ? "\n  " : "", column[i].is_number ? "left" : "right",
                           (column[i].width + (i + 1 < n ? GAP_WIDE : 0)) / all * 0.998, i + 1 < n ? "2" : "0");
        else
            dcr_buf_putc(out, column[i].is_number ? 'r' : 'l');
    }
    dcr_buf_puts(out, "@{}");
}

/* The end of a table line takes a following bracket or star as its argument, even on the next line. */
static void begin_row(struct dcr_buf *out, const char *text)
{
    if (*text == '[' || *text == '*')
        dcr_buf_puts(out, "{}");
}

static void put_row(const json_t *row, const struct column *column, size_t n, bool is_wide, struct dcr_buf *out)
{
    begin_row(out, cell_text(row, 0));
    for (size_t i = 0; i < n; i++) {
        dcr_buf_puts(out, i ? " & " : "");
        put_text(out, cell_text(row, i), column[i].is_number, is_wide && !column[i].is_number);
    }
    dcr_buf_puts(out, " \\\\\n");
}

static void put_head(const json_t *head, size_t n, struct dcr_buf *out)
{
    dcr_buf_puts(out, "\\toprule\n");
    begin_row(out, text_of(json_array_get(head, 0), "text"));
    for (size_t i = 0; i < n; i++) {
        dcr_buf_puts(out, i ? " & " : "");
        put_text(out, text_of(json_array_get(head, i), "text"), false, true);
    }
    dcr_buf_puts(out, " \\\\\n\\midrule\n");
}

static void put_caption(const json_t *table, const char *label, struct dcr_buf *out)
{
    dcr_buf_puts(out, "\\caption{");
    put_text(out, text_of(table, "caption"), false, false);
    dcr_buf_printf(out, "}\\label{tab:%s}", label);
}

void table_tex(const json_t *table, const char *label, const char *sources, struct dcr_buf *out)
{
    const json_t *head = json_object_get(table, "head"), *rows = json_object_get(table, "rows");
    struct column column[COLUMNS_MAX];
    size_t n = measure(table, column);
    double line = GAP_PLAIN * (double)(n - 1);
    for (size_t i = 0; i < n; i++)
        line += column[i].width;
    bool is_wide = line > LINE_PLAIN;
    if (is_wide)
        line = share_out(column, n);
    bool is_long = is_over_pages(rows, column, n), is_scaled = line > LINE_SMALLEST && !is_long;
    const char *size = !is_wide ? "" : "\\scriptsize\\setlength{\\tabcolsep}{3pt}";
    char scaled[96] = "";
    if (is_scaled)
        snprintf(scaled, sizeof scaled, "\\resizebox{\\linewidth}{!}{\\begin{minipage}{%.2f\\linewidth}",
                 line / LINE_SMALLEST);
    dcr_buf_printf(out, "%% dcreport " DCR_VERSION "; from %s\n%% needs \\usepackage{booktabs%s%s%s}\n", sources,
                   is_wide ? ",array" : "", is_long ? ",longtable" : "", is_scaled ? ",graphicx" : "");
    if (is_long) { /* one column of text only, because longtable has no other form */
        dcr_buf_printf(out, "{%s\\begin{longtable}{", size);
        put_columns(column, n, is_wide, out);
        dcr_buf_puts(out, "}\n");
        put_caption(table, label, out);
        dcr_buf_puts(out, "\\\\\n");
        put_head(head, n, out);
        dcr_buf_puts(out, "\\endhead\n\\bottomrule\n\\endfoot\n");
    } else {
        dcr_buf_puts(out, "\\begin{table}\n\\centering\n");
        put_caption(table, label, out);
        dcr_buf_printf(out, "\\medskip\n\n%s%s\\begin{tabular}{", scaled, size); /* no room below the caption */
        put_columns(column, n, is_wide, out);
        dcr_buf_puts(out, "}\n");
        put_head(head, n, out);
    }
    for (size_t r = 0; r < json_array_size(rows); r++)
        put_row(json_array_get(rows, r), column, n, is_wide, out);
    dcr_buf_puts(out, is_long     ? "\\end{longtable}}\n"
                      : is_scaled ? "\\bottomrule\n\\end{tabular}\\end{minipage}}\n\\end{table}\n"
                                  : "\\bottomrule\n\\end{tabular}\n\\end{table}\n");
}
