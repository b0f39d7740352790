/* SPDX-License-Identifier: MIT */
/* onnx_inputs: takes the shapes of inputs from the file and the user. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "formats/onnx/onnx_parts.h"

/* --- Shapes that the file tells */

struct told { /* of an input or a value in between */
    struct sd_onnx_text name;
    int64_t dims[SD_MODEL_DIMS_MAX]; /* -1: symbolic, or nothing at all */
    struct sd_onnx_text symbols[SD_MODEL_DIMS_MAX]; /* where it is */
    uint32_t n;
    bool has_shape;
    uint8_t dtype;
    int64_t too_long; /* a length that no axis has; 0: there is none */
};

static void read_axis(struct sd_cursor c, struct told *t)
{
    struct sd_pb_field f;

    t->dims[t->n] = -1;
    t->symbols[t->n] = (struct sd_onnx_text){ 0 };
    while (sd_pb_next(&c, &f)) {
        if (f.number == 1 && f.wire == SD_PB_VARINT && (int64_t)f.v >= 0 &&
            (int64_t)f.v <= SD_ONNX_AXIS_MAX)
            t->dims[t->n] = (int64_t)f.v;
        else if (f.number == 1 && f.wire == SD_PB_VARINT && (int64_t)f.v >= 0)
            t->too_long = (int64_t)f.v;
        else if (f.number == 2)
            t->symbols[t->n] = sd_onnx_text(f.inside);
    }
    t->n++;
}

static void read_tensor_type(struct sd_cursor c, struct told *t)
{
    struct sd_pb_field f, axis;

    while (sd_pb_next(&c, &f)) {
        if (f.number == 1)
            t->dtype = (uint8_t)sd_dtype_of_onnx((int64_t)f.v);
        if (f.number != 2 || f.wire != SD_PB_BYTES)
            continue;
        t->has_shape = true;
        while (sd_pb_next(&f.inside, &axis))
            if (axis.number == 1 && t->n < SD_MODEL_DIMS_MAX)
                read_axis(axis.inside, t);
    }
}

static void read_told(struct sd_cursor c, struct told *t)
{
    struct sd_pb_field f, kind;

    *t = (struct told){ 0 };
    while (sd_pb_next(&c, &f)) {
        if (f.number == 1)
            t->name = sd_onnx_text(f.inside);
        else if (f.number == 2)
            while (sd_pb_next(&f.inside, &kind))
                if (kind.number == 1)
                    read_tensor_type(kind.inside, t);
    }
}

/* --- Inputs */

static const struct sd_model_input *asked_by_name(const struct sd_onnx *x,
                                                  struct sd_onnx_text name)
{
    const struct sd_model_request *w = x->request;

    for (size_t i = 0; i < w->n_inputs; i++)
        if (w->inputs[i].name && sd_onnx_text_is(name, w->inputs[i].name))
            return &w->inputs[i];
    return NULL;
}

/* Those without a name are for the inputs that none names, in their order; *place
 * counts these. */
static const struct sd_model_input *asked(const struct sd_onnx *x,
                                          struct sd_onnx_text name, size_t *place)
{
    const struct sd_model_input *named = asked_by_name(x, name);
    size_t nameless = 0, at;

    if (named)
        return named;
    at = (*place)++;
    for (size_t i = 0; i < x->request->n_inputs; i++)
        if (!x->request->inputs[i].name && nameless++ == at)
            return &x->request->inputs[i];
    return NULL;
}

static int bind_symbols(struct sd_onnx *x, const struct told *t,
                        const struct sd_model_input *w)
{
    int rc = 0;

    if (t->has_shape && t->n != w->n_dims)
        return sd_fail(SD_EUSAGE, "the input %.*s has %u axes, but %u were given",
                       (int)(t->name.n < 200 ? t->name.n : 200), t->name.p, t->n,
                       w->n_dims);
    for (uint32_t i = 0; i < w->n_dims && t->has_shape && rc == 0; i++) {
        uint32_t id;

        /* What the file fixes stands in its other shapes and constants as well. */
        if (t->dims[i] >= 0 && t->dims[i] != w->dims[i])
            return sd_fail(SD_EUSAGE,
                           "axis %u of the input %.*s is fixed at %lld in this file, "
                           "not %lld; only open axes can be set",
                           i, (int)(t->name.n < 200 ? t->name.n : 200), t->name.p,
                           (long long)t->dims[i], (long long)w->dims[i]);
        x->is_reshaped |= t->dims[i] != w->dims[i];
        if (t->symbols[i].n == 0)
            continue;
        rc = sd_onnx_name(x, t->symbols[i], &id);
        if (rc == 0)
            rc = sd_table_put(&x->symbols, id, (uint64_t)w->dims[i]);
    }
    return rc;
}

static bool symbol_length(const struct sd_onnx *x, struct sd_onnx_text symbol,
                          int64_t *length)
{
    uint32_t id = symbol.n ? sd_intern_find(&x->names, symbol.p, symbol.n) : UINT32_MAX;
    uint64_t found;

    if (id == UINT32_MAX || !sd_table_get(&x->symbols, id, &found))
        return false;
    *length = (int64_t)found;
    return true;
}

/* "batch of x"; "axis 0 of x" when it has no name. */
static void tell_unsized(struct sd_onnx *x, const struct told *t, uint32_t i)
{
    sd_buf_text(&x->unsized, x->unsized.n ? ", " : "");
    if (t->symbols[i].n)
        sd_buf_add(&x->unsized, t->symbols[i].p,
                   t->symbols[i].n < 60 ? t->symbols[i].n : 60);
    else
        sd_buf_printf(&x->unsized, "axis %u", i);
    sd_buf_printf(&x->unsized, " of %.*s", (int)(t->name.n < 60 ? t->name.n : 60),
                  t->name.n ? t->name.p : "");
}

/* An axis without a length is 1, and its name is remembered. */
static int size_axes(struct sd_onnx *x, struct told *t)
{
    uint32_t id;
    int rc = 0;

    for (uint32_t i = 0; i < t->n && rc == 0; i++) {
        if (t->dims[i] >= 0 || symbol_length(x, t->symbols[i], &t->dims[i]))
            continue;
        t->dims[i] = 1;
        if (x->unsized.n < 200)
            tell_unsized(x, t, i);
        if (t->symbols[i].n == 0)
            continue;
        rc = sd_onnx_name(x, t->symbols[i], &id);
        if (rc == 0)
            rc = sd_table_put(&x->symbols, id, 1);
    }
    return rc;
}

static int tell_input(struct sd_onnx *x, const struct sd_onnx_value *v)
{
    struct sd_buf text = { 0 };
    int rc;

    sd_buf_add(&text, v->name.p, v->name.n < 200 ? v->name.n : 200);
    for (uint32_t i = 0; i < v->n_dims; i++)
        sd_buf_printf(&text, "%s%lld", i ? "," : "=", (long long)v->dims[i]);
    sd_buf_printf(&text, ":%s", sd_dtype_about(v->dtype)->name);
    rc = text.bad ? sd_no_memory() : sd_model_fact(x->m, "input", sd_buf_string(&text));
    sd_buf_release(&text);
    return rc;
}

static int add_input(struct sd_onnx *x, struct sd_onnx_scope *scope, struct told *t,
                     const struct sd_model_input *w)
{
    struct sd_onnx_value *v;
    int rc = sd_onnx_make(x, t->name, &v);

    if (rc == 0)
        rc = sd_onnx_bind(x, scope, t->name, v);
    if (rc < 0)
        return rc;
    v->dtype = w && w->dtype != SD_DTYPE_UNKNOWN ? w->dtype : t->dtype;
    if (w)
        rc = sd_onnx_set_dims(x, v, w->dims, w->n_dims);
    else if (t->has_shape) {
        rc = size_axes(x, t);
        if (rc == 0)
            rc = sd_onnx_set_dims(x, v, t->dims, t->n);
    } else {
        rc = sd_model_note(
            x->m,
            "the file does not say the shape of the input %.*s; give it with --input",
            (int)(t->name.n < 200 ? t->name.n : 200), t->name.p);
    }
    return rc == 0 ? tell_input(x, v) : rc;
}

static size_t count_inputs(const struct sd_model *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n_facts; i++)
        n += strcmp(sd_model_text(m, m->facts[i].key), "input") == 0;
    return n;
}

/* Every one that was given has an input of its own. */
static int check_request(struct sd_onnx *x, const struct sd_onnx_scope *scope,
                         size_t n_inputs)
{
    for (size_t i = 0; i < x->request->n_inputs; i++) {
        const struct sd_model_input *in = &x->request->inputs[i];
        struct sd_onnx_text name = { in->name, in->name ? strlen(in->name) : 0 };
        struct sd_onnx_value *v;

        if (!in->name)
            continue;
        v = sd_onnx_look_up(x, scope, name);
        if (!v || v->is_weight) {
            const char *known = sd_model_fact_of(x->m, "input");

            return sd_fail(SD_EUSAGE,
                           "the model has no input named %s; its first is %s", in->name,
                           known ? known : "none");
        }
        if (asked_by_name(x, name) != in)
            return sd_fail(SD_EUSAGE, "the input %s was given twice", in->name);
    }
    if (x->request->n_inputs > n_inputs)
        return sd_fail(SD_EUSAGE, "%zu inputs were given, but the model has %zu",
                       x->request->n_inputs, n_inputs);
    return 0;
}

/* Twice over the inputs: an axis that one of them is given may be another's too. */
int sd_onnx_inputs(struct sd_onnx *x, struct sd_cursor graph,
                   struct sd_onnx_scope *scope)
{
    struct sd_cursor c;
    struct sd_pb_field f;
    struct told t;
    int rc = 0;

    for (int round = 0; round < 2; round++) {
        size_t place = 0;

        for (c = graph; rc == 0 && sd_pb_next(&c, &f);) {
            const struct sd_model_input *w;

            if (f.number != GRAPH_INPUT)
                continue;
            read_told(f.inside, &t);
            if (t.name.n == 0 || (round == 0 && sd_onnx_look_up(x, scope, t.name)))
                continue; /* a weight: it has a value already */
            if (round == 1 && sd_onnx_look_up(x, scope, t.name))
                continue;
            if (t.too_long)
                return sd_fail(SD_EFORMAT,
                               "the ONNX file is damaged: the input %.*s has an axis "
                               "of %lld, which is too long",
                               (int)(t.name.n < 200 ? t.name.n : 200), t.name.p,
                               (long long)t.too_long);
            w = asked(x, t.name, &place);
            if (round == 0)
                rc = w ? bind_symbols(x, &t, w) : 0;
            else
                rc = add_input(x, scope, &t, w);
        }
    }
    return rc == 0 ? check_request(x, scope, count_inputs(x->m)) : rc;
}

/* --- What is not known */

static void put_dims(struct sd_buf *to, const struct sd_onnx_value *v)
{
    if (v->n_dims == 0)
        sd_buf_text(to, "()");
    for (uint32_t i = 0; i < v->n_dims; i++)
        sd_buf_printf(to, "%s%lld", i ? "×" : "", (long long)v->dims[i]);
}

/* "group 3", "kernel_shape 5×5", as the node has it or, left out, is meant. */
static void put_attribute(struct sd_buf *to, const struct sd_onnx_node *node,
                          const char *name)
{
    int64_t list[SD_MODEL_DIMS_MAX];
    uint32_t n = sd_onnx_ints(node, name, list, SD_MODEL_DIMS_MAX);

    sd_buf_printf(to, ", with %s ", name);
    if (n == 0)
        sd_buf_printf(to, "%lld", (long long)sd_onnx_int(node, name, 1));
    for (uint32_t i = 0; i < n && i < SD_MODEL_DIMS_MAX; i++)
        sd_buf_printf(to, "%s%lld", i ? "×" : "", (long long)list[i]);
}

int sd_onnx_unfit(const struct sd_onnx_step *s, const struct sd_onnx_value *a,
                  const struct sd_onnx_value *b, const char *attribute)
{
    struct sd_onnx_text op = s->node->op, name = s->out[0]->name;
    struct sd_buf shapes = { 0 };
    int rc;

    for (uint32_t i = 0; i < s->n_out; i++)
        s->out[i]->is_told = true;
    if (s->x->n_quiet || s->x->n_missed++ >= SD_ONNX_MISSED_MAX)
        return 0;
    put_dims(&shapes, a);
    sd_buf_text(&shapes, " and ");
    put_dims(&shapes, b);
    if (attribute)
        put_attribute(&shapes, s->node, attribute);
    rc =
        shapes.bad
            ? sd_no_memory()
            : sd_model_note(s->x->m,
                            "the shapes that go into %.*s (%.*s) do not fit, %s: "
                            "neither this operator nor what follows it is counted",
                            (int)(name.n < 200 ? name.n : 200), name.n ? name.p : "",
                            (int)(op.n < 80 ? op.n : 80), op.p, sd_buf_string(&shapes));
    sd_buf_release(&shapes);
    return rc;
}

/* An operand that has a name, and nothing of that name came before.  In a function it
 * may be one that the call leaves out. */
static int tell_absent(const struct sd_onnx_step *s)
{
    struct sd_onnx_text op = s->node->op, name = s->n_out ? s->out[0]->name : op;
    int rc = 0;

    for (uint32_t i = 0; i < s->n_in && rc == 0 && !s->node->call; i++) {
        struct sd_onnx_text in = s->node->in[i];

        if (s->in[i] || in.n == 0)
            continue;
        for (uint32_t k = 0; k < s->n_out; k++)
            s->out[k]->is_told = true;
        if (s->x->n_quiet || s->x->n_missed++ >= SD_ONNX_MISSED_MAX)
            continue;
        rc = sd_model_note(s->x->m,
                           "the operand %.*s of %.*s (%.*s) is absent: no input, no "
                           "weight and no operator before it has that name",
                           (int)(in.n < 200 ? in.n : 200), in.p,
                           (int)(name.n < 200 ? name.n : 200), name.n ? name.p : "",
                           (int)(op.n < 80 ? op.n : 80), op.p);
    }
    return rc;
}

static int tell_missing(struct sd_onnx *x, struct sd_onnx_text op,
                        const struct sd_onnx_value *out, bool has_rule)
{
    const struct sd_onnx_value *needs = out->needs;
    int n_op = (int)(op.n < 80 ? op.n : 80);
    int n_out = (int)(out->name.n < 200 ? out->name.n : 200);

    if (x->n_quiet || x->n_missed++ >= SD_ONNX_MISSED_MAX)
        return 0;
    if (needs && needs->is_external)
        return sd_model_note(x->m,
                             "the shape of %.*s (%.*s) needs the constant %.*s, whose "
                             "data are in another file, which sonde does not read",
                             n_out, out->name.p, n_op, op.p,
                             (int)(needs->name.n < 200 ? needs->name.n : 200),
                             needs->name.p);
    if (needs && needs->name.n)
        return sd_model_note(
            x->m,
            "the shape of %.*s (%.*s) depends on the data in %.*s: what "
            "follows from it is not counted",
            n_out, out->name.p, n_op, op.p,
            (int)(needs->name.n < 200 ? needs->name.n : 200), needs->name.p);
    return sd_model_note(x->m,
                         has_rule ? "the shape of %.*s (%.*s) does not follow from its "
                                    "inputs: what follows from it is not counted"
                                  : "the shape of %.*s is not known: there is no rule "
                                    "for the operator %.*s",
                         n_out, out->name.p, n_op, op.p);
}

/* A shape that the file fixes, but not for inputs of these lengths. */
static int tell_misfit(const struct sd_onnx_step *s)
{
    const struct sd_onnx_value *out = s->out[0];
    struct sd_onnx_text op = s->node->op;
    struct sd_buf to = { 0 }, from = { 0 };
    int rc;

    if (s->x->n_quiet || s->x->n_missed++ >= SD_ONNX_MISSED_MAX)
        return 0;
    for (uint32_t i = 0; i < out->n_dims; i++)
        sd_buf_printf(&to, "%s%lld", i ? "," : "", (long long)out->dims[i]);
    for (uint32_t i = 0; i < s->in[0]->n_dims; i++)
        sd_buf_printf(&from, "%s%lld", i ? "," : "", (long long)s->in[0]->dims[i]);
    rc = to.bad || from.bad
             ? sd_no_memory()
             : sd_model_note(s->x->m,
                             "the file fixes the shape of %.*s (%.*s) to %s, and its "
                             "input has %s; give the lengths that the file was made "
                             "for with --input NAME=1,2,3; what follows is not counted",
                             (int)(out->name.n < 200 ? out->name.n : 200), out->name.p,
                             (int)(op.n < 80 ? op.n : 80), op.p, sd_buf_string(&to),
                             sd_buf_string(&from));
    sd_buf_release(&to);
    sd_buf_release(&from);
    return rc;
}

/* The file's own word for the shape, if it has one. */
static int shape_from_info(struct sd_onnx *x, const struct sd_onnx_scope *scope,
                           struct sd_onnx_value *v)
{
    uint32_t id =
        v->name.n ? sd_intern_find(&x->names, v->name.p, v->name.n) : UINT32_MAX;
    uint64_t found;
    struct told t;

    if (id == UINT32_MAX || x->is_reshaped || !sd_table_get(&scope->infos, id, &found))
        return 0;
    read_told(*(const struct sd_cursor *)(uintptr_t)found, &t);
    if (!t.has_shape)
        return 0;
    for (uint32_t i = 0; i < t.n; i++)
        if (t.dims[i] < 0 && !symbol_length(x, t.symbols[i], &t.dims[i]))
            return 0;
    if (t.dtype != SD_DTYPE_UNKNOWN)
        v->dtype = t.dtype;
    return sd_onnx_set_dims(x, v, t.dims, t.n);
}

static bool inputs_known(const struct sd_onnx_step *s)
{
    for (uint32_t i = 0; i < s->n_in; i++)
        if (s->in[i] && !s->in[i]->has_dims && !s->in[i]->sequence)
            return false;
    return true;
}

/* What was left unknown without a word, and is used. */
static int tell_used(const struct sd_onnx_step *s)
{
    int rc = 0;

    for (uint32_t i = 0; i < s->n_in && rc == 0; i++) {
        struct sd_onnx_value *v = (struct sd_onnx_value *)(uintptr_t)s->in[i];

        if (!v || v->has_dims || !v->untold.n)
            continue;
        rc = tell_missing(s->x, v->untold, v, true);
        v->untold.n = 0;
    }
    return rc;
}

int sd_onnx_settle(const struct sd_onnx_step *s, const struct sd_onnx_scope *scope,
                   bool has_rule)
{
    bool is_cause = inputs_known(s), is_unfit = s->n_out > 0 && s->out[0]->is_told;
    int rc = tell_used(s);

    if (rc == 0)
        rc = tell_absent(s);
    if (rc < 0 || is_unfit)
        return rc;
    for (uint32_t i = 0; i < s->n_out && rc == 0; i++) {
        if (s->out[i]->is_unfit) {
            rc = tell_misfit(s);
            continue;
        }
        if (!s->out[i]->has_dims)
            rc = shape_from_info(s->x, scope, s->out[i]);
        if (rc < 0 || s->out[i]->has_dims || s->out[i]->sequence || !is_cause ||
            s->out[i]->is_told)
            continue;
        /* Further outputs are mostly statistics that nobody uses. */
        if (i == 0)
            rc = tell_missing(s->x, s->node->op, s->out[i], has_rule);
        else if (has_rule)
            s->out[i]->untold = s->node->op;
    }
    return rc;
}
