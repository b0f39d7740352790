/* SPDX-License-Identifier: MIT */
#include "base/encoding/json.h"

#include <string.h>

#include "base/assert.h"
#include "base/text.h"

void sd_json_init(struct sd_json *j, struct sd_out *out, bool pretty)
{
    sd_assert(out);
    *j = (struct sd_json){ .out = out, .pretty = pretty };
}

static bool in_object(const struct sd_json *j)
{
    return j->depth > 0 && j->closers[j->depth] == '}';
}

static void new_line(struct sd_json *j)
{
    if (!j->pretty)
        return;
    sd_out_text(j->out, "\n");
    for (int i = 0; i < j->depth; i++)
        sd_out_text(j->out, "  ");
}

/* What stands between the last item of this level and the next.  Values beside each
 * other at the top are one per line, as JSON lines want them. */
static void separate(struct sd_json *j)
{
    if (j->depth == 0) {
        if (j->has_items[0])
            sd_out_text(j->out, "\n");
    } else {
        if (j->has_items[j->depth])
            sd_out_text(j->out, ",");
        new_line(j);
    }
    j->has_items[j->depth] = true;
}

static void begin_value(struct sd_json *j)
{
    sd_assert(j->after_key == in_object(j)); /* a member has a key, an item has none */
    if (!j->after_key)
        separate(j);
    j->after_key = false;
}

void sd_json_item(struct sd_json *j) { begin_value(j); }

static void put_value(struct sd_json *j, const char *text)
{
    begin_value(j);
    sd_out_text(j->out, text);
}

static void open_level(struct sd_json *j, const char *bracket, char closer)
{
    put_value(j, bracket);
    sd_assert(j->depth < SD_JSON_DEPTH - 1);
    if (j->depth >= SD_JSON_DEPTH - 1)
        return;
    j->depth++;
    j->has_items[j->depth] = false;
    j->closers[j->depth] = closer;
}

void sd_json_object(struct sd_json *j) { open_level(j, "{", '}'); }

void sd_json_array(struct sd_json *j) { open_level(j, "[", ']'); }

void sd_json_end(struct sd_json *j)
{
    bool had_items;
    char closer;

    sd_assert(j->depth > 0 && !j->after_key);
    if (j->depth <= 0)
        return;
    had_items = j->has_items[j->depth];
    closer = j->closers[j->depth];
    j->depth--;
    if (had_items)
        new_line(j);
    sd_out_write(j->out, &closer, 1);
}

/* One character of a string.  Control characters are legal in JSON from DEL on, but
 * people look at JSON on terminals, and U+2028 ends a line of JavaScript. */
static void put_char(const struct sd_json *j, uint32_t code, const char *s, size_t n)
{
    struct sd_out *out = j->out;
    static const char letters[] = "\bb\ff\nn\rr\tt\"\"\\\\";
    const char *known = NULL;

    _Static_assert(sizeof letters % 2 == 1, "pairs, and the 0 that ends them");
    for (const char *l = letters; *l && !known; l += 2)
        known = (uint32_t)*l == code ? l + 1 : NULL;
    if (known)
        sd_out_printf(out, "\\%c", *known);
    else if ((code == '<' && !j->keeps_less) ||
             sd_text_is_control(code)) /* none lies beyond U+FFFF */
        sd_out_printf(out, "\\u%04x", code);
    else
        sd_out_write(out, s, n);
}

static bool is_plain(char c) { return c >= ' ' && c < 0x7F && !strchr("\"\\<", c); }

static void put_string(const struct sd_json *j, const char *s, size_t n)
{
    struct sd_out *out = j->out;

    sd_out_text(out, "\"");
    while (n > 0) {
        uint32_t code = 0xFFFD;
        size_t len = 0;

        while (len < n && is_plain(s[len]))
            len++;
        sd_out_write(out, s, len); /* names are nearly all plain: one piece */
        s += len;
        n -= len;
        if (n == 0)
            break;
        len = sd_text_decode(s, n, &code);
        if (len == 0) {
            sd_out_text(out, "\xEF\xBF\xBD");
            len = 1;
        } else {
            put_char(j, code, s, len);
        }
        s += len;
        n -= len;
    }
    sd_out_text(out, "\"");
}

void sd_json_key(struct sd_json *j, const char *key)
{
    sd_assert(in_object(j) && !j->after_key);
    separate(j);
    put_string(j, key, strlen(key));
    sd_out_text(j->out, j->pretty ? ": " : ":");
    j->after_key = true;
}

void sd_json_text(struct sd_json *j, const char *s, size_t n)
{
    begin_value(j);
    put_string(j, s, n);
}

void sd_json_string(struct sd_json *j, const char *s)
{
    if (s)
        sd_json_text(j, s, strlen(s));
    else
        sd_json_null(j);
}

void sd_json_int(struct sd_json *j, int64_t v)
{
    begin_value(j);
    sd_out_printf(j->out, "%lld", (long long)v);
}

void sd_json_uint(struct sd_json *j, uint64_t v)
{
    begin_value(j);
    sd_out_printf(j->out, "%llu", (unsigned long long)v);
}

void sd_json_real(struct sd_json *j, double v)
{
    char text[SD_TEXT_MAX];

    put_value(j, __builtin_isfinite(v) ? sd_text_real(text, v) : "null");
}

void sd_json_bool(struct sd_json *j, bool v) { put_value(j, v ? "true" : "false"); }

void sd_json_null(struct sd_json *j) { put_value(j, "null"); }

void sd_json_key_string(struct sd_json *j, const char *key, const char *s)
{
    sd_json_key(j, key);
    sd_json_string(j, s);
}

void sd_json_key_int(struct sd_json *j, const char *key, int64_t v)
{
    sd_json_key(j, key);
    sd_json_int(j, v);
}

void sd_json_key_uint(struct sd_json *j, const char *key, uint64_t v)
{
    sd_json_key(j, key);
    sd_json_uint(j, v);
}

void sd_json_key_real(struct sd_json *j, const char *key, double v)
{
    sd_json_key(j, key);
    sd_json_real(j, v);
}

void sd_json_key_bool(struct sd_json *j, const char *key, bool v)
{
    sd_json_key(j, key);
    sd_json_bool(j, v);
}

void sd_json_key_object(struct sd_json *j, const char *key)
{
    sd_json_key(j, key);
    sd_json_object(j);
}

void sd_json_key_array(struct sd_json *j, const char *key)
{
    sd_json_key(j, key);
    sd_json_array(j);
}
