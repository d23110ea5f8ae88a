/* site.c - the order in which a site is made; see site.h. Called by main(). */
#include "render/site/site.h"

#include "render/site/inside.h"

int site_check_out(const char *out_dir, struct dcr_err *err)
{
    return publish_check(out_dir, err);
}

static void write_documents(struct site *s)
{
    for (int i = 0; i < s->rep->n_documents && !s->rc; i++) {
        const struct document *d = &s->rep->documents[i];
        site_write(s, d->path, d->bytes, d->len);
    }
}

int site_publish(const struct report *rep, const struct site_options *opt, struct dcr_err *err)
{
    struct site s = {.rep = rep, .err = err};
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
    write_documents(&s);
    page_index(&s);
    for (int i = 0; i < rep->n_runs; i++)
        page_run(&s, i);
    page_analysis(&s);
    page_methodology(&s);
    rc = s.rc;
    if (rc == 0)
        rc = publish_commit(&s.publish, err);
out:
    publish_abort(&s.publish);
    theme_close(s.theme);
    typeface_free(s.typeface);
    typeface_forget();
    dcr_arena_release(&s.arena);
    return rc;
}
