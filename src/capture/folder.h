/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_FOLDER_H
#define SD_CAPTURE_FOLDER_H
/* folder: reads the live folder from another process: the owner while it seals, readers
 * after a crash.
 *
 * Files are read with pread(2), never mapped: a process that cuts its file short (it is
 * a stranger) must not kill whoever reads it. */
#include <stdbool.h>
#include <stdint.h>

#include "capture/chunk.h"
#include "capture/live.h"

struct sd_live_in { /* one live or cells file */
    struct sd_live_name name;
    int fd;                   /* owned; -1 when closed */
    struct sd_live_head head; /* as last read */
};

/* Opens folder/capture and checks it.  SD_EABSENT, SD_EFORMAT without a sentence. */
int sd_folder_bell(const char *dir, struct sd_bell *bell);

/* Calls `each` for every name in the folder that is one of ours, until it says other
 * than 0, which is returned.  No folder is an empty one; one that cannot be listed is a
 * failure with a sentence, as nothing may be concluded about it. */
typedef int sd_folder_each(void *of, const struct sd_live_name *name);
int sd_folder_walk(const char *dir, sd_folder_each *each, void *of);

/* Opens a file of the folder by name, read-only unless `to_write`; -1 with errno. */
int sd_folder_open(const char *dir, const struct sd_live_name *name, bool to_write);
void sd_folder_unlink(const char *dir, const struct sd_live_name *name);
/* Removes all files that are ours, then the folder.  False when something stays. */
bool sd_folder_remove(const char *dir);

/* Without a sentence: SD_EFORMAT for a head that is not (yet) one of this capture,
 * SD_EABSENT for a file that is not there, SD_EIO with errno for one that cannot be
 * opened. */
int sd_live_in_open(struct sd_live_in *in, const char *dir,
                    const struct sd_live_name *name, uint64_t salt, bool to_write);
int sd_live_in_refresh(struct sd_live_in *in, uint64_t salt);
void sd_live_in_close(struct sd_live_in *in);
/* Is it certain that nothing more will be written? */
bool sd_live_in_is_final(const struct sd_live_in *in);
/* Is it certain that its process still runs, and may write more?  Where the folder is
 * of this boot. */
bool sd_live_in_is_alive(const struct sd_live_in *in);

/* The words of slot i, checked.  False when they are not sound. */
bool sd_live_in_slot(const struct sd_live_in *in, uint32_t i, struct sd_slot *slot);

/* Takes a copy of one half into buf (SD_CHUNK_RAW_MAX bytes) and makes the header of
 * the chunk it would be (checksum not filled).  1: taken; 0: nothing there; SD_ETORN:
 * it was handed on meanwhile, look elsewhere; SD_EIO: it cannot be read now.
 * *bad_bytes: committed, but no records. */
int sd_live_in_half(const struct sd_live_in *in, uint32_t i, const struct sd_slot *slot,
                    int half, uint8_t *buf, struct sd_chunk_head *head,
                    uint32_t *bad_bytes);
/* Stores FREE: the half is sealed and the producer may have it again.  Of a half that
 * was still FILLING, whose producer is gone, the losses went into its chunk too. */
int sd_live_in_free_half(const struct sd_live_in *in, uint32_t i,
                         const struct sd_slot *slot, int half);
/* Losses of a slot that no half of it will carry. */
uint32_t sd_slot_stray_losses(const struct sd_slot *slot);
#endif
