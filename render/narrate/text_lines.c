/* text_lines.c - see text_lines.h. */
#include "render/narrate/text_lines.h"

#include "render/say/say.h"

#include <string.h>

enum { WIDTH = 96 };

/* Length of the word at s, with the unit that follows a number: "38 %" and "4 nodes" are not torn apart. */
static size_t word_length(const char *s)
{
    static const char *const units[] = {"%", "ns", "us", "ms", "s", "node", "nodes", "step", "steps"};
    size_t n = strcspn(s, " ");
    if (n == 0 || s[n] != ' ' || s[n - 1] < '0' || s[n - 1] > '9')
        return n;
    size_t next = strcspn(s + n + 1, " "), bare = next;
    while (bare > 1 && strchr(".,;:)", s[n + bare]))
        bare--;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i]) == bare && strncmp(units[i], s + n + 1, bare) == 0)
            return n + 1 + next;
    return n;
}

void text_wrapped(struct dcr_buf *out, const char *indent, const char *text)
{
    size_t column = 0;
    for (const char *s = text; *s;) {
        size_t n = word_length(s);
        if (column && column + 1 + n > WIDTH) {
            dcr_buf_putc(out, '\n');
            column = 0;
        }
        if (column == 0) {
            dcr_buf_puts(out, indent);
            column = strlen(indent);
        } else {
            dcr_buf_putc(out, ' ');
            column++;
        }
        dcr_buf_add(out, s, n);
        column += n;
        s += n + strspn(s + n, " ");
    }
    if (*text)
        dcr_buf_putc(out, '\n');
}

void text_reason(struct dcr_buf *out, const char *indent, const struct reason *why)
{
    struct dcr_buf b = {0};
    say_put_reason(&b, why);
    text_wrapped(out, indent, dcr_buf_text(&b));
    dcr_buf_release(&b);
}

void text_title(struct dcr_buf *out, const char *text, char under)
{
    dcr_buf_printf(out, "%s\n", text);
    for (size_t i = 0; i < strlen(text); i++)
        dcr_buf_putc(out, under);
    dcr_buf_puts(out, "\n\n");
}

void text_section(struct dcr_buf *out, const char *text)
{
    dcr_buf_putc(out, '\n');
    text_title(out, text, '-');
}

void text_notes(const struct report *rep, int run, struct dcr_buf *out)
{
    for (int i = 0; i < rep->n_notes; i++) {
        const struct note *n = &rep->notes[i];
        if (run >= 0 && n->run >= 0 && n->run != run)
            continue;
        text_wrapped(out, "", n->kind == NOTE_CAVEAT ? "CAVEAT" : "MISSING");
        text_wrapped(out, "  ", n->text);
    }
}

void text_confidence(const struct run_result *r, const char *indent, struct dcr_buf *out)
{
    struct dcr_buf b = {0};
    dcr_buf_printf(&b, "Confidence: %s%s%s.", confidence_word(r->confidence), *r->confidence_because ? ": " : "",
                   r->confidence_because);
    text_wrapped(out, indent, dcr_buf_text(&b));
    dcr_buf_release(&b);
}
