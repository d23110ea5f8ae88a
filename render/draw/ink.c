/* ink.c - see ink.h. */
#include "render/draw/ink.h"

#include <math.h>

static const struct {
    uint32_t rgb;
    const char *css;
} inks[INK_COUNT] = {
#define X(name, css, rgb) [INK_##name] = {rgb, css},
    INK_PLAIN(X)
#undef X
#define X(name, css, rgb, on) [INK_##name] = {rgb, css}, [INK_ON_##name] = {on, "on-" css},
        INK_CATEGORIES(X)
#undef X
};

uint32_t ink_rgb(enum ink ink)
{
    return inks[ink].rgb;
}

const char *ink_class(enum ink ink)
{
    return inks[ink].css;
}

enum ink ink_on(enum ink ink)
{
    switch (ink) {
#define X(name, ...) \
    case INK_##name: \
        return INK_ON_##name;
        INK_CATEGORIES(X)
#undef X
    case INK_TEXT:
    case INK_MUTED:
    case INK_ACCENT:
    case INK_ALARM:
        return INK_PAPER;
    default:
        return INK_TEXT;
    }
}

double ink_luminance(enum ink ink)
{
    const double weight[3] = {0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double v = (double)((inks[ink].rgb >> (16 - 8 * i)) & 0xff) / 255.0;
        sum += weight[i] * (v <= 0.03928 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
    }
    return sum;
}
