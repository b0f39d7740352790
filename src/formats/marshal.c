/* SPDX-License-Identifier: MIT */
#include "formats/marshal.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

/* A code object of a hundred bytes may name itself by reference to half of the file,
 * and the next one again.  A true one is longer than what it is called. */
enum { CODE_NAMES_PER_BYTE = 16, CODE_NAME_MAX = 4096 };

void sd_marshal_init(struct sd_marshal *r, const void *p, size_t n,
                     struct sd_intern *strings)
{
    *r = (struct sd_marshal){ .c = sd_cursor_over(p, n),
                              .start = p,
                              .strings = strings,
                              .names_left = CODE_NAMES_PER_BYTE * n + CODE_NAME_MAX };
}

void sd_marshal_release(struct sd_marshal *r)
{
    if (r->c_numbers)
        freelocale(r->c_numbers);
    sd_free(r->refs);
    *r = (struct sd_marshal){ 0 };
}

/* --- Failing */

static int cut(const struct sd_marshal *r)
{
    return sd_fail(SD_EFORMAT,
                   "the pstats data are truncated: they end after %zu bytes",
                   (size_t)(r->c.end - r->start));
}

int sd_marshal_wrong(const struct sd_marshal *r, const char *what)
{
    if (r->c.bad)
        return cut(r);
    return sd_fail(SD_EFORMAT,
                   "the pstats data are damaged, or of another kind: before byte %zu "
                   "there should be %s",
                   (size_t)(r->c.at - r->start), what);
}

/* --- References */

int sd_marshal_type(struct sd_marshal *r, uint8_t *type, uint32_t *slot)
{
    struct sd_marshal_value *grown;

    *type = sd_cursor_u8(&r->c);
    *slot = SD_MARSHAL_NO_REF;
    if (!(*type & SD_MARSHAL_FLAG))
        return 0;
    *type = (uint8_t)(*type & ~SD_MARSHAL_FLAG);
    if (r->is_again || strchr("NTF.S0", *type)) /* marshal counts none of these */
        return 0;
    grown = sd_grow_array(r->refs, &r->refs_cap, r->n_refs + 1, sizeof *grown);
    if (!grown)
        return sd_no_memory();
    r->refs = grown;
    *slot = (uint32_t)r->n_refs;
    grown[r->n_refs++] = (struct sd_marshal_value){ .kind = SD_MARSHAL_UNFINISHED };
    return 0;
}

void sd_marshal_remember(struct sd_marshal *r, uint32_t slot,
                         struct sd_marshal_value value)
{
    if (slot != SD_MARSHAL_NO_REF)
        r->refs[slot] = value;
}

int sd_marshal_ref(struct sd_marshal *r, struct sd_marshal_value *out)
{
    uint32_t at = sd_cursor_u32(&r->c);

    if (r->c.bad || at >= r->n_refs || r->refs[at].kind == SD_MARSHAL_UNFINISHED)
        return sd_marshal_wrong(r, "an object that was met before");
    *out = r->refs[at];
    return 0;
}

/* --- Numbers */

/* Digits of 15 bits, the lowest first; a negative count makes a negative number. */
static int read_long(struct sd_marshal *r, int64_t *out)
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
        return sd_marshal_wrong(r, "a number of no more than 63 bits");
    *out = count < 0 ? -(int64_t)sum : (int64_t)sum;
    return 0;
}

/* What marshal wrote before it had binary numbers: "0.25". */
static int read_real_text(struct sd_marshal *r, double *out)
{
    uint8_t n = sd_cursor_u8(&r->c);
    const uint8_t *p = sd_cursor_take(&r->c, n);
    char text[UINT8_MAX + 1], *end;

    if (!p || n == 0)
        return sd_marshal_wrong(r, "a number");
    memcpy(text, p, n);
    text[n] = 0;
    if (!r->c_numbers)
        r->c_numbers = newlocale(LC_ALL_MASK, "C", NULL);
    if (!r->c_numbers)
        return sd_no_memory();
    *out = strtod_l(text, &end, r->c_numbers);
    return end == text + n ? 0 : sd_marshal_wrong(r, "a number");
}

static double read_real(struct sd_marshal *r)
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

static int read_string(struct sd_marshal *r, uint8_t type, uint32_t *out)
{
    bool is_short = type == 'z' || type == 'Z';
    uint32_t n = is_short ? sd_cursor_u8(&r->c) : sd_cursor_u32(&r->c);
    const uint8_t *p = sd_cursor_take(&r->c, n);

    if (!p || !is_text(p, n))
        return sd_marshal_wrong(r, "a name");
    return sd_intern(r->strings, p, n, out);
}

/* --- Anything that is no tuple or dictionary */

static int read_plain(struct sd_marshal *r, uint8_t type, struct sd_marshal_value *out)
{
    switch (type) {
    case 'i':
        *out = (struct sd_marshal_value){ SD_MARSHAL_INT,
                                          .whole = (int32_t)sd_cursor_u32(&r->c) };
        return 0;
    case 'I':
        *out =
            (struct sd_marshal_value){ SD_MARSHAL_INT, .whole = sd_cursor_i64(&r->c) };
        return 0;
    case 'l':
        out->kind = SD_MARSHAL_INT;
        return read_long(r, &out->whole);
    case 'T':
    case 'F':
        *out = (struct sd_marshal_value){ SD_MARSHAL_INT, .whole = type == 'T' };
        return 0;
    case 'g':
        *out = (struct sd_marshal_value){ SD_MARSHAL_REAL, .real = read_real(r) };
        return 0;
    case 'f':
        out->kind = SD_MARSHAL_REAL;
        return read_real_text(r, &out->real);
    case 'z':
    case 'Z':
    case 'a':
    case 'A':
    case 't':
    case 'u':
        out->kind = SD_MARSHAL_STRING;
        return read_string(r, type, &out->string);
    default:
        return sd_marshal_wrong(r, "a number or a name");
    }
}

/* --- Code objects */

/* profile.py takes a script's own code for the name of what it was asked to run.  All
 * that is wanted of it is what it is called, but what stands in it is remembered as
 * well: later names refer to it.  The fields changed once, with 3.11. */
struct sd_marshal_shape {
    unsigned n_numbers; /* before the objects */
    unsigned n_objects; /* before the line */
    unsigned file, name;
    unsigned n_last; /* objects behind the line */
};
static const struct sd_marshal_shape before_3_11 = { 6, 8, 6, 7, 1 },
                                     since_3_11 = { 5, 8, 5, 6, 2 };

enum { DEPTH_MAX = 100 }; /* of what stands in each other; a compiler stops before */

static int skip_object(struct sd_marshal *r, unsigned depth,
                       struct sd_marshal_value *v);

/* Byte code comes first among the objects, so its type tells where they begin. */
static const struct sd_marshal_shape *shape_here(const struct sd_marshal *r)
{
    const struct sd_marshal_shape *const shapes[] = { &since_3_11, &before_3_11 };

    for (size_t i = 0; i < 2; i++) {
        size_t at = shapes[i]->n_numbers * sizeof(uint32_t);

        if (at < sd_cursor_left(&r->c) && (r->c.at[at] & ~SD_MARSHAL_FLAG) == 's')
            return shapes[i];
    }
    return NULL;
}

static int skip_objects(struct sd_marshal *r, unsigned depth, size_t n)
{
    struct sd_marshal_value v;
    int rc = 0;

    for (; n > 0 && rc == 0; n--)
        rc = skip_object(r, depth, &v);
    return rc;
}

/* SD_EFORMAT when the names of all code objects would be larger than the input allows.
 */
static int count_name(struct sd_marshal *r, size_t n)
{
    if (n > r->names_left)
        return sd_fail(SD_EFORMAT,
                       "the pstats data repeat very long names of functions too often, "
                       "which no profiler does; they were made to take up memory");
    r->names_left -= n;
    return 0;
}

static int name_code(struct sd_marshal *r, const struct sd_marshal_value *file,
                     const struct sd_marshal_value *name, uint32_t line, uint32_t *out)
{
    const struct sd_intern_string *items = r->strings->items;
    struct sd_buf text = { 0 };
    int rc;

    if (file->kind != SD_MARSHAL_STRING || name->kind != SD_MARSHAL_STRING)
        return sd_marshal_wrong(r, "a code object");
    rc = count_name(r, items[name->string].n + items[file->string].n);
    if (rc < 0)
        return rc;
    sd_buf_text(&text, "<code object ");
    sd_buf_add(&text, items[name->string].p, items[name->string].n);
    sd_buf_text(&text, ", file \"");
    sd_buf_add(&text, items[file->string].p, items[file->string].n);
    sd_buf_printf(&text, "\", line %d>", (int)line);
    rc = text.bad ? sd_no_memory() : sd_intern(r->strings, text.p, text.n, out);
    sd_buf_release(&text);
    return rc;
}

static int read_code(struct sd_marshal *r, unsigned depth, uint32_t *out)
{
    struct sd_marshal_value file = { 0 }, name = { 0 }, v;
    const struct sd_marshal_shape *shape;
    uint32_t line;
    int rc = 0;

    if (!r->shape)
        r->shape = shape_here(r);
    shape = r->shape;
    if (!shape || !sd_cursor_take(&r->c, shape->n_numbers * sizeof(uint32_t)))
        return sd_marshal_wrong(r, "a code object");
    for (unsigned i = 0; i < shape->n_objects && rc == 0; i++)
        rc = skip_object(r, depth,
                         i == shape->file   ? &file
                         : i == shape->name ? &name
                                            : &v);
    if (rc < 0)
        return rc;
    line = sd_cursor_u32(&r->c);
    rc = skip_objects(r, depth, shape->n_last);
    return rc < 0 ? rc : name_code(r, &file, &name, line, out);
}

/* --- Anything at all, of which nothing is wanted */

static int skip_pairs(struct sd_marshal *r, unsigned depth)
{
    struct sd_marshal_value v;
    int rc = 0;

    while (rc == 0 && sd_cursor_left(&r->c) > 0 && *r->c.at != '0')
        rc = skip_objects(r, depth, 2);
    return rc == 0 ? skip_object(r, depth, &v) : rc; /* the 0 */
}

static int skip_inside(struct sd_marshal *r, uint8_t type, unsigned depth,
                       struct sd_marshal_value *v)
{
    v->kind = SD_MARSHAL_OTHER;
    switch (type) {
    case '0':
    case 'N':
    case 'S':
    case '.':
        return 0;
    case 's':
        sd_cursor_take(&r->c, sd_cursor_u32(&r->c));
        return 0;
    case 'y':
        sd_cursor_take(&r->c, 2 * sizeof(double));
        return 0;
    case ')':
        return skip_objects(r, depth, sd_cursor_u8(&r->c));
    case '(':
    case '[':
    case '<':
    case '>':
        return skip_objects(r, depth, sd_cursor_u32(&r->c));
    case '{':
        return skip_pairs(r, depth);
    case 'c':
        v->kind = SD_MARSHAL_CODE;
        return read_code(r, depth, &v->string);
    case 'r':
        return sd_marshal_ref(r, v);
    default:
        return read_plain(r, type, v);
    }
}

static int skip_object(struct sd_marshal *r, unsigned depth, struct sd_marshal_value *v)
{
    uint32_t slot;
    uint8_t type;
    int rc = sd_marshal_type(r, &type, &slot);

    if (rc == 0 && depth == 0)
        rc = sd_marshal_wrong(r, "an object that is not so deep in others");
    if (rc == 0)
        rc = skip_inside(r, type, depth - 1, v);
    if (rc == 0 && r->c.bad)
        rc = cut(r);
    if (rc == 0)
        sd_marshal_remember(r, slot, *v);
    return rc;
}

int sd_marshal_plain(struct sd_marshal *r, struct sd_marshal_value *out)
{
    uint32_t slot;
    uint8_t type;
    int rc = sd_marshal_type(r, &type, &slot);

    if (rc == 0)
        rc = type == 'r' ? sd_marshal_ref(r, out) : read_plain(r, type, out);
    if (rc == 0 && r->c.bad)
        rc = cut(r);
    if (rc == 0)
        sd_marshal_remember(r, slot, *out);
    return rc;
}

int sd_marshal_count(struct sd_marshal *r, int64_t *out)
{
    struct sd_marshal_value v = { 0 };
    int rc = sd_marshal_plain(r, &v);

    if (rc == 0 && v.kind != SD_MARSHAL_INT)
        rc = sd_marshal_wrong(r, "a whole number");
    *out = v.whole;
    return rc;
}

/* A code object in place of a name is told by how Python shows it. */
int sd_marshal_name(struct sd_marshal *r, uint32_t *out)
{
    struct sd_marshal_value v = { 0 };
    bool is_code = sd_cursor_left(&r->c) > 0 && (*r->c.at & ~SD_MARSHAL_FLAG) == 'c';
    int rc = is_code ? skip_object(r, DEPTH_MAX, &v) : sd_marshal_plain(r, &v);

    if (rc == 0 && v.kind != SD_MARSHAL_STRING && v.kind != SD_MARSHAL_CODE)
        rc = sd_marshal_wrong(r, "a name");
    *out = v.string;
    return rc;
}
