/* script.c - see script.h. The assembler copies the files in; the Makefile knows that this object is made of them. */
#include "render/site/script.h"

#define EMBED(symbol, file)                                                                                  \
    __asm__(".pushsection .rodata\n" #symbol ":\n.incbin \"render/site/" file "\"\n.byte 0\n.popsection\n"); \
    extern const char symbol[]

EMBED(dcr_script_site, "site.js");
EMBED(dcr_script_timeline, "timeline.js");

const char *script_site(void)
{
    return dcr_script_site;
}

const char *script_timeline(void)
{
    return dcr_script_timeline;
}
