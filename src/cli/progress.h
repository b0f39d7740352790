/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_PROGRESS_H
#define SD_CLI_PROGRESS_H
/* progress: shows a line on the terminal while a large capture is read.  It appears
 * when the work has taken a while, is drawn by a thread of its own, and leaves no
 * trace. */
#include <pthread.h>

#include "capture/reader.h"
#include "cli/verb.h"

struct sd_progress {
    const struct sd_reader *reader; /* borrowed; NULL: nothing is drawn */
    const char *name;               /* of the file, borrowed */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_over; /* under the lock */
};

/* Draws only when stderr is a terminal and nobody asked for quiet. */
void sd_progress_begin(struct sd_progress *p, const struct sd_command *c,
                       const struct sd_reader *reader, const char *name);
void sd_progress_end(struct sd_progress *p);
#endif
