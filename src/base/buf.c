/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

static uint8_t *go_bad(struct sd_buf *b)
{
    b->bad = true;
    return NULL;
}

uint8_t *sd_buf_room(struct sd_buf *b, size_t n)
{
    uint8_t *p;
    size_t need;

    if (b->bad || __builtin_add_overflow(b->n, n, &need) || need == SIZE_MAX)
        return go_bad(b);
    p = sd_grow_array(b->p, &b->cap, need + 1, 1); /* and the end of a string */
    if (!p)
        return go_bad(b);
    sd_assert(b->n + n < b->cap);
    b->p = p;
    return p + b->n;
}

void sd_buf_add(struct sd_buf *b, const void *p, size_t n)
{
    uint8_t *to = sd_buf_room(b, n);

    if (!to || n == 0) /* p may be NULL then, which memcpy does not allow */
        return;
    memcpy(to, p, n);
    b->n += n;
}

void sd_buf_u8(struct sd_buf *b, uint8_t v) { sd_buf_add(b, &v, sizeof v); }
void sd_buf_u16(struct sd_buf *b, uint16_t v) { sd_buf_add(b, &v, sizeof v); }
void sd_buf_u32(struct sd_buf *b, uint32_t v) { sd_buf_add(b, &v, sizeof v); }
void sd_buf_u64(struct sd_buf *b, uint64_t v) { sd_buf_add(b, &v, sizeof v); }
void sd_buf_text(struct sd_buf *b, const char *s) { sd_buf_add(b, s, strlen(s)); }

void sd_buf_printf(struct sd_buf *b, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    sd_buf_vprintf(b, fmt, args);
    va_end(args);
}

/* Formats into the room there is, and again when that was too little: one pass in
 * nearly every call. */
void sd_buf_vprintf(struct sd_buf *b, const char *fmt, va_list args)
{
    va_list again;
    char *to = (char *)sd_buf_room(b, 1);
    int n;

    if (!to)
        return;
    va_copy(again, args);
    n = vsnprintf(to, b->cap - b->n, fmt, args);
    if (n >= 0 && (size_t)n >= b->cap - b->n) {
        to = (char *)sd_buf_room(b, (size_t)n + 1); /* vsnprintf adds a 0 */
        if (to)
            vsnprintf(to, (size_t)n + 1, fmt, again);
    }
    sd_assert(!to || n < 0 || b->n + (size_t)n < b->cap);
    va_end(again);
    if (n < 0)
        go_bad(b);
    else if (to)
        b->n += (size_t)n;
}

const char *sd_buf_string(struct sd_buf *b)
{
    if (b->bad || !b->p)
        return "";
    sd_assert(b->n < b->cap);
    b->p[b->n] = 0;
    return (const char *)b->p;
}

void sd_buf_clear(struct sd_buf *b)
{
    b->n = 0;
    b->bad = false;
}

void sd_buf_release(struct sd_buf *b)
{
    sd_free(b->p);
    *b = (struct sd_buf){ 0 };
}
