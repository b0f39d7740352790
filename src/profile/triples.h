/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_TRIPLES_H
#define SD_PROFILE_TRIPLES_H
/* triples: stores each distinct triple of numbers once and numbers it from 0 in order
 * of arrival.
 *
 * Stacks (parent, site, line) and totals of samples (stack, track, flags) are the two
 * things of which a profile has millions, so they are not interned as bytes: a triple
 * takes its 12 bytes and 5 to 11 more in a hash table of places. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_triple {
    uint32_t a, b, c;
};

struct sd_triples {          /* all zero is a fresh one */
    struct sd_triple *items; /* owned; by id */
    size_t n, cap;
    uint32_t *slots; /* owned; id + 1, 0: empty */
    size_t n_slots;  /* 0 or a power of two */
};

static inline bool sd_triple_is_equal(struct sd_triple x, struct sd_triple y)
{
    return x.a == y.a && x.b == y.b && x.c == y.c;
}
/* The id of this triple, new or old; *id is untouched on SD_ENOMEM. */
int sd_triples_add(struct sd_triples *t, struct sd_triple key, uint32_t *id);
/* The id if it is known, else UINT32_MAX. */
uint32_t sd_triples_find(const struct sd_triples *t, struct sd_triple key);
void sd_triples_release(struct sd_triples *t);
#endif
