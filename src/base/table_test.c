/* SPDX-License-Identifier: MIT */
#include "base/table.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

TEST(an_empty_table_has_nothing)
{
    struct sd_table t = { 0 };
    uint64_t key, value = 5;
    size_t at = 0;

    CHECK(!sd_table_get(&t, 0, &value) && !sd_table_get(&t, 1, &value));
    CHECK(value == 5);
    CHECK(!sd_table_remove(&t, 0) && !sd_table_remove(&t, 1));
    CHECK(!sd_table_next(&t, &at, &key, &value));
    sd_table_clear(&t);
    sd_table_release(&t);
}

TEST(any_number_is_a_key_and_a_value)
{
    static const uint64_t keys[] = { 0, 1, UINT64_MAX, 1ull << 63, 2 };
    struct sd_table t = { 0 };
    uint64_t value;

    for (size_t i = 0; i < 5; i++)
        CHECK(sd_table_put(&t, keys[i], ~keys[i]) == 0);
    CHECK(t.n == 5);
    for (size_t i = 0; i < 5; i++)
        CHECK(sd_table_get(&t, keys[i], &value) && value == ~keys[i]);
    CHECK(!sd_table_get(&t, 3, &value));
    sd_table_release(&t);
    CHECK(t.n == 0 && t.n_slots == 0);
}

TEST(putting_again_replaces)
{
    struct sd_table t = { 0 };
    uint64_t value;

    CHECK(sd_table_put(&t, 0, 1) == 0 && sd_table_put(&t, 0, 2) == 0);
    CHECK(sd_table_put(&t, 9, 3) == 0 && sd_table_put(&t, 9, 4) == 0);
    CHECK(t.n == 2);
    CHECK(sd_table_get(&t, 0, &value) && value == 2);
    CHECK(sd_table_get(&t, 9, &value) && value == 4);
    sd_table_release(&t);
}

TEST(a_walk_meets_every_key_once)
{
    struct sd_table t = { 0 };
    uint64_t key, value;
    size_t at = 0, n = 0;
    bool seen[500] = { 0 };

    for (uint64_t i = 0; i < 500; i++)
        CHECK(sd_table_put(&t, i, i * i) == 0);
    while (sd_table_next(&t, &at, &key, &value)) {
        CHECK(key < 500 && !seen[key] && value == key * key);
        seen[key] = true;
        n++;
    }
    CHECK(n == 500);
    CHECK(!sd_table_next(&t, &at, &key, &value)); /* the end stays the end */
    sd_table_release(&t);
}

TEST(clearing_keeps_the_slots_and_forgets_the_keys)
{
    struct sd_table t = { 0 };
    uint64_t value;
    size_t slots;

    for (uint64_t i = 0; i < 100; i++)
        CHECK(sd_table_put(&t, i, i) == 0);
    slots = t.n_slots;
    sd_table_clear(&t);
    CHECK(t.n == 0 && t.n_slots == slots);
    for (uint64_t i = 0; i < 100; i++)
        CHECK(!sd_table_get(&t, i, &value));
    CHECK(sd_table_put(&t, 7, 1) == 0 && t.n == 1);
    sd_table_release(&t);
}

TEST(replacing_needs_no_memory)
{
    struct sd_table t = { 0 };
    uint64_t value;

    for (uint64_t n = 0; n < 100; n++) { /* at every fill, the full ones among them */
        CHECK(sd_table_put(&t, n, 0) == 0);
        sd_mem_fail_at(1, true);
        CHECK(sd_table_put(&t, n, n) == 0);
        sd_mem_fail_at(0, false);
        CHECK(sd_table_get(&t, n, &value) && value == n);
    }
    sd_table_release(&t);
}

TEST(a_table_that_cannot_grow_stays_as_it_was)
{
    EACH_FAILURE(nth)
    {
        struct sd_table t = { 0 };
        uint64_t value, n = 0;

        while (n < 200 && sd_table_put(&t, n, n + 1) == 0)
            n++;
        if (n < 200)
            CHECK(strcmp(sd_fail_text(), "out of memory") == 0);
        CHECK(t.n == n);
        for (uint64_t i = 0; i < n; i++)
            CHECK(sd_table_get(&t, i, &value) && value == i + 1);
        sd_table_release(&t);
    }
}

/* ---- against a model: an array searched from end to end ---------------------- */

enum { MODEL_MAX = 64 };

struct model {
    uint64_t keys[MODEL_MAX], values[MODEL_MAX];
    size_t n;
};

static size_t model_find(const struct model *m, uint64_t key)
{
    size_t i = 0;

    while (i < m->n && m->keys[i] != key)
        i++;
    return i;
}

static void model_put(struct model *m, uint64_t key, uint64_t value)
{
    size_t i = model_find(m, key);

    m->keys[i] = key;
    m->values[i] = value;
    m->n += i == m->n;
}

static bool model_remove(struct model *m, uint64_t key)
{
    size_t i = model_find(m, key);

    if (i == m->n)
        return false;
    m->n--;
    m->keys[i] = m->keys[m->n];
    m->values[i] = m->values[m->n];
    return true;
}

/* xorshift: the same numbers on every machine, so a failure can be seen again. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void check_equal(const struct sd_table *t, const struct model *m)
{
    uint64_t key, value;
    size_t at = 0, n = 0;

    CHECK(t->n == m->n);
    for (size_t i = 0; i < m->n; i++)
        CHECK(sd_table_get(t, m->keys[i], &value) && value == m->values[i]);
    for (; sd_table_next(t, &at, &key, &value); n++)
        CHECK(m->values[model_find(m, key)] == value);
    CHECK(n == m->n);
}

static void one_random_step(struct sd_table *t, struct model *m, uint64_t *random)
{
    uint64_t key = next_random(random) % MODEL_MAX, value = next_random(random);
    uint64_t got = 0;
    size_t at = model_find(m, key);

    switch (next_random(random) % 8) {
    case 0:
    case 1:
    case 2:
        CHECK(sd_table_put(t, key, value) == 0);
        model_put(m, key, value);
        break;
    case 3:
    case 4:
    case 5:
        CHECK(sd_table_remove(t, key) == model_remove(m, key));
        break;
    default:
        CHECK(sd_table_get(t, key, &got) == (at < m->n));
        CHECK(at == m->n || got == m->values[at]);
    }
}

TEST(random_use_of_a_table_matches_a_plain_array)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct sd_table t = { 0 };
        struct model m = { .n = 0 };
        uint64_t random = seed * 0x9e3779b97f4a7c15u;

        for (int step = 0; step < 1000; step++) {
            one_random_step(&t, &m, &random);
            if (step % 16 == 0)
                check_equal(&t, &m);
        }
        check_equal(&t, &m);
        sd_table_release(&t);
    }
}

/* ---- the hash ---------------------------------------------------------------- */

TEST(a_hash_depends_on_bytes_length_and_seed_but_not_on_place)
{
    char text[64] = "0123456789abcdef0123456789abcdef";
    char moved[65];

    for (size_t n = 0; n <= 32; n++) {
        uint64_t h = sd_hash(text, n, 7);

        memcpy(moved + 1, text, n);
        CHECK(sd_hash(moved + 1, n, 7) == h);
        CHECK(sd_hash(text, n, 8) != h);
        CHECK(sd_hash(text, n + 1, 7) != h);
    }
    CHECK(sd_hash("\0", 1, 0) != sd_hash("\0\0", 2, 0));
    CHECK(sd_hash(NULL, 0, 0) == sd_hash("", 0, 0));
}

TEST(hashes_of_small_numbers_do_not_meet)
{
    struct sd_table seen = { 0 };

    for (uint32_t i = 0; i < 20000; i++)
        CHECK(sd_table_put(&seen, sd_hash(&i, sizeof i, 0), i) == 0);
    CHECK(seen.n == 20000);
    sd_table_release(&seen);
}
