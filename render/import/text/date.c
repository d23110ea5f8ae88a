/* date.c - see date.h. */
#include "render/import/text/date.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

double date_seconds(const char *text)
{
    int y, mo, d, h, mi, n = 0;
    double s;
    text += strspn(text, " \"");
    if (sscanf(text, "%4d%*1[/-]%2d%*1[/-]%2d%*1[ T]%2d:%2d:%lf%n", &y, &mo, &d, &h, &mi, &s, &n) != 6 || y < 1970 ||
        mo < 1 || mo > 12)
        return -1;
    int64_t yy = y - (mo <= 2), era = yy / 400, yoe = yy - era * 400; /* days of the civil calendar, by H. Hinnant */
    int64_t doy = (153 * (mo + (mo > 2 ? -3 : 9)) + 2) / 5 + d - 1, doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return (double)(era * 146097 + doe - 719468) * 86400 + h * 3600 + mi * 60 + s;
}
