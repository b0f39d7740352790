/* SPDX-License-Identifier: MIT */
/* page_derived: says which views a page derives by itself from stacks over time, and
 * which parts of a selection move a view. */
#include <string.h>

#include "outputs/page/page_maker.h"

static const struct {
    const char *view, *word;
} derived[] = {
    { "functions", "functions" }, { "calls", "tree" },      { "lines", "lines" },
    { "callers", "callers" },     { "callees", "callees" }, { "threads", "threads" },
    { "flame", "flame" },         { "graph", "graph" },
};

/* Calls that were traced have numbers of their own, which sums of stacks are not:
 * primitive calls, and what is beyond a full tree. */
const char *sd_page_derives(const struct sd_view_about *a, enum sd_evidence e,
                            bool has_time)
{
    if (e == SD_CALLS && !has_time && a->shape == SD_SHAPE_TABLE)
        return NULL;
    for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
        if (strcmp(derived[i].view, a->name) == 0)
            return derived[i].word;
    return NULL;
}

unsigned sd_page_follows_of(const struct sd_view_about *a, const char *word,
                            bool has_time)
{
    (void)a;
    if (!word)
        return SD_PAGE_FOLLOWS_NOTHING;
    return SD_PAGE_FOLLOWS_THREAD |
           (has_time ? SD_PAGE_FOLLOWS_TIME | SD_PAGE_FOLLOWS_SECTION : 0);
}
