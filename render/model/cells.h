/* cells.h - the cells of a table of another tool, for the sentences and figures of it. */
#ifndef RENDER_MODEL_CELLS_H
#define RENDER_MODEL_CELLS_H

#include "render/model/foreign.h"

#include <stdlib.h>
#include <string.h>

static inline const char *table_cell(const struct foreign_table *t, size_t row, int column)
{
    return t->cells[row * (size_t)t->n_columns + (size_t)column];
}

static inline size_t table_rows(const struct foreign_table *t)
{
    return t->n_cells / (size_t)t->n_columns;
}

/** table_value - -1 when the cell holds no number. */
static inline double table_value(const struct foreign_table *t, size_t row, int column)
{
    const char *text = table_cell(t, row, column);
    char *end;
    double v = strtod(text, &end);
    return end > text && !*end ? v : -1;
}

/** table_column - of a title in "Region|#Elapsed, s|..."; -1 when there is none. */
static inline int table_column(const struct foreign_table *t, const char *title)
{
    const char *p = t->columns;
    size_t n = strlen(title);
    for (int c = 0; c < t->n_columns; c++) {
        const char *name = p + (*p == '#');
        if (strncmp(name, title, n) == 0 && (!name[n] || name[n] == '|'))
            return c;
        p = strchr(p, '|') ? strchr(p, '|') + 1 : "";
    }
    return -1;
}

#endif
