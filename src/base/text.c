/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/assert.h"
#include "base/plain_locale.h"

struct range {
    uint32_t first, last;
};

static const struct range wide[] = {
#define WIDE(first, last) { first, last },
#include "base/widths.def"
#undef WIDE
};

static const struct range zero[] = {
#define ZERO(first, last) { first, last },
#include "base/widths.def"
#undef ZERO
};

static const struct range controls[] = {
    { 0x00, 0x1F },     /* C0, ESC among them */
    { 0x7F, 0x9F },     /* DEL and C1, where some terminals look for sequences too */
    { 0x061C, 0x061C }, /* Arabic letter mark */
    { 0x200E, 0x200F }, /* left-to-right and right-to-left marks */
    { 0x2028, 0x202E }, /* line and paragraph separators, embeddings, overrides */
    { 0x2066, 0x2069 }, /* isolates */
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Ranges rise and do not overlap. */
static bool is_in(const struct range *ranges, size_t n, uint32_t code)
{
    while (n > 0) {
        const struct range *middle = ranges + n / 2;
        sd_assert_slow(middle->first <= middle->last);
        sd_assert_slow(n == 1 || ranges[n - 1].first > ranges[0].last);

        if (code < middle->first) {
            n /= 2;
        } else if (code > middle->last) {
            n -= n / 2 + 1;
            ranges = middle + 1;
        } else {
            return true;
        }
    }
    return false;
}

/* Length that a first byte announces, and its share of the code; 0 for none. */
static size_t announced(uint8_t first, uint32_t *code)
{
    if (first < 0x80) {
        *code = first;
        return 1;
    }
    if (first >= 0xC2 && first <= 0xDF) {
        *code = first & 0x1Fu;
        return 2;
    }
    if (first >= 0xE0 && first <= 0xEF) {
        *code = first & 0x0Fu;
        return 3;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        *code = first & 0x07u;
        return 4;
    }
    return 0;
}

/* Codes that need as many bytes as were used, are no surrogates, and exist. */
static bool is_well_formed(uint32_t code, size_t len)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

    sd_assert_slow(len > 0 && len < COUNT(least));
    return code >= least[len] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
}

size_t sd_text_decode(const char *s, size_t n, uint32_t *code)
{
    uint32_t c = 0;
    size_t len = announced((uint8_t)s[0], &c);

    sd_assert_slow(n > 0);
    if (len == 0 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if (((uint8_t)s[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | ((uint8_t)s[i] & 0x3Fu);
    }
    if (!is_well_formed(c, len))
        return 0;
    *code = c;
    return len;
}

bool sd_text_is_control(uint32_t code)
{
    return is_in(controls, COUNT(controls), code);
}

static void escape_one(struct sd_buf *to, uint32_t code)
{
    switch (code) {
    case '\n':
        sd_buf_text(to, "\\n");
        break;
    case '\r':
        sd_buf_text(to, "\\r");
        break;
    case '\t':
        sd_buf_text(to, "\\t");
        break;
    default:
        sd_buf_printf(to, code < 0x80 ? "\\x%02x" : "\\u%04x", code);
    }
}

void sd_text_escape(struct sd_buf *to, const char *s, size_t n)
{
    while (n > 0) {
        uint32_t code;
        size_t len = sd_text_decode(s, n, &code);

        if (len == 0) {
            sd_buf_printf(to, "\\x%02x", (uint8_t)*s);
            len = 1;
        } else if (sd_text_is_control(code)) {
            escape_one(to, code);
        } else {
            sd_buf_add(to, s, len);
        }
        s += len;
        n -= len;
    }
}

bool sd_text_ends(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && memcmp(s + n - m, end, m) == 0;
}

size_t sd_text_whole(const char *s, size_t n)
{
    while (n > 0 && ((uint8_t)s[n] & 0xC0) == 0x80)
        n--;
    return n;
}

static size_t columns_of(uint32_t code)
{
    if (code < 0x7F)
        return code >= 0x20;
    if (is_in(wide, COUNT(wide), code))
        return 2;
    return !is_in(zero, COUNT(zero), code) && !sd_text_is_control(code);
}

/* Length of the first character, and its columns. */
static size_t step(const char *s, size_t n, size_t *columns)
{
    uint32_t code;
    size_t len = sd_text_decode(s, n, &code);

    *columns = len ? columns_of(code) : 1;
    sd_assert_slow(len <= n);
    return len ? len : 1;
}

size_t sd_text_width(const char *s, size_t n)
{
    size_t all = 0;

    for (size_t at = 0, columns; at < n; all += columns)
        at += step(s + at, n - at, &columns);
    return all;
}

size_t sd_text_fit(const char *s, size_t n, size_t columns)
{
    size_t at = 0;

    while (at < n) {
        size_t taken;
        size_t len = step(s + at, n - at, &taken);

        if (taken > columns)
            break;
        columns -= taken;
        at += len;
    }
    sd_assert(at <= n);
    return at;
}

size_t sd_text_fit_end(const char *s, size_t n, size_t columns)
{
    size_t left = sd_text_width(s, n), from = 0;

    while (left > columns) {
        size_t taken;

        from += step(s + from, n - from, &taken);
        left -= taken;
    }
    sd_assert(from <= n);
    return n - from;
}

/* The magnitude as unsigned, which holds that of INT64_MIN too. */
static uint64_t magnitude(int64_t v) { return v < 0 ? 0 - (uint64_t)v : (uint64_t)v; }

static const char *sign(int64_t v) { return v < 0 ? "-" : ""; }

/* v / unit in tenths, rounded. */
static uint64_t tenths(uint64_t v, uint64_t unit)
{
    return v / unit * 10 + (v % unit * 10 + unit / 2) / unit;
}

char *sd_text_bytes(char out[SD_TEXT_MAX], int64_t bytes)
{
    static const char letters[] = "KMGTPE";
    uint64_t n = magnitude(bytes);
    uint64_t unit = 1024, t;
    size_t i = 0;

    _Static_assert(COUNT(letters) == 6 + 1,
                   "2 to the power of 60 is the last in 64 bits");
    if (n < 1024) {
        snprintf(out, SD_TEXT_MAX, "%s%d B", sign(bytes), (int)n);
        return out;
    }
    /* Rounded first, so that one byte less than 1 MiB is not "1024.0 KiB". */
    while (tenths(n, unit) >= 10240 && letters[i + 1]) {
        unit *= 1024;
        i++;
    }
    t = tenths(n, unit);
    snprintf(out, SD_TEXT_MAX, "%s%d.%d %ciB", sign(bytes), (int)(t / 10),
             (int)(t % 10), letters[i]);
    return out;
}

/* Two units beyond a minute, where a decimal of seconds tells nothing more. */
static void long_duration(char *out, const char *minus, uint64_t s)
{
    if (s < 3600)
        snprintf(out, SD_TEXT_MAX, "%s%dm%02ds", minus, (int)(s / 60), (int)(s % 60));
    else if (s < 86400)
        snprintf(out, SD_TEXT_MAX, "%s%dh%02dm", minus, (int)(s / 3600),
                 (int)(s % 3600 / 60));
    else
        snprintf(out, SD_TEXT_MAX, "%s%dd%02dh", minus, (int)(s / 86400),
                 (int)(s % 86400 / 3600));
}

char *sd_text_duration(char out[SD_TEXT_MAX], int64_t ns)
{
    static const char *const names[] = { "us", "ms", "s" };
    uint64_t n = magnitude(ns);
    uint64_t unit = 1000, t;
    size_t i = 0;

    _Static_assert(COUNT(names) == 2 + 1, "the loop stops at the last");
    if (n < 1000) {
        snprintf(out, SD_TEXT_MAX, "%s%d ns", sign(ns), (int)n);
        return out;
    }
    while (i < 2 && tenths(n, unit) >= 10000) {
        unit *= 1000;
        i++;
    }
    t = tenths(n, unit);
    if (i == 2 && t >= 600)
        long_duration(out, sign(ns), n / 1000000000 + (n % 1000000000 >= 500000000));
    else
        snprintf(out, SD_TEXT_MAX, "%s%d.%d %s", sign(ns), (int)(t / 10), (int)(t % 10),
                 names[i]);
    return out;
}

char *sd_text_count(char out[SD_TEXT_MAX], int64_t n)
{
    char digits[SD_TEXT_MAX];
    char *to = out;
    int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)magnitude(n));

    _Static_assert(SD_TEXT_MAX > 1 + 20 + 6, "a sign, all digits and their commas");
    if (n < 0)
        *to++ = '-';
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = 0;
    return out;
}

char *sd_text_scaled(char out[SD_TEXT_MAX], double v)
{
    static const char *const units[] = { "", "K", "M", "G", "T", "P", "E" };
    size_t unit = 0;

    _Static_assert(COUNT(units) == 7, "the loop stops at the last");
    /* 999,995 would read 1000.00K: it is 1.00M. */
    while (fabs(v) >= (unit == 0 ? 1000 : 999.995) && unit + 1 < 7) {
        v /= 1000;
        unit++;
    }
    if (unit > 0)
        snprintf(out, SD_TEXT_MAX, "%.2f%s", v, units[unit]);
    else if (v == floor(v))
        snprintf(out, SD_TEXT_MAX, "%.0f", v);
    else
        snprintf(out, SD_TEXT_MAX, "%.4g", v);
    return out;
}

/* Whole numbers and tenths, which are most of what is written, need no search. */
static bool is_in_tenths(char out[SD_TEXT_MAX], double v)
{
    long long tenths;

    if (!(v < 1e13 && v > -1e13) || (v == 0 && __builtin_signbit(v)))
        return false;
    tenths = (long long)(v * 10 + (v < 0 ? -0.5 : 0.5));
    if ((double)tenths / 10 != v)
        return false;
    if (tenths % 10 == 0)
        snprintf(out, SD_TEXT_MAX, "%lld", tenths / 10);
    else
        snprintf(out, SD_TEXT_MAX, "%s%lld.%lld", tenths < 0 ? "-" : "",
                 llabs(tenths) / 10, llabs(tenths) % 10);
    return true;
}

static void shortest(char out[SD_TEXT_MAX], double v)
{
    _Static_assert(SD_TEXT_MAX > 17 + 8, "17 digits, a sign, a point, and an exponent");
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, SD_TEXT_MAX, "%.*g", digits, v);
        if (strtod(out, NULL) == v)
            break;
    }
}

char *sd_text_real(char out[SD_TEXT_MAX], double v)
{
    struct sd_plain_locale locale;

    if (!__builtin_isfinite(v)) {
        strcpy(out, __builtin_isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return out;
    }
    if (is_in_tenths(out, v))
        return out;
    sd_plain_locale_enter(&locale);
    shortest(out, v);
    sd_plain_locale_leave(&locale);
    return out;
}

struct unit {
    const char *name;
    uint64_t factor;
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Reads "12", "1.5" or ".5" in exact arithmetic, as whole units and as billionths of
 * one; returns what follows, or NULL.  Digits beyond the ninth after the point are
 * below a nanosecond or a byte and are dropped. */
static const char *read_decimal(const char *s, uint64_t *whole, uint64_t *billionths)
{
    uint64_t place = 100000000;

    if (!is_digit(s[0]) && !(s[0] == '.' && is_digit(s[1])))
        return NULL;
    *whole = *billionths = 0;
    for (; *s >= '0' && *s <= '9'; s++) {
        if (__builtin_mul_overflow(*whole, 10, whole) ||
            __builtin_add_overflow(*whole, (uint64_t)(*s - '0'), whole))
            return NULL;
    }
    if (s[0] != '.' || s[1] < '0' || s[1] > '9')
        return s;
    for (s++; *s >= '0' && *s <= '9'; s++, place /= 10)
        *billionths += (uint64_t)(*s - '0') * place;
    sd_assert(*billionths < 1000000000);
    return s;
}

/* "1.5" and a unit of the list ended by NULL; `bare` is what no unit means. */
static bool read_quantity(const char *s, const struct unit *units, uint64_t bare,
                          uint64_t *value)
{
    uint64_t whole, billionths, factor = 0;
    unsigned __int128 total;

    s = read_decimal(s, &whole, &billionths);
    if (!s)
        return false;
    if (*s == 0)
        factor = bare;
    if (*s == ' ')
        s++;
    for (; units->name && factor == 0; units++) {
        if (strcasecmp(s, units->name) == 0)
            factor = units->factor;
    }
    total = (unsigned __int128)whole * factor +
            (unsigned __int128)billionths * factor / 1000000000;
    if (factor == 0 || total > UINT64_MAX)
        return false;
    *value = (uint64_t)total;
    return true;
}

bool sd_text_parse_duration(const char *s, uint64_t *ns)
{
    enum { second = 1000000000 };
    static const struct unit units[] = {
        { "ns", 1 },
        { "us", 1000 },
        { "\xC2\xB5s", 1000 },
        { "\xCE\xBCs", 1000 }, /* the Greek letter, where keyboards have that one */
        { "ms", 1000000 },
        { "s", second },
        { "sec", second },
        { "m", 60ull * second },
        { "min", 60ull * second },
        { "h", 3600ull * second },
        { "d", 86400ull * second },
        { NULL, 0 },
    };

    return read_quantity(s, units, second, ns);
}

bool sd_text_parse_size(const char *s, uint64_t *bytes)
{
    static const struct unit units[] = {
        { "B", 1 },
        { "K", 1u << 10 },
        { "KiB", 1u << 10 },
        { "kB", 1000 },
        { "M", 1u << 20 },
        { "MiB", 1u << 20 },
        { "MB", 1000000 },
        { "G", 1u << 30 },
        { "GiB", 1u << 30 },
        { "GB", 1000000000 },
        { "T", 1ull << 40 },
        { "TiB", 1ull << 40 },
        { "TB", 1000000000000 },
        { NULL, 0 },
    };

    return read_quantity(s, units, 1, bytes);
}

bool sd_text_parse_number(const char *s, uint64_t *n)
{
    uint64_t whole, billionths;

    if (strchr(s, '.'))
        return false;
    s = read_decimal(s, &whole, &billionths);
    if (!s || *s)
        return false;
    *n = whole;
    return true;
}
