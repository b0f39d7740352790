/* SPDX-License-Identifier: MIT */
/* page_derived: says which views a page derives by itself from stacks over time, and
 * which parts of a selection move them. */
#include <string.h>

#include "outputs/page/page_maker.h"

static bool has_lines(const struct sd_view_stacks *s)
{
    for (size_t i = 0; i < s->n_frames; i++)
        if (s->frames[i].line > 0)
            return true;
    return false;
}

bool sd_page_can_derive(const char *word, const struct sd_view_stacks *s)
{
    return strcmp(word, "lines") != 0 || has_lines(s);
}

/* Calls that were traced have numbers of their own, which sums of stacks are not:
 * primitive calls, and what is beyond a full tree. */
const char *sd_page_derives(const struct sd_view_about *a, enum sd_evidence e,
                            bool has_time)
{
    return e == SD_CALLS && !has_time && a->shape == SD_SHAPE_TABLE ? NULL : a->recipe;
}

/* A block without time is the whole run; whose each stack is, it knows. */
unsigned sd_page_follows_of(const struct sd_view_about *a, enum sd_evidence e,
                            bool has_time)
{
    unsigned follows = has_time ? a->follows : a->follows & SD_PART_TRACK;

    (void)e;
    return (follows & SD_PART_TIME ? SD_PAGE_FOLLOWS_TIME : 0) |
           (follows & SD_PART_TRACK ? SD_PAGE_FOLLOWS_THREAD : 0) |
           (follows & SD_PART_SECTION ? SD_PAGE_FOLLOWS_SECTION : 0);
}
