/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_CURSOR_H
#define SD_BASE_CURSOR_H
/* cursor: reads untrusted bytes without leaving their bounds.
 *
 * It goes bad instead of going out of bounds: after the first short read every
 * later read gives 0, so a parser takes in a whole record and asks once, at the
 * end, whether all of it was there.  Numbers are little-endian, unaligned. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"

struct sd_cursor {
    const uint8_t *at, *end;
    bool bad;
};

static inline struct sd_cursor sd_cursor_over(const void *p, size_t n)
{
    return (struct sd_cursor){ p, (const uint8_t *)p + n, false };
}

static inline size_t sd_cursor_left(const struct sd_cursor *c)
{
    return c->bad ? 0 : (size_t)(c->end - c->at);
}

/* The next n bytes, borrowed from what the cursor reads; NULL when short. */
static inline const uint8_t *sd_cursor_take(struct sd_cursor *c, size_t n)
{
    const uint8_t *p = c->at;

    sd_assert_slow(c->at <= c->end);
    if (c->bad || (size_t)(c->end - c->at) < n) {
        c->bad = true;
        return NULL;
    }
    c->at += n;
    return p;
}

#define SD_CURSOR_NUMBER(name, type)                                                   \
    static inline type sd_cursor_##name(struct sd_cursor *c)                           \
    {                                                                                  \
        const uint8_t *p = sd_cursor_take(c, sizeof(type));                            \
        type v = 0;                                                                    \
                                                                                       \
        if (p)                                                                         \
            memcpy(&v, p, sizeof v);                                                   \
        return v;                                                                      \
    }
SD_CURSOR_NUMBER(u8, uint8_t)
SD_CURSOR_NUMBER(u16, uint16_t)
SD_CURSOR_NUMBER(u32, uint32_t)
SD_CURSOR_NUMBER(u64, uint64_t)
SD_CURSOR_NUMBER(i64, int64_t)
#undef SD_CURSOR_NUMBER
#endif
