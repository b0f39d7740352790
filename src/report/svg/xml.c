/* SPDX-License-Identifier: MIT */
#include "report/svg/xml.h"

#include <string.h>

#include "base/text.h"

static const char *escape_of(char c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* U+FFFE and U+FFFF are well-formed UTF-8 and yet no characters of XML. */
static bool is_no_character(const char *s, size_t n)
{
    return n >= 3 && memcmp(s, "\xef\xbf", 2) == 0 &&
           (s[2] == '\xbe' || s[2] == '\xbf');
}

void sd_xml_text(struct sd_out *out, const char *s, size_t n)
{
    struct sd_buf shown = { 0 };
    size_t from = 0, i;

    sd_text_escape(&shown, s, n);
    out->pending.bad |= shown.bad; /* said by the flush */
    s = sd_buf_string(&shown);
    n = strlen(s); /* of what is bad nothing is left */
    for (i = 0; i < n; i++) {
        const char *escape = escape_of(s[i]);
        bool is_bad = is_no_character(s + i, n - i);

        if (!escape && !is_bad)
            continue;
        sd_out_write(out, s + from, i - from);
        sd_out_text(out, escape ? escape : "\xef\xbf\xbd");
        i += is_bad ? 2 : 0;
        from = i + 1;
    }
    sd_out_write(out, s + from, n - from);
    sd_buf_release(&shown);
}
