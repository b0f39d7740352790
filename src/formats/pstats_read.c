/* SPDX-License-Identifier: MIT */
/* pstats_read: a pstats file, which nobody has vouched for.
 *
 * The shape is fixed, so nothing here is recursive: each function below reads one kind
 * of object at the place where it may stand.  An object whose type byte carries the
 * flag is remembered under the next number, in the order in which they begin.  Numbers
 * and names are remembered as such; tuples and dictionaries by where they stand, and
 * read again when they are named again.  That happens only by hand-made files, and is
 * bounded: no more callers are read in all than the file has bytes. */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cursor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/pstats.h"

enum { FLAG = 0x80, NO_REF = UINT32_MAX, N_ENTRY = 5, N_EDGE = 4, N_KEY = 3 };

enum kind {
    KIND_UNFINISHED, /* of a tuple or dictionary that is being read */
    KIND_INT,
    KIND_REAL,
    KIND_STRING,
    KIND_FUNCTION, /* a tuple (file, line, name) */
    KIND_OBJECT,   /* another tuple, or a dictionary */
};

struct value {
    enum kind kind;
    union {
        int64_t whole;
        double real;
        uint32_t string; /* in the stats' strings */
        sd_function_id function;
        const uint8_t *at; /* the type byte of an object */
    };
};

struct reading {
    struct sd_cursor c;
    const uint8_t *start;
    struct sd_call_stats *into;
    struct value *refs; /* owned */
    size_t n_refs, refs_cap;
    bool is_again;      /* an object is read again: its flags were counted before */
    size_t n_callers;   /* that may still be read */
    locale_t c_numbers; /* made when numbers are written as text */
};

/* --- Failing */

static int cut(const struct reading *r)
{
    return sd_fail(SD_EFORMAT, "the pstats data are cut: they end after %zu bytes",
                   (size_t)(r->c.end - r->start));
}

/* What was read last is not `what`. */
static int wrong(const struct reading *r, const char *what)
{
    if (r->c.bad)
        return cut(r);
    return sd_fail(SD_EFORMAT,
                   "the pstats data are damaged, or of another kind: before byte %zu "
                   "there should be %s",
                   (size_t)(r->c.at - r->start), what);
}

/* --- References */

/* The type byte without its flag; *slot is where the object is to be remembered. */
static int next_type(struct reading *r, uint8_t *type, uint32_t *slot)
{
    struct value *grown;

    *type = sd_cursor_u8(&r->c);
    *slot = NO_REF;
    if (!(*type & FLAG))
        return 0;
    *type = (uint8_t)(*type & ~FLAG);
    if (r->is_again || strchr("NTF.S0", *type)) /* marshal counts none of these */
        return 0;
    grown = sd_grow_array(r->refs, &r->refs_cap, r->n_refs + 1, sizeof *grown);
    if (!grown)
        return sd_no_memory();
    r->refs = grown;
    *slot = (uint32_t)r->n_refs;
    grown[r->n_refs++] = (struct value){ .kind = KIND_UNFINISHED };
    return 0;
}

static void remember(struct reading *r, uint32_t slot, struct value value)
{
    if (slot != NO_REF)
        r->refs[slot] = value;
}

static int read_ref(struct reading *r, struct value *out)
{
    uint32_t at = sd_cursor_u32(&r->c);

    if (r->c.bad || at >= r->n_refs || r->refs[at].kind == KIND_UNFINISHED)
        return wrong(r, "an object that was met before");
    *out = r->refs[at];
    return 0;
}

/* --- Numbers */

/* Digits of 15 bits, the lowest first; a negative count makes a negative number. */
static int read_long(struct reading *r, int64_t *out)
{
    int32_t count = (int32_t)sd_cursor_u32(&r->c);
    uint32_t n = count < 0 ? 0u - (uint32_t)count : (uint32_t)count;
    uint64_t sum = 0;
    bool fits = true;

    for (uint32_t i = 0; i < n && !r->c.bad && fits; i++) {
        uint64_t digit = sd_cursor_u16(&r->c);

        fits = i < 4 || (i == 4 && digit < 8); /* 63 bits */
        if (fits)
            sum |= digit << (15 * i);
    }
    if (r->c.bad || !fits)
        return wrong(r, "a number of no more than 63 bits");
    *out = count < 0 ? -(int64_t)sum : (int64_t)sum;
    return 0;
}

/* What marshal wrote before it had binary numbers: "0.25". */
static int read_real_text(struct reading *r, double *out)
{
    uint8_t n = sd_cursor_u8(&r->c);
    const uint8_t *p = sd_cursor_take(&r->c, n);
    char text[UINT8_MAX + 1], *end;

    if (!p || n == 0)
        return wrong(r, "a number");
    memcpy(text, p, n);
    text[n] = 0;
    if (!r->c_numbers)
        r->c_numbers = newlocale(LC_ALL_MASK, "C", NULL);
    if (!r->c_numbers)
        return sd_no_memory();
    *out = strtod_l(text, &end, r->c_numbers);
    return end == text + n ? 0 : wrong(r, "a number");
}

static double read_real(struct reading *r)
{
    uint64_t bits = sd_cursor_u64(&r->c);
    double real;

    memcpy(&real, &bits, sizeof real);
    return real;
}

/* --- Names */

/* Lone surrogates are no UTF-8, but Python keeps undecodable names of files in them. */
static size_t surrogate_length(const uint8_t *p, size_t n)
{
    return n >= 3 && p[0] == 0xED && p[1] >= 0xA0 && p[1] <= 0xBF &&
                   (p[2] & 0xC0) == 0x80
               ? 3
               : 0;
}

static bool is_text(const uint8_t *p, size_t n)
{
    while (n > 0) {
        uint32_t code;
        size_t length = *p < 0x80 ? 1 : sd_text_decode((const char *)p, n, &code);

        if (length == 0)
            length = surrogate_length(p, n);
        if (length == 0)
            return false;
        p += length;
        n -= length;
    }
    return true;
}

static int read_string(struct reading *r, uint8_t type, uint32_t *out)
{
    bool is_short = type == 'z' || type == 'Z';
    uint32_t n = is_short ? sd_cursor_u8(&r->c) : sd_cursor_u32(&r->c);
    const uint8_t *p = sd_cursor_take(&r->c, n);

    if (!p || !is_text(p, n))
        return wrong(r, "a name");
    return sd_intern(&r->into->strings, p, n, out);
}

/* --- Anything that is no tuple or dictionary */

static int read_plain(struct reading *r, uint8_t type, struct value *out)
{
    switch (type) {
    case 'i':
        *out = (struct value){ KIND_INT, .whole = (int32_t)sd_cursor_u32(&r->c) };
        return 0;
    case 'I':
        *out = (struct value){ KIND_INT, .whole = sd_cursor_i64(&r->c) };
        return 0;
    case 'l':
        out->kind = KIND_INT;
        return read_long(r, &out->whole);
    case 'T':
    case 'F':
        *out = (struct value){ KIND_INT, .whole = type == 'T' };
        return 0;
    case 'g':
        *out = (struct value){ KIND_REAL, .real = read_real(r) };
        return 0;
    case 'f':
        out->kind = KIND_REAL;
        return read_real_text(r, &out->real);
    case 'z':
    case 'Z':
    case 'a':
    case 'A':
    case 't':
    case 'u':
        out->kind = KIND_STRING;
        return read_string(r, type, &out->string);
    default:
        return wrong(r, "a number or a name");
    }
}

/* A number or a name, or a reference to whatever. */
static int read_value(struct reading *r, struct value *out)
{
    uint32_t slot;
    uint8_t type;
    int rc = next_type(r, &type, &slot);

    if (rc == 0)
        rc = type == 'r' ? read_ref(r, out) : read_plain(r, type, out);
    if (rc == 0 && r->c.bad)
        rc = cut(r);
    if (rc == 0)
        remember(r, slot, *out);
    return rc;
}

static int read_count(struct reading *r, int64_t *out)
{
    struct value v = { 0 };
    int rc = read_value(r, &v);

    if (rc == 0 && v.kind != KIND_INT)
        rc = wrong(r, "a whole number");
    *out = v.whole;
    return rc;
}

static int read_seconds(struct reading *r, enum sd_whole flag, double *out,
                        unsigned *whole)
{
    struct value v = { 0 };
    int rc = read_value(r, &v);

    if (rc == 0 && v.kind != KIND_INT && v.kind != KIND_REAL)
        rc = wrong(r, "a number of seconds");
    *out = v.kind == KIND_INT ? (double)v.whole : v.real;
    if (v.kind == KIND_INT)
        *whole |= (unsigned)flag;
    return rc;
}

static int read_name(struct reading *r, uint32_t *out)
{
    struct value v = { 0 };
    int rc = read_value(r, &v);

    if (rc == 0 && v.kind != KIND_STRING)
        rc = wrong(r, "a name");
    *out = v.string;
    return rc;
}

/* --- Objects */

/* Of a tuple whose type byte was read. */
static uint32_t tuple_length(struct reading *r, uint8_t type)
{
    return type == ')' ? sd_cursor_u8(&r->c) : type == '(' ? sd_cursor_u32(&r->c) : 0;
}

/* (file, line, name), whose type byte was read. */
static int read_key_of(struct reading *r, uint8_t type, uint32_t slot,
                       sd_function_id *out)
{
    uint32_t file, name;
    int64_t line;
    int rc = tuple_length(r, type) == N_KEY ? 0 : wrong(r, "(file, line, name)");

    if (rc == 0)
        rc = read_name(r, &file);
    if (rc == 0)
        rc = read_count(r, &line);
    if (rc == 0)
        rc = read_name(r, &name);
    if (rc == 0)
        rc = sd_call_stats_function_of(r->into, file, line, name, out);
    if (rc == 0)
        remember(r, slot, (struct value){ KIND_FUNCTION, .function = *out });
    return rc;
}

/* A key of a dictionary; *is_end: there was none, and the dictionary ends. */
static int read_key(struct reading *r, bool *is_end, sd_function_id *out)
{
    struct value v;
    uint32_t slot;
    uint8_t type;
    int rc = next_type(r, &type, &slot);

    *is_end = rc == 0 && type == '0';
    if (rc < 0 || *is_end)
        return rc;
    if (type != 'r')
        return read_key_of(r, type, slot, out);
    rc = read_ref(r, &v);
    if (rc == 0 && v.kind != KIND_FUNCTION)
        rc = wrong(r, "(file, line, name)");
    *out = v.function;
    return rc;
}

/* Both orders of the counts: see the header. */
static int read_numbers(struct reading *r, int64_t *first, int64_t *second,
                        struct sd_call_numbers *n)
{
    int rc = read_count(r, first);

    if (rc == 0)
        rc = read_count(r, second);
    if (rc == 0)
        rc = read_seconds(r, SD_WHOLE_OWN, &n->own, &n->whole);
    if (rc == 0)
        rc = read_seconds(r, SD_WHOLE_TOTAL, &n->total, &n->whole);
    return rc;
}

/* Who called whom: of a function itself only `callee`. */
struct pair {
    sd_function_id caller, callee;
};
typedef int read_fn(struct reading *r, uint8_t type, struct pair of);

/* A tuple or a dictionary, or a reference to one: then reading goes there and comes
 * back. */
static int read_object(struct reading *r, read_fn *read, struct pair of)
{
    struct value v = { KIND_OBJECT, .at = r->c.at };
    struct sd_cursor back;
    bool was_again = r->is_again;
    uint32_t slot, none;
    uint8_t type;
    int rc = next_type(r, &type, &slot);

    if (rc < 0)
        return rc;
    if (type != 'r') {
        rc = read(r, type, of);
        if (rc == 0)
            remember(r, slot, v);
        return rc;
    }
    rc = read_ref(r, &v);
    if (rc == 0 && v.kind != KIND_OBJECT)
        rc = wrong(r, "a tuple or a dictionary");
    if (rc < 0)
        return rc;
    back = r->c;
    r->c.at = v.at;
    r->is_again = true;
    rc = next_type(r, &type, &none);
    if (rc == 0)
        rc = read(r, type, of);
    r->is_again = was_again;
    if (rc == 0)
        r->c = back;
    return rc;
}

/* Does a tuple come, by itself or by reference?  Nothing is read yet. */
static bool is_tuple_next(const struct reading *r)
{
    struct sd_cursor ahead = r->c;
    uint8_t type = sd_cursor_u8(&ahead) & (uint8_t)~FLAG;
    uint32_t at = sd_cursor_u32(&ahead);

    return type == '(' || type == ')' ||
           (type == 'r' && at < r->n_refs && r->refs[at].kind == KIND_OBJECT);
}

static int read_edge_tuple(struct reading *r, uint8_t type, struct pair of)
{
    struct sd_call_numbers n = { 0 };
    int rc = tuple_length(r, type) == N_EDGE ? 0 : wrong(r, "four numbers of a caller");

    if (rc == 0)
        rc = read_numbers(r, &n.calls, &n.primitive, &n);
    return rc < 0 ? rc : sd_call_stats_count_calls(r->into, of.caller, of.callee, &n);
}

/* What is known of one caller: four numbers, or one of profile.py. */
static int read_edge(struct reading *r, struct pair of)
{
    int64_t calls;
    int rc;

    if (is_tuple_next(r))
        return read_object(r, read_edge_tuple, of);
    rc = read_count(r, &calls);
    return rc < 0 ? rc
                  : sd_call_stats_count_plain(r->into, of.caller, of.callee, calls);
}

static int read_callers(struct reading *r, uint8_t type, struct pair of)
{
    bool is_end = false;
    int rc = type == '{' ? 0 : wrong(r, "a dictionary of callers");

    while (rc == 0) {
        rc = read_key(r, &is_end, &of.caller);
        if (rc < 0 || is_end)
            break;
        if (r->n_callers-- == 0)
            return sd_fail(SD_EFORMAT, "the pstats data name the same callers over and "
                                       "over, which no profiler writes");
        rc = read_edge(r, of);
    }
    return rc;
}

static int read_entry(struct reading *r, uint8_t type, struct pair of)
{
    struct sd_call_numbers n = { 0 };
    int rc = tuple_length(r, type) == N_ENTRY
                 ? 0
                 : wrong(r, "four numbers of a function and its callers");

    if (rc == 0)
        rc = read_numbers(r, &n.primitive, &n.calls, &n);
    if (rc == 0)
        rc = sd_call_stats_count(r->into, of.callee, &n);
    return rc < 0 ? rc : read_object(r, read_callers, of);
}

static int read_all(struct reading *r)
{
    struct pair of = { 0 };
    bool is_end = false;
    uint32_t slot;
    uint8_t type;
    int rc = next_type(r, &type, &slot);

    if (rc == 0 && type != '{')
        rc = wrong(r, "a dictionary of functions");
    while (rc == 0) {
        rc = read_key(r, &is_end, &of.callee);
        if (rc < 0 || is_end)
            break;
        rc = read_object(r, read_entry, of);
    }
    return rc;
}

/* --- pstats.h */

/* A dictionary that is empty, or begins with a tuple of three. */
bool sd_pstats_is(const void *p, size_t n)
{
    const uint8_t *b = p;
    uint8_t first;

    if (n < 2 || (b[0] & ~FLAG) != '{')
        return false;
    first = (uint8_t)(b[1] & ~FLAG);
    return b[1] == '0' || (first == ')' && (n < 3 || b[2] == N_KEY)) ||
           (first == '(' && (n < 6 || memcmp(b + 2, "\3\0\0", 4) == 0));
}

int sd_pstats_read(const void *p, size_t n, struct sd_call_stats *into)
{
    struct reading r = {
        .c = sd_cursor_over(p, n), .start = p, .into = into, .n_callers = n
    };
    int rc = read_all(&r);

    if (r.c_numbers)
        freelocale(r.c_numbers);
    sd_free(r.refs);
    return rc < 0 ? rc : sd_call_stats_sum(into);
}

/* "Mon Nov 16 04:13:00 2026    restats", as time.ctime writes it. */
void sd_pstats_origin(struct sd_buf *to, time_t changed, const char *path, size_t n)
{
    char date[64];
    struct tm tm;

    if (localtime_r(&changed, &tm) && asctime_r(&tm, date))
        sd_buf_printf(to, "%.*s    ", (int)strcspn(date, "\n"), date);
    sd_buf_add(to, path, n);
}

static int add_origin(struct sd_call_stats *s, const char *path, const struct stat *st)
{
    struct sd_buf line = { 0 };
    int rc;

    sd_pstats_origin(&line, st->st_mtime, path, strlen(path));
    rc =
        line.bad ? sd_no_memory() : sd_call_stats_add_origin(s, (char *)line.p, line.n);
    sd_buf_release(&line);
    return rc;
}

int sd_pstats_load(const char *path, struct sd_call_stats *into)
{
    struct sd_map map = { 0 };
    struct stat st;
    int rc = sd_map_file(&map, path);

    if (rc < 0)
        return rc;
    rc = stat(path, &st) < 0 ? sd_fail_errno(errno, "cannot read %s", path) : 0;
    if (rc == 0) {
        rc = sd_pstats_read(map.p, map.n, into);
        if (rc < 0)
            sd_fail_in(rc, "%s", path);
    }
    if (rc == 0)
        rc = add_origin(into, path, &st);
    sd_map_release(&map);
    return rc;
}
