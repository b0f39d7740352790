/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_GATHER_H
#define SD_CAPTURE_GATHER_H
/* gather: the inside of a reader: finds all chunks of a capture, in its file and in its
 * live folder (gather.c), and says what is missing (complaint.c). */
#include <stdatomic.h>

#include "capture/folder.h"
#include "capture/reader.h"
#include "capture/refs.h"
#include "capture/source.h"

struct sd_reader {
    char *dir;                 /* the live folder's name; owned, or NULL */
    uint64_t salt;             /* 0 until known */
    struct sd_source *sources; /* 0: the file; then each .chunks; owned */
    size_t n_sources, cap_sources;
    struct sd_live_name *files; /* live files; owned */
    size_t n_files, cap_files;
    struct sd_refs refs;
    size_t at; /* next to be handed out */
    _Atomic uint64_t n_read;
    uint8_t *raw; /* SD_CHUNK_RAW_MAX bytes: the chunk that is open; owned */
    struct sd_squeezer squeezer;
    struct sd_end end;
    uint64_t n_sealed; /* whole chunks in the file itself, END not counted */
    bool is_preamble_bad;
    bool is_folder_foreign; /* its salt is another capture's */
    struct sd_health health;
    char complaint[512];
};

/* Everything that can be found, in order; health is filled. */
int sd_gather(struct sd_reader *r);
/* Fills r->complaint from health. */
void sd_complain(struct sd_reader *r);
#endif
