/* ink.h - the colours of every figure, by meaning.
 *
 * A chart never names a colour: it uses INK_COMM, and each painter looks up the colour. One category has one
 * colour in every figure of a site. PNG uses the values below; SVG names them as classes ("f-comm"), so that a theme's
 * style sheet may recolour them (dark mode), and carries the same values as a fallback.
 *
 * Palette: Okabe and Ito, "Color Universal Design", 2008 (https://jfly.uni-koeln.de/color/), distinguishable with the
 * common colour deficiencies; its blue is darkened, so that compute and communication are told apart in grey as well.
 * Grey tones differ between neighbours of a stack, and stacks are cut by paper-coloured seams and carry direct labels,
 * so that nothing rests on hue alone. Tests of it: tests/unit/test_chart.c, for every scheme of the themes too */
#ifndef DCR_DRAW_INK_H
#define DCR_DRAW_INK_H

#include <stdint.h>

/* name, class name, colour on white, colour of text upon it */
#define INK_CATEGORIES(X)                           \
    X(COMPUTE, "compute", 0x005a91, 0xffffff)       \
    X(COMM, "comm", 0xd55e00, 0x000000)             \
    X(WAIT, "wait", 0xf0d442, 0x000000)             \
    X(DATA, "data", 0xe69f00, 0x000000)             \
    X(COPY, "copy", 0x56b4e9, 0x000000)             \
    X(IO, "io", 0xcc79a7, 0x000000)                 \
    X(VALIDATION, "validation", 0x009e73, 0x000000) \
    X(OTHER, "other", 0xc2c8ce, 0x000000)

/* name, class name, colour */
#define INK_PLAIN(X)              \
    X(PAPER, "paper", 0xffffff)   \
    X(TEXT, "text", 0x1c2127)     \
    X(MUTED, "muted", 0x57606a)   \
    X(GRID, "grid", 0xe3e7eb)     \
    X(AXIS, "axis", 0x8c959f)     \
    X(ACCENT, "accent", 0x005a91) \
    X(SHADE, "shade", 0xeef1f4)   \
    X(ALARM, "alarm", 0xb3261e)

enum ink {
#define X(name, ...) INK_##name,
    INK_PLAIN(X) INK_CATEGORIES(X)
#undef X
#define X(name, ...) INK_ON_##name,
        INK_CATEGORIES(X)
#undef X
            INK_COUNT
};

/** ink_rgb - 0xRRGGBB on white paper. */
uint32_t ink_rgb(enum ink ink);
/** ink_class - name in style sheets, without the "f-" (fill) or "s-" (stroke) in front. borrows, static. */
const char *ink_class(enum ink ink);
/** ink_on - the ink for text upon an area of this ink. */
enum ink ink_on(enum ink ink);
/** ink_luminance - relative luminance 0..1 (WCAG 2.1 definition), to judge contrast and grey prints. */
double ink_luminance(enum ink ink);

#endif
