/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_PROCESSES_H
#define SD_ANALYSE_PROCESSES_H
/* processes: lists processes with what they used, for the tables and the summary. */
#include "profile/profile.h"

/* A process is its track and all the threads and tasks in it. */
struct sd_process {
    bool is_one;                /* of which something was recorded */
    uint64_t first_ns, last_ns; /* first > last: only how it ended */
    uint32_t n_threads;         /* that recorded something */
};
/* By track, in one pass; the caller frees it with sd_free.  NULL: out of memory. */
struct sd_process *sd_processes_survey(const struct sd_profile *p);
/* The larger of its readings and of the kernel's mark, or -1.  The mark is of the whole
 * run: in a window only readings count. */
int64_t sd_process_peak_bytes(const struct sd_profile *p, sd_track_id process);
/* "1234 python", in the arena; NULL when out of memory. */
const char *sd_process_label(const struct sd_profile *p, uint32_t track,
                             struct sd_arena *a);
/* How long the whole run took, whatever passed the filter. */
uint64_t sd_run_wall_ns(const struct sd_profile *p);
#endif
