/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_LOCAL_IDS_H
#define SD_PROFILE_LOCAL_IDS_H
/* local_ids: maps the ids of a chunk to ids of the profile.
 *
 * A chunk defines strings, sites, tracks, metrics, shapes and stacks before it uses
 * them, and numbers them itself.  One small table of the decoder holds what the present
 * chunk has defined; it is emptied by counting chunks, not by clearing.  The ids of a
 * table of cells hold for its whole stream; there the small table grows with the
 * definitions.
 *
 * Ids are foreign: one that was never defined, or as something else, shows as
 * "[lost name]". */
#include "profile/decode.h"

struct sd_local_id {  /* what an id means in the present chunk */
    uint32_t chunk;   /* valid when it is the decoder's count */
    uint32_t kind;    /* enum sd_record_type */
    uint32_t id;      /* the profile's */
    uint32_t process; /* of a track */
};

/* A chunk has 256 KiB, a definition at least 16 bytes, and ids are numbered from 1. */
enum { SD_LOCAL_IDS = (1 << 14) + 1 };

/* hot: what was defined under this id, as this kind; NULL: nothing was. */
static inline struct sd_local_id *sd_local_find(const struct sd_decoder *d, uint32_t id,
                                                unsigned kind)
{
    struct sd_local_id *l;

    if (id == 0 || id >= d->n_locals)
        return NULL;
    l = &d->locals[id];
    return l->chunk == d->chunk_no && l->kind == kind ? l : NULL;
}

/* The same: the profile's id, or UINT32_MAX. */
static inline uint32_t sd_local_of(const struct sd_decoder *d, uint32_t id,
                                   unsigned kind)
{
    const struct sd_local_id *l = sd_local_find(d, id, kind);

    return l ? l->id : UINT32_MAX;
}

/* Kinds that a later version may add are shown as the nearest known one. */
static inline uint32_t sd_local_known_kind(uint32_t kind, uint32_t last,
                                           uint32_t otherwise)
{
    return kind >= 1 && kind <= last ? kind : otherwise;
}

/* Takes a definition: 0 or < 0.  Records of other types define nothing. */
int sd_local_define(struct sd_decoder *d, const struct sd_record *rec);
/* Makes room for the ids of a table with so many bytes of definitions. */
int sd_local_make_room(struct sd_decoder *d, uint64_t defs_bytes);
/* What stands for a definition that is not there. */
int sd_local_lost_site(const struct sd_decoder *d, uint32_t *id);
int sd_local_lost_track(const struct sd_decoder *d, uint32_t *id);
int sd_local_lost_stack(const struct sd_decoder *d, uint32_t *id);
#endif
