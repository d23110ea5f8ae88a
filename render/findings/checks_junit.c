/* checks_junit.c - how checks went, for other programs: JUnit XML. See checks.h. */
#include "render/findings/checks.h"

#include "lib/base/text.h"

#include <string.h>

static void put_attribute(struct dcr_buf *out, const char *name, const char *value)
{
    dcr_buf_printf(out, " %s=\"", name);
    text_xml(out, value);
    dcr_buf_putc(out, '"');
}

void checks_junit(const struct checks *c, struct dcr_buf *out)
{
    dcr_buf_printf(out,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"%d\" failures=\"%d\">\n"
                   "  <testsuite name=\"dcreport\" tests=\"%d\" failures=\"%d\" errors=\"0\" skipped=\"%d\">\n",
                   c->n, c->n_failed, c->n, c->n_failed, c->n_skipped);
    for (int i = 0; i < c->n; i++) {
        const struct check *k = &c->list[i];
        dcr_buf_puts(out, "    <testcase");
        put_attribute(out, "classname", k->on);
        put_attribute(out, "name", k->rule);
        if (k->holds && k->is_unreliable) { /* it passed, and the text says how reliable that is */
            dcr_buf_puts(out, ">\n      <system-out>");
            text_xml(out, k->text);
            dcr_buf_puts(out, "</system-out>\n    </testcase>\n");
            continue;
        }
        if (k->holds) {
            dcr_buf_puts(out, "/>\n");
            continue;
        }
        if (k->is_skipped) {
            dcr_buf_puts(out, ">\n      <skipped message=\"not applicable: ");
            text_xml(out, k->text);
            dcr_buf_puts(out, "\"/>\n    </testcase>\n");
            continue;
        }
        dcr_buf_puts(out, ">\n      <failure");
        put_attribute(out, "message", k->is_measured ? k->text : "not measured");
        dcr_buf_puts(out, ">");
        text_xml(out, k->what);
        dcr_buf_puts(out, ": ");
        text_xml(out, k->text);
        dcr_buf_puts(out, "</failure>\n    </testcase>\n");
    }
    dcr_buf_puts(out, "  </testsuite>\n</testsuites>\n");
}
