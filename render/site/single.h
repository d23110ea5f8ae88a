/* single.h - the whole report as one file: all pages one after the other, links turned into anchors, files into data
 * URIs. */
#ifndef RENDER_SITE_SINGLE_H
#define RENDER_SITE_SINGLE_H

#include "render/site/theme/inside.h"

/** single_write - put the kept pages into one document and write it to s->single_file, outside the site. Timelines are
 *  left out, because their data are larger than everything else, and so are PNGs, because the pages contain them as
 *  drawings, and files above 1 MB. Links to these become plain words. */
void single_write(struct site *s);

/** single_link - what a link of a page becomes. For tests.
 *  page   path of the page that contains the link: "runs/a/index.html"; link as written there
 *  out    appended: a file of the site, without "./" and "..", with its fragment after it. returns false: it leaves the
 * site */
bool single_link(const char *page, const char *link, struct dcr_buf *out);

#endif
