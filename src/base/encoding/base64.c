/* SPDX-License-Identifier: MIT */
#include "base/encoding/base64.h"

#include <stdint.h>

enum { LETTERS_AT_ONCE = 4096 }; /* a multiple of four */

static void put_three(const uint8_t *p, size_t n, char to[4])
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t v =
        (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0) | (n > 2 ? p[2] : 0u);

    to[0] = letters[v >> 18];
    to[1] = letters[v >> 12 & 63];
    to[2] = n > 1 ? letters[v >> 6 & 63] : '=';
    to[3] = n > 2 ? letters[v & 63] : '=';
}

void sd_base64_write(struct sd_out *out, const void *p, size_t n)
{
    const uint8_t *bytes = p;
    char text[LETTERS_AT_ONCE];
    size_t at = 0;

    for (size_t i = 0; i < n; i += 3) {
        put_three(bytes + i, n - i < 3 ? n - i : 3, text + at);
        at += 4;
        if (at == sizeof text) {
            sd_out_write(out, text, at);
            at = 0;
        }
    }
    sd_out_write(out, text, at);
}
