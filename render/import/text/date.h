/* date.h - times as monitors write them. */
#ifndef RENDER_IMPORT_TEXT_DATE_H
#define RENDER_IMPORT_TEXT_DATE_H

/** date_seconds - "2026/04/25 16:06:06.780" in seconds; dashes, a T or a leading quote are accepted. The time zone is
 * not known. returns  < 0 when text is not a date. Test: tests/unit/test_smi.c, test_read_run.c */
double date_seconds(const char *text);

#endif
