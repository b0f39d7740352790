/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_SPILL_H
#define SD_CAPTURE_SPILL_H
/* spill: appends full halves that the owner does not fetch to the .chunks file of the
 * process.
 *
 * Made at its first use.  One write(2) per chunk; a chunk that does not fit is cut off
 * again, so that whatever stands in the file is whole. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "capture/chunk.h"
#include "capture/guarded_fd.h"

struct sd_spill {
    pthread_mutex_t lock; /* threads of the process take turns: a cut must not hit what
                             another has appended meanwhile */
    char *path;           /* absolute; owned */
    struct sd_guarded_fd file;
    _Atomic uint64_t *written; /* counts the bytes; borrowed, or NULL */
};

/* `take_path` becomes ours. */
void sd_spill_init(struct sd_spill *s, char *take_path, _Atomic uint64_t *written);
/* Appends one chunk, whose checksum is filled in here.  0 or an errno.  Never raises
 * SIGXFSZ.  errno itself is kept. */
int sd_spill_write(struct sd_spill *s, struct sd_chunk_head *head, const void *payload);
void sd_spill_release(struct sd_spill *s);
#endif
