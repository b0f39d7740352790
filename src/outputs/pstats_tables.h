/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_PSTATS_TABLES_H
#define SD_OUTPUTS_PSTATS_TABLES_H
/* pstats_tables: prints the traced calls of a capture in the tables of pstats, or
 * writes its file. */
#include "analyse/stacks/call_counts.h"
#include "base/out.h"
#include "outputs/call_report.h"

/* In the order and number of rows of `calls`; of the request, what counts and whether
 * there is a table for each thread, and none for all. */
int sd_pstats_tables_put(const struct sd_profile *p, const struct sd_view_request *r,
                         const struct sd_call_request *calls, struct sd_out *out);
/* A pstats file of all of it. */
int sd_pstats_tables_put_file(const struct sd_profile *p,
                              const struct sd_stacks_request *request,
                              struct sd_out *out);
/* Remarks on what is to be known of the numbers. */
void sd_pstats_tables_remark(const struct sd_profile *p,
                             const struct sd_stacks_request *request,
                             const struct sd_remarks *to);
#endif
