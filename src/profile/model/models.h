/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_MODEL_MODELS_H
#define SD_PROFILE_MODEL_MODELS_H
/* models: finds the models in a capture, as bytes (model.h reads them).
 *
 * A model is longer than a record may be, so it comes in pieces, which may stand in
 * several chunks.  Only one that is whole is shown; of others it is said how many there
 * were. */
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "capture/record.h"

struct sd_model_piece {
    struct sd_model_piece *next;
    uint32_t at, n;
    const uint8_t *p; /* in the profile's arena */
};

struct sd_model_bytes {
    uint64_t stream, number;       /* which model: the writer's number, in its stream */
    uint32_t total;                /* bytes */
    uint64_t have;                 /* of them that have come; more: some came twice */
    struct sd_model_piece *pieces; /* newest first */
    const uint8_t *whole;          /* once all are joined; NULL: not all are there */
};

struct sd_models {
    struct sd_model_bytes *items; /* owned */
    size_t n, cap;
    struct sd_table known; /* hash of stream and number to a place in `items` */
};

struct sd_profile;
/* A piece, of a sound record. */
int sd_models_add(struct sd_profile *p, uint64_t stream, const struct sd_rec_model *r);
/* Another profile's, whole. */
int sd_models_take(struct sd_profile *p, const struct sd_models *from);
/* All pieces are there that will come: joins them.  *n_cut counts those with holes. */
int sd_models_join(struct sd_profile *p, size_t *n_cut);
void sd_models_release(struct sd_models *m);
#endif
