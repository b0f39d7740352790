/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_PAGE_PAGE_MAKER_H
#define SD_OUTPUTS_PAGE_PAGE_MAKER_H
/* page_maker: gathers what a page shows of what was read (report/page/html_page.h): the
 * views of views.def that have something to show, curves above the time, and a head.
 *
 * Everything that it hands to the page lives as long as the maker. */
#include "analyse/model/model_costs.h"
#include "analyse/views.h"
#include "formats/output.h"
#include "profile/slices.h"
#include "report/page/html_page.h"

/* What of it, and what is left out; all zero is everything. */
struct sd_page_request {
    const char *name; /* of the file, for the title: its last part is shown */
    unsigned privacy; /* enum sd_page_privacy */
    const struct sd_filter *filter;      /* a profile was loaded with it, or NULL */
    const struct sd_view_request *opens; /* what is selected at first, or NULL */
    uint64_t recorded_ns; /* when the file was written (CLOCK_REALTIME), where it does
                             not say itself when its run began */
};

struct sd_made_view;
struct sd_page_maker {
    const struct sd_page_request *request;
    const struct sd_profile *profile; /* or NULL */
    struct sd_arena arena;
    struct sd_made_view *made; /* views, which own their tables; in the arena */
    struct sd_page page;
    struct sd_page_view *views; /* owned, as all below */
    size_t n_views, cap_views;
    struct sd_page_lane *lanes;
    size_t n_lanes, cap_lanes;
    struct sd_page_item *items;
    size_t n_items, cap_items;
    const char **notes;
    size_t n_notes, cap_notes;
    struct sd_view_stacks *stacks;
    size_t n_stacks, cap_stacks;
    size_t n_source_bytes;
    struct sd_model model; /* of a capture, where has_model */
    struct sd_model_costs costs;
    bool has_model, has_costs;
    enum sd_evidence evidence[SD_EVIDENCES]; /* of each block */
    struct sd_slices slices[SD_EVIDENCES];
    struct sd_profile_findings findings;
};

/* Writes the page of the captures in these files, which are one profile. */
int sd_page_put_profile(const struct sd_page_request *request,
                        const struct sd_profile *p, char *const *files, size_t n_files,
                        struct sd_out *out);

/* The same of functions and their callers alone, and of lines alone. */
int sd_page_put_calls(const struct sd_page_request *request,
                      const struct sd_call_stats *calls, struct sd_out *out);
int sd_page_put_lines(const struct sd_page_request *request,
                      const struct sd_line_stats *lines, struct sd_out *out);

/* The same of a model; the request says which metric shares and bars are of, and what
 * this machine can do. */
int sd_page_put_model(const struct sd_page_request *request,
                      const struct sd_model_costs *c,
                      const struct sd_view_request *views, struct sd_out *out);

/* --- For its own files */

void sd_page_maker_init(struct sd_page_maker *m, const struct sd_page_request *request);
void sd_page_maker_release(struct sd_page_maker *m);
/* The page, borrowed from the maker, after everything was added. */
const struct sd_page *sd_page_made(struct sd_page_maker *m);

/* A view of its own, released with the maker; NULL when out of memory. */
struct sd_view *sd_page_new_view(struct sd_page_maker *m);
int sd_page_add_view(struct sd_page_maker *m, const struct sd_page_view *v);
int sd_page_add_lane(struct sd_page_maker *m, const struct sd_page_lane *l);
int sd_page_add_note(struct sd_page_maker *m, const char *text);
/* Copies both. */
int sd_page_add_item(struct sd_page_maker *m, const char *label, const char *value);

/* All of the captures in these files, which are one profile. */
int sd_page_of_profile(struct sd_page_maker *m, const struct sd_profile *p,
                       char *const *files, size_t n_files);
/* Its parts: page_head.c, page_lanes.c, page_views.c. */
int sd_page_head_of(struct sd_page_maker *m);
int sd_page_lanes_of(struct sd_page_maker *m);
int sd_page_views_of(struct sd_page_maker *m);
/* Adds one view alone, the one that the request names, as it shows a profile that was
 * loaded with the request's part; nothing, where that has nothing of it.  SD_EUSAGE for
 * a view that a page makes itself. */
int sd_page_view_of(struct sd_page_maker *m, const struct sd_profile *p,
                    const struct sd_view_request *r);

/* Calls it with every drawing; false when one of them was. */
bool sd_page_hide_drawings(struct sd_page_maker *m,
                           bool (*hide)(void *of, struct sd_drawing *d), void *of);
/* page_opens.c: what is selected at first, of a page that has its stacks.  SD_EUSAGE
 * where it is not to be found. */
int sd_page_open_with(struct sd_page_maker *m);
/* page_models.c: the views of a model, which stays as long as the maker; and those of
 * the one that the capture holds. */
int sd_page_add_model(struct sd_page_maker *m, const struct sd_model_costs *c,
                      const struct sd_view_request *views);
int sd_page_models_of(struct sd_page_maker *m);
/* Leaves host, folders and arguments out of all that was added. */
int sd_page_hide(struct sd_page_maker *m);
/* page_sources.c: the text of those files that may be shown, and of others why not. */
int sd_page_add_source(struct sd_page_maker *m, struct sd_view_source *s);

/* page_derived.c: what the page makes of stacks of this evidence in place of the view's
 * data: a word of types.ts; NULL: it has its data from here. */
const char *sd_page_derives(const struct sd_view_about *a, enum sd_evidence e,
                            bool has_time);
/* Do these stacks have what that word needs? */
bool sd_page_can_derive(const char *word, const struct sd_view_stacks *s);
#endif
