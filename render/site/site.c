/* site.c - the order in which a site is made; see site.h. Called by main(). */
#include "render/site/timeline/spans.h"
#include "render/site/site.h"

#include "render/findings/rules/analyse.h"
#include "lib/base/utf8.h"
#include "render/site/theme/inside.h"
#include "render/site/single.h"
#include "render/site/workers.h"

#include <string.h>
#include <time.h>

const struct run_watch *site_watch(void)
{
    return &spans_watch;
}

int site_check_out(const char *out_dir, struct dcr_err *err)
{
    return publish_check(out_dir, err);
}

int site_check_outside(const char *out_dir, const char *option, const char *file, struct dcr_err *err)
{
    return publish_check_outside(out_dir, option, file, err);
}

static void write_documents(struct site *s)
{
    for (int i = 0; i < s->rep->n_documents && !s->rc; i++) {
        const struct document *d = &s->rep->documents[i];
        site_write(s, d->path, d->bytes, d->len);
    }
}

/* The archives that the report uses. Archives of different folders may have equal names. */
static void cite(struct site *s)
{
    const struct report *rep = s->rep;
    s->cited = dcr_arena_alloc(&s->arena, (size_t)(rep->n_runs + rep->n_before + 1) * sizeof *s->cited);
    for (int i = 0; i < rep->n_runs; i++)
        s->cited[s->n_cited++] = (struct cited){report_source(&s->arena, rep->runs[i].run), i, NULL};
    for (int i = 0; i < rep->n_before; i++)
        s->cited[s->n_cited++] = (struct cited){rep->before[i], -1, NULL};
    for (int i = 0; i < s->n_cited; i++) {
        int same = 0;
        for (int k = 0; k < s->n_cited; k++)
            same += strcmp(s->cited[k].is.archive, s->cited[i].is.archive) == 0;
        if (s->cited[i].run < 0)
            s->cited[i].which = "before";
        else if (same > 1)
            s->cited[i].which = rep->runs[s->cited[i].run].label;
    }
}

/* The names of the archives, so that a picture on its own still tells where its numbers are from. */
static const char *sources(struct site *s)
{
    struct dcr_buf out = {0};
    for (int i = 0; i < s->n_cited; i++) {
        const struct cited *c = &s->cited[i];
        dcr_buf_printf(&out, "%s%s%s", i ? ", " : "", c->is.archive, c->run < 0 ? " before" : "");
        if (*c->is.sha256)
            dcr_buf_printf(&out, " (%s sha256 %s)", c->is.sha256_of, c->is.sha256);
    }
    size_t room = 3 * out.len + 1;
    char *text = dcr_arena_alloc(&s->arena, room);
    utf8_clean(dcr_buf_text(&out), text, room); /* a file name may hold anything */
    dcr_buf_release(&out);
    return text;
}

static const char *evidence_date(struct site *s)
{
    double last = 0;
    for (int i = 0; i < s->rep->n_runs; i++)
        last = s->rep->runs[i].run->ended_s > last ? s->rep->runs[i].run->ended_s : last;
    time_t t = last < 4e9 ? (time_t)last : 0; /* an archive may hold a false time */
    struct tm tm;
    char text[32];
    gmtime_r(&t, &tm);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return site_text(s, "%s", text);
}

int site_publish(const struct report *rep, const struct site_options *opt, struct dcr_err *err)
{
    struct site s = {.rep = rep,
                     .err = err,
                     .single_file = opt->single_file,
                     .inputs = opt->inputs,
                     .input_runs = opt->runs,
                     .n_inputs = opt->n_inputs};
    int rc = publish_begin(&s.publish, opt->out_dir, err);
    if (rc)
        goto out;
    rc = theme_open(&s.theme, opt->theme_dir, err);
    if (rc)
        goto out;
    s.typeface = typeface_new();
    if (!s.typeface) {
        rc = dcr_err_set(err, DCR_FATAL, "out of memory making the site");
        goto out;
    }
    s.data_files = view_list(&s);
    cite(&s);
    s.sources = sources(&s);
    s.date = evidence_date(&s);
    write_documents(&s);
    page_index(&s);
    page_runs(&s);
    page_scaling(&s);
    page_compare(&s);
    page_methodology(&s);
    single_write(&s);
    rc = s.rc;
    if (rc == 0)
        rc = publish_commit(&s.publish, err);
out:
    publish_abort(&s.publish);
    theme_close(s.theme);
    typeface_free(s.typeface);
    typeface_forget();
    json_decref(s.data_files);
    json_decref(s.series_views);
    dcr_arena_release(&s.arena);
    return rc;
}
