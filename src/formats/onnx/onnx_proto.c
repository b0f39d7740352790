/* SPDX-License-Identifier: MIT */
/* onnx_proto: reads the messages of an ONNX file: nodes, attributes, tensors. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "formats/onnx/onnx_parts.h"

bool sd_onnx_text_is(struct sd_onnx_text t, const char *s)
{
    return t.n == strlen(s) && (t.n == 0 || memcmp(t.p, s, t.n) == 0);
}

int sd_onnx_damaged(const char *what)
{
    return sd_fail(SD_EFORMAT, "the ONNX file is damaged: %s", what);
}

/* --- Nodes */

enum { /* fields of NodeProto */
       NODE_INPUT = 1,
       NODE_OUTPUT = 2,
       NODE_NAME = 3,
       NODE_OP = 4,
       NODE_ATTRIBUTE = 5,
       NODE_DOMAIN = 7,
       NODE_OVERLOAD = 8,
       NODE_METADATA = 9,
};

static void read_metadata(struct sd_cursor c, struct sd_onnx_node *node)
{
    struct sd_onnx_text key = { 0 }, value = { 0 };
    struct sd_pb_field f;

    while (sd_pb_next(&c, &f)) {
        if (f.number == 1)
            key = sd_onnx_text(f.inside);
        else if (f.number == 2)
            value = sd_onnx_text(f.inside);
    }
    if (sd_onnx_text_is(key, "pkg.torch.onnx.name_scopes"))
        node->scopes = value;
    else if (sd_onnx_text_is(key, "pkg.torch.onnx.class_hierarchy"))
        node->classes = value;
}

static int count_operands(struct sd_cursor c, struct sd_onnx_node *node)
{
    struct sd_pb_field f;

    while (sd_pb_next(&c, &f)) {
        node->n_in += f.number == NODE_INPUT;
        node->n_out += f.number == NODE_OUTPUT;
    }
    if (c.bad)
        return sd_onnx_damaged("a node is cut");
    if (node->n_in > SD_MODEL_OPERANDS_MAX || node->n_out > SD_MODEL_OPERANDS_MAX)
        return sd_onnx_damaged("a node has more operands than any operator");
    return 0;
}

int sd_onnx_node_read(struct sd_cursor c, const struct sd_onnx_call *call,
                      struct sd_arena *arena, struct sd_onnx_node *node)
{
    uint32_t in = 0, out = 0;
    struct sd_pb_field f;
    int rc;

    *node = (struct sd_onnx_node){ .body = c, .call = call };
    rc = count_operands(c, node);
    if (rc < 0)
        return rc;
    node->in = sd_arena_alloc(arena, (node->n_in + node->n_out + 1) * sizeof *node->in);
    if (!node->in)
        return sd_no_memory();
    node->out = node->in + node->n_in;
    while (sd_pb_next(&c, &f)) {
        struct sd_onnx_text text = sd_onnx_text(f.inside);

        if (f.number == NODE_INPUT)
            node->in[in++] = text;
        else if (f.number == NODE_OUTPUT)
            node->out[out++] = text;
        else if (f.number == NODE_NAME)
            node->name = text;
        else if (f.number == NODE_OP)
            node->op = text;
        else if (f.number == NODE_DOMAIN)
            node->domain = text;
        else if (f.number == NODE_OVERLOAD)
            node->overload = text;
        else if (f.number == NODE_METADATA)
            read_metadata(f.inside, node);
    }
    if (node->op.n == 0)
        return sd_onnx_damaged("a node has no operator");
    return 0;
}

/* --- Attributes */

enum { /* fields of AttributeProto */
       ATTR_NAME = 1,
       ATTR_FLOAT = 2,
       ATTR_INT = 3,
       ATTR_TEXT = 4,
       ATTR_TENSOR = 5,
       ATTR_GRAPH = 6,
       ATTR_FLOATS = 7,
       ATTR_INTS = 8,
       ATTR_TYPE = 20,
       ATTR_REFERS = 21,
};
enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_TEXT = 3, TYPE_FLOATS = 6, TYPE_INTS = 7 };

/* A number that is 0 is left out by some writers: then only the type tells it. */
static void note_type(struct sd_onnx_attr *a, uint64_t type)
{
    a->has_number |= type == TYPE_INT;
    a->has_real |= type == TYPE_FLOAT;
    a->has_text |= type == TYPE_TEXT;
    a->has_list |= type == TYPE_INTS;
    a->has_reals |= type == TYPE_FLOATS;
}

static bool read_attr(struct sd_cursor c, struct sd_onnx_attr *a)
{
    struct sd_pb_field f;

    *a = (struct sd_onnx_attr){ .body = c };
    while (sd_pb_next(&c, &f)) {
        if (f.number == ATTR_NAME) {
            a->name = sd_onnx_text(f.inside);
        } else if (f.number == ATTR_FLOAT) {
            a->real = (double)sd_pb_float(f.v);
            a->has_real = true;
        } else if (f.number == ATTR_INT) {
            a->number = (int64_t)f.v;
            a->has_number = true;
        } else if (f.number == ATTR_TEXT) {
            a->text = sd_onnx_text(f.inside);
            a->has_text = true;
        } else if (f.number == ATTR_TENSOR) {
            a->tensor = f.inside;
            a->has_tensor = true;
        } else if (f.number == ATTR_GRAPH) {
            a->graph = f.inside;
            a->has_graph = true;
        } else if (f.number == ATTR_INTS) {
            a->has_list = true;
        } else if (f.number == ATTR_FLOATS) {
            a->has_reals = true;
        } else if (f.number == ATTR_REFERS) {
            a->refers_to = sd_onnx_text(f.inside);
        } else if (f.number == ATTR_TYPE) {
            note_type(a, f.v);
        }
    }
    return !c.bad;
}

/* The first attribute of this name among the fields `number` of a message. */
static bool find_in(struct sd_cursor c, uint32_t number, struct sd_onnx_text name,
                    struct sd_onnx_attr *a)
{
    struct sd_pb_field f;

    while (sd_pb_next(&c, &f))
        if (f.number == number && read_attr(f.inside, a) && a->name.n == name.n &&
            memcmp(a->name.p, name.p, name.n) == 0)
            return true;
    return false;
}

static bool find_default(const struct sd_onnx_call *call, struct sd_onnx_text name,
                         struct sd_onnx_attr *a)
{
    for (size_t i = 0; i < call->n_defaults; i++)
        if (read_attr(call->defaults[i], a) && a->name.n == name.n &&
            memcmp(a->name.p, name.p, name.n) == 0)
            return true;
    return false;
}

/* A search is paid for before it is made, as if nothing were found: the node of a call
 * and its defaults may be long, and each attribute of each node may ask.  With nothing
 * left the walk ends at its next node. */
static bool may_search(const struct sd_onnx_call *call)
{
    size_t work = sd_cursor_left(&call->node->body);

    for (size_t i = 0; i < call->n_defaults && work < *call->work_left; i++)
        work += 1 + sd_cursor_left(&call->defaults[i]);
    *call->work_left -= work < *call->work_left ? work : *call->work_left;
    return *call->work_left > 0;
}

/* In a function an attribute may stand for one of the call, or for its default.  A call
 * in a function may pass on one of the call outside of it, and so on. */
static bool resolve(const struct sd_onnx_call *call, struct sd_onnx_attr *a)
{
    struct sd_onnx_text name = a->name;

    while (a->refers_to.n && call) {
        struct sd_onnx_text wanted = a->refers_to;

        if (!may_search(call) ||
            (!find_in(call->node->body, NODE_ATTRIBUTE, wanted, a) &&
             !find_default(call, wanted, a)))
            return false;
        call = call->node->call;
    }
    a->name = name;
    return a->refers_to.n == 0;
}

bool sd_onnx_attr_next(const struct sd_onnx_node *node, struct sd_cursor *at,
                       struct sd_onnx_attr *a)
{
    struct sd_pb_field f;

    while (sd_pb_next(at, &f))
        if (f.number == NODE_ATTRIBUTE && read_attr(f.inside, a) &&
            resolve(node->call, a))
            return true;
    return false;
}

bool sd_onnx_attr_find(const struct sd_onnx_node *node, const char *name,
                       struct sd_onnx_attr *a)
{
    struct sd_onnx_text wanted = { name, strlen(name) };

    return find_in(node->body, NODE_ATTRIBUTE, wanted, a) && resolve(node->call, a);
}

int64_t sd_onnx_int(const struct sd_onnx_node *node, const char *name,
                    int64_t otherwise)
{
    struct sd_onnx_attr a;

    return sd_onnx_attr_find(node, name, &a) && a.has_number ? a.number : otherwise;
}

bool sd_onnx_word(const struct sd_onnx_node *node, const char *name,
                  struct sd_onnx_text *text)
{
    struct sd_onnx_attr a;

    if (!sd_onnx_attr_find(node, name, &a) || !a.has_text)
        return false;
    *text = a.text;
    return true;
}

/* Lists of numbers are packed into one field, or one field each. */
static void add_ints(const struct sd_pb_field *f, int64_t *to, uint32_t max,
                     uint32_t *n)
{
    struct sd_cursor c = f->inside;

    if (f->wire != SD_PB_BYTES) {
        if (*n < max)
            to[*n] = (int64_t)f->v;
        *n += *n < UINT32_MAX;
        return;
    }
    while (sd_cursor_left(&c) > 0) {
        int64_t v = (int64_t)sd_pb_read_varint(&c);

        if (*n < max)
            to[*n] = v;
        *n += *n < UINT32_MAX;
    }
}

uint32_t sd_onnx_attr_ints(const struct sd_onnx_attr *a, int64_t *to, uint32_t max)
{
    struct sd_cursor c = a->body;
    struct sd_pb_field f;
    uint32_t n = 0;

    while (sd_pb_next(&c, &f))
        if (f.number == ATTR_INTS)
            add_ints(&f, to, max, &n);
    return n;
}

uint32_t sd_onnx_attr_reals(const struct sd_onnx_attr *a, double *to, uint32_t max)
{
    struct sd_cursor c = a->body;
    struct sd_pb_field f;
    uint32_t n = 0;

    while (sd_pb_next(&c, &f)) {
        if (f.number != ATTR_FLOATS)
            continue;
        if (f.wire != SD_PB_BYTES) {
            if (n < max)
                to[n] = (double)sd_pb_float(f.v);
            n += n < UINT32_MAX;
            continue;
        }
        for (; sd_cursor_left(&f.inside) >= 4 && n < UINT32_MAX; n++) {
            double v = (double)sd_pb_float(sd_cursor_u32(&f.inside));

            if (n < max)
                to[n] = v;
        }
    }
    return n;
}

uint32_t sd_onnx_ints(const struct sd_onnx_node *node, const char *name, int64_t *to,
                      uint32_t max)
{
    struct sd_onnx_attr a;

    return sd_onnx_attr_find(node, name, &a) ? sd_onnx_attr_ints(&a, to, max) : 0;
}

/* --- Tensors */

enum { /* fields of TensorProto */
       TENSOR_DIMS = 1,
       TENSOR_TYPE = 2,
       TENSOR_FLOATS = 4,
       TENSOR_INT32S = 5,
       TENSOR_INT64S = 7,
       TENSOR_NAME = 8,
       TENSOR_RAW = 9,
       TENSOR_DOUBLES = 10,
       TENSOR_UINT64S = 11,
       TENSOR_LOCATION = 14,
};
enum { SPARSE_VALUES = 1, SPARSE_DIMS = 3 }; /* of SparseTensorProto */

static int check_axes(const int64_t *dims, uint32_t n)
{
    if (n > SD_MODEL_DIMS_MAX)
        return sd_onnx_damaged("a tensor has more axes than any");
    for (uint32_t i = 0; i < n; i++)
        if (dims[i] < 0 || dims[i] > SD_ONNX_AXIS_MAX)
            return sd_onnx_damaged("a tensor has an axis of no length");
    return 0;
}

/* How many numbers of a field, or eighths of a byte for a type that nobody knows, so
 * many elements take at least. */
static int64_t numbers_of(uint8_t dtype, int64_t elements)
{
    int64_t block = sd_dtype_about(dtype)->block_elements;

    switch (dtype) {
    case SD_DTYPE_STRING:
        return 0;
    case SD_DTYPE_UNKNOWN:
        return elements / 8;
    case SD_DTYPE_C64:
    case SD_DTYPE_C128:
        return sd_times(elements, 2);
    default: /* several of less than a byte are one */
        return elements / block + (elements % block != 0);
    }
}

/* What it claims is there, unless that is in another file. */
static int check_tensor(const struct sd_onnx_tensor *t)
{
    int64_t elements = sd_dims_elements((struct sd_dims){ t->dims, t->n_dims });
    bool is_known = t->dtype != SD_DTYPE_UNKNOWN;
    size_t there = sd_cursor_left(&t->raw);
    int n_name = (int)(t->name.n < 200 ? t->name.n : 200);
    const char *name = t->name.p ? t->name.p : "";

    if (t->is_external)
        return 0;
    if (t->has_raw && is_known && (uint64_t)sd_dtype_bytes(t->dtype, elements) != there)
        return sd_fail(SD_EFORMAT,
                       "the ONNX file is damaged: the tensor \"%.*s\" has %zu bytes of "
                       "data, which does not match its type and shape",
                       n_name, name, there);
    if ((!t->has_raw || !is_known) &&
        (uint64_t)numbers_of(t->dtype, elements) > t->n_numbers + there)
        return sd_fail(SD_EFORMAT,
                       "the ONNX file is damaged: the tensor \"%.*s\" claims %lld "
                       "elements, and has %llu",
                       n_name, name, (long long)elements,
                       (unsigned long long)(t->n_numbers + there));
    return 0;
}

/* Of whole numbers in a long list only how many there may be: all of it would have to
 * be looked at. */
static uint64_t count_numbers(const struct sd_pb_field *f)
{
    enum { COUNTED_BYTES_MAX = 64 << 10 };
    size_t bytes = sd_cursor_left(&f->inside);
    uint32_t n = 0;

    if (f->wire != SD_PB_BYTES)
        return 1;
    switch (f->number) {
    case TENSOR_FLOATS:
        return bytes / 4;
    case TENSOR_DOUBLES:
        return bytes / 8;
    default:
        if (bytes <= COUNTED_BYTES_MAX)
            add_ints(f, NULL, 0, &n);
        return bytes <= COUNTED_BYTES_MAX ? n : bytes;
    }
}

int sd_onnx_tensor_read(struct sd_cursor c, struct sd_onnx_tensor *t)
{
    struct sd_pb_field f;
    int rc;

    *t = (struct sd_onnx_tensor){ .body = c };
    while (sd_pb_next(&c, &f)) {
        if (f.number == TENSOR_DIMS)
            add_ints(&f, t->dims, SD_MODEL_DIMS_MAX, &t->n_dims);
        else if (f.number == TENSOR_TYPE)
            t->type = (int64_t)f.v;
        else if (f.number == TENSOR_FLOATS || f.number == TENSOR_INT32S ||
                 f.number == TENSOR_INT64S || f.number == TENSOR_DOUBLES ||
                 f.number == TENSOR_UINT64S)
            t->n_numbers += count_numbers(&f);
        else if (f.number == TENSOR_NAME)
            t->name = sd_onnx_text(f.inside);
        else if (f.number == TENSOR_LOCATION)
            t->is_external |= f.v == 1;
        else if (f.number == TENSOR_RAW) {
            t->raw = f.inside;
            t->has_raw = true;
        }
    }
    if (c.bad)
        return sd_onnx_damaged("a tensor is cut");
    t->dtype = (uint8_t)sd_dtype_of_onnx(t->type);
    rc = check_axes(t->dims, t->n_dims);
    return rc == 0 ? check_tensor(t) : rc;
}

int sd_onnx_sparse_read(struct sd_cursor c, struct sd_onnx_sparse *s)
{
    struct sd_pb_field f;
    int rc = 0;

    *s = (struct sd_onnx_sparse){ 0 };
    while (rc == 0 && sd_pb_next(&c, &f)) {
        if (f.number == SPARSE_VALUES)
            rc = sd_onnx_tensor_read(f.inside, &s->values);
        else if (f.number == SPARSE_DIMS)
            add_ints(&f, s->dims, SD_MODEL_DIMS_MAX, &s->n_dims);
    }
    if (rc == 0 && c.bad)
        rc = sd_onnx_damaged("a tensor is cut");
    if (rc == 0)
        rc = check_axes(s->dims, s->n_dims);
    if (rc == 0 &&
        sd_dims_elements((struct sd_dims){ s->values.dims, s->values.n_dims }) >
            sd_dims_elements((struct sd_dims){ s->dims, s->n_dims }))
        rc = sd_onnx_damaged("a sparse tensor has more elements than its shape");
    return rc;
}

int sd_onnx_take_type(struct sd_onnx *x, const struct sd_onnx_tensor *t,
                      struct sd_onnx_value *v)
{
    v->dtype = t->dtype;
    if (t->dtype != SD_DTYPE_UNKNOWN)
        return 0;
    v->stored_bytes = (int64_t)sd_cursor_left(&t->raw);
    if (x->n_untyped++ > 0)
        return 0;
    return sd_model_note(x->m, "the type %lld of the tensor %.*s is not known: its %s",
                         (long long)t->type, (int)(t->name.n < 200 ? t->name.n : 200),
                         t->name.n ? t->name.p : "",
                         t->has_raw ? "bytes are those that are stored"
                                    : "elements are counted, and no bytes");
}

/* --- Elements of small tensors */

struct sd_onnx_elements *sd_onnx_elements(struct sd_onnx *x, int64_t n, bool is_real,
                                          int *rc)
{
    struct sd_onnx_elements *e;

    *rc = 0;
    if (n < 0 || n > SD_ONNX_FOLD_MAX || (size_t)n > x->fold_left)
        return NULL;
    x->fold_left -= (size_t)n;
    e = sd_arena_alloc(&x->arena, sizeof *e);
    if (e)
        e->whole = sd_arena_alloc(&x->arena, ((size_t)n + 1) * sizeof *e->whole);
    if (!e || !e->whole) {
        *rc = sd_no_memory();
        return NULL;
    }
    e->n = (uint32_t)n;
    e->is_real = is_real;
    return e;
}

/* Shapes are made of whole numbers; of others only factors are, one for each axis. */
enum { REALS_MAX = 16 };

static bool is_real_type(uint8_t dtype)
{
    return dtype == SD_DTYPE_F32 || dtype == SD_DTYPE_F64;
}

static bool can_fold(uint8_t dtype)
{
    switch (dtype) {
    case SD_DTYPE_F32:
    case SD_DTYPE_F64:
    case SD_DTYPE_I8:
    case SD_DTYPE_U8:
    case SD_DTYPE_I16:
    case SD_DTYPE_U16:
    case SD_DTYPE_I32:
    case SD_DTYPE_U32:
    case SD_DTYPE_I64:
    case SD_DTYPE_U64:
    case SD_DTYPE_BOOL:
        return true;
    default:
        return false;
    }
}

static int64_t raw_whole(struct sd_cursor *c, uint8_t dtype)
{
    switch (dtype) {
    case SD_DTYPE_I8:
        return (int8_t)sd_cursor_u8(c);
    case SD_DTYPE_I16:
        return (int16_t)sd_cursor_u16(c);
    case SD_DTYPE_U16:
        return sd_cursor_u16(c);
    case SD_DTYPE_I32:
        return (int32_t)sd_cursor_u32(c);
    case SD_DTYPE_U32:
        return sd_cursor_u32(c);
    case SD_DTYPE_I64:
    case SD_DTYPE_U64:
        return sd_cursor_i64(c);
    default: /* U8, BOOL */
        return sd_cursor_u8(c);
    }
}

static uint32_t from_raw(const struct sd_onnx_tensor *t, struct sd_onnx_elements *e)
{
    struct sd_cursor c = t->raw;

    for (uint32_t i = 0; i < e->n; i++) {
        if (t->dtype == SD_DTYPE_F32)
            e->real[i] = (double)sd_pb_float(sd_cursor_u32(&c));
        else if (t->dtype == SD_DTYPE_F64)
            e->real[i] = sd_pb_double(sd_cursor_u64(&c));
        else
            e->whole[i] = raw_whole(&c, t->dtype);
    }
    return c.bad ? 0 : e->n;
}

static void add_reals(const struct sd_pb_field *f, struct sd_onnx_elements *e,
                      uint32_t *n)
{
    bool is_double = f->number == TENSOR_DOUBLES;
    struct sd_cursor c = f->inside;

    if (f->wire != SD_PB_BYTES) {
        if (*n < e->n)
            e->real[(*n)++] =
                is_double ? sd_pb_double(f->v) : (double)sd_pb_float(f->v);
        return;
    }
    while (*n < e->n && sd_cursor_left(&c) > 0)
        e->real[(*n)++] = is_double ? sd_pb_double(sd_cursor_u64(&c))
                                    : (double)sd_pb_float(sd_cursor_u32(&c));
}

static uint32_t from_fields(const struct sd_onnx_tensor *t, struct sd_onnx_elements *e)
{
    struct sd_cursor c = t->body;
    struct sd_pb_field f;
    uint32_t n = 0;

    while (sd_pb_next(&c, &f)) {
        bool is_real = f.number == TENSOR_FLOATS || f.number == TENSOR_DOUBLES;
        bool is_whole = f.number == TENSOR_INT32S || f.number == TENSOR_INT64S ||
                        f.number == TENSOR_UINT64S;

        if (is_real && e->is_real)
            add_reals(&f, e, &n);
        else if (is_whole && !e->is_real)
            add_ints(&f, e->whole, e->n, &n);
    }
    return n;
}

int sd_onnx_tensor_elements(struct sd_onnx *x, const struct sd_onnx_tensor *t,
                            const struct sd_onnx_elements **out)
{
    int64_t n = sd_dims_elements((struct sd_dims){ t->dims, t->n_dims });
    struct sd_onnx_elements *e;
    uint32_t there;
    int rc;

    *out = NULL;
    if (t->is_external || !can_fold(t->dtype) ||
        (is_real_type(t->dtype) && n > REALS_MAX))
        return 0;
    e = sd_onnx_elements(x, n, is_real_type(t->dtype), &rc);
    if (!e)
        return rc;
    there = t->has_raw ? from_raw(t, e) : from_fields(t, e);
    if (there == e->n)
        *out = e;
    return 0;
}
