/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_PAGE_HTML_PAGE_H
#define SD_REPORT_PAGE_HTML_PAGE_H
/* html_page: one HTML file that shows views, linked with each other, in a browser.
 *
 * It opens from any disk and asks the network for nothing.  The built page
 * (web/dist/page.html) draws shapes and knows no collector by name; here it is given
 * its data: a list of views, each with a shape, and what is common to them (stacks
 * over time, sections, curves above the time).  web/src/types.ts says what each member
 * means.
 *
 * A page is never larger than SD_PAGE_BYTES.  One that would be goes without what is
 * narrower than a pixel of a wide screen: such stacks and sections are shown as
 * "(pruned)", and sums stay exact.  The same input gives the same bytes. */
#include "analyse/findings/findings.h"
#include "base/buf.h"
#include "base/out.h"

#ifdef SD_TINY
enum { SD_PAGE_BYTES = 400 * 1000 };
#else
enum { SD_PAGE_BYTES = 10 * 1000 * 1000 };
#endif
#define SD_PAGE_SCREEN 3840.0 /* pixels of a wide screen, from left to right */

struct sd_page_item { /* of the head: "wall", "12.4 s" */
    const char *label, *value;
};

/* A part of the timeline: curves of readings, or what is derived from a block of stacks
 * while the page runs. */
struct sd_page_lane {
    const char *title;
    enum sd_cell_kind kind;
    const struct sd_curve *curves; /* or NULL */
    size_t n_curves;
    const char *make; /* "activity" or "gil" of `stacks`, or NULL */
    size_t stacks;
};

struct sd_page_variant { /* the same table by other rows */
    const char *by;      /* "function", "line", "module" */
    bool is_mine;
    const struct sd_view_table *table;
};

/* Either it is derived from a block of stacks, or its data is here, or both: of a graph
 * the places of nodes. */
struct sd_page_view {
    const char *name, *title;
    enum sd_shape shape;
    unsigned follows; /* parts of a selection that change it: enum sd_selection_part */
    unsigned asks;    /* those by which a server can cut it (sd_page_view_of), which a
                         page from a file cannot */
    const char *make; /* what is derived: "functions"; or NULL */
    size_t stacks;    /* of which block; used when has_stacks */
    bool has_stacks;
    const struct sd_view_table *table;
    const struct sd_drawing *drawing;
    const struct sd_page_variant *variants;
    size_t n_variants;
};

struct sd_page {         /* all of it is borrowed */
    const char *title;   /* of the document */
    const char *program; /* "sonde 0.1.0" */
    uint64_t duration_ns;
    const char *command;   /* or NULL */
    const char *complaint; /* or NULL */
    const struct sd_page_item *items;
    size_t n_items;
    const char *const *notes;
    size_t n_notes;
    const struct sd_profile_findings *findings; /* or NULL */
    const struct sd_page_lane *lanes;
    size_t n_lanes;
    const struct sd_band *bands; /* names are paths */
    size_t n_bands;
    const struct sd_view_stacks *stacks;
    size_t n_stacks;
    const struct sd_page_view *views;
    size_t n_views;
    const char *opens; /* what is selected at first, as it would stand in its address
                          behind the #: "section=train&mine=1"; NULL: nothing */
    const char *opens_section; /* the section that it selects, by its path, or NULL */
    const struct sd_view_table *hottest; /* shown where no script runs, or NULL */
};

/* Writes the whole file. */
int sd_page_write(const struct sd_page *page, struct sd_out *out);
/* What a served page is given: the same data, packed with gzip, in at most so many
 * bytes. */
int sd_page_pack(const struct sd_page *page, size_t room, struct sd_out *to);
/* A page without data, which asks the server that it came from for it. */
void sd_page_write_served(struct sd_out *out);
/* Its Content-Security-Policy. */
void sd_page_served_policy(struct sd_buf *to);
/* What a page is given, without HTML: JSON with columns behind it (payload.h).  What
 * has a smaller part than `least` of the whole is in "(pruned)"; 0: nothing. */
int sd_page_data(const struct sd_page *page, double least, struct sd_buf *to);
#endif
