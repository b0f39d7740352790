/* SPDX-License-Identifier: MIT */
#include "profile/model/models.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "profile/profile_define.h"
#include "profile/profile.h"

static uint64_t key_of(uint64_t stream, uint64_t number)
{
    uint64_t both[] = { stream, number };

    return sd_hash(both, sizeof both, 0);
}

/* Of two with one hash the later is known: pieces of the earlier that come behind it
 * are a model that is not whole. */
static struct sd_model_bytes *find(struct sd_models *m, uint64_t stream,
                                   uint64_t number)
{
    struct sd_model_bytes *b;
    uint64_t at;

    if (!sd_table_get(&m->known, key_of(stream, number), &at) || at >= m->n)
        return NULL;
    b = &m->items[at];
    return b->stream == stream && b->number == number ? b : NULL;
}

static int add(struct sd_models *m, const struct sd_model_bytes *one)
{
    struct sd_model_bytes *grown =
        sd_grow_array(m->items, &m->cap, m->n + 1, sizeof *m->items);

    if (!grown)
        return sd_no_memory();
    m->items = grown;
    m->items[m->n++] = *one;
    return 0;
}

int sd_models_add(struct sd_profile *p, uint64_t stream, const struct sd_rec_model *r)
{
    struct sd_models *models = &p->evidence[SD_MODELS].models;
    struct sd_model_bytes *b = find(models, stream, r->number);
    struct sd_model_bytes fresh = { .stream = stream,
                                    .number = r->number,
                                    .total = r->total };
    struct sd_model_piece *piece;

    if (!sd_profile_has_room(p, sizeof *piece + 2 * (size_t)r->n))
        return 0; /* the model is then not whole, and counted as such */
    if (!b) {
        int rc = add(models, &fresh);

        if (rc == 0)
            rc = sd_table_put(&models->known, key_of(stream, r->number), models->n - 1);
        if (rc < 0)
            return rc;
        b = &models->items[models->n - 1];
    }
    piece = sd_arena_alloc(&p->arena, sizeof *piece);
    if (piece)
        piece->p = sd_arena_copy(&p->arena, r->bytes, r->n);
    if (!piece || (!piece->p && r->n > 0))
        return sd_no_memory();
    piece->at = r->at;
    piece->n = r->n;
    piece->next = b->pieces;
    b->pieces = piece;
    b->have += r->n;
    return 0;
}

int sd_models_take(struct sd_profile *p, const struct sd_models *from)
{
    int rc = 0;

    for (size_t i = 0; i < from->n && rc == 0; i++) {
        struct sd_model_bytes one = { .total = from->items[i].total,
                                      .have = from->items[i].total };

        if (!from->items[i].whole)
            continue;
        one.whole = sd_arena_copy(&p->arena, from->items[i].whole, one.total);
        rc = one.whole ? add(&p->evidence[SD_MODELS].models, &one) : sd_no_memory();
    }
    return rc;
}

/* Newest first means last first: the order in which they are asked for from behind. */
static int join(struct sd_profile *p, struct sd_model_bytes *b)
{
    uint32_t left = b->total;
    uint8_t *whole;

    if (b->whole || b->have != b->total || b->total == 0)
        return 0;
    whole = sd_arena_alloc(&p->arena, b->total);
    if (!whole)
        return sd_no_memory();
    for (const struct sd_model_piece *piece = b->pieces; piece; piece = piece->next) {
        if (piece->n > left || piece->at != left - piece->n)
            return 0; /* a hole, or out of order: not whole */
        left -= piece->n;
        sd_assert(piece->at + piece->n <= b->total);
        if (piece->n > 0)
            memcpy(whole + piece->at, piece->p, piece->n);
    }
    b->whole = whole;
    return 0;
}

int sd_models_join(struct sd_profile *p, size_t *n_cut)
{
    struct sd_models *models = &p->evidence[SD_MODELS].models;
    int rc = 0;

    *n_cut = 0;
    for (size_t i = 0; i < models->n && rc == 0; i++) {
        rc = join(p, &models->items[i]);
        *n_cut += !models->items[i].whole;
    }
    return rc;
}

void sd_models_release(struct sd_models *m)
{
    sd_free(m->items);
    sd_table_release(&m->known);
    *m = (struct sd_models){ 0 };
}

const void *sd_profile_model(const struct sd_profile *p, size_t i, size_t *n)
{
    const struct sd_models *models = &p->evidence[SD_MODELS].models;

    for (size_t k = 0; k < models->n; k++)
        if (models->items[k].whole && i-- == 0) {
            *n = models->items[k].total;
            return models->items[k].whole;
        }
    *n = 0;
    return NULL;
}

size_t sd_profile_n_models(const struct sd_profile *p)
{
    const struct sd_models *models = &p->evidence[SD_MODELS].models;
    size_t n = 0;

    for (size_t i = 0; i < models->n; i++)
        n += models->items[i].whole != NULL;
    return n;
}
