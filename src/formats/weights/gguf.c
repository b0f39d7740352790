/* SPDX-License-Identifier: MIT */
#include "formats/weights/gguf.h"

#include <stdio.h>
#include <string.h>

#include "base/cursor.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

enum {
    ALIGNMENT = 32, /* unless general.alignment says another */
    AXES_MAX = 4,   /* ggml's own bound */
    NESTING_MAX = 4,
    FACTS_MAX = 256,       /* that are kept */
    FACT_LENGTH_MAX = 512, /* a longer text is no fact but a program or a licence */
};

enum kind { /* of a value; in the file */
            U8,
            I8,
            U16,
            I16,
            U32,
            I32,
            F32,
            BOOL,
            TEXT,
            ARRAY,
            U64,
            I64,
            F64,
            KINDS
};

static const uint8_t sizes[KINDS] = {
    [U8] = 1,  [I8] = 1,   [U16] = 2, [I16] = 2, [U32] = 4, [I32] = 4,
    [F32] = 4, [BOOL] = 1, [U64] = 8, [I64] = 8, [F64] = 8,
};

struct reading {
    struct sd_cursor c;
    const uint8_t *start;
    uint32_t version;
    uint64_t alignment;
    uint64_t end; /* of the last tensor, in the data */
    size_t n_facts;
    size_t n_unknown; /* tensors of a type that is not known; the first is named */
    struct sd_weights *to;
};

bool sd_gguf_is(const void *p, size_t n) { return n >= 4 && memcmp(p, "GGUF", 4) == 0; }

static int cut(const struct reading *r)
{
    return sd_fail(SD_EFORMAT, "the gguf file is truncated: it ends after %zu bytes",
                   (size_t)(r->c.end - r->start));
}

static int damaged(const struct reading *r, const char *what)
{
    if (r->c.bad)
        return cut(r);
    return sd_fail(SD_EFORMAT, "the gguf file is damaged: before byte %zu there is %s",
                   (size_t)(r->c.at - r->start), what);
}

/* Lengths had 32 bits in version 1. */
static uint64_t read_length(struct reading *r)
{
    return r->version == 1 ? sd_cursor_u32(&r->c) : sd_cursor_u64(&r->c);
}

static const char *read_text(struct reading *r, size_t *n)
{
    uint64_t length = read_length(r);

    *n = (size_t)length;
    return (const char *)sd_cursor_take(&r->c, (size_t)length);
}

/* --- Facts */

static int skip_value(struct reading *r, uint32_t kind, int depth);

static int skip_array(struct reading *r, int depth)
{
    uint32_t kind = sd_cursor_u32(&r->c);
    uint64_t n = read_length(r);
    int rc = 0;

    if (r->c.bad) /* or a list of lists would go on to count what is not there */
        return cut(r);
    if (kind >= KINDS || depth == 0)
        return damaged(r, "a list of what no gguf file has");
    if (sizes[kind]) {
        if (n > sd_cursor_left(&r->c) / sizes[kind])
            return cut(r);
        sd_cursor_take(&r->c, (size_t)n * sizes[kind]);
        return 0;
    }
    /* Each text or list takes bytes, so that a claimed number of them ends early. */
    for (uint64_t i = 0; i < n && rc == 0; i++)
        rc = skip_value(r, kind, depth - 1);
    return rc;
}

static int skip_value(struct reading *r, uint32_t kind, int depth)
{
    size_t n;

    if (kind == ARRAY)
        return skip_array(r, depth);
    if (kind == TEXT)
        read_text(r, &n);
    else
        sd_cursor_take(&r->c, sizes[kind]);
    return r->c.bad ? cut(r) : 0;
}

static int64_t whole_of(uint32_t kind, const uint8_t *p)
{
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        int64_t i64;
    } v = { 0 };

    memcpy(&v, p, sizes[kind]);
    switch (kind) {
    case I8:
        return v.i8;
    case U16:
        return v.u16;
    case I16:
        return v.i16;
    case U32:
        return v.u32;
    case I32:
        return v.i32;
    case U64:
    case I64:
        return v.i64;
    default:
        return v.u8;
    }
}

static double real_of(uint32_t kind, const uint8_t *p)
{
    float single;
    double real;

    if (kind == F64) {
        memcpy(&real, p, sizeof real);
        return real;
    }
    memcpy(&single, p, sizeof single);
    return (double)single;
}

/* How a single value is written for the eye; *p must have been there. */
static void show_value(uint32_t kind, const uint8_t *p, size_t n,
                       char out[FACT_LENGTH_MAX + 1])
{
    char real[SD_TEXT_MAX];

    if (kind == TEXT)
        snprintf(out, FACT_LENGTH_MAX + 1, "%.*s", (int)n, (const char *)p);
    else if (kind == BOOL)
        snprintf(out, FACT_LENGTH_MAX + 1, "%s", *p ? "true" : "false");
    else if (kind == F32 || kind == F64)
        snprintf(out, FACT_LENGTH_MAX + 1, "%s", sd_text_real(real, real_of(kind, p)));
    else
        snprintf(out, FACT_LENGTH_MAX + 1, "%lld", (long long)whole_of(kind, p));
}

static int keep_fact(struct reading *r, const char *key, size_t n_key, uint32_t kind,
                     const uint8_t *p, size_t n)
{
    char name[FACT_LENGTH_MAX + 1], value[FACT_LENGTH_MAX + 1];

    if (n_key == strlen("general.alignment") &&
        memcmp(key, "general.alignment", n_key) == 0 && sizes[kind]) {
        r->alignment = (uint64_t)whole_of(kind, p);
        if (r->alignment == 0 || r->alignment & (r->alignment - 1) ||
            r->alignment > 1 << 30)
            return damaged(r, "an alignment that is none");
    }
    if (n_key > FACT_LENGTH_MAX || n > FACT_LENGTH_MAX || r->n_facts == FACTS_MAX)
        return 0;
    r->n_facts++;
    snprintf(name, sizeof name, "%.*s", (int)n_key, key);
    show_value(kind, p, n, value);
    return sd_model_fact(r->to->into, name, value);
}

static int read_fact(struct reading *r)
{
    size_t n_key, n;
    const char *key = read_text(r, &n_key);
    uint32_t kind = sd_cursor_u32(&r->c);
    const uint8_t *p;

    if (r->c.bad)
        return cut(r);
    if (kind >= KINDS)
        return damaged(r, "a value of a kind that no gguf file has");
    if (kind == ARRAY)
        return skip_array(r, NESTING_MAX);
    n = sizes[kind];
    p = kind == TEXT ? (const uint8_t *)read_text(r, &n) : sd_cursor_take(&r->c, n);
    return p ? keep_fact(r, key, n_key, kind, p, n) : cut(r);
}

/* --- Tensors */

/* The file has the innermost axis first; everybody else has it last. */
static int read_axes(struct reading *r, int64_t dims[AXES_MAX], uint32_t *n)
{
    *n = sd_cursor_u32(&r->c);
    if (!r->c.bad && *n > AXES_MAX)
        return damaged(r, "a tensor of more than four axes");
    for (uint32_t i = 0; i < *n && !r->c.bad; i++) {
        uint64_t size = read_length(r);

        if (size > INT64_MAX)
            return damaged(r, "an axis that is longer than any");
        dims[*n - 1 - i] = (int64_t)size;
    }
    return r->c.bad ? cut(r) : 0;
}

static int place_tensor(struct reading *r, uint64_t offset, uint64_t bytes)
{
    if (offset % r->alignment)
        return damaged(r, "a tensor that begins at no multiple of the alignment");
    if (offset < r->end)
        return damaged(r, "a tensor that overlaps the one before it");
    if (bytes > (uint64_t)INT64_MAX - offset)
        return damaged(r, "a tensor that is larger than any file");
    r->end = offset + bytes;
    return 0;
}

/* Types are added every year.  Elements of a newer one can be counted, its bytes cannot
 * (and where the tensor ends is then not checked). */
static int note_unknown(struct reading *r, uint32_t type, const char *name, size_t n)
{
    if (r->n_unknown++ > 0)
        return 0;
    return sd_model_note(r->to->into,
                         "the type %u of the tensor %.*s is not known: its bytes are "
                         "not counted",
                         type, (int)(n < 200 ? n : 200), name);
}

static int read_tensor(struct reading *r)
{
    int64_t dims[AXES_MAX] = { 0 }, bytes;
    uint32_t n_dims = 0, type, name;
    size_t n;
    const char *text = read_text(r, &n);
    enum sd_dtype dtype;
    uint64_t offset;
    int rc = r->c.bad ? cut(r) : read_axes(r, dims, &n_dims);

    if (rc < 0)
        return rc;
    type = sd_cursor_u32(&r->c);
    offset = sd_cursor_u64(&r->c);
    if (r->c.bad)
        return cut(r);
    dtype = sd_dtype_of_ggml(type);
    /* Rows of a quantised type are whole blocks. */
    if (n_dims && dims[n_dims - 1] % sd_dtype_about((uint8_t)dtype)->block_elements)
        return damaged(r, "a tensor whose rows are no whole blocks of its type");
    bytes = sd_dtype_bytes((uint8_t)dtype,
                           sd_dims_elements((struct sd_dims){ dims, n_dims }));
    if (n > 0 && memchr(text, 0, n))
        return damaged(r, "a tensor whose name contains a NUL byte");
    rc = place_tensor(r, offset, (uint64_t)bytes);
    if (rc == 0 && dtype == SD_DTYPE_UNKNOWN)
        rc = note_unknown(r, type, text, n);
    if (rc == 0)
        rc = sd_model_string(r->to->into, text, n, &name);
    if (rc == 0)
        rc = sd_weights_add(r->to, name, (uint8_t)dtype,
                            (struct sd_dims){ dims, n_dims }, bytes);
    if (rc == SD_EEXISTS)
        return damaged(r, "a tensor of a name that was there before");
    return rc;
}

/* --- The whole */

static int read_version(struct reading *r)
{
    const uint8_t *magic = sd_cursor_take(&r->c, 4);

    if (!magic || memcmp(magic, "GGUF", 4) != 0)
        return sd_fail(SD_EFORMAT,
                       "this is not a gguf file: it does not begin with GGUF");
    r->version = sd_cursor_u32(&r->c);
    if (r->c.bad)
        return cut(r);
    if (r->version >= 1 && r->version <= 3)
        return 0;
    if ((r->version & 0xFFFF) == 0)
        return sd_fail(
            SD_EFORMAT,
            "the GGUF file is big-endian; only little-endian files are supported");
    return sd_fail(SD_EFORMAT,
                   "the gguf file has version %u; sonde reads versions 1 to 3",
                   r->version);
}

/* Padding behind the last tensor may be left out. */
static int check_end(const struct reading *r)
{
    uint64_t header = (uint64_t)(r->c.at - r->start);
    uint64_t data = (header + r->alignment - 1) / r->alignment * r->alignment;
    uint64_t there = (uint64_t)(r->c.end - r->start);

    there = there > data ? there - data : 0;
    if (r->end <= there)
        return 0;
    return sd_fail(SD_EFORMAT,
                   "the gguf file is truncated: its tensors have %llu bytes, but only "
                   "%llu are there",
                   (unsigned long long)r->end, (unsigned long long)there);
}

int sd_gguf_read(const void *p, size_t n, struct sd_weights *to)
{
    struct reading r = {
        .c = sd_cursor_over(p, n), .start = p, .alignment = ALIGNMENT, .to = to
    };
    uint64_t n_tensors, n_facts;
    int rc = read_version(&r);

    if (rc < 0)
        return rc;
    n_tensors = read_length(&r);
    n_facts = read_length(&r);
    if (r.c.bad)
        return cut(&r);
    for (uint64_t i = 0; i < n_facts && rc == 0; i++)
        rc = read_fact(&r);
    for (uint64_t i = 0; i < n_tensors && rc == 0; i++)
        rc = read_tensor(&r);
    if (rc == 0 && r.n_unknown > 1)
        rc = sd_model_note(to->into, "%zu more tensors have unknown types",
                           r.n_unknown - 1);
    return rc == 0 ? check_end(&r) : rc;
}
