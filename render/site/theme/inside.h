/* inside.h - what the files of render/site share while one site is being made. Inside render/site only.
 *
 * Failure is sticky: the first one is kept in `rc` and `err`, later calls do no harm, and site_publish checks it once.
 * Pages are JSON objects that the theme's templates show. */
#ifndef RENDER_SITE_THEME_INSIDE_H
#define RENDER_SITE_THEME_INSIDE_H

#include "lib/base/arena.h"
#include "render/metrics/report.h"
#include "render/draw/typeface.h"
#include "render/metrics/registry/metrics.h"
#include "render/read/inputs.h"
#include "render/say/tables.h"
#include "render/site/publish/publish.h"
#include "render/site/theme/theme.h"

/* An archive that the pages rest on: of a run of the report, or of --baseline. */
struct cited {
    struct source is;
    int run;           /* index into report.runs, -1: of --baseline */
    const char *which; /* "2 nodes", "before": which of several archives with one name; NULL: the name is unique */
};

/* A page whose content goes into the single file, too. */
struct kept {
    struct kept *next;
    const char *path, *title, *anchor; /* live as long as the site */
    char *content;
    size_t n;
};

struct site {
    const struct report *rep;
    struct theme *theme;
    struct typeface *typeface;
    struct publish publish;
    struct dcr_arena arena;     /* texts and arrays of the pages */
    const struct input *inputs; /* to be read again for the timelines, and the runs they became; shape (n_inputs) */
    struct run *const *input_runs;
    int n_inputs;
    const char *single_file; /* NULL: none is wanted */
    struct kept *kept;       /* pages for it, in the order in which they were made */
    json_t *embedded;        /* files that are in it */
    json_t *series_views;    /* of page_index, kept for page_scaling */
    json_t *data_files;      /* what the data page lists: {"path", "title", "forms": [{"path", "name"}], "run"} */
    struct cited *cited;     /* shape (n_cited): the runs in their order, then those of --baseline */
    int n_cited;
    const char *sources; /* the archives and their hashes, for files that are used without the site */
    const char *date;    /* when the last run ended, for files that must have a date: "2031-04-25T10:15:00Z" */
    struct dcr_err *err;
    int rc;
};

/** site_fail - keep the first failure. */
void site_fail(struct site *s, int rc);
/** site_text - printf into the arena. */
const char *site_text(struct site *s, const char *fmt, ...) DCR_PRINTF(2, 3);
/** site_int - a whole number as text, by fmt_whole. */
const char *site_int(struct site *s, int64_t n);
/** site_write - one file of the site. */
void site_write(struct site *s, const char *path, const void *bytes, size_t n);

/** node_words - "4 nodes", "1 node", or GPUs if the runs scale over GPUs; "this run" for 0. */
const char *node_words(struct site *s, int n);

/** node_title - the same as the title of a column: "Nodes" or "GPUs". */
const char *node_title(struct site *s);

/* ---- JSON objects for templates -------------------------------------------------------------------- */
json_t *view_object(struct site *s);
json_t *view_list(struct site *s);
/** view_text - set a text; bytes that are not UTF-8 become U+FFFD. NULL sets null. */
void view_text(struct site *s, json_t *object, const char *key, const char *text);
/** view_html - set text that is HTML made by this program. */
void view_html(struct site *s, json_t *object, const char *key, struct dcr_buf *html);
void view_flag(struct site *s, json_t *object, const char *key, bool value);
/** view_set, view_add - takes value. */
void view_set(struct site *s, json_t *object, const char *key, json_t *value);
void view_add(struct site *s, json_t *list, json_t *value);

/** view_set_list - takes list; sets it and the flag has_<key>, so that a template can leave out an empty frame. */
void view_set_list(struct site *s, json_t *object, const char *key, json_t *list);

/** view_table - a table for the partial table.html, with the caption and the heads of its row in say/tables.def.
 *  returns  gives {"caption", "head": [{"text", "num"}], "rows": []} */
json_t *view_table(struct site *s, const struct table_said *is);
/** view_columns - adds columns after the existing ones: "Name|#Mean, ms|~#Longest": # = numbers, ~ before it = a detail
 * (view_narrow). Before the first row. */
void view_columns(struct site *s, json_t *table, const char *columns);
/** view_column - one more column, whose title comes from the data.   marks  "", "#", "~#" */
void view_column(struct site *s, json_t *table, const char *marks, const char *title);
/** view_caption - one more sentence of its caption; nothing of PHRASE_NONE. */
void view_caption(struct site *s, json_t *table, struct phrase sentence);
/** view_row - append a row; its first cell is the row's heading. returns  borrows the list of its cells */
json_t *view_row(struct site *s, json_t *table, const char *heading);
/** view_cell - append a cell to the last row. */
void view_cell(struct site *s, json_t *table, const char *text);
/** view_cell_time, view_cell_percent, view_cell_count, view_cell_bytes - a cell with an exact value (ns, ratio, number,
 *  bytes), which is written to the table's CSV and by which the page sorts. has false: as view_cell_missing. */
void view_cell_time(struct site *s, json_t *table, bool has, int64_t ns);
/** view_cell_signed - a time with its sign: "+1.20 ms". */
void view_cell_signed(struct site *s, json_t *table, int64_t ns);
void view_cell_percent(struct site *s, json_t *table, bool has, double ratio);
void view_cell_count(struct site *s, json_t *table, bool has, int64_t n);
void view_cell_bytes(struct site *s, json_t *table, bool has, double bytes);
/** view_cell_missing - a cell without a value: a dash with the mark of the reason, which the table explains. The CSV
 * has the whole reason in a column of notes. why   REASON_NONE: the reason is unknown.   unit  as of view_exact; NULL:
 * the column holds texts */
void view_cell_missing(struct site *s, json_t *table, const struct reason *why, const char *unit);
/** view_cell_text - a text; an empty one is missing, because it was not recorded. */
void view_cell_text(struct site *s, json_t *table, const char *text);
/** view_cell_value - the same with any text; if has is false, the text is the reason, or NULL.
 *  unit  of the whole column, or else of the whole row: "ns", "ratio"; "": a number */
void view_cell_value(struct site *s, json_t *table, const char *text, bool has, double value, const char *unit);
/** view_cell_interval - a cell with an interval; the CSV has its ends in columns "..., from" and "..., to". */
void view_cell_interval(struct site *s, json_t *table, const char *text, struct interval i, const char *unit);
/** view_cell_no_interval - a cell where an interval is missing. */
void view_cell_no_interval(struct site *s, json_t *table, const struct reason *why, const char *unit);
/** view_exact - add an exact value of the last cell for the CSV; has false: an empty cell in a column of that unit.
 *  name  distinguishes several values of one cell; "" for a single one */
void view_exact(struct site *s, json_t *table, const char *name, bool has, double value, const char *unit);
/** VIEW_METRICS - a cell for each of these metrics, in the form of its unit.
 *  t  the table of the site; of  the table of metrics; subject  the subject of these metrics; then ids */
#define VIEW_METRICS(s, t, of, subject, ...) view_metrics(s, t, of, subject, (const int[]){__VA_ARGS__, -1})
void view_metrics(struct site *s, json_t *table, const struct metrics *of, const void *subject, const int *ids);
/** view_cell_said - a cell with the text of another tool's file, and its number in all digits for the CSV.
 *  number  NULL: it is no number, or in a column of texts */
void view_cell_said(struct site *s, json_t *table, const char *text, const char *number);
/** view_cell_sub - a cell of two lines: text, and a remark in small. */
void view_cell_sub(struct site *s, json_t *table, const char *text, const char *remark);
/** view_cell_class - as view_cell with a class for the theme ("v-limits"). */
void view_cell_class(struct site *s, json_t *table, const char *text, const char *class_name);
/** view_tip - a tooltip of the last cell; NULL or "": none. */
void view_tip(struct site *s, json_t *table, const char *text);

/** view_frame - what frame.html shows, except the content.  root: "" or "../../"  returns  gives */
json_t *view_frame(struct site *s, const char *root, const char *title, const char *here, enum page_kind kind);

/** view_in_one_unit - all plain times of a column get one unit. It is the unit of the longest time, or the next smaller
 * unit if too many times would round to nothing. A time that loses digits shows them in its tooltip. The CSV keeps
 * exact values. */
void view_in_one_unit(struct site *s, json_t *table);
/** view_unit_for_all - view_in_one_unit gives all columns the same unit, because a row's times are compared. */
void view_unit_for_all(struct site *s, json_t *table);
/** view_threshold_tips - removes the column of thresholds, once site_table has written its CSV. A verdict without a
 * tooltip gets the threshold as one. */
void view_threshold_tips(struct site *s, json_t *table);
/** view_narrow - removes columns of details from a table with more than seven columns, the last one first, until seven
 *  are left, and says how many more the CSV has. */
void view_narrow(struct site *s, json_t *table);
/** view_row_empty - the last row has no measured value, though it has a number such as a count of 0. */
void view_row_empty(struct site *s, json_t *table);
/** view_row_told - the same of a row that words beside the table name. Only the CSV has it. */
void view_row_told(struct site *s, json_t *table);
/** view_pruned - removes rows and columns without any value, names them in a line below the table, and explains the
 *  marks of the missing values that are left. A table without any value says only that. */
void view_pruned(struct site *s, json_t *table);
/** site_table - write a table as tables/STEM.csv and .tex, for a run in the run's folder; adds the links to the table
 * and prunes it, but not its CSV. stem   [a-z0-9-], unique in its folder; run  index into report.runs, -1: of the whole
 * site table  borrows; null does nothing. Its CSV has exact values where the cells have them */
void site_table(struct site *s, json_t *table, const char *stem, int run);
/** view_shorten - keeps only the first rows of a table on the page, once site_table has written its CSV, and adds a
 *  line with the number of all rows. One or two rows more than most are kept too. */
void view_shorten(struct site *s, json_t *table, size_t most);
/** view_keep_rows - the same with any rows in any order.   row  shape (n) */
void view_keep_rows(struct site *s, json_t *table, const size_t *row, size_t n);
/** view_unfold - rows that the page shows under a row of a table, once the reader unfolds it. Its CSV has none of them.
 *  row         nothing happens if the page does not show that row
 *  from, at, n borrows the rows [at, at + n) of another table with the same columns; n 0: the row does not unfold */
void view_unfold(struct site *s, json_t *table, size_t row, const json_t *from, size_t at, size_t n);
/** site_data_file - list a file of the site on the data page. forms: "PNG|figures/a.png|SVG|figures/a.svg" */
void site_data_file(struct site *s, const char *title, const char *forms, int run);

/** site_page - fill template `name` with data, put it into frame.html, write it.
 *  path    "index.html", "runs/<slug>/index.html"
 *  title   of the window
 *  here    which entry of the navigation this is: "index", "runs", "analysis", "methodology"
 *  data    takes */
void site_page(struct site *s, const char *template_name, const char *path, const char *title, const char *here,
               json_t *data);

/* ---- the pages -------------------------------------------------------------------------------------- */
void page_index(struct site *s);
void page_run(struct site *s, int run);
/** has_scaling - is there a series of two or more node counts? */
bool has_scaling(const struct site *s);
/** page_scaling - after page_index, whose series it shows in tables. Nothing without a series of two node counts. */
void page_scaling(struct site *s);
/** view_changes - before and after by name, or why not; null without. gives (page_changes.c) */
json_t *view_changes(struct site *s);
/** page_compare - nothing without --baseline. */
void page_compare(struct site *s);
/** view_compared - the part of the first page on --baseline: the step of each node count, and a link to compare.html.
 *  Sets "compared", null without one. */
void view_compared(struct site *s, json_t *data);
/** page_methodology - the method, the words, the formulas and all files. Call it after every other page, because it
 *  lists their files. */
void page_methodology(struct site *s);
/** page_timeline - returns  whether there is one: the run has ranges or steps */
bool page_timeline(struct site *s, int run);

/** view_classes - the ruled-in-or-out table of some runs of one series (or of one run).
 *  runs  indices into report.runs, ascending node count; the last one is judged in words */
json_t *view_classes(struct site *s, const struct table_said *is, const int *runs, int n_runs);
/** view_loss_parts, view_loss_causes, view_loss_phases, view_loss_names - what a series lost compared with ideal
 *  scaling, by part of a step, by cause, by phase, and by name; all but the first are null without losses.
 *  (tables_loss.c) */
json_t *view_loss_parts(struct site *s, const struct series *series);
json_t *view_loss_causes(struct site *s, const struct series *series);
json_t *view_loss_phases(struct site *s, const struct series *series);
json_t *view_loss_names(struct site *s, const struct series *series);
/** view_laws, view_ahead - tables of the fitted laws of a series, and of their forecasts for other node counts; null:
 *  none. */
json_t *view_laws(struct site *s, const struct series *series);
json_t *view_ahead(struct site *s, const struct series *series);
/** view_moves - forecasts of the largest point after a change or the removal of a cause; null: there are none.
 *  said  gets a sentence on the change that saves most, NULL none */
json_t *view_moves(struct site *s, const struct series *series, const char **said);
/** view_all_reduce - the all-reduces of a step by a calibration or a log, beside the transfer; null: neither. */
json_t *view_all_reduce(struct site *s, const struct series *series);
/** view_operators - what the host named, by self time: the 20 names with most; null: nothing.
 *  is     the row of tables.def, whose first slots are how many are shown and how many there are
 *  trace  fills the slot after those; NULL: the row has none */
json_t *view_operators(struct site *s, const struct host_operators *o, enum table_id is, const char *trace);
/** view_mpi_calls, view_io_files - what the recorder saw by itself; null: nothing. */
json_t *view_mpi_calls(struct site *s, const struct run *run);
json_t *view_io_files(struct site *s, const struct run *run);
/** view_gaps - what is missing from the evidence of any run: gaps, more_gaps of runs that the answer is not about,
 *  n_more_gaps. */
void view_gaps(struct site *s, json_t *data);
/** view_caveats - set caveats, folded and n_folded: the first few in full, the others, and the number of the others. */
void view_caveats(struct site *s, json_t *data, int run);
/** view_actions - what to do (claims_in_order), from the claims of these runs and, is_whole, of the series. */
json_t *view_actions(struct site *s, const int *runs, int n_runs, bool is_whole, const char *root);

#endif
