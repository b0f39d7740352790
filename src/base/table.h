/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_TABLE_H
#define SD_BASE_TABLE_H
/* table: a hash table from 64-bit keys to 64-bit values, with open addressing and a
 * power of two of slots.
 *
 * Keys are ids, addresses or hashes.  Where keys are hashes of something longer
 * the value is an index into the caller's array and the caller compares; see
 * intern.h.  Key and value may be any number. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_table_slot;

struct sd_table {                /* all zero is a fresh one */
    struct sd_table_slot *slots; /* owned */
    size_t n, n_slots;           /* n_slots is 0 or a power of two */
};

bool sd_table_get(const struct sd_table *t, uint64_t key, uint64_t *value);
/* Adds or replaces.  Returns 0 or SD_ENOMEM with its sentence. */
int sd_table_put(struct sd_table *t, uint64_t key, uint64_t value);
bool sd_table_remove(struct sd_table *t, uint64_t key);
/* Walks: start with *at = 0; false at the end.  Order is not defined. */
bool sd_table_next(const struct sd_table *t, size_t *at, uint64_t *key,
                   uint64_t *value);
void sd_table_clear(struct sd_table *t); /* keeps the slots */
void sd_table_release(struct sd_table *t);

uint64_t sd_hash(const void *p, size_t n, uint64_t seed);
#endif
