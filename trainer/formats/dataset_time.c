/* dataset_time.c - see dataset_time.h. */
#include "trainer/formats/dataset_time.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define DAY_S (24 * 60 * 60)

/* Days since 1970-01-01 of a proleptic Gregorian date (era arithmetic with March as first month). */
static long long days_from_civil(int y, int m, int d)
{
    y -= m <= 2;
    long long era = (y >= 0 ? y : y - 399) / 400;
    int year_of_era = (int)(y - era * 400);
    int day_of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static int days_of_month(int y, int m)
{
    return (int)(days_from_civil(y + m / 12, m % 12 + 1, 1) - days_from_civil(y, m, 1));
}

int dataset_parse_time(const char *text, long long *seconds)
{
    int year, month, day, hour, minute, second = 0, used = 0;
    char separator;
    if (sscanf(text, "%4d-%2d-%2d%c%2d:%2d%n", &year, &month, &day, &separator, &hour, &minute, &used) != 6 || !used)
        return 0;
    if (separator != ' ' && separator != 'T')
        return 0;
    const char *rest = text + used;
    if (*rest == ':') {
        if (sscanf(rest, ":%2d%n", &second, &used) != 1)
            return 0;
        rest += used;
        if (*rest == '.') /* pandas writes fractions that are all zero */
            rest += 1 + strspn(rest + 1, "0");
    }
    if (*rest || month < 1 || month > 12 || day < 1 || day > days_of_month(year, month) || hour < 0 || hour > 23 ||
        minute < 0 || minute > 59 || second < 0 || second > 59)
        return 0;
    *seconds = days_from_civil(year, month, day) * DAY_S + hour * 3600LL + minute * 60LL + second;
    return 1;
}

void dataset_format_time(long long seconds, char text[DATASET_TIME_BYTES])
{
    struct tm tm;
    time_t t = (time_t)seconds;
    if (!gmtime_r(&t, &tm))
        snprintf(text, DATASET_TIME_BYTES, "%lld s after 1970", seconds);
    else if (!strftime(text, DATASET_TIME_BYTES, tm.tm_sec ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M", &tm))
        text[0] = 0;
}
