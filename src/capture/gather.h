/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_GATHER_H
#define SD_CAPTURE_GATHER_H
/* gather: finds all chunks of a capture, in its file and in its live folder (gather.c),
 * and says what is missing (complaint.c); the inside of a reader. */
#include <stdatomic.h>

#include "capture/folder.h"
#include "capture/reader.h"
#include "capture/refs.h"
#include "capture/source.h"

struct sd_reader {
    char *dir;     /* the live folder's name; owned, or NULL */
    uint64_t salt; /* 0 until known */
    struct sd_source file;
    uint64_t scanned;           /* bytes of it */
    struct sd_live_name *files; /* live files, and their .chunks; owned */
    size_t n_files, cap_files;
    struct sd_source spilled; /* the .chunks file that is open: one at a time, as there
                                 may be more of them than descriptors */
    uint32_t spilled_i;       /* which of `files` */
    struct sd_refs late;      /* chunks that came into the file after opening */
    struct sd_refs refs;
    uint16_t left_out;     /* type of chunks that are passed; 0: none */
    size_t at;             /* next to be handed out */
    const uint8_t *chosen; /* which ones are, by place; borrowed; NULL: all */
    _Atomic uint64_t n_read;
    uint8_t *raw; /* SD_CHUNK_RAW_MAX bytes: the chunk that is open; owned */
    struct sd_squeezer squeezer;
    struct sd_end end;
    uint64_t n_sealed; /* whole chunks in the file itself, END not counted */
    bool is_preamble_bad;
    bool is_part;     /* of a merged file: it has no live folder and does not grow */
    uint64_t next_at; /* where the next part begins, from this one on; or 0 */
    uint32_t n_parts_gone;  /* that should follow and do not */
    bool is_folder_foreign; /* its salt is another capture's */
    bool is_boot_ours;      /* the folder was made since this machine started */
    struct sd_health health;
    char complaint[512], damage[512];
};

/* Everything that can be found, in order; health is filled. */
int sd_gather(struct sd_reader *r);
/* Opens the .chunks file number i (of `files`) as r->spilled, unless it is.  False when
 * there is none any more. */
bool sd_gather_spilled(struct sd_reader *r, uint32_t i);
/* Adds the chunks of r->spilled, which is that of `in`, from where its owner has not
 * sealed them. */
int sd_gather_chunks(struct sd_reader *r, struct sd_live_in *in);
/* A chunk that is no longer in the folder has moved into the file: its place there, or
 * NULL. */
const struct sd_ref *sd_gather_late(struct sd_reader *r, const struct sd_ref *ref);
/* Fills r->complaint from health. */
void sd_complain(struct sd_reader *r);
#endif
