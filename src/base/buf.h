/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_BUF_H
#define SD_BASE_BUF_H
/* buf: a byte buffer that grows at its end.
 *
 * It goes bad instead of failing each time: after the first allocation that
 * fails, later additions do nothing, so a writer adds a whole record and asks
 * once, at the end, whether all of it is there. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_buf { /* all zero is a fresh one */
    uint8_t *p; /* owned */
    size_t n, cap;
    bool bad; /* an addition was lost */
};

/* Makes room for n more bytes and returns where they go (not yet counted), or
 * NULL and goes bad. */
uint8_t *sd_buf_room(struct sd_buf *b, size_t n);
void sd_buf_add(struct sd_buf *b, const void *p, size_t n);
void sd_buf_u8(struct sd_buf *b, uint8_t v);
void sd_buf_u16(struct sd_buf *b, uint16_t v);
void sd_buf_u32(struct sd_buf *b, uint32_t v);
void sd_buf_u64(struct sd_buf *b, uint64_t v);
void sd_buf_text(struct sd_buf *b, const char *s);
void sd_buf_printf(struct sd_buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void sd_buf_vprintf(struct sd_buf *b, const char *fmt, va_list args)
    __attribute__((format(printf, 2, 0)));
/* The bytes as a C string, borrowed until the next change; "" when bad.  Takes no
 * memory: who has seen that a buffer is not bad gets all of it. */
const char *sd_buf_string(struct sd_buf *b);
void sd_buf_clear(struct sd_buf *b); /* keeps the memory, forgets the badness */
void sd_buf_release(struct sd_buf *b);
#endif
