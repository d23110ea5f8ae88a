/* dataset_time.h - time stamps as text and as seconds; no time zones. */
#ifndef TRAINER_FORMATS_DATASET_TIME_H
#define TRAINER_FORMATS_DATASET_TIME_H

/** dataset_parse_time - seconds since 1970-01-01 of YYYY-MM-DD HH:MM[:SS], `T` instead of the space accepted.
 *  returns  1 when text is one, else 0 */
int dataset_parse_time(const char *text, long long *seconds);

#define DATASET_TIME_BYTES 40
/** dataset_format_time - the reverse; :SS only when there are any. */
void dataset_format_time(long long seconds, char text[DATASET_TIME_BYTES]);

#endif
