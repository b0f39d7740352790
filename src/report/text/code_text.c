/* SPDX-License-Identifier: MIT */
#include "report/text/code_text.h"

#include <string.h>
#include <strings.h>

#include "base/encoding/zip.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

enum { SOURCE_MAX = 64 << 20 }; /* bytes; nobody writes more by hand */

/* --- What a file says it is written in */

static bool is_word_byte(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' ||
           c == '_' || c == '.';
}

static bool is_latin(const char *p, size_t n)
{
    static const char *const names[] = { "latin-1",    "latin1",      "latin_1",
                                         "iso-8859-1", "iso8859-1",   "iso-8859-15",
                                         "cp1252",     "windows-1252" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && strncasecmp(p, names[i], n) == 0)
            return true;
    return false;
}

/* "coding: latin-1" or "coding=latin-1" in a comment of one of the first two lines. */
static bool says_latin(const char *p, size_t n)
{
    const char *end = p + n;

    for (int line = 0; line < 2 && p < end; line++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        const char *at = memchr(p, '#', (size_t)((stop ? stop : end) - p));

        stop = stop ? stop : end;
        at = at ? memmem(at, (size_t)(stop - at), "coding", 6) : NULL;
        if (at && stop - at > 7 && (at[6] == ':' || at[6] == '=')) {
            const char *word = at + 7;

            while (word < stop && (*word == ' ' || *word == '\t'))
                word++;
            for (at = word; at < stop && is_word_byte(*at);)
                at++;
            return is_latin(word, (size_t)(at - word));
        }
        p = stop + 1;
    }
    return false;
}

/* --- Lines */

static bool add_start(struct sd_code_text *s)
{
    size_t *grown = sd_grow_array(s->starts, &s->cap, s->n + 1, sizeof *s->starts);

    if (!grown)
        return false;
    s->starts = grown;
    s->starts[s->n++] = s->text.n;
    return true;
}

static void add_byte(struct sd_code_text *s, uint8_t c, bool is_latin_1)
{
    if (is_latin_1 && c >= 0x80) {
        sd_buf_u8(&s->text, (uint8_t)(0xC0 | c >> 6));
        c = (uint8_t)(0x80 | (c & 0x3F));
    }
    sd_buf_u8(&s->text, c);
}

static int take(struct sd_code_text *s, const char *p, size_t n, bool is_latin_1)
{
    bool begins = true, is_whole = true;

    for (size_t i = 0; i < n && is_whole; i++) {
        if (begins)
            is_whole = add_start(s);
        begins = p[i] == '\n' || p[i] == '\r';
        if (p[i] == '\r' && i + 1 < n && p[i + 1] == '\n')
            i++;
        add_byte(s, begins ? '\n' : (uint8_t)p[i], is_latin_1);
    }
    if (n > 0 && !begins)
        sd_buf_u8(&s->text, '\n');
    return is_whole && !s->text.bad ? 0 : sd_no_memory();
}

int sd_code_text_take(struct sd_code_text *s, const char *p, size_t n)
{
    if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
        p += 3;
        n -= 3;
    }
    return take(s, p, n, says_latin(p, n));
}

int sd_code_text_take_utf8(struct sd_code_text *s, const char *p, size_t n)
{
    return take(s, p, n, false);
}

int sd_code_text_read(struct sd_code_text *s, const char *path)
{
    char *p = NULL;
    size_t n;
    int rc = sd_read_file(path, SOURCE_MAX, &p, &n) < 0
                 ? sd_zip_read_path(path, SOURCE_MAX, &p, &n)
                 : 1;

    if (rc <= 0)
        return rc;
    rc = sd_code_text_take(s, p, n);
    sd_free(p);
    return rc < 0 ? rc : 1;
}

void sd_code_text_release(struct sd_code_text *s)
{
    sd_buf_release(&s->text);
    sd_free(s->starts);
    *s = (struct sd_code_text){ 0 };
}

struct sd_code_text_line sd_code_text_line(const struct sd_code_text *s,
                                           uint64_t number)
{
    size_t start, end;

    if (number == 0 || number > s->n)
        return (struct sd_code_text_line){ "", 0 };
    start = s->starts[number - 1];
    end = number < s->n ? s->starts[number] : s->text.n;
    return (struct sd_code_text_line){ (const char *)s->text.p + start,
                                       end - start - 1 };
}

void sd_code_text_put(struct sd_out *out, const char *p, size_t n)
{
    struct sd_buf line = { 0 };

    for (size_t i = 0, from = 0; i <= n; i++)
        if (i == n || p[i] == '\t' || p[i] == '\f') {
            sd_text_escape(&line, p + from, i - from);
            if (i < n)
                sd_buf_u8(&line, (uint8_t)p[i]);
            from = i + 1;
        }
    sd_out_write(out, line.p, line.n);
    sd_buf_release(&line);
}
