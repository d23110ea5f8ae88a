/* script.c - see script.h. The assembler copies the files in; the Makefile knows that this object is made of them. */
#include "render/site/theme/script.h"

#define EMBED(symbol, file)                                                                      \
    __asm__(".pushsection .rodata\n" #symbol ":\n.incbin \"" file "\"\n.byte 0\n.popsection\n"); \
    extern const char symbol[]

EMBED(dcr_script_site, "render/site/theme/site.js");
EMBED(dcr_script_timeline, "render/site/timeline/timeline.js");
EMBED(dcr_document_metrics, "docs/metrics.md");
EMBED(dcr_document_glossary, "docs/glossary.md");

const char *script_site(void)
{
    return dcr_script_site;
}

const char *script_timeline(void)
{
    return dcr_script_timeline;
}

const char *document_metrics(void)
{
    return dcr_document_metrics;
}

const char *document_glossary(void)
{
    return dcr_document_glossary;
}
