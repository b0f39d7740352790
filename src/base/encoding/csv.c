/* SPDX-License-Identifier: MIT */
#include "base/encoding/csv.h"

#include <string.h>

#include "base/text.h"

static void put_quoted(struct sd_out *out, const char *s, size_t n)
{
    sd_out_text(out, "\"");
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"')
            sd_out_text(out, "\"");
        sd_out_write(out, s + i, 1);
    }
    sd_out_text(out, "\"");
}

void sd_csv_text(struct sd_out *out, const char *s, size_t n)
{
    struct sd_buf b = { 0 };

    if (n > 0 && strchr("=+-@", s[0]))
        sd_buf_u8(&b, '\'');
    sd_text_escape(&b, s, n);
    if (b.bad) {
        out->pending.bad = true; /* the caller hears of it when it flushes */
    } else if (b.n > 0 && (memchr(b.p, ',', b.n) || memchr(b.p, '"', b.n))) {
        put_quoted(out, (const char *)b.p, b.n);
    } else {
        sd_out_write(out, b.p, b.n);
    }
    sd_buf_release(&b);
}
