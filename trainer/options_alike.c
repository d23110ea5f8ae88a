/* options_alike.c - options_alike of options.h. What differs between ranks would show late and badly: messages that do
 * not fit, or a training that is none. main.c asks before anything else is done together. */
#include "trainer/option_table.h"

#include "lib/base/buf.h"
#include "lib/base/hash.h"

#include <string.h>

/* Equal for equal values. */
static uint32_t print_of(const struct options *o, const struct option_row *row)
{
    struct dcr_buf text = {0};
    if (row->ranks == OPTION_EACH)
        return 0;
    if (row->ranks == OPTION_GIVEN)
        return o->given[row - option_rows] != NULL;
    if (row->kind == OPTION_INSTEAD)
        return o->task == row->task;
    option_value(o, row, &text);
    uint32_t print = dcr_crc32c(0, text.data, text.len);
    dcr_buf_release(&text);
    return print;
}

int options_alike(const struct options *o, struct comm *c, struct dcr_err *err)
{
    uint32_t mine[OPTIONS_N], first[OPTIONS_N];
    int rc = 0;
    for (int i = 0; i < OPTIONS_N; i++)
        mine[i] = print_of(o, &option_rows[i]);
    memcpy(first, mine, sizeof first);
    comm_broadcast(c, first, sizeof first);
    for (int i = 0; i < OPTIONS_N && !rc; i++)
        if (mine[i] != first[i])
            rc = dcr_err_set(err, DCR_FAIL, "rank %d on %s was started with another --%s than rank 0; start all alike",
                             c->rank, c->host, option_rows[i].name);
    return comm_first_failure(c, rc, err);
}
