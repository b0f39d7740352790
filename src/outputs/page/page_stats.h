/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_PAGE_PAGE_STATS_H
#define SD_OUTPUTS_PAGE_PAGE_STATS_H
/* page_stats: what pages of other tools' statistics share. */
#include "base/intern.h"
#include "outputs/page/page_maker.h"

/* A copy that lives with the maker; NULL when out of memory. */
const char *sd_page_text_of(struct sd_page_maker *m, const struct sd_intern_string *s);
struct sd_cell sd_page_seconds(double s);
struct sd_cell sd_page_percent(double part, double all);
/* The first table of a view, unless it has no rows. */
int sd_page_add_table(struct sd_page_maker *m, const struct sd_view *v);
/* A table's first rows are what readers without script see. */
void sd_page_set_hottest(struct sd_page_maker *m, const struct sd_view_table *first);
/* Writes the page, unless `rc` says that it could not be made, and releases the maker.
 */
int sd_page_finish(struct sd_page_maker *m, int rc, struct sd_out *out);
#endif
