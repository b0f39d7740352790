/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_TABLES_H
#define SD_OUTPUTS_TABLES_H
/* tables: orders the rows of views and prints them, for report and the collectors'
 * verbs. */
#include "analyse/analyse.h"
#include "analyse/views.h"
#include "base/encoding/json.h"
#include "profile/profile.h"
#include "report/report.h"

/* Fills a zeroed view with what is wanted (analyse/views.h), less tables without rows,
 * in the order and number of rows that the request says.  SD_EUSAGE with a sentence
 * when there is no such view or column. */
int sd_tables_of(const struct sd_profile *p, const struct sd_view_request *r,
                 struct sd_view *v);

/* "10" rows, or "0.1" of them; NULL: as the request has it.  SD_EUSAGE for anything
 * else.
 */
int sd_tables_read_rows(const char *typed, struct sd_view_request *r);
/* Whether those of traced calls can be sorted as asked for, before there are any:
 * SD_EUSAGE with a sentence when no column is called so. */
int sd_tables_check_order(const struct sd_view_request *r);
/* Sorts them and cuts them to as many rows as are asked for. */
int sd_tables_order(struct sd_view *v, const struct sd_view_request *r);

void sd_tables_put_text(struct sd_out *out, const struct sd_view *v,
                        const struct sd_text_style *style);
/* The first of them: one table is one CSV file. */
void sd_tables_put_csv(struct sd_out *out, const struct sd_view *v);

/* "losses": all that is missing, a kind each; within an object. */
void sd_tables_put_losses_json(struct sd_json *j, const struct sd_profile *p);
/* One object: what the capture is, its summary, and every table and drawing under its
 * name.  Of a capture that is not kept there is no file. */
void sd_tables_put_json(struct sd_out *out, const struct sd_profile *p,
                        const struct sd_view *v, char *const *files, size_t n_files);

/* What the events of a capture tell, with what `run` knew unless a filter of time is
 * set.  SD_ENOMEM with its sentence; *out is then not to be shown. */
int sd_tables_summary(const struct sd_profile *p, struct sd_summary *out);
/* "12.4 s wall, 11.9 s CPU, peak 412 MiB, 1,239 samples (0 missed) in 1 process, 3
 * threads"; with `says_lost`, and where some are, "(0 missed, 2 lost)". */
void sd_tables_summary_words(struct sd_buf *to, const struct sd_profile *p,
                             bool says_lost);
#endif
