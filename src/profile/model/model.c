/* SPDX-License-Identifier: MIT */
#include "profile/model/model.h"

#include <stdarg.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"

/* --- The whole */

/* The empty string is id 0, so that a name or type that nobody gave reads as "". */
int sd_model_init(struct sd_model *m)
{
    uint32_t empty, root;
    int rc;

    *m = (struct sd_model){ 0 };
    m->strings.arena = &m->arena;
    rc = sd_model_string(m, "", 0, &empty);
    if (rc == 0)
        rc = sd_model_layer(m, "", 0, "", SD_MODEL_ROOT, &root);
    if (rc < 0)
        sd_model_release(m);
    sd_assert(rc < 0 || (m->strings.n == 1 && m->n_layers == 1));
    return rc;
}

void sd_model_release(struct sd_model *m)
{
    sd_free(m->layers);
    sd_free(m->tensors);
    sd_free(m->ops);
    sd_free(m->edges);
    sd_free(m->facts);
    sd_free(m->notes);
    sd_table_release(&m->layer_by_name);
    sd_table_release(&m->edge_known);
    sd_table_release(&m->shapes);
    sd_intern_release(&m->strings);
    sd_arena_release(&m->arena);
    *m = (struct sd_model){ 0 };
}

/* --- Copies into the arena */

static int copy_numbers(struct sd_model *m, const int64_t *from, size_t n,
                        const int64_t **to)
{
    *to = NULL;
    if (n == 0)
        return 0;
    *to = sd_arena_copy(&m->arena, from, n * sizeof *from);
    return *to ? 0 : sd_no_memory();
}

/* Each shape once: operators of a model share a few, and a damaged file that names one
 * of 64 axes a million times must not take a million times its room. */
static int share_numbers(struct sd_model *m, const int64_t *from, uint32_t n,
                         const int64_t **to)
{
    uint64_t key = sd_hash(from, n * sizeof *from, n), found;
    int64_t *made;

    if (sd_table_get(&m->shapes, key, &found)) {
        const int64_t *known = (const int64_t *)(uintptr_t)found;

        *to = known + 1;
        if (known[0] == n && memcmp(*to, from, n * sizeof *from) == 0)
            return 0;
        return copy_numbers(m, from, n, to); /* another with the same hash */
    }
    made = sd_arena_alloc(&m->arena, (n + 1) * sizeof *made);
    if (!made)
        return sd_no_memory();
    made[0] = n;
    memcpy(made + 1, from, n * sizeof *from);
    *to = made + 1;
    return sd_table_put(&m->shapes, key, (uintptr_t)made);
}

static int copy_dims(struct sd_model *m, struct sd_dims from, struct sd_dims *to)
{
    to->d = NULL;
    to->n = from.n;
    if (from.n > SD_MODEL_DIMS_MAX)
        return sd_fail(
            SD_EFORMAT,
            "the model has a tensor with %u dimensions; Sonde supports at most %d",
            from.n, SD_MODEL_DIMS_MAX);
    for (uint32_t i = 0; i < from.n; i++)
        if (from.d[i] < 0)
            return sd_fail(SD_EFORMAT,
                           "the model is damaged: a tensor has a dimension of %lld",
                           (long long)from.d[i]);
    return from.n > 0 ? share_numbers(m, from.d, from.n, &to->d) : 0;
}

static int copy_operands(struct sd_model *m, const struct sd_operand *from, size_t n,
                         const struct sd_operand **to)
{
    struct sd_operand *made;
    int rc = 0;

    _Static_assert(SD_MODEL_OPERANDS_MAX <= UINT16_MAX, "the fields that count them");
    *to = NULL;
    if (n == 0)
        return 0;
    if (n > SD_MODEL_OPERANDS_MAX)
        return sd_fail(
            SD_EFORMAT,
            "the model has an operator with %zu tensors; Sonde supports at most %d", n,
            SD_MODEL_OPERANDS_MAX);
    made = sd_arena_copy(&m->arena, from, n * sizeof *from);
    if (!made)
        return sd_no_memory();
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = copy_dims(m, from[i].dims, &made[i].dims);
    *to = made;
    return rc;
}

static int copy_attrs(struct sd_model *m, const struct sd_attr *from, size_t n,
                      const struct sd_attr **to)
{
    struct sd_attr *made;
    int rc = 0;

    _Static_assert(SD_MODEL_ATTRS_MAX <= UINT8_MAX, "the fields that count them");
    *to = NULL;
    if (n == 0)
        return 0;
    if (n > SD_MODEL_ATTRS_MAX)
        return sd_fail(
            SD_EFORMAT,
            "the model has an operator with %zu attributes; Sonde supports at most %d",
            n, SD_MODEL_ATTRS_MAX);
    made = sd_arena_copy(&m->arena, from, n * sizeof *from);
    if (!made)
        return sd_no_memory();
    for (size_t i = 0; i < n && rc == 0; i++)
        if (from[i].kind == SD_ATTR_INTS)
            rc = copy_numbers(m, from[i].numbers, from[i].n, &made[i].numbers);
    *to = made;
    return rc;
}

/* --- What is equal */

static bool same_dims(struct sd_dims a, struct sd_dims b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.d, b.d, a.n * sizeof *a.d) == 0);
}

static bool same_operands(const struct sd_operand *a, size_t n_a,
                          const struct sd_operand *b, size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++)
        if (a[i].kind != b[i].kind || a[i].dtype != b[i].dtype ||
            a[i].is_weight != b[i].is_weight || !same_dims(a[i].dims, b[i].dims))
            return false;
    return true;
}

static bool same_value(const struct sd_attr *a, const struct sd_attr *b)
{
    switch ((enum sd_attr_kind)a->kind) {
    case SD_ATTR_INT:
        return a->number == b->number;
    case SD_ATTR_FLOAT: /* by its bits: a NaN is equal to itself */
        return memcmp(&a->real, &b->real, sizeof a->real) == 0;
    case SD_ATTR_TEXT:
        return a->text == b->text;
    case SD_ATTR_INTS:
        return same_dims((struct sd_dims){ a->numbers, a->n },
                         (struct sd_dims){ b->numbers, b->n });
    }
    return false;
}

static bool same_attrs(const struct sd_attr *a, size_t n_a, const struct sd_attr *b,
                       size_t n_b)
{
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++)
        if (a[i].name != b[i].name || a[i].kind != b[i].kind ||
            !same_value(&a[i], &b[i]))
            return false;
    return true;
}

/* --- Strings and layers */

int sd_model_string(struct sd_model *m, const char *p, size_t n, uint32_t *id)
{
    return sd_intern(&m->strings, p, n, id);
}

int sd_model_word(struct sd_model *m, const char *s, uint32_t *id)
{
    return sd_model_string(m, s, strlen(s), id);
}

/* Room for one more in an array of the model's, whatever it is of; `array` is the
 * address of the pointer to it. */
static int more(void *array, size_t n, size_t *cap, size_t size)
{
    void *p;

    memcpy(&p, array, sizeof p);
    p = sd_grow_array(p, cap, n + 1, size);
    if (!p)
        return sd_no_memory();
    memcpy(array, &p, sizeof p);
    return 0;
}

static int add_layer(struct sd_model *m, uint32_t name, uint32_t type, uint32_t parent,
                     uint32_t *layer)
{
    struct sd_model_layer made = { .name = name,
                                   .type = type,
                                   .parent = parent,
                                   .time_ns = SD_MODEL_NONE,
                                   .backward_ns = SD_MODEL_NONE,
                                   .activation_bytes = SD_MODEL_NONE };
    int rc;

    _Static_assert(SD_MODEL_DEPTH_MAX <= UINT16_MAX, "the field that has it");
    if (m->n_layers >= UINT32_MAX)
        return sd_fail(
            SD_EFORMAT,
            "the model has more than %u layers, which Sonde does not support",
            UINT32_MAX);
    sd_assert(m->n_layers == 0 || parent < m->n_layers);
    if (m->n_layers > 0) {
        if (m->layers[parent].depth == SD_MODEL_DEPTH_MAX)
            made.parent = parent = m->layers[parent].parent;
        made.depth = (uint16_t)(m->layers[parent].depth + 1);
    }
    rc = more(&m->layers, m->n_layers, &m->cap_layers, sizeof *m->layers);
    if (rc == 0)
        rc = sd_table_put(&m->layer_by_name, name, m->n_layers);
    if (rc < 0)
        return rc;
    m->layers[m->n_layers] = made;
    *layer = (uint32_t)m->n_layers++;
    return 0;
}

int sd_model_layer(struct sd_model *m, const char *name, size_t n, const char *type,
                   uint32_t parent, uint32_t *layer)
{
    uint32_t name_id, type_id;
    uint64_t known;
    int rc = sd_model_string(m, name, n, &name_id);

    if (rc == 0)
        rc = sd_model_word(m, type, &type_id);
    if (rc < 0)
        return rc;
    if (!sd_table_get(&m->layer_by_name, name_id, &known))
        return add_layer(m, name_id, type_id, parent, layer);
    *layer = (uint32_t)known;
    if (m->layers[known].type == 0)
        m->layers[known].type = type_id;
    return 0;
}

int sd_model_layer_at(struct sd_model *m, const char *path, size_t n, uint32_t *layer)
{
    uint32_t at = SD_MODEL_ROOT;
    int rc = 0;

    for (size_t i = 0; i <= n && n > 0 && rc == 0; i++)
        if (i == n || path[i] == '.')
            rc = sd_model_layer(m, path, i, "", at, &at);
    if (rc == 0)
        *layer = at;
    return rc;
}

uint32_t sd_model_find_layer(const struct sd_model *m, const char *name, size_t n)
{
    uint32_t id = sd_intern_find(&m->strings, name, n);
    uint64_t layer;

    if (id == UINT32_MAX || !sd_table_get(&m->layer_by_name, id, &layer))
        return UINT32_MAX;
    return (uint32_t)layer;
}

void sd_model_set_type(struct sd_model *m, uint32_t layer, uint32_t type)
{
    sd_assert(layer < m->n_layers && type < m->strings.n);
    m->layers[layer].type = type;
}

int sd_model_layer_attrs(struct sd_model *m, uint32_t layer,
                         const struct sd_attr *attrs, size_t n)
{
    const struct sd_attr *copy;
    int rc = copy_attrs(m, attrs, n, &copy);

    sd_assert(layer < m->n_layers);
    if (rc < 0)
        return rc;
    m->layers[layer].attrs = copy;
    m->layers[layer].n_attrs = (uint8_t)n;
    return 0;
}

void sd_model_entered(struct sd_model *m, uint32_t layer)
{
    sd_assert(layer < m->n_layers);
    if (m->layers[layer].order == 0)
        m->layers[layer].order = ++m->n_called;
}

static int new_call(struct sd_model *m, const struct sd_operand *in, size_t n_in,
                    const struct sd_operand *out, size_t n_out,
                    struct sd_layer_call **made)
{
    struct sd_layer_call *c = sd_arena_alloc(&m->arena, sizeof *c);
    int rc;

    if (!c)
        return sd_no_memory();
    rc = copy_operands(m, in, n_in, &c->in);
    if (rc == 0)
        rc = copy_operands(m, out, n_out, &c->out);
    c->n_in = (uint16_t)n_in;
    c->n_out = (uint16_t)n_out;
    *made = c;
    return rc;
}

int sd_model_called(struct sd_model *m, uint32_t layer, const struct sd_operand *in,
                    size_t n_in, const struct sd_operand *out, size_t n_out)
{
    struct sd_model_layer *l = &m->layers[layer];
    struct sd_layer_call *last = l->last_call;
    int rc;

    sd_model_entered(m, layer);
    if (!last || !same_operands(last->in, last->n_in, in, n_in) ||
        !same_operands(last->out, last->n_out, out, n_out)) {
        rc = new_call(m, in, n_in, out, n_out, &last);
        if (rc < 0)
            return rc;
        *(l->last_call ? &l->last_call->next : &l->calls) = last;
        l->last_call = last;
    }
    last->n_calls++;
    l->n_calls++;
    return 0;
}

/* --- Tensors, operators, facts */

int sd_model_tensor(struct sd_model *m, const struct sd_model_tensor *t)
{
    struct sd_model_tensor made = *t;
    struct sd_model_layer *l;
    int rc;

    sd_assert(t->layer < m->n_layers);
    sd_assert(t->name < m->strings.n);
    l = &m->layers[t->layer];
    rc = more(&m->tensors, m->n_tensors, &m->cap_tensors, sizeof *m->tensors);
    if (rc == 0)
        rc = copy_dims(m, t->dims, &made.dims);
    if (rc < 0)
        return rc;
    made.next = 0;
    m->tensors[m->n_tensors++] = made;
    *(l->last_tensor ? &m->tensors[l->last_tensor - 1].next : &l->first_tensor) =
        (uint32_t)m->n_tensors;
    l->last_tensor = (uint32_t)m->n_tensors;
    return 0;
}

/* Is the newest operator this one again? */
static struct sd_model_op *same_again(struct sd_model *m, const struct sd_model_op *op)
{
    struct sd_model_op *last = m->n_ops > 0 ? &m->ops[m->n_ops - 1] : NULL;

    if (!last || last->name != op->name || last->layer != op->layer ||
        last->is_backward != op->is_backward || last->given_macs != op->given_macs ||
        !same_operands(last->in, last->n_in, op->in, op->n_in) ||
        !same_operands(last->out, last->n_out, op->out, op->n_out) ||
        !same_attrs(last->attrs, last->n_attrs, op->attrs, op->n_attrs))
        return NULL;
    return last;
}

static int copy_op(struct sd_model *m, struct sd_model_op *op)
{
    int rc = copy_operands(m, op->in, op->n_in, &op->in);

    if (rc == 0)
        rc = copy_operands(m, op->out, op->n_out, &op->out);
    if (rc == 0)
        rc = copy_attrs(m, op->attrs, op->n_attrs, &op->attrs);
    return rc;
}

int sd_model_op(struct sd_model *m, const struct sd_model_op *op,
                const struct sd_operand *in, size_t n_in, const struct sd_operand *out,
                size_t n_out, const struct sd_attr *attrs, size_t n_attrs)
{
    struct sd_model_op made = *op;
    struct sd_model_op *last;
    uint32_t n_calls;
    int rc;

    sd_assert(op->layer < m->n_layers && op->name < m->strings.n);
    if (n_in > SD_MODEL_OPERANDS_MAX || n_out > SD_MODEL_OPERANDS_MAX ||
        n_attrs > SD_MODEL_ATTRS_MAX)
        return sd_fail(SD_EFORMAT,
                       "operator %s has too many inputs (%zu), outputs (%zu) or "
                       "attributes (%zu) to be read",
                       sd_model_text(m, op->name), n_in, n_out, n_attrs);
    made.in = in;
    made.n_in = (uint16_t)n_in;
    made.out = out;
    made.n_out = (uint16_t)n_out;
    made.attrs = attrs;
    made.n_attrs = (uint8_t)n_attrs;
    made.n_calls = op->n_calls > 0 ? op->n_calls : 1;
    last = same_again(m, &made);
    /* The sum stands apart first: what runs over would be left in the record. */
    if (last && !__builtin_add_overflow(last->n_calls, made.n_calls, &n_calls)) {
        last->n_calls = n_calls;
        return 0;
    }
    rc = more(&m->ops, m->n_ops, &m->cap_ops, sizeof *m->ops);
    if (rc == 0)
        rc = copy_op(m, &made);
    if (rc < 0)
        return rc;
    m->ops[m->n_ops++] = made;
    return 0;
}

int sd_model_edge(struct sd_model *m, uint32_t from, uint32_t to)
{
    uint64_t pair = (uint64_t)from << 32 | to, unused;
    int rc;

    sd_assert(from < m->n_layers && to < m->n_layers);
    if (sd_table_get(&m->edge_known, pair, &unused))
        return 0;
    rc = more(&m->edges, m->n_edges, &m->cap_edges, sizeof *m->edges);
    if (rc == 0)
        rc = sd_table_put(&m->edge_known, pair, 0);
    if (rc < 0)
        return rc;
    m->edges[m->n_edges++] = (struct sd_model_edge){ from, to };
    return 0;
}

int sd_model_fact(struct sd_model *m, const char *key, const char *value)
{
    struct sd_model_fact made;
    int rc = sd_model_word(m, key, &made.key);

    if (rc == 0)
        rc = sd_model_word(m, value, &made.value);
    if (rc == 0)
        rc = more(&m->facts, m->n_facts, &m->cap_facts, sizeof *m->facts);
    if (rc < 0)
        return rc;
    m->facts[m->n_facts++] = made;
    return 0;
}

int sd_model_note(struct sd_model *m, const char *fmt, ...)
{
    struct sd_buf text = { 0 };
    uint32_t id;
    va_list args;
    int rc;

    va_start(args, fmt);
    sd_buf_vprintf(&text, fmt, args);
    va_end(args);
    rc = text.bad ? sd_no_memory() : sd_model_word(m, sd_buf_string(&text), &id);
    sd_buf_release(&text);
    if (rc == 0)
        rc = more(&m->notes, m->n_notes, &m->cap_notes, sizeof *m->notes);
    if (rc < 0)
        return rc;
    m->notes[m->n_notes++] = id;
    return 0;
}

/* --- Questions */

const char *sd_model_text(const struct sd_model *m, uint32_t id)
{
    return id < m->strings.n ? m->strings.items[id].p : "";
}

const char *sd_model_fact_of(const struct sd_model *m, const char *key)
{
    for (size_t i = 0; i < m->n_facts; i++)
        if (!strcmp(sd_model_text(m, m->facts[i].key), key))
            return sd_model_text(m, m->facts[i].value);
    return NULL;
}

const struct sd_attr *sd_attr_find(const struct sd_model *m,
                                   const struct sd_attr *attrs, size_t n,
                                   const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(sd_model_text(m, attrs[i].name), name))
            return &attrs[i];
    return NULL;
}

int64_t sd_attr_number(const struct sd_attr *a, size_t i, int64_t otherwise)
{
    if (!a)
        return otherwise;
    if (a->kind == SD_ATTR_INT)
        return a->number;
    if (a->kind != SD_ATTR_INTS || a->n == 0)
        return otherwise;
    if (a->n == 1)
        return a->numbers[0];
    return i < a->n ? a->numbers[i] : otherwise;
}

int64_t sd_model_op_number(const struct sd_model *m, const struct sd_model_op *op,
                           const char *name, size_t i, int64_t otherwise)
{
    return sd_attr_number(sd_attr_find(m, op->attrs, op->n_attrs, name), i, otherwise);
}

int64_t sd_model_layer_number(const struct sd_model *m, uint32_t layer,
                              const char *name, size_t i, int64_t otherwise)
{
    const struct sd_model_layer *l = &m->layers[layer];

    return sd_attr_number(sd_attr_find(m, l->attrs, l->n_attrs, name), i, otherwise);
}

int64_t sd_operand_elements(const struct sd_operand *o)
{
    if (o->kind == SD_OPERAND_NONE || o->kind == SD_OPERAND_SCALAR)
        return 0;
    return sd_dims_elements(o->dims);
}

int64_t sd_operand_bytes(const struct sd_operand *o)
{
    return sd_dtype_bytes(o->dtype, sd_operand_elements(o));
}

int64_t sd_model_tensor_bytes(const struct sd_model_tensor *t)
{
    return t->bytes >= 0 ? t->bytes
                         : sd_dtype_bytes(t->dtype, sd_dims_elements(t->dims));
}
