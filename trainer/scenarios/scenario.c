/* scenario.c - see scenario.h: reads and checks the file of a scenario, then draws the options of one run. */
#include "trainer/scenarios/scenario.h"

#include "lib/base/fs.h"
#include "lib/base/text.h"
#include "trainer/model/rng.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENDING ".conf"

/* The numbers of ranks that a file may say something of. */
static const int n_ranks_of[SCENARIO_N_RANKS] = {1, 2, 4};

/* ---- finding and reading ------------------------------------------------------------------------ */

/* " There are: a, b." of the .conf files of a folder; "" when there are none. */
static void list_names(const char *dir, char *out, size_t n)
{
    char **names = NULL;
    size_t n_names = 0, len = 0;
    *out = 0;
    if (dcr_list_dir(dir, &names, &n_names, NULL))
        return;
    for (size_t i = 0; i < n_names; i++)
        if (dcr_ends_with(names[i], ENDING) && len < n)
            len += (size_t)snprintf(out + len, n - len, "%s%.*s",
                                    len ? ", " : "; there are: ", (int)(strlen(names[i]) - strlen(ENDING)), names[i]);
    dcr_free_names(names, n_names);
}

static int find(const char *name, char out[4096], struct dcr_err *err)
{
    static const char *const places[] = {"../share/dcreport/scenarios", "trainer/scenarios", "../trainer/scenarios",
                                         "../../trainer/scenarios", "../../../trainer/scenarios"};
    char exe[2048], dir[4000], known[400] = "";
    int rc = dcr_exe_dir(exe, sizeof exe, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(dir, sizeof dir, "%s/%s", exe, places[i]);
        if (access(dir, X_OK))
            continue;
        if (snprintf(out, 4096, "%s/%s" ENDING, dir, name) < 4096 && !access(out, F_OK))
            return 0;
        if (!*known)
            list_names(dir, known, sizeof known);
    }
    return dcr_err_set(err, DCR_FAIL, "there is no scenario '%.60s'%s%s", name, known,
                       *known ? "" : "; the folder share/dcreport/scenarios is missing: name a file with its folder");
}

static int read_text(struct scenario *s, struct dcr_err *err)
{
    int fd, rc = dcr_open_file("scenario", s->path, &fd, err);
    FILE *f = rc ? NULL : fdopen(fd, "r");
    if (!f)
        return rc ? rc : dcr_err_sys(err, DCR_FAIL, "cannot read scenario '%s'", s->path);
    size_t n = fread(s->text, 1, sizeof s->text, f);
    int sys = ferror(f) ? errno : 0;
    fclose(f);
    errno = sys;
    if (sys)
        return dcr_err_sys(err, DCR_FAIL, "cannot read scenario '%s'", s->path);
    if (n == sizeof s->text)
        return dcr_err_set(err, DCR_FAIL, "scenario '%s' is longer than %zu bytes", s->path, sizeof s->text - 1);
    s->text[n] = 0;
    if (strlen(s->text) != n)
        return dcr_err_set(err, DCR_FAIL, "scenario '%s' is no text: it holds a NUL byte", s->path);
    return 0;
}

/* ---- lines --------------------------------------------------------------------------------------- */

struct line {
    const struct scenario *s;
    int number;
    char *key, *value;
};

static int bad_line(const struct line *l, struct dcr_err *err, const char *what)
{
    return dcr_err_set(err, DCR_FAIL, "scenario '%s', line %d: %s", l->s->path, l->number, what);
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    for (size_t n = strlen(text); n && isspace((unsigned char)text[n - 1]);)
        text[--n] = 0;
    return text;
}

/* "12..40", also negative */
static int parse_range(const char *text, struct scenario_range *r)
{
    char *end;
    errno = 0;
    long low = strtol(text, &end, 10);
    if (end == text || strncmp(end, "..", 2))
        return -1;
    const char *second = end + 2;
    long high = strtol(second, &end, 10);
    if (end == second || *end || errno || low > high || low < -1000000000 || high > 1000000000)
        return -1;
    *r = (struct scenario_range){(int)low, (int)high};
    return 0;
}

/* "LOW..HIGH" or "LOW..HIGH by STEP"; by is 1 when left out. text is written to */
static int parse_draw(char *text, struct scenario_range *range, int *by)
{
    char *rest = strstr(text, " by "), *end;
    *by = 1;
    if (rest) {
        *rest = 0;
        const char *number = trim(rest + 4);
        long step = strtol(number, &end, 10);
        if (end == number || *end || step < 1 || step > 1000000000)
            return -1;
        *by = (int)step;
    }
    return parse_range(trim(text), range);
}

/* draw = NAME LOW..HIGH [by STEP] */
static int add_draw(struct scenario *s, const struct line *l, struct dcr_err *err)
{
    struct scenario_range range;
    int by;
    char *rest = l->value + strcspn(l->value, " \t");
    int has_rest = *rest != 0;
    *rest = 0;
    if (!*l->value || !has_rest || parse_draw(rest + 1, &range, &by))
        return bad_line(l, err, "draw takes NAME LOW..HIGH, as in 'draw = sensors 80..120', or NAME LOW..HIGH by STEP");
    for (const char *c = l->value; *c; c++)
        if (!islower((unsigned char)*c) && *c != '_')
            return bad_line(l, err, "the name of a draw is made of the letters a to z and _");
    int is_known = !strcmp(l->value, "seed");
    for (int i = 0; i < s->n_draws; i++)
        is_known |= !strcmp(l->value, s->draws[i].name);
    if (is_known)
        return bad_line(l, err, "this name is drawn already");
    if (s->n_draws == SCENARIO_MAX_DRAWS)
        return bad_line(l, err, "there are more draws than a scenario may have");
    s->draws[s->n_draws].name = l->value;
    s->draws[s->n_draws].by = by;
    s->draws[s->n_draws++].range = range;
    return 0;
}

/* One answer. If `shared` is added, it is the answer on machines with fewer cores than ranks. */
static int check_classes(const struct line *l, struct dcr_err *err)
{
    static const char known[] = " "
#define X(name) name " "
        SCENARIO_CLASSES(X)
#undef X
        ;
    char text[400], word[40];
    const char *at = l->value + strspn(l->value, " \t");
    int n_answers = 0;
    if (!*at)
        return bad_line(l, err, "at least one class is needed");
    while (*at) {
        size_t n = strcspn(at, " \t");
        snprintf(word, sizeof word, " %.*s ", (int)(n < 30 ? n : 30), at);
        if (!strstr(known, word)) {
            snprintf(text, sizeof text, "'%.*s' is no class; the classes are%s", (int)(n < 30 ? n : 30), at, known);
            return bad_line(l, err, trim(text));
        }
        n_answers += strcmp(word, " shared ") != 0;
        at += n;
        at += strspn(at, " \t");
    }
    return n_answers > 1 ? bad_line(l, err, "only one class can be the answer; only 'shared' may be added to it") : 0;
}

/* Keys that are said for a number of ranks: on 2 = ..., class 2 = ..., gain 2 = ... */
enum by_ranks { BY_RANKS_ON, BY_RANKS_CLASS, BY_RANKS_GAIN, N_BY_RANKS };
static const char *const by_ranks[N_BY_RANKS] = {"on", "class", "gain"};

/* Which of the rank counts, -1 = none. */
static int ranks_index(const char *text)
{
    for (int i = 0; i < SCENARIO_N_RANKS; i++) {
        char number[8];
        snprintf(number, sizeof number, "%d", n_ranks_of[i]);
        if (!strcmp(text, number))
            return i;
    }
    return -1;
}

static int set_by_ranks(struct scenario *s, const struct line *l, enum by_ranks what, int k, struct dcr_err *err)
{
    if (k < 0)
        return bad_line(l, err, "the number of ranks is 1, 2 or 4, as in 'class 2 = data'");
    const char **text = what == BY_RANKS_CLASS ? &s->classes[k] : &s->on_ranks[k];
    if (what == BY_RANKS_GAIN ? s->has_gain[k] : *text != NULL)
        return bad_line(l, err, "this was said already");
    if (what != BY_RANKS_GAIN) {
        *text = l->value;
        return what == BY_RANKS_CLASS ? check_classes(l, err) : 0;
    }
    if (parse_range(l->value, &s->gain[k]))
        return bad_line(l, err, "gain takes a range of percent, as in 'gain 1 = 30..90'");
    s->has_gain[k] = 1;
    return 0;
}

static int set_line(struct scenario *s, const struct line *l, struct dcr_err *err)
{
    const struct {
        const char *key;
        const char **where;
    } texts[] = {{"why", &s->why}, {"common", &s->common}, {"on", &s->on}, {"off", &s->off}, {"needs", &s->needs}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(l->key, texts[i].key)) {
            if (*texts[i].where)
                return bad_line(l, err, "this was said already");
            *texts[i].where = l->value;
            return !strcmp(l->key, "needs") && strcmp(l->value, "gpu") ? bad_line(l, err, "needs can only be gpu") : 0;
        }
    if (!strcmp(l->key, "draw"))
        return add_draw(s, l, err);
    for (int w = 0; w < N_BY_RANKS; w++) {
        size_t n = strlen(by_ranks[w]);
        if (!strncmp(l->key, by_ranks[w], n) && l->key[n] == ' ')
            return set_by_ranks(s, l, (enum by_ranks)w, ranks_index(trim(l->key + n)), err);
    }
    return bad_line(l, err,
                    "the keys are why, needs, common, on, off, draw, and for 1, 2 and 4 ranks 'on 2', "
                    "'class 2', 'gain 2'");
}

static int parse(struct scenario *s, struct dcr_err *err)
{
    struct line l = {.s = s};
    int rc = 0;
    for (char *at = s->text, *next; at && !rc; at = next) {
        next = strchr(at, '\n');
        if (next)
            *next++ = 0;
        l.number++;
        char *text = trim(at), *equals = strchr(text, '=');
        if (!*text || *text == '#')
            continue;
        if (!equals)
            return bad_line(&l, err, "a line is KEY = VALUE, or a comment behind #");
        *equals = 0;
        l.key = trim(text);
        l.value = trim(equals + 1);
        rc = set_line(s, &l, err);
    }
    return rc;
}

/* ---- names of numbers ---------------------------------------------------------------------------- */

/* Which draw has a name of n bytes; -1: none (`seed` is none). */
static int draw_index(const struct scenario *s, const char *name, size_t n)
{
    for (int i = 0; i < s->n_draws; i++)
        if (strlen(s->draws[i].name) == n && !strncmp(s->draws[i].name, name, n))
            return i;
    return -1;
}

/* Every {name} is drawn, and every draw is used. */
static int check_names(const struct scenario *s, struct dcr_err *err)
{
    const char *const options[] = {s->common, s->on, s->off, s->on_ranks[0], s->on_ranks[1], s->on_ranks[2]};
    int is_used[SCENARIO_MAX_DRAWS] = {0};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        for (const char *at = options[i] ? strchr(options[i], '{') : NULL; at; at = strchr(at + 1, '{')) {
            size_t n = strcspn(at, "}");
            int k = draw_index(s, at + 1, n - 1);
            if (!at[n])
                return dcr_err_set(err, DCR_FAIL, "scenario '%s': '%.30s' has no closing brace", s->path, at);
            if (k < 0 && strncmp(at, "{seed}", 6))
                return dcr_err_set(err, DCR_FAIL, "scenario '%s': %.*s is not drawn; add 'draw = NAME LOW..HIGH'",
                                   s->path, (int)(n < 40 ? n + 1 : 40), at);
            if (k >= 0)
                is_used[k] = 1;
        }
    for (int i = 0; i < s->n_draws; i++)
        if (!is_used[i])
            return dcr_err_set(err, DCR_FAIL, "scenario '%s' draws '%s' but no option uses {%s}", s->path,
                               s->draws[i].name, s->draws[i].name);
    return 0;
}

static int check(struct scenario *s, struct dcr_err *err)
{
    if (!s->why || !s->on || !s->off)
        return dcr_err_set(err, DCR_FAIL, "scenario '%s' has no value for '%s ='", s->path,
                           !s->why  ? "why"
                           : !s->on ? "on"
                                    : "off");
    int n_claimed = 0;
    for (int i = 0; i < SCENARIO_N_RANKS; i++)
        n_claimed += s->classes[i] != NULL;
    if (!n_claimed)
        return dcr_err_set(err, DCR_FAIL, "scenario '%s' has no value for 'class %d ='", s->path, n_ranks_of[0]);
    s->common = s->common ? s->common : "";
    s->needs = s->needs ? s->needs : "";
    return check_names(s, err);
}

int scenario_read(struct scenario *s, const char *name, struct dcr_err *err)
{
    memset(s, 0, sizeof *s);
    int rc = 0;
    if (!strchr(name, '/') && !dcr_ends_with(name, ENDING))
        rc = find(name, s->path, err);
    else if (snprintf(s->path, sizeof s->path, "%s", name) >= (int)sizeof s->path)
        rc = dcr_err_set(err, DCR_FAIL, "the name of the scenario is too long");
    const char *base = strrchr(s->path, '/');
    snprintf(s->name, sizeof s->name, "%.63s", base ? base + 1 : s->path);
    if (dcr_ends_with(s->name, ENDING))
        s->name[strlen(s->name) - strlen(ENDING)] = 0;
    if (!rc)
        rc = read_text(s, err);
    if (!rc)
        rc = parse(s, err);
    return rc ? rc : check(s, err);
}

/* ---- the options of one run ------------------------------------------------------------------------ */

/* Adds options to text, with numbers in place of {names}. returns the length; n_text or more: no room */
static size_t put_options(const struct scenario *s, const char *options, uint64_t seed, char *text, size_t len,
                          size_t n_text)
{
    for (const char *at = options; *at && len < n_text;) {
        size_t n = strcspn(at, "{");
        len += (size_t)snprintf(text + len, n_text - len, "%.*s", (int)n, at);
        at += n;
        if (!*at || len >= n_text)
            continue;
        n = strcspn(at, "}");
        int k = draw_index(s, at + 1, n - 1);
        const struct scenario_range r = k < 0 ? (struct scenario_range){0, 0} : s->draws[k].range;
        uint64_t by = k < 0 ? 1 : (uint64_t)s->draws[k].by;
        uint64_t value =
            k < 0 ? seed
                  : by * rng_below(seed, RNG_SCENARIO, (uint64_t)k, ((uint64_t)r.high - (uint64_t)r.low) / by + 1);
        len += (size_t)snprintf(text + len, n_text - len, "%lld", (long long)value + r.low);
        at += n + 1;
    }
    return len;
}

/* The options of this choice, in the order in which they count. returns how many of parts are filled, -1 when the
 * scenario says nothing for so many ranks */
static int choose(const struct scenario *s, const struct scenario_choice *c, const char *parts[3])
{
    int has_ranks = 0, n = 0;
    parts[n++] = s->common;
    parts[n++] = c->is_off ? s->off : s->on;
    for (int i = 0; i < SCENARIO_N_RANKS; i++) {
        has_ranks |= s->on_ranks[i] != NULL;
        if (!c->is_off && n_ranks_of[i] == c->n_ranks && s->on_ranks[i])
            parts[n++] = s->on_ranks[i];
    }
    return has_ranks && !c->is_off && n == 2 ? -1 : n;
}

int scenario_words(const struct scenario *s, const struct scenario_choice *c, char *text, size_t n_text, char **words,
                   int *n_words, struct dcr_err *err)
{
    const char *parts[3];
    int n_parts = choose(s, c, parts);
    size_t len = 0;
    *n_words = 0;
    if (n_parts < 0)
        return dcr_err_set(err, DCR_FAIL, "scenario '%s' says nothing for %d ranks; run it on 1, 2 or 4", s->path,
                           c->n_ranks);
    for (int i = 0; i < n_parts && len < n_text; i++) {
        len = put_options(s, parts[i], c->seed, text, len, n_text);
        len += len < n_text ? (size_t)snprintf(text + len, n_text - len, " ") : 0;
    }
    for (char *at = text + strspn(text, " \t"); len < n_text && *at; at += strspn(at, " \t")) {
        if (*n_words == SCENARIO_MAX_WORDS)
            break;
        words[(*n_words)++] = at;
        at += strcspn(at, " \t");
        if (*at)
            *at++ = 0;
    }
    if (len >= n_text || *n_words == SCENARIO_MAX_WORDS)
        return dcr_err_set(err, DCR_FAIL, "scenario '%s' has more options than there is room for", s->path);
    return 0;
}

int scenario_launched_ranks(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        int n = text ? (int)strtol(text, NULL, 10) : 0;
        if (n > 0)
            return n;
    }
    return 1;
}

/* The options with the knob on or off as one line, a space in front of each word. */
static int options_line(const struct scenario *s, const struct scenario_choice *c, int is_off, char line[SCENARIO_TEXT],
                        struct dcr_err *err)
{
    const struct scenario_choice each = {c->seed, is_off, c->n_ranks};
    char text[SCENARIO_TEXT], *words[SCENARIO_MAX_WORDS];
    size_t len = 0;
    int n_words = 0, rc = scenario_words(s, &each, text, sizeof text, words, &n_words, err);
    *line = 0;
    for (int i = 0; !rc && i < n_words; i++) /* as long as in text, which they came from */
        len += (size_t)snprintf(line + len, SCENARIO_TEXT - len, " %s", words[i]);
    return rc;
}

int scenario_is_idle(const struct scenario *s, const struct scenario_choice *c)
{
    int is_idle = 0, saves_elsewhere = 0;
    for (int i = 0; i < SCENARIO_N_RANKS; i++) {
        if (n_ranks_of[i] == c->n_ranks)
            is_idle = s->has_gain[i] && s->gain[i].low <= 0;
        else
            saves_elsewhere |= s->has_gain[i] && s->gain[i].low > 0;
    }
    return is_idle && saves_elsewhere;
}

int scenario_show(const struct scenario *s, const struct scenario_choice *c, FILE *out, struct dcr_err *err)
{
    text_print(out, "scenario: %s\nfile: %s\nseed: %llu\nwhy: %s\n", s->name, s->path, (unsigned long long)c->seed,
               s->why);
    if (*s->needs)
        text_print(out, "needs: %s\n", s->needs);
    char line[SCENARIO_TEXT];
    for (int is_off = 0; is_off < 2; is_off++) {
        int rc = options_line(s, c, is_off, line, err);
        if (rc)
            return rc;
        text_print(out, "%s:%s\n", is_off ? "off" : "on", line);
    }
    if (scenario_is_idle(s, c))
        fprintf(out, "note: on %d rank%s the knob saves nothing; start it by `mpirun -n 2` or `mpirun -n 4`\n",
                c->n_ranks, c->n_ranks == 1 ? "" : "s");
    fprintf(out,
            "note: class N: the class that the report of N ranks has to name; gain N: percent of the step that the "
            "knob saves\n");
    for (int i = 0; i < SCENARIO_N_RANKS; i++)
        if (s->classes[i])
            text_print(out, "class %d: %s\n", n_ranks_of[i], s->classes[i]);
    for (int i = 0; i < SCENARIO_N_RANKS; i++)
        if (s->has_gain[i])
            fprintf(out, "gain %d: %d..%d\n", n_ranks_of[i], s->gain[i].low, s->gain[i].high);
    return 0;
}
