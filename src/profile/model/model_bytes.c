/* SPDX-License-Identifier: MIT */
/* model_bytes: writes a model as bytes and reads it back.  The order is that of struct
 * sd_model; every list has its length before it.  Numbers are fixed in width: the chunk
 * they stand in is compressed anyway. */
#include "profile/model/model.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

enum { VERSION = 1 };

/* --- Writing */

static void put_i64(struct sd_buf *to, int64_t v) { sd_buf_u64(to, (uint64_t)v); }

static void put_numbers(struct sd_buf *to, const int64_t *v, uint32_t n)
{
    sd_buf_u32(to, n);
    for (uint32_t i = 0; i < n; i++)
        put_i64(to, v[i]);
}

static void put_operands(struct sd_buf *to, const struct sd_operand *o, uint16_t n)
{
    sd_buf_u16(to, n);
    for (uint16_t i = 0; i < n; i++) {
        sd_buf_u8(to, o[i].dtype);
        sd_buf_u8(to, o[i].kind);
        sd_buf_u8(to, o[i].is_weight);
        put_numbers(to, o[i].dims.d, o[i].dims.n);
    }
}

static void put_attr(struct sd_buf *to, const struct sd_attr *a)
{
    sd_assert(a->kind <= SD_ATTR_INTS);
    sd_buf_u32(to, a->name);
    sd_buf_u8(to, a->kind);
    switch ((enum sd_attr_kind)a->kind) {
    case SD_ATTR_INT:
        put_i64(to, a->number);
        break;
    case SD_ATTR_FLOAT:
        sd_buf_add(to, &a->real, sizeof a->real);
        break;
    case SD_ATTR_TEXT:
        sd_buf_u32(to, a->text);
        break;
    case SD_ATTR_INTS:
        put_numbers(to, a->numbers, a->n);
        break;
    }
}

static void put_attrs(struct sd_buf *to, const struct sd_attr *a, uint8_t n)
{
    sd_buf_u8(to, n);
    for (uint8_t i = 0; i < n; i++)
        put_attr(to, &a[i]);
}

static void put_strings(struct sd_buf *to, const struct sd_intern *strings)
{
    sd_buf_u32(to, (uint32_t)strings->n);
    for (size_t i = 0; i < strings->n; i++) {
        sd_buf_u32(to, strings->items[i].n);
        sd_buf_add(to, strings->items[i].p, strings->items[i].n);
    }
}

static void put_calls(struct sd_buf *to, const struct sd_layer_call *first)
{
    uint32_t n = 0;

    for (const struct sd_layer_call *c = first; c; c = c->next)
        n++;
    sd_buf_u32(to, n);
    for (const struct sd_layer_call *c = first; c; c = c->next) {
        sd_buf_u32(to, c->n_calls);
        put_operands(to, c->in, c->n_in);
        put_operands(to, c->out, c->n_out);
    }
}

static void put_layer(struct sd_buf *to, const struct sd_model_layer *l)
{
    sd_buf_u32(to, l->name);
    sd_buf_u32(to, l->type);
    sd_buf_u32(to, l->parent);
    sd_buf_u32(to, l->order);
    sd_buf_u32(to, l->n_calls);
    sd_buf_u16(to, l->flags);
    put_i64(to, l->time_ns);
    put_i64(to, l->backward_ns);
    put_i64(to, l->activation_bytes);
    put_attrs(to, l->attrs, l->n_attrs);
    put_calls(to, l->calls);
}

static void put_tensor(struct sd_buf *to, const struct sd_model_tensor *t)
{
    sd_buf_u32(to, t->name);
    sd_buf_u32(to, t->layer);
    sd_buf_u16(to, t->flags);
    sd_buf_u8(to, t->dtype);
    put_i64(to, t->bytes);
    put_numbers(to, t->dims.d, t->dims.n);
}

static void put_op(struct sd_buf *to, const struct sd_model_op *op)
{
    sd_buf_u32(to, op->name);
    sd_buf_u32(to, op->layer);
    sd_buf_u32(to, op->n_calls);
    sd_buf_u8(to, op->is_backward);
    put_i64(to, op->given_macs);
    put_operands(to, op->in, op->n_in);
    put_operands(to, op->out, op->n_out);
    put_attrs(to, op->attrs, op->n_attrs);
}

void sd_model_write(const struct sd_model *m, struct sd_buf *to)
{
    sd_assert(m->n_layers > 0);
    sd_buf_text(to, SD_MODEL_MAGIC);
    sd_buf_u32(to, VERSION);
    put_strings(to, &m->strings);
    sd_buf_u32(to, (uint32_t)m->n_layers);
    for (size_t i = 0; i < m->n_layers; i++)
        put_layer(to, &m->layers[i]);
    sd_buf_u32(to, (uint32_t)m->n_tensors);
    for (size_t i = 0; i < m->n_tensors; i++)
        put_tensor(to, &m->tensors[i]);
    sd_buf_u32(to, (uint32_t)m->n_ops);
    for (size_t i = 0; i < m->n_ops; i++)
        put_op(to, &m->ops[i]);
    sd_buf_u32(to, (uint32_t)m->n_edges);
    for (size_t i = 0; i < m->n_edges; i++) {
        sd_buf_u32(to, m->edges[i].from);
        sd_buf_u32(to, m->edges[i].to);
    }
    sd_buf_u32(to, (uint32_t)m->n_facts);
    for (size_t i = 0; i < m->n_facts; i++) {
        sd_buf_u32(to, m->facts[i].key);
        sd_buf_u32(to, m->facts[i].value);
    }
    sd_buf_u32(to, (uint32_t)m->n_notes);
    for (size_t i = 0; i < m->n_notes; i++)
        sd_buf_u32(to, m->notes[i]);
}

/* --- Reading.  A claimed count is believed only as far as bytes for it follow: each
 * item takes some, and the first that is short ends the list.  Pieces of one call are
 * gathered in `operands` and `attrs`, which the builders copy from. */

struct input {
    struct sd_cursor at;
    struct sd_model *m;
    struct sd_arena scratch; /* of the item being read */
};

static int bad(void)
{
    return sd_fail(SD_EFORMAT, "the model in this file is damaged: its data "
                               "contradict each other");
}

static int read_numbers(struct input *in, const int64_t **v, uint32_t *n)
{
    const uint8_t *p;
    int64_t *copy;

    *n = sd_cursor_u32(&in->at);
    *v = NULL;
    p = sd_cursor_take(&in->at, (size_t)*n * sizeof **v);
    if (!p)
        return bad();
    if (*n == 0)
        return 0;
    copy = sd_arena_copy(&in->scratch, p, (size_t)*n * sizeof *copy);
    *v = copy;
    return copy ? 0 : sd_no_memory();
}

static int read_operands(struct input *in, struct sd_operand **v, uint16_t *n)
{
    enum { LEAST = 7 }; /* bytes of one on disk */
    int rc = 0;

    *v = NULL;
    *n = sd_cursor_u16(&in->at);
    if (*n == 0)
        return 0;
    if (*n > sd_cursor_left(&in->at) / LEAST)
        return bad();
    *v = sd_arena_alloc(&in->scratch, *n * sizeof **v);
    if (!*v)
        return sd_no_memory();
    for (uint16_t i = 0; i < *n && rc == 0; i++) {
        struct sd_operand *o = &(*v)[i];

        o->dtype = sd_cursor_u8(&in->at);
        o->kind = sd_cursor_u8(&in->at);
        o->is_weight = sd_cursor_u8(&in->at) != 0;
        rc = o->kind > SD_OPERAND_SCALAR ? bad()
                                         : read_numbers(in, &o->dims.d, &o->dims.n);
    }
    return rc;
}

static bool is_string(const struct input *in, uint32_t id)
{
    return id < in->m->strings.n;
}

static int read_attr(struct input *in, struct sd_attr *a)
{
    const uint8_t *p;

    a->name = sd_cursor_u32(&in->at);
    a->kind = sd_cursor_u8(&in->at);
    if (!is_string(in, a->name) || a->kind > SD_ATTR_INTS)
        return bad();
    switch ((enum sd_attr_kind)a->kind) {
    case SD_ATTR_INT:
        a->number = sd_cursor_i64(&in->at);
        return 0;
    case SD_ATTR_FLOAT:
        p = sd_cursor_take(&in->at, sizeof a->real);
        if (p)
            memcpy(&a->real, p, sizeof a->real);
        return p ? 0 : bad();
    case SD_ATTR_TEXT:
        a->text = sd_cursor_u32(&in->at);
        return is_string(in, a->text) ? 0 : bad();
    case SD_ATTR_INTS:
        return read_numbers(in, &a->numbers, &a->n);
    }
    return bad();
}

static int read_attrs(struct input *in, struct sd_attr **v, uint8_t *n)
{
    int rc = 0;

    *v = NULL;
    *n = sd_cursor_u8(&in->at);
    if (*n == 0)
        return 0;
    *v = sd_arena_alloc(&in->scratch, *n * sizeof **v);
    if (!*v)
        return sd_no_memory();
    for (uint8_t i = 0; i < *n && rc == 0; i++)
        rc = read_attr(in, &(*v)[i]);
    return rc;
}

/* Ids are places, so none may stand there twice. */
static int read_string(struct input *in, uint32_t place)
{
    uint32_t n = sd_cursor_u32(&in->at);
    const uint8_t *p = sd_cursor_take(&in->at, n);
    uint32_t id;
    int rc;

    if (!p)
        return bad();
    rc = sd_model_string(in->m, (const char *)p, n, &id);
    return rc == 0 && id != place ? bad() : rc;
}

static int read_call(struct input *in, uint32_t layer)
{
    struct sd_operand *ins, *outs;
    uint32_t n_calls = sd_cursor_u32(&in->at);
    uint16_t n_in, n_out;
    int rc = read_operands(in, &ins, &n_in);

    if (rc == 0)
        rc = read_operands(in, &outs, &n_out);
    if (rc == 0)
        rc =
            n_calls > 0 ? sd_model_called(in->m, layer, ins, n_in, outs, n_out) : bad();
    if (rc == 0) {
        uint32_t *sum = &in->m->layers[layer].last_call->n_calls;

        if (__builtin_add_overflow(*sum, n_calls - 1, sum))
            rc = bad();
    }
    sd_arena_release(&in->scratch);
    return rc;
}

static int read_calls(struct input *in, uint32_t layer)
{
    uint32_t n = sd_cursor_u32(&in->at);
    int rc = 0;

    for (uint32_t i = 0; i < n && rc == 0; i++)
        rc = in->at.bad ? bad() : read_call(in, layer);
    return rc;
}

/* The first one is there already: it is the model, and its own parent. */
static int make_layer(struct input *in, uint32_t place, uint32_t name, uint32_t type,
                      uint32_t parent)
{
    struct sd_intern_string s = in->m->strings.items[name];
    uint32_t made;
    int rc;

    sd_assert(name < in->m->strings.n && type < in->m->strings.n);
    if (place == SD_MODEL_ROOT ? s.n > 0 || parent != 0 : parent >= place)
        return bad();
    rc = sd_model_layer(in->m, s.p, s.n, "", parent, &made);
    if (rc == 0 && made != place)
        return bad();
    if (rc == 0)
        sd_model_set_type(in->m, place, type);
    return rc;
}

static int read_layer(struct input *in, uint32_t place)
{
    uint32_t name = sd_cursor_u32(&in->at), type = sd_cursor_u32(&in->at);
    uint32_t parent = sd_cursor_u32(&in->at), order = sd_cursor_u32(&in->at);
    uint32_t n_calls = sd_cursor_u32(&in->at);
    uint16_t flags = sd_cursor_u16(&in->at);
    int64_t time_ns = sd_cursor_i64(&in->at), backward_ns = sd_cursor_i64(&in->at);
    int64_t activation_bytes = sd_cursor_i64(&in->at);
    struct sd_model_layer *l;
    struct sd_attr *attrs;
    uint8_t n_attrs;
    int rc;

    if (in->at.bad || !is_string(in, name) || !is_string(in, type))
        return bad();
    rc = make_layer(in, place, name, type, parent);
    if (rc == 0)
        rc = read_attrs(in, &attrs, &n_attrs);
    if (rc == 0)
        rc = sd_model_layer_attrs(in->m, place, attrs, n_attrs);
    if (rc == 0)
        rc = read_calls(in, place);
    if (rc < 0)
        return rc;
    l = &in->m->layers[place];
    l->order = order;
    l->n_calls = n_calls;
    l->flags = flags;
    l->time_ns = time_ns >= 0 ? time_ns : SD_MODEL_NONE;
    l->backward_ns = backward_ns >= 0 ? backward_ns : SD_MODEL_NONE;
    l->activation_bytes = activation_bytes >= 0 ? activation_bytes : SD_MODEL_NONE;
    if (order > in->m->n_called)
        in->m->n_called = order;
    return 0;
}

static int read_tensor(struct input *in, uint32_t place)
{
    struct sd_model_tensor t = { .name = sd_cursor_u32(&in->at) };
    int rc;

    (void)place;
    t.layer = sd_cursor_u32(&in->at);
    t.flags = sd_cursor_u16(&in->at);
    t.dtype = sd_cursor_u8(&in->at);
    t.bytes = sd_cursor_i64(&in->at);
    rc = read_numbers(in, &t.dims.d, &t.dims.n);
    if (rc == 0 && (!is_string(in, t.name) || t.layer >= in->m->n_layers))
        rc = bad();
    return rc < 0 ? rc : sd_model_tensor(in->m, &t);
}

static int read_op(struct input *in, uint32_t place)
{
    struct sd_model_op op = { .name = sd_cursor_u32(&in->at) };
    struct sd_operand *ins, *outs;
    struct sd_attr *attrs;
    int rc;

    (void)place;
    op.layer = sd_cursor_u32(&in->at);
    op.n_calls = sd_cursor_u32(&in->at);
    op.is_backward = sd_cursor_u8(&in->at) != 0;
    op.given_macs = sd_cursor_i64(&in->at);
    if (!is_string(in, op.name) || op.layer >= in->m->n_layers || op.n_calls == 0)
        return bad();
    rc = read_operands(in, &ins, &op.n_in);
    if (rc == 0)
        rc = read_operands(in, &outs, &op.n_out);
    if (rc == 0)
        rc = read_attrs(in, &attrs, &op.n_attrs);
    return rc < 0 ? rc
                  : sd_model_op(in->m, &op, ins, op.n_in, outs, op.n_out, attrs,
                                op.n_attrs);
}

static int read_edge(struct input *in, uint32_t place)
{
    uint32_t from = sd_cursor_u32(&in->at), to = sd_cursor_u32(&in->at);

    (void)place;
    if (in->at.bad || from >= in->m->n_layers || to >= in->m->n_layers)
        return bad();
    return sd_model_edge(in->m, from, to);
}

static int read_fact(struct input *in, uint32_t place)
{
    uint32_t key = sd_cursor_u32(&in->at), value = sd_cursor_u32(&in->at);

    (void)place;
    if (!is_string(in, key) || !is_string(in, value))
        return bad();
    return sd_model_fact(in->m, sd_model_text(in->m, key), sd_model_text(in->m, value));
}

static int read_note(struct input *in, uint32_t place)
{
    uint32_t text = sd_cursor_u32(&in->at);

    (void)place;
    return is_string(in, text) ? sd_model_note(in->m, "%s", sd_model_text(in->m, text))
                               : bad();
}

static int read_list(struct input *in, int (*read)(struct input *, uint32_t place))
{
    uint32_t n = sd_cursor_u32(&in->at);
    int rc = 0;

    for (uint32_t i = 0; i < n && rc == 0; i++) {
        rc = in->at.bad ? bad() : read(in, i);
        sd_arena_release(&in->scratch);
    }
    return rc == 0 && in->at.bad ? bad() : rc;
}

static int read_all(struct input *in)
{
    const uint8_t *magic = sd_cursor_take(&in->at, strlen(SD_MODEL_MAGIC));
    uint32_t version = sd_cursor_u32(&in->at);
    int rc;

    if (!magic || memcmp(magic, SD_MODEL_MAGIC, strlen(SD_MODEL_MAGIC)) != 0)
        return bad();
    if (!in->at.bad && version != VERSION)
        return sd_fail(SD_EFORMAT,
                       "the model in this file has format %u and this Sonde reads "
                       "format %d; use a newer Sonde",
                       version, VERSION);
    rc = read_list(in, read_string);
    if (rc == 0)
        rc = read_list(in, read_layer);
    if (rc == 0)
        rc = read_list(in, read_tensor);
    if (rc == 0)
        rc = read_list(in, read_op);
    if (rc == 0)
        rc = read_list(in, read_edge);
    if (rc == 0)
        rc = read_list(in, read_fact);
    return rc < 0 ? rc : read_list(in, read_note);
}

int sd_model_read(struct sd_model *m, const void *p, size_t n)
{
    struct input in = { .at = sd_cursor_over(p, n), .m = m };
    int rc = sd_model_init(m);

    if (rc == 0)
        rc = read_all(&in);
    sd_arena_release(&in.scratch);
    if (rc < 0)
        sd_model_release(m);
    return rc;
}
