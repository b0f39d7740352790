/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_STACKS_THREADS_H
#define SD_ANALYSE_STACKS_THREADS_H
/* threads: the columns that say whose a row is, for tables that have a row for each
 * thread and for those of each thread in one. */
#include "analyse/analyse.h"
#include "analyse/views.h"

enum { SD_THREAD_PROCESS, SD_THREAD_NUMBER, SD_THREAD_NAME, SD_THREAD_COLUMNS };
extern const struct sd_column sd_thread_columns[SD_THREAD_COLUMNS];

/* Their cells, with texts in the arena.  0 or SD_ENOMEM. */
int sd_thread_cells(struct sd_arena *a, const struct sd_profile *p, uint32_t track,
                    struct sd_cell cells[SD_THREAD_COLUMNS]);
/* "thread 1234 MainThread, process 1230 python" */
void sd_thread_words(struct sd_buf *to, const struct sd_profile *p, uint32_t track);

/* A table for each thread of the evidence that is chosen; for programs all of them in
 * one, with columns that say whose a row is.  `make` adds at most one table to the
 * view, of the profile that it gets. */
int sd_stacks_by_thread(const struct sd_profile *p, const struct sd_view_request *r,
                        sd_profile_view *make, struct sd_view *v);
/* A table without rows: the columns that say whose a row is. */
int sd_stacks_no_threads(struct sd_view *v);
#endif
