/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SHARED_TREE_TRACKS_H
#define SD_COLLECT_SHARED_TREE_TRACKS_H
/* tree_tracks: the processes of a tree as tracks of a log, each under its parent. */
#include <stddef.h>
#include <stdint.h>

#include "capture/log.h"
#include "process/tree.h"

enum {
    SD_TREE_ANCESTORS = 32, /* parents' tracks that are defined with a process's own */
    /* Bytes for one track, without a command. */
    SD_ROOM_PROCESS = SD_ROOM_TRACK + SD_ROOM_STRING(SD_PROCESS_NAME),
};

/* Differs after an exec: pid and start time stay, and what the process is called
 * changes; then its track is defined again. */
uint64_t sd_tree_track_key(const struct sd_tree_member *m);
/* Bytes that sd_tree_track may put into the log. */
size_t sd_tree_track_room(const struct sd_tree *t, size_t member);
/* The id of the process's track, which is defined with those above it where this chunk
 * does not have them yet; inside room only. */
uint32_t sd_tree_track(struct sd_log *l, const struct sd_tree *t, size_t member);
#endif
