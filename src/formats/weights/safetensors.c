/* SPDX-License-Identifier: MIT */
#include "formats/weights/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/encoding/json_in.h"
#include "base/error.h"
#include "base/mem.h"

/* The library's own bound.  A header of a hundred megabytes names a million tensors. */
enum { HEADER_MAX = 100000000 };

struct span {
    uint64_t begin, end; /* in the data */
    uint32_t name;
};

struct reading {
    struct sd_json_in json;
    struct sd_weights *to;
    uint64_t data_bytes; /* behind the header */
    struct span *spans;  /* owned */
    size_t n, cap;
    size_t n_unknown; /* tensors of a type that is not known; the first is named */
};

struct entry { /* of one tensor in the header */
    uint32_t name;
    enum sd_dtype dtype;
    int64_t dims[SD_MODEL_DIMS_MAX];
    uint32_t n_dims;
    uint64_t offsets[2];
    bool has_dtype, has_shape, has_offsets;
};

bool sd_safetensors_is(const void *p, size_t n)
{
    struct sd_cursor c = sd_cursor_over(p, n);
    uint64_t length = sd_cursor_u64(&c);
    const uint8_t *first = sd_cursor_take(&c, 1);

    return first && *first == '{' && length <= HEADER_MAX;
}

static const char *name_of(const struct reading *r, uint32_t name)
{
    return sd_model_text(r->to->into, name);
}

static int damaged(const struct reading *r, uint32_t name, const char *what)
{
    if (r->json.kind == SD_JSON_BAD)
        return sd_json_in_wrong(&r->json, "the header of the safetensors file");
    return sd_fail(SD_EFORMAT,
                   "the safetensors file is damaged: the tensor \"%.200s\" %s",
                   name_of(r, name), what);
}

/* --- One tensor */

/* Whole numbers into `to`, no more than `max`. */
static int read_numbers(struct reading *r, struct entry *e, int64_t *to, uint32_t max,
                        uint32_t *n)
{
    if (sd_json_in_next(&r->json) != SD_JSON_ARRAY)
        return damaged(r, e->name, "has something else where a list should be");
    for (*n = 0; sd_json_in_next(&r->json) == SD_JSON_WHOLE && r->json.whole >= 0;) {
        if (*n == max)
            return damaged(r, e->name, "has a list that is too long");
        to[(*n)++] = r->json.whole;
    }
    if (r->json.kind != SD_JSON_CLOSE)
        return damaged(r, e->name, "has something else where a size should be");
    return 0;
}

static int read_offsets(struct reading *r, struct entry *e)
{
    int64_t numbers[2];
    uint32_t n;
    int rc = read_numbers(r, e, numbers, 2, &n);

    if (rc == 0 && (n != 2 || numbers[1] < numbers[0]))
        rc = damaged(r, e->name, "has offsets that are no range");
    if (rc < 0)
        return rc;
    e->offsets[0] = (uint64_t)numbers[0];
    e->offsets[1] = (uint64_t)numbers[1];
    e->has_offsets = true;
    return 0;
}

static int read_dtype(struct reading *r, struct entry *e)
{
    if (sd_json_in_next(&r->json) != SD_JSON_TEXT)
        return damaged(r, e->name, "has no dtype");
    e->has_dtype = true;
    e->dtype = sd_dtype_of_safetensors(r->json.text, r->json.n);
    if (e->dtype != SD_DTYPE_UNKNOWN || r->n_unknown++ > 0)
        return 0;
    return sd_model_note(r->to->into,
                         "the type %.*s of the tensor %s is not known: its "
                         "bytes are those the header claims",
                         (int)(r->json.n < 32 ? r->json.n : 32), r->json.text,
                         name_of(r, e->name));
}

static int read_field(struct reading *r, struct entry *e)
{
    if (sd_json_in_is(&r->json, "dtype"))
        return read_dtype(r, e);
    if (sd_json_in_is(&r->json, "shape")) {
        e->has_shape = true;
        return read_numbers(r, e, e->dims, SD_MODEL_DIMS_MAX, &e->n_dims);
    }
    if (sd_json_in_is(&r->json, "data_offsets"))
        return read_offsets(r, e);
    sd_json_in_next(&r->json);
    sd_json_in_skip(&r->json);
    return 0;
}

static int keep_span(struct reading *r, const struct entry *e)
{
    struct span *grown;

    grown = sd_grow_array(r->spans, &r->cap, r->n + 1, sizeof *grown);
    if (!grown)
        return sd_no_memory();
    r->spans = grown;
    grown[r->n++] = (struct span){ e->offsets[0], e->offsets[1], e->name };
    return 0;
}

static int keep_tensor(struct reading *r, struct entry *e)
{
    struct sd_dims dims = { e->dims, e->n_dims };
    uint64_t bytes = e->offsets[1] - e->offsets[0];
    int rc;

    if (!e->has_dtype || !e->has_shape || !e->has_offsets)
        return damaged(r, e->name, "lacks its dtype, shape or data_offsets");
    if (e->dtype != SD_DTYPE_UNKNOWN &&
        (uint64_t)sd_dtype_bytes((uint8_t)e->dtype, sd_dims_elements(dims)) != bytes)
        return damaged(r, e->name, "has other bytes than its type and shape make");
    rc = sd_weights_add(r->to, e->name, (uint8_t)e->dtype, dims, (int64_t)bytes);
    if (rc == SD_EEXISTS)
        return damaged(r, e->name, "is there twice");
    return rc < 0 ? rc : keep_span(r, e);
}

static int read_tensor(struct reading *r)
{
    struct entry e = { 0 };
    int rc;

    /* It would be shown, and known, by what stands before it. */
    if (r->json.n > 0 && memchr(r->json.text, 0, r->json.n))
        return sd_fail(SD_EFORMAT, "this safetensors file is damaged: the name of a "
                                   "tensor contains a NUL byte");
    rc = sd_model_string(r->to->into, r->json.text, r->json.n, &e.name);
    if (rc < 0)
        return rc;
    if (sd_json_in_next(&r->json) != SD_JSON_OBJECT)
        return damaged(r, e.name, "is not described");
    while (rc == 0 && sd_json_in_next(&r->json) == SD_JSON_KEY)
        rc = read_field(r, &e);
    if (rc == 0 && r->json.kind != SD_JSON_CLOSE)
        rc = damaged(r, e.name, "is not described");
    return rc == 0 ? keep_tensor(r, &e) : rc;
}

/* --- The whole */

static int by_begin(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static int check_spans(struct reading *r)
{
    uint64_t at = 0;

    if (r->n)
        qsort(r->spans, r->n, sizeof *r->spans, by_begin);
    for (size_t i = 0; i < r->n; i++) {
        if (r->spans[i].begin != at)
            return damaged(r, r->spans[i].name,
                           r->spans[i].begin < at ? "overlaps another"
                                                  : "leaves a hole before it");
        at = r->spans[i].end;
    }
    if (at > r->data_bytes)
        return sd_fail(SD_EFORMAT,
                       "the safetensors file is truncated: its tensors have %llu "
                       "bytes, but only %llu are there",
                       (unsigned long long)at, (unsigned long long)r->data_bytes);
    if (at < r->data_bytes)
        return sd_fail(SD_EFORMAT,
                       "the safetensors file is damaged: %llu bytes at its end belong "
                       "to no tensor",
                       (unsigned long long)(r->data_bytes - at));
    return 0;
}

static int read_header(struct reading *r)
{
    int rc = 0;

    if (sd_json_in_next(&r->json) != SD_JSON_OBJECT)
        return r->json.kind == SD_JSON_BAD
                   ? sd_json_in_wrong(&r->json, "the header of the safetensors file")
                   : sd_fail(SD_EFORMAT, "the header of the safetensors file is JSON, "
                                         "but not an object");
    while (rc == 0 && sd_json_in_next(&r->json) == SD_JSON_KEY) {
        if (!sd_json_in_is(&r->json, "__metadata__")) {
            rc = read_tensor(r);
            continue;
        }
        sd_json_in_next(&r->json);
        sd_json_in_skip(&r->json);
    }
    if (rc == 0 && sd_json_in_next(&r->json) != SD_JSON_STOP)
        rc = sd_json_in_wrong(&r->json, "the header of the safetensors file");
    return rc == 0 ? check_spans(r) : rc;
}

int sd_safetensors_read(const void *p, size_t n, struct sd_weights *to)
{
    struct sd_cursor c = sd_cursor_over(p, n);
    uint64_t length = sd_cursor_u64(&c);
    struct reading r = { .to = to };
    const uint8_t *header;
    int rc;

    if (c.bad)
        return sd_fail(SD_EFORMAT,
                       "this is not a safetensors file: it has only %zu bytes", n);
    if (length > HEADER_MAX)
        return sd_fail(
            SD_EFORMAT,
            "this is not a safetensors file: it claims a header of %llu bytes",
            (unsigned long long)length);
    header = sd_cursor_take(&c, (size_t)length);
    if (!header)
        return sd_fail(SD_EFORMAT,
                       "the safetensors file is truncated: its header has %llu bytes, "
                       "but only %zu are there",
                       (unsigned long long)length, n - sizeof length);
    r.data_bytes = sd_cursor_left(&c);
    sd_json_in_init(&r.json, header, (size_t)length);
    rc = read_header(&r);
    if (rc == 0 && r.n_unknown > 1)
        rc = sd_model_note(to->into, "%zu more tensors have unknown types",
                           r.n_unknown - 1);
    sd_json_in_release(&r.json);
    sd_free(r.spans);
    return rc;
}
