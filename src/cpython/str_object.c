/* SPDX-License-Identifier: MIT */
#include "cpython/str_object.h"

#include <string.h>

#include "base/error.h"

/* The bit field of a str, from its lowest bit on: the kind (bytes of a character, 3
 * bits), whether it is compact, whether it is ASCII. */
enum { COMPACT = 8, ASCII = 16 };

static bool is_state(uint32_t state)
{
    uint32_t width = state & 7;

    if (!(state & COMPACT) || (width != 1 && width != 2 && width != 4))
        return false;
    return width == 1 || !(state & ASCII);
}

static uint32_t state_of(const struct sd_layout *l, const uint8_t *header)
{
    uint32_t state;

    memcpy(&state, header + l->str_state, sizeof state);
    return state;
}

bool sd_str_learn(struct sd_layout *l, const uint8_t *header)
{
    static const uint8_t bits[] = { 2, 8, 16 };
    uint32_t state = state_of(l, header);
    size_t i;

    for (i = 0; i < sizeof bits; i++) {
        if (is_state(state >> bits[i])) {
            l->str_kind_bit = bits[i];
            return true;
        }
    }
    return false;
}

int sd_str_parse(const struct sd_layout *l, const uint8_t *header, struct sd_str *out)
{
    uint32_t state = state_of(l, header) >> l->str_kind_bit;

    if (!is_state(state))
        return SD_EFORMAT;
    out->is_ascii = state & ASCII;
    out->width = state & 7;
    out->data = out->is_ascii ? l->str_ascii : l->str_compact;
    memcpy(&out->length, header + l->str_length, sizeof out->length);
    return 0;
}

static uint32_t character(const struct sd_str *s, const uint8_t *p)
{
    uint16_t two;
    uint32_t four;

    switch (s->width) {
    case 1:
        return *p;
    case 2:
        memcpy(&two, p, sizeof two);
        return two;
    }
    memcpy(&four, p, sizeof four);
    return four;
}

static void put_character(struct sd_buf *to, uint32_t c)
{
    if (c >= 0xdc80 && c <= 0xdcff) {
        sd_buf_u8(to, (uint8_t)(c - 0xdc00)); /* os.fsdecode: a byte that is no UTF-8 */
        return;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        c = 0xfffd;
    if (c < 0x80) {
        sd_buf_u8(to, (uint8_t)c);
        return;
    }
    if (c < 0x800) {
        sd_buf_u8(to, (uint8_t)(0xc0 | c >> 6));
    } else if (c < 0x10000) {
        sd_buf_u8(to, (uint8_t)(0xe0 | c >> 12));
        sd_buf_u8(to, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
    } else {
        sd_buf_u8(to, (uint8_t)(0xf0 | c >> 18));
        sd_buf_u8(to, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
        sd_buf_u8(to, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
    }
    sd_buf_u8(to, (uint8_t)(0x80 | (c & 0x3f)));
}

void sd_str_utf8(struct sd_buf *to, const struct sd_str *s, const uint8_t *p, size_t n)
{
    size_t i;

    if (s->is_ascii) {
        sd_buf_add(to, p, n);
        return;
    }
    for (i = 0; i < n; i++)
        put_character(to, character(s, p + i * s->width));
}
