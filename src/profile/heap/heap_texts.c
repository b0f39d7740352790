/* SPDX-License-Identifier: MIT */
#include "profile/heap/heap_texts.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/table.h"

#ifdef SD_TINY
enum { FIRST_SLOTS = 4 };
#else
enum { FIRST_SLOTS = 4096 };
#endif

static const char *text_at(const struct sd_heap_texts *t, uint32_t id)
{
    return (const char *)t->bytes.p + ((const uint32_t *)t->first.p)[id];
}

static uint32_t *slot_of(const struct sd_heap_texts *t, const char *s, size_t n)
{
    uint32_t *slots = t->slots.p;
    uint32_t mask = t->n_slots - 1;
    uint32_t at = (uint32_t)sd_hash(s, n, 0) & mask;

    while (slots[at]) {
        const char *there = text_at(t, slots[at]);

        if (memcmp(there, s, n) == 0 && !there[n])
            break;
        at = (at + 1) & mask;
    }
    return &slots[at];
}

/* A text is compared with `n` bytes at a time, so that many must be readable behind
 * the last one. */
static int grow_bytes(struct sd_heap_texts *t, size_t n)
{
    size_t wanted = (size_t)t->n_bytes + 2 * n + 2;

    if (wanted > UINT32_MAX)
        return sd_fail(SD_ENOMEM, "the names of a heap take more than 4 GiB");
    return sd_pages_grow(&t->bytes, wanted);
}

static int grow_slots(struct sd_heap_texts *t)
{
    uint32_t n_slots = t->n_slots ? t->n_slots * 2 : FIRST_SLOTS;
    struct sd_pages slots = { 0 };
    int rc = sd_pages_grow(&slots, (size_t)n_slots * sizeof(uint32_t));

    if (rc < 0)
        return rc;
    sd_pages_release(&t->slots);
    t->slots = slots;
    t->n_slots = n_slots;
    for (uint32_t i = 1; i < t->n; i++) {
        const char *s = text_at(t, i);
        uint32_t mask = n_slots - 1;
        uint32_t at = (uint32_t)sd_hash(s, strlen(s), 0) & mask;

        while (((uint32_t *)slots.p)[at])
            at = (at + 1) & mask;
        ((uint32_t *)slots.p)[at] = i;
    }
    return 0;
}

static int make_empty_text(struct sd_heap_texts *t)
{
    int rc = sd_pages_grow(&t->first, sizeof(uint32_t));

    if (rc == 0)
        rc = grow_bytes(t, 0);
    if (rc == 0) {
        t->n = 1;
        t->n_bytes = 1;
    }
    return rc;
}

int sd_heap_texts_add(struct sd_heap_texts *t, const char *s, size_t n, uint32_t *id)
{
    uint32_t *slot;
    int rc = 0;

    *id = 0;
    n = strnlen(s, n);
    if (!n)
        return 0;
    if (!t->n)
        rc = make_empty_text(t);
    if (rc == 0)
        rc = grow_bytes(t, n);
    if (rc == 0 && (!t->n_slots || t->n > t->n_slots / 2))
        rc = grow_slots(t);
    if (rc == 0)
        rc = sd_pages_grow(&t->first, ((size_t)t->n + 1) * sizeof(uint32_t));
    if (rc < 0)
        return rc;
    slot = slot_of(t, s, n);
    if (!*slot) {
        ((uint32_t *)t->first.p)[t->n] = t->n_bytes;
        memcpy((char *)t->bytes.p + t->n_bytes, s, n);
        ((char *)t->bytes.p)[t->n_bytes + n] = 0;
        t->n_bytes += (uint32_t)n + 1;
        *slot = t->n++;
    }
    *id = *slot;
    sd_assert(*id && *id < t->n);
    return 0;
}

const char *sd_heap_texts_get(const struct sd_heap_texts *t, uint32_t id)
{
    return id && id < t->n ? text_at(t, id) : "";
}

void sd_heap_texts_release(struct sd_heap_texts *t)
{
    sd_pages_release(&t->bytes);
    sd_pages_release(&t->first);
    sd_pages_release(&t->slots);
    *t = (struct sd_heap_texts){ .n = 0 };
}
