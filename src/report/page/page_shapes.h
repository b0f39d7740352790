/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_PAGE_PAGE_SHAPES_H
#define SD_REPORT_PAGE_PAGE_SHAPES_H
/* page_shapes: writes each shape of views into a payload: a function for each, as the
 * open object's members.  The shapes that have no function here are written as
 * `report --json` writes them. */
#include "report/page/html_page.h"
#include "report/page/payload.h"

/* "count", "ns", ...: what a number is. */
const char *sd_page_unit(enum sd_cell_kind kind);
/* "key": [ the curves, with their points as columns ] */
void sd_page_put_curves(struct sd_payload *p, const struct sd_curve *curves, size_t n);
void sd_page_put_bands(struct sd_payload *p, const struct sd_band *bands, size_t n);

/* At most `n_most` rows, which its note says. */
void sd_page_put_table(struct sd_payload *p, const struct sd_view_table *t,
                       size_t n_most);
/* "columns": [ of its first n rows ] */
void sd_page_put_columns(struct sd_payload *p, const struct sd_view_table *t, size_t n);
void sd_page_put_series(struct sd_payload *p, const struct sd_view_series *s);
/* `stacks` are those it was drawn of, or NULL. */
int sd_page_put_graph(struct sd_payload *p, const struct sd_view_graph *g,
                      const struct sd_view_stacks *stacks);
/* Files of which these stacks have functions, without figures, which the page derives
 * from the stacks; NULL: counted lines of `n_most` files.  A file with its text is
 * always there. */
void sd_page_put_source(struct sd_payload *p, const struct sd_view_source *s,
                        const struct sd_view_stacks *stacks, size_t n_most);
int sd_page_put_map(struct sd_payload *p, const struct sd_view_map *m);

/* `sections` are the page's: a number for each path. */
void sd_page_put_stacks(struct sd_payload *p, const struct sd_view_stacks *s,
                        const struct sd_intern *sections);
/* The same stacks, less those with a smaller part than `least` of everything under
 * every metric: their amounts are in "(pruned)", a box on what called them.  Columns
 * that change are made in the arena. */
int sd_page_prune(const struct sd_view_stacks *from, double least, struct sd_arena *a,
                  struct sd_view_stacks *to);
/* page_sections.c: adds the paths of those sections that are no smaller part. */
int sd_page_keep_sections(const struct sd_view_stacks *s, double least,
                          struct sd_intern *kept);
/* The same stacks with all other sections as one; 0 or SD_ENOMEM. */
int sd_page_fold_sections(const struct sd_view_stacks *from,
                          const struct sd_intern *kept, struct sd_arena *a,
                          struct sd_view_stacks *to);
/* Adds the name by which the page shows a section: one that none before has. */
int sd_page_name_section(struct sd_intern *names, const char *path);
/* How a pruned function or section is called. */
#define SD_PAGE_PRUNED "(pruned)"

/* Head and hottest functions as plain HTML. */
void sd_page_put_plain(struct sd_out *out, const struct sd_page *page);
#endif
