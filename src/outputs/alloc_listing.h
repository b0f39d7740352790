/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_ALLOC_LISTING_H
#define SD_OUTPUTS_ALLOC_LISTING_H
/* alloc_listing: the lines that allocated, with their source: for eyes a table for each
 * file, the one with most first; for programs the table `allocations` with a column
 * more.
 *
 * It needs no tracing of lines: stacks say which line asked for a block. */
#include "analyse/views.h"
#include "outputs/remarks.h"

/* Fills a zeroed view with the lines of the table `allocations` that the request asks
 * for.  Of a file that has changed since the run the source is left out, and a remark
 * says so. */
int sd_alloc_listing_of(const struct sd_profile *p, const struct sd_view_request *r,
                        const struct sd_remarks *remarks, struct sd_view *v);
#endif
