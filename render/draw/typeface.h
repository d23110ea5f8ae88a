/* typeface.h - measuring text. All figures are set in DejaVu Sans; painters that cannot be sure of the font (SVG in a
 * browser) get alignments instead of positions of letters. DejaVu is wide, so text in another font still fits. */
#ifndef DCR_DRAW_TYPEFACE_H
#define DCR_DRAW_TYPEFACE_H

#include <stdbool.h>
#include <stddef.h>

#define TYPEFACE_FAMILY "DejaVu Sans"

struct font {
    double size; /* CSS pixels */
    bool is_bold;
};

struct typeface;

/** typeface_new - gives; NULL only without memory. typeface_free accepts NULL. */
struct typeface *typeface_new(void);
void typeface_free(struct typeface *t);

/** typeface_forget - release the caches of cairo and fontconfig. Only when no typeface and no picture is alive. */
void typeface_forget(void);

/** typeface_width - advance width of one line of text in CSS pixels. Bytes that are not UTF-8 count as U+FFFD. */
double typeface_width(struct typeface *t, struct font font, const char *text);

/** typeface_fit - copy text to out, shortened with an ellipsis until it is at most width wide; cuts between characters.
 *  out_size  16 or more
 *  returns   the width of what was kept; 0 and "" when not even the ellipsis fits */
double typeface_fit(struct typeface *t, struct font font, const char *text, double width, char *out, size_t out_size);

#endif
