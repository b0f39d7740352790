/* SPDX-License-Identifier: MIT */
#include "cli/serve/first_look.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "capture/skim.h"

static int add_items(struct sd_page_maker *m, const struct sd_skim *skim)
{
    char text[SD_TEXT_MAX];
    int rc =
        sd_page_add_item(m, "wall", sd_text_duration(text, (int64_t)skim->lasted_ns));

    if (rc == 0)
        rc =
            sd_page_add_item(m, "events", sd_text_count(text, (int64_t)skim->n_events));
    if (rc == 0)
        rc =
            sd_page_add_item(m, "size", sd_text_bytes(text, (int64_t)skim->file_bytes));
    return rc;
}

/* How many events there are at each time. */
static int add_curve(struct sd_page_maker *m, const struct sd_skim *skim)
{
    struct sd_curve *curve = sd_arena_alloc(&m->arena, sizeof *curve);
    struct sd_curve_point *points =
        sd_arena_alloc(&m->arena, (skim->n_slices + 1) * sizeof *points);

    if (!curve || !points)
        return sd_no_memory();
    for (uint32_t i = 0; i < skim->n_slices; i++) {
        double n = skim->events[i];

        points[i] = (struct sd_curve_point){ (double)i * (double)skim->slice_ns / 1e9,
                                             n, n, n };
    }
    *curve = (struct sd_curve){ .name = "events",
                                .kind = SD_CELL_COUNT,
                                .points = points,
                                .n_points = skim->n_slices };
    return sd_page_add_lane(m, &(struct sd_page_lane){ .title = "Events",
                                                       .kind = SD_CELL_COUNT,
                                                       .curves = curve,
                                                       .n_curves = 1 });
}

static int add_all(struct sd_page_maker *m, const struct sd_skim *skim)
{
    int rc = sd_page_add_note(m, "The file is still being read. These figures are what "
                                 "the heads of its chunks tell.");

    m->page.duration_ns = skim->lasted_ns;
    if (rc == 0 && skim->n_chunks > 0)
        rc = add_items(m, skim);
    if (rc == 0 && skim->n_slices > 0)
        rc = add_curve(m, skim);
    return rc;
}

int sd_first_look(const struct sd_page_request *request, const char *path,
                  struct sd_out *to)
{
    struct sd_skim *skim = sd_zalloc(sizeof *skim);
    struct sd_page_maker m;
    int rc = skim ? 0 : sd_no_memory();

    if (rc < 0)
        return rc;
    if (sd_skim_file(path, skim) < 0)
        *skim = (struct sd_skim){ 0 };
    sd_page_maker_init(&m, request);
    rc = add_all(&m, skim);
    if (rc == 0)
        rc = sd_page_pack(sd_page_made(&m), SD_PAGE_BYTES, to);
    sd_page_maker_release(&m);
    sd_free(skim);
    return rc;
}
