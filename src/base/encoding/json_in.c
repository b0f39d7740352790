/* SPDX-License-Identifier: MIT */
#include "base/encoding/json_in.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

void sd_json_in_init(struct sd_json_in *j, const void *p, size_t n)
{
    const char *start = n ? p : "";

    *j = (struct sd_json_in){
        .start = start, .at = start, .end = start + n, .kind = SD_JSON_NULL
    };
}

void sd_json_in_release(struct sd_json_in *j)
{
    sd_buf_release(&j->unescaped);
    *j = (struct sd_json_in){ 0 };
}

int sd_json_in_wrong(const struct sd_json_in *j, const char *what)
{
    if (j->unescaped.bad)
        return sd_no_memory();
    return sd_fail(SD_EFORMAT, "%s is not valid JSON at byte %zu", what,
                   (size_t)(j->at - j->start));
}

bool sd_json_in_is(const struct sd_json_in *j, const char *text)
{
    return j->n == strlen(text) && memcmp(j->text, text, j->n) == 0;
}

/* The next byte that is no blank; 0 at the end. */
static char peek(struct sd_json_in *j)
{
    while (j->at < j->end &&
           (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r'))
        j->at++;
    return j->at < j->end ? *j->at : 0;
}

/* --- Texts */

static bool read_hex(struct sd_json_in *j, uint32_t *code)
{
    *code = 0;
    if (j->end - j->at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = *j->at++;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;

        if (digit < 0)
            return false;
        *code = *code << 4 | (uint32_t)digit;
    }
    return true;
}

static void put_utf8(struct sd_buf *to, uint32_t code)
{
    sd_assert(code <= 0x10FFFF);
    if (code < 0x80) {
        sd_buf_u8(to, (uint8_t)code);
        return;
    }
    if (code < 0x800) {
        sd_buf_u8(to, (uint8_t)(0xC0 | code >> 6));
    } else {
        if (code < 0x10000) {
            sd_buf_u8(to, (uint8_t)(0xE0 | code >> 12));
        } else {
            sd_buf_u8(to, (uint8_t)(0xF0 | code >> 18));
            sd_buf_u8(to, (uint8_t)(0x80 | (code >> 12 & 0x3F)));
        }
        sd_buf_u8(to, (uint8_t)(0x80 | (code >> 6 & 0x3F)));
    }
    sd_buf_u8(to, (uint8_t)(0x80 | (code & 0x3F)));
}

/* Behind "\u".  Half a pair alone is no character: U+FFFD stands for it. */
static bool read_code(struct sd_json_in *j)
{
    uint32_t code, low;

    if (!read_hex(j, &code))
        return false;
    if (code >= 0xD800 && code < 0xDC00 && j->end - j->at >= 6 && j->at[0] == '\\' &&
        j->at[1] == 'u') {
        const char *second = j->at;

        j->at += 2;
        if (!read_hex(j, &low))
            return false;
        if (low >= 0xDC00 && low < 0xE000)
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        else
            j->at = second;
    }
    put_utf8(&j->unescaped, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
    return true;
}

static bool read_escape(struct sd_json_in *j)
{
    static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    const char *letter;
    char c = j->at < j->end ? *j->at++ : 0;

    _Static_assert(sizeof letters == sizeof bytes, "a byte for each letter");
    if (c == 'u')
        return read_code(j);
    letter = c ? strchr(letters, c) : NULL;
    if (!letter)
        return false;
    sd_buf_u8(&j->unescaped, (uint8_t)bytes[letter - letters]);
    return true;
}

/* From the opening quote on. */
static bool read_text(struct sd_json_in *j)
{
    const char *from = ++j->at;
    bool has_escape = false;

    for (; j->at < j->end; j->at++) {
        if ((unsigned char)*j->at < 0x20)
            return false;
        if (*j->at != '"' && *j->at != '\\')
            continue;
        if (*j->at == '"' && !has_escape) {
            j->text = from;
            j->n = (size_t)(j->at++ - from);
            return true;
        }
        if (!has_escape)
            sd_buf_clear(&j->unescaped);
        has_escape = true;
        sd_buf_add(&j->unescaped, from, (size_t)(j->at - from));
        if (*j->at++ == '"') {
            j->text = sd_buf_string(&j->unescaped);
            j->n = j->unescaped.n;
            return !j->unescaped.bad;
        }
        if (!read_escape(j))
            return false;
        from = j->at--; /* the loop steps on */
    }
    return false;
}

/* --- Numbers */

static bool is_digit(const struct sd_json_in *j)
{
    return j->at < j->end && *j->at >= '0' && *j->at <= '9';
}

/* `value` times ten to the `power`, which may be anything. */
static double scaled(double value, int64_t power)
{
    long double v = value, ten = 10;
    uint64_t left = power < 0 ? 0 - (uint64_t)power : (uint64_t)power;

    if (left > 5000)
        left = 5000; /* beyond every double, from any number of digits that counts */
    for (; left; left >>= 1, ten *= ten)
        if (left & 1)
            v = power < 0 ? v / ten : v * ten;
    return (double)v;
}

static bool read_exponent(struct sd_json_in *j, int64_t *power)
{
    bool is_negative;
    int64_t e = 0;

    j->at++;
    is_negative = j->at < j->end && *j->at == '-';
    if (j->at < j->end && (*j->at == '-' || *j->at == '+'))
        j->at++;
    if (!is_digit(j))
        return false;
    for (; is_digit(j); j->at++)
        if (e < 1000000)
            e = e * 10 + (*j->at - '0');
    *power += is_negative ? -e : e;
    return true;
}

/* Digits beyond the nineteenth only move the point. */
struct digits {
    uint64_t sum;
    int64_t power; /* of ten */
    int n;
};

static void read_digits(struct sd_json_in *j, struct digits *d, int64_t each)
{
    for (; is_digit(j); j->at++) {
        if (d->n < 19) {
            d->sum = d->sum * 10 + (uint64_t)(*j->at - '0');
            d->n += d->sum > 0;
            d->power += each;
        } else {
            d->power += each + 1;
        }
    }
}

static enum sd_json_kind read_number(struct sd_json_in *j)
{
    struct digits d = { 0 };
    bool is_negative = *j->at == '-', is_real = false;

    j->at += is_negative;
    if (!is_digit(j))
        return SD_JSON_BAD;
    if (*j->at == '0' && j->at + 1 < j->end && j->at[1] >= '0' && j->at[1] <= '9')
        return SD_JSON_BAD;
    read_digits(j, &d, 0);
    if (j->at < j->end && *j->at == '.') {
        j->at++;
        is_real = true;
        if (!is_digit(j))
            return SD_JSON_BAD;
        read_digits(j, &d, -1);
    }
    if (j->at < j->end && (*j->at == 'e' || *j->at == 'E')) {
        is_real = true;
        if (!read_exponent(j, &d.power))
            return SD_JSON_BAD;
    }
    if (!is_real && d.power == 0 && d.sum <= INT64_MAX) {
        j->whole = is_negative ? -(int64_t)d.sum : (int64_t)d.sum;
        return SD_JSON_WHOLE;
    }
    j->real = scaled((double)d.sum, d.power);
    if (is_negative)
        j->real = -j->real;
    return SD_JSON_REAL;
}

/* --- Tokens */

static enum sd_json_kind read_word(struct sd_json_in *j, const char *word,
                                   enum sd_json_kind kind)
{
    size_t n = strlen(word);

    if ((size_t)(j->end - j->at) < n || memcmp(j->at, word, n) != 0)
        return SD_JSON_BAD;
    j->at += n;
    return kind;
}

static enum sd_json_kind open_level(struct sd_json_in *j, bool is_object)
{
    if (j->depth == SD_JSON_DEPTH)
        return SD_JSON_BAD;
    j->at++;
    j->is_object[++j->depth] = is_object;
    j->has_item = false;
    return is_object ? SD_JSON_OBJECT : SD_JSON_ARRAY;
}

static enum sd_json_kind read_value(struct sd_json_in *j, char first)
{
    switch (first) {
    case '{':
    case '[':
        return open_level(j, first == '{');
    case '"':
        return read_text(j) ? SD_JSON_TEXT : SD_JSON_BAD;
    case 't':
        return read_word(j, "true", SD_JSON_TRUE);
    case 'f':
        return read_word(j, "false", SD_JSON_FALSE);
    case 'n':
        return read_word(j, "null", SD_JSON_NULL);
    default:
        if (first == '-' || (first >= '0' && first <= '9'))
            return read_number(j);
        return SD_JSON_BAD;
    }
}

static enum sd_json_kind read_key(struct sd_json_in *j, char first)
{
    if (first != '"' || !read_text(j) || peek(j) != ':')
        return SD_JSON_BAD;
    j->at++;
    j->wants_value = true;
    return SD_JSON_KEY;
}

static enum sd_json_kind next_token(struct sd_json_in *j)
{
    char c = peek(j);

    if (j->depth == 0 && j->has_item)
        return j->at == j->end ? SD_JSON_STOP : SD_JSON_BAD;
    if (j->depth > 0 && !j->wants_value) {
        if (c == (j->is_object[j->depth] ? '}' : ']')) {
            j->at++;
            j->depth--;
            j->has_item = true;
            return SD_JSON_CLOSE;
        }
        if (j->has_item) {
            if (c != ',')
                return SD_JSON_BAD;
            j->at++;
            c = peek(j);
        }
        if (j->is_object[j->depth])
            return read_key(j, c);
    }
    j->wants_value = false;
    j->has_item = true;
    return read_value(j, c);
}

enum sd_json_kind sd_json_in_next(struct sd_json_in *j)
{
    if (j->kind != SD_JSON_BAD && j->kind != SD_JSON_STOP)
        j->kind = next_token(j);
    sd_assert(j->at <= j->end && j->depth >= 0 && j->depth <= SD_JSON_DEPTH);
    return j->kind;
}

void sd_json_in_skip(struct sd_json_in *j)
{
    int outside = j->depth - 1;

    if (j->kind != SD_JSON_OBJECT && j->kind != SD_JSON_ARRAY)
        return;
    while (j->depth > outside && j->kind != SD_JSON_BAD)
        sd_json_in_next(j);
    sd_assert(j->kind == SD_JSON_BAD || j->depth == outside);
}
