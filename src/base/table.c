/* SPDX-License-Identifier: MIT */
#include "base/table.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

/* A slot with key 0 is empty, which keeps a slot at 16 bytes.  Key 0 itself lives in
 * one slot more, behind the others, whose key is then 1. */
struct sd_table_slot {
    uint64_t key, value;
};

#ifdef SD_TINY
enum { FIRST_SLOTS = 2 };
#else
enum { FIRST_SLOTS = 16 };
#endif

_Static_assert(FIRST_SLOTS > 1 && (FIRST_SLOTS & (FIRST_SLOTS - 1)) == 0,
               "a power of two, of which a quarter stays empty");
_Static_assert(sizeof(struct sd_table_slot) == 16, "four slots in a line of the cache");

/* Keys are often addresses or running numbers, whose low bits are all alike; linear
 * probing needs them spread.  (The finisher of MurmurHash3, which is a bijection.) */
static uint64_t spread(uint64_t key)
{
    key = (key ^ (key >> 33)) * 0xff51afd7ed558ccdu;
    key = (key ^ (key >> 33)) * 0xc4ceb9fe1a85ec53u;
    return key ^ (key >> 33);
}

static size_t home(const struct sd_table *t, uint64_t key)
{
    return (size_t)spread(key) & (t->n_slots - 1);
}

static size_t after(const struct sd_table *t, size_t i)
{
    return (i + 1) & (t->n_slots - 1);
}

/* The slot that holds `key`, or the empty one where it would go.  Ends because
 * a quarter of the slots is always empty. */
static struct sd_table_slot *probe(const struct sd_table *t, uint64_t key)
{
    size_t i = home(t, key);

    sd_assert(t->n < t->n_slots);
    if (key == 0)
        return &t->slots[t->n_slots];
    while (t->slots[i].key != key && t->slots[i].key != 0)
        i = after(t, i);
    return &t->slots[i];
}

bool sd_table_get(const struct sd_table *t, uint64_t key, uint64_t *value)
{
    const struct sd_table_slot *s;

    if (t->n == 0)
        return false;
    s = probe(t, key);
    if (s->key == 0)
        return false;
    *value = s->value;
    return true;
}

/* Would one key more leave less than a quarter of the slots empty? */
static bool is_full(const struct sd_table *t)
{
    return (t->n + 1) * 4 > t->n_slots * 3;
}

/* Moves everything into twice the slots; on failure the table is as it was. */
static int grow(struct sd_table *t)
{
    struct sd_table bigger = { .n = t->n };
    size_t slots, bytes;

    bigger.n_slots = t->n_slots ? t->n_slots * 2 : FIRST_SLOTS;
    if (__builtin_add_overflow(bigger.n_slots, 1, &slots) ||
        __builtin_mul_overflow(slots, sizeof *t->slots, &bytes))
        return sd_no_memory();
    bigger.slots = sd_zalloc(bytes);
    if (!bigger.slots)
        return sd_no_memory();
    for (size_t i = 0; i < t->n_slots; i++) {
        if (t->slots[i].key != 0)
            *probe(&bigger, t->slots[i].key) = t->slots[i];
    }
    if (t->slots)
        bigger.slots[bigger.n_slots] = t->slots[t->n_slots];
    sd_free(t->slots);
    *t = bigger;
    sd_assert(!is_full(t));
    return 0;
}

int sd_table_put(struct sd_table *t, uint64_t key, uint64_t value)
{
    struct sd_table_slot *s = t->slots ? probe(t, key) : NULL;

    if (!s || (s->key == 0 && is_full(t))) { /* replacing never needs to grow */
        int rc = grow(t);

        if (rc < 0)
            return rc;
        s = probe(t, key);
    }
    if (s->key == 0) {
        s->key = key ? key : 1;
        t->n++;
    }
    s->value = value;
    return 0;
}

/* Closes the hole at `hole` by moving back every later slot of the run that may
 * stand there, so that no probe stops too early and no tombstones pile up. */
static void close_hole(struct sd_table *t, size_t hole)
{
    size_t mask = t->n_slots - 1;

    sd_assert(hole < t->n_slots);
    for (size_t i = after(t, hole); t->slots[i].key != 0; i = after(t, i)) {
        size_t from_home = (i - home(t, t->slots[i].key)) & mask;
        size_t from_hole = (i - hole) & mask;

        if (from_home >= from_hole) {
            t->slots[hole] = t->slots[i];
            hole = i;
        }
    }
    t->slots[hole] = (struct sd_table_slot){ 0 };
}

bool sd_table_remove(struct sd_table *t, uint64_t key)
{
    struct sd_table_slot *s;

    if (t->n == 0)
        return false;
    s = probe(t, key);
    if (s->key == 0)
        return false;
    if (key)
        close_hole(t, (size_t)(s - t->slots));
    else
        *s = (struct sd_table_slot){ 0 };
    t->n--;
    sd_assert_slow(!sd_table_get(t, key, &(uint64_t){ 0 }));
    return true;
}

bool sd_table_next(const struct sd_table *t, size_t *at, uint64_t *key, uint64_t *value)
{
    while (t->slots && *at <= t->n_slots) {
        size_t i = (*at)++;

        if (t->slots[i].key == 0)
            continue;
        *key = i == t->n_slots ? 0 : t->slots[i].key;
        *value = t->slots[i].value;
        return true;
    }
    return false;
}

void sd_table_clear(struct sd_table *t)
{
    if (t->slots)
        memset(t->slots, 0, (t->n_slots + 1) * sizeof *t->slots);
    t->n = 0;
}

void sd_table_release(struct sd_table *t)
{
    sd_free(t->slots);
    *t = (struct sd_table){ 0 };
}

/* Both halves of a product: every bit of either factor reaches the result. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t word(const uint8_t *p, size_t n)
{
    uint64_t v = 0;

    sd_assert_slow(n <= sizeof v);
    memcpy(&v, p, n);
    return v;
}

uint64_t sd_hash(const void *p, size_t n, uint64_t seed)
{
    const uint8_t *at = p;
    uint64_t h = fold(seed ^ 0x9e3779b97f4a7c15u, (uint64_t)n ^ 0xd6e8feb86659fd93u);

    for (; n >= 8; at += 8, n -= 8)
        h = fold(h ^ word(at, 8), 0xa0761d6478bd642fu) + 0xe7037ed1a0b428dbu;
    if (n)
        h = fold(h ^ word(at, n), 0xa0761d6478bd642fu) + 0xe7037ed1a0b428dbu;
    return spread(h);
}
