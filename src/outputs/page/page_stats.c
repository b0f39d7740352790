/* SPDX-License-Identifier: MIT */
#include "outputs/page/page_stats.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"

enum { HOTTEST = 20 };

const char *sd_page_text_of(struct sd_page_maker *m, const struct sd_intern_string *s)
{
    return sd_arena_string(&m->arena, s->p, s->n);
}

/* Times of strangers' files may be anything. */
struct sd_cell sd_page_seconds(double s)
{
    double ns = rint(s * 1e9);

    return sd_cell_number(SD_CELL_NS, ns > -0x1p62 && ns < 0x1p62 ? (int64_t)ns : 0);
}

struct sd_cell sd_page_percent(double part, double all)
{
    return all > 0 ? sd_cell_real(SD_CELL_PERCENT, 100 * part / all)
                   : (struct sd_cell){ 0 };
}

int sd_page_add_table(struct sd_page_maker *m, const struct sd_view *v)
{
    const struct sd_view_table *t = &v->tables[0];

    if (t->n_rows == 0)
        return 0;
    return sd_page_add_view(m, &(struct sd_page_view){ .name = t->name,
                                                       .title = t->title,
                                                       .shape = SD_SHAPE_TABLE,
                                                       .table = t });
}

void sd_page_set_hottest(struct sd_page_maker *m, const struct sd_view_table *first)
{
    struct sd_view_table *t = sd_arena_copy(&m->arena, first, sizeof *first);

    if (!t)
        return;
    t->n_rows = t->n_rows < HOTTEST ? t->n_rows : HOTTEST;
    m->page.hottest = t;
}

int sd_page_finish(struct sd_page_maker *m, int rc, struct sd_out *out)
{
    if (rc == 0 && m->request->privacy & SD_PAGE_SHARED)
        rc = sd_page_hide(m);
    if (rc == 0)
        rc = sd_page_write(sd_page_made(m), out);
    sd_page_maker_release(m);
    return rc;
}
