/* SPDX-License-Identifier: MIT */
/* page_derived: says which views a page derives by itself from stacks over time. */
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
