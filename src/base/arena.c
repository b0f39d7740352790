/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

struct sd_arena_block {
    struct sd_arena_block *next;
    size_t used, size; /* of `bytes` */
    _Alignas(max_align_t) uint8_t bytes[];
};

/* Blocks double from the first to the largest size, so that a small arena stays
 * small and a large one makes few calls.  TINY makes every test cross blocks. */
#ifdef SD_TINY
enum { FIRST_BLOCK = 64, LARGEST_BLOCK = 64 };
#else
enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };
#endif

_Static_assert((int)FIRST_BLOCK <= (int)LARGEST_BLOCK &&
                   LARGEST_BLOCK % FIRST_BLOCK == 0,
               "doubled, the first becomes the largest");
_Static_assert(offsetof(struct sd_arena_block, bytes) % _Alignof(max_align_t) == 0,
               "what is aligned within a block is aligned in memory");

static size_t next_size(const struct sd_arena *a)
{
    size_t size = FIRST_BLOCK;

    if (a->blocks && a->blocks->size >= FIRST_BLOCK)
        size = a->blocks->size * 2;
    return size < LARGEST_BLOCK ? size : LARGEST_BLOCK;
}

/* Cleared at birth, and nothing is handed out twice, so pieces need no clearing. */
static struct sd_arena_block *new_block(size_t size)
{
    struct sd_arena_block *b;
    size_t bytes;

    if (__builtin_add_overflow(sizeof *b, size, &bytes))
        return NULL;
    b = sd_zalloc(bytes);
    if (b)
        b->size = size;
    return b;
}

/* A large piece gets a block of its own behind the newest, which goes on serving
 * small ones: else each large piece would waste the rest of a block. */
static void *alloc_alone(struct sd_arena *a, size_t n)
{
    struct sd_arena_block *b = new_block(n);

    if (!b)
        return NULL;
    b->used = n;
    if (a->blocks) {
        b->next = a->blocks->next;
        a->blocks->next = b;
    } else {
        a->blocks = b;
    }
    return b->bytes;
}

static void *take(struct sd_arena_block *b, size_t n, size_t align)
{
    size_t start = (b->used + align - 1) & ~(align - 1);

    sd_assert(align > 0 && (align & (align - 1)) == 0); /* the mask needs it */
    sd_assert(b->used <= b->size);
    if (start > b->size || n > b->size - start)
        return NULL;
    b->used = start + n;
    return b->bytes + start;
}

static void *alloc_aligned(struct sd_arena *a, size_t n, size_t align)
{
    void *p = a->blocks ? take(a->blocks, n, align) : NULL;
    size_t size = next_size(a);

    if (!p && n > size / 4) {
        p = alloc_alone(a, n);
    } else if (!p) {
        struct sd_arena_block *b = new_block(size);

        if (!b)
            return NULL;
        b->next = a->blocks;
        a->blocks = b;
        p = take(b, n, align);
        sd_assert(p); /* a quarter of a fresh block always fits */
    }
    if (p)
        a->used_bytes += n;
    return p;
}

void *sd_arena_alloc(struct sd_arena *a, size_t n)
{
    return alloc_aligned(a, n, _Alignof(max_align_t));
}

void *sd_arena_copy(struct sd_arena *a, const void *p, size_t n)
{
    void *copy = sd_arena_alloc(a, n);

    if (copy && n)
        memcpy(copy, p, n);
    return copy;
}

/* Text needs no alignment; without padding a profile's names take a third less. */
char *sd_arena_string(struct sd_arena *a, const char *s, size_t n)
{
    char *copy = n < SIZE_MAX ? alloc_aligned(a, n + 1, 1) : NULL;

    if (copy && n)
        memcpy(copy, s, n);
    return copy;
}

char *sd_arena_printf(struct sd_arena *a, const char *fmt, ...)
{
    va_list args;
    char *text = NULL;
    int n;

    va_start(args, fmt);
    n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n >= 0)
        text = alloc_aligned(a, (size_t)n + 1, 1);
    if (!text)
        return NULL;
    va_start(args, fmt);
    vsnprintf(text, (size_t)n + 1, fmt, args);
    va_end(args);
    return text;
}

void sd_arena_release(struct sd_arena *a)
{
    while (a->blocks) {
        struct sd_arena_block *b = a->blocks;

        a->blocks = b->next;
        sd_free(b);
    }
    a->used_bytes = 0;
}
