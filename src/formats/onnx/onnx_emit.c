/* SPDX-License-Identifier: MIT */
/* onnx_emit: adds operators, tensors and calls of layers to the model. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "formats/onnx/onnx_parts.h"

/* --- Operators into the model */

static struct sd_operand operand_of(const struct sd_onnx_value *v)
{
    if (!v || !v->has_dims)
        return (struct sd_operand){ .kind = SD_OPERAND_NONE };
    return (struct sd_operand){ .dims = { v->dims, v->n_dims },
                                .dtype = v->dtype,
                                .kind = SD_OPERAND_TENSOR,
                                .is_weight = v->is_weight };
}

struct attrs {
    struct sd_attr list[SD_MODEL_ATTRS_MAX];
    size_t n;
};

enum { ATTR_TEXT_MAX = 256, ATTR_INTS_MAX = 64 };

static int add_attr(struct sd_onnx *x, const struct sd_onnx_attr *a,
                    struct sd_arena *arena, struct attrs *to)
{
    int64_t *ints;
    uint32_t name, text, n;
    int rc;

    if (to->n == SD_MODEL_ATTRS_MAX || a->name.n == 0 || a->name.n > ATTR_TEXT_MAX)
        return 0;
    rc = sd_model_string(x->m, a->name.p, a->name.n, &name);
    if (rc < 0)
        return rc;
    if (a->has_number) {
        to->list[to->n++] = sd_attr_int(name, a->number);
    } else if (a->has_real) {
        to->list[to->n++] = sd_attr_real(name, a->real);
    } else if (a->has_text && a->text.n <= ATTR_TEXT_MAX) {
        rc = sd_model_string(x->m, a->text.n ? a->text.p : "", a->text.n, &text);
        to->list[to->n++] = sd_attr_text(name, text);
    } else if (a->has_list) {
        ints = sd_arena_alloc(arena, ATTR_INTS_MAX * sizeof *ints);
        if (!ints)
            return sd_no_memory();
        n = sd_onnx_attr_ints(a, ints, ATTR_INTS_MAX);
        if (n <= ATTR_INTS_MAX)
            to->list[to->n++] = sd_attr_ints(name, ints, n);
    }
    return rc;
}

static int read_attrs(struct sd_onnx *x, const struct sd_onnx_node *node,
                      struct sd_arena *arena, struct attrs *to)
{
    struct sd_cursor at = node->body;
    struct sd_onnx_attr a;
    int rc = 0;

    to->n = 0;
    while (rc == 0 && sd_onnx_attr_next(node, &at, &a))
        rc = add_attr(x, &a, arena, to);
    return rc;
}

static int name_op(struct sd_onnx *x, const struct sd_onnx_node *node, uint32_t *id)
{
    bool is_standard = node->domain.n == 0 || sd_onnx_text_is(node->domain, "ai.onnx");
    char name[256];

    snprintf(name, sizeof name, "%.*s::%.*s",
             is_standard            ? 4
             : node->domain.n < 120 ? (int)node->domain.n
                                    : 120,
             is_standard ? "onnx" : node->domain.p,
             (int)(node->op.n < 120 ? node->op.n : 120), node->op.p);
    return sd_model_word(x->m, name, id);
}

static int note_run(struct sd_onnx *x, uint32_t layer)
{
    struct sd_onnx_run *last = x->n_runs ? &x->runs[x->n_runs - 1] : NULL;
    struct sd_onnx_run *grown;

    if (last && last->layer == layer) {
        last->last = x->m->n_ops - 1;
        return 0;
    }
    grown = sd_grow_array(x->runs, &x->cap_runs, x->n_runs + 1, sizeof *grown);
    if (!grown)
        return sd_no_memory();
    x->runs = grown;
    grown[x->n_runs++] =
        (struct sd_onnx_run){ layer, x->m->n_ops - 1, x->m->n_ops - 1 };
    return 0;
}

static bool has_weights(const struct sd_onnx_step *s)
{
    for (uint32_t i = 0; i < s->n_in; i++)
        if (s->in[i] && (s->in[i]->is_weight || s->in[i]->is_constant))
            return true;
    return false;
}

int sd_onnx_add_op(const struct sd_onnx_step *s, struct sd_arena *scratch)
{
    struct sd_onnx *x = s->x;
    struct sd_model_op op = { .given_macs = -1 };
    struct sd_operand *in =
        sd_arena_alloc(scratch, (s->n_in + s->n_out + 1) * sizeof *in);
    struct attrs *attrs = sd_arena_alloc(scratch, sizeof *attrs);
    struct sd_operand *out;
    int rc;

    if (!in || !attrs)
        return sd_no_memory();
    out = in + s->n_in;
    rc = x->n_quiet && !has_weights(s) ? 0 : sd_onnx_layer(x, s->node, &op.layer);
    if (rc == 0)
        rc = name_op(x, s->node, &op.name);
    if (rc == 0)
        rc = read_attrs(x, s->node, scratch, attrs);
    for (uint32_t i = 0; i < s->n_in && rc == 0; i++) {
        struct sd_onnx_value *v = (struct sd_onnx_value *)(uintptr_t)s->in[i];

        if (v)
            rc = sd_onnx_take_role(x, s->node, i, v, op.layer);
        in[i] = operand_of(v);
        if (!v || rc < 0)
            continue;
        if (v->is_weight && !v->is_placed) {
            v->is_placed = true;
            v->layer = op.layer;
        } else if (!v->is_weight && v->is_placed && v->layer != op.layer) {
            rc = x->n_quiet ? 0 : sd_model_edge(x->m, v->layer, op.layer);
        }
    }
    if (rc < 0 || x->n_quiet)
        return rc;
    for (uint32_t i = 0; i < s->n_out; i++) {
        out[i] = operand_of(s->out[i]);
        s->out[i]->layer = op.layer;
        s->out[i]->is_placed = true;
    }
    rc = sd_model_op(x->m, &op, in, s->n_in, out, s->n_out, attrs->list, attrs->n);
    return rc == 0 ? note_run(x, op.layer) : rc;
}

/* --- Weights into the model */

int sd_onnx_tensors(struct sd_onnx *x)
{
    int rc = 0;

    for (struct sd_onnx_value *v = x->weights; v && rc == 0; v = v->next_weight) {
        struct sd_model_tensor t = {
            .layer = v->is_placed ? v->layer : SD_MODEL_ROOT,
            .dtype = v->dtype,
            .dims = { v->dims, v->n_dims },
            .bytes = v->stored_bytes ? v->stored_bytes : -1,
            .flags = sd_onnx_is_parameter(v) ? SD_TENSOR_PARAMETER : SD_TENSOR_BUFFER,
        };

        if (v->unpacked) { /* as many bytes as are stored */
            t.bytes = sd_model_tensor_bytes(&t);
            t.dtype = v->packed_dtype;
            t.dims = (struct sd_dims){ v->unpacked, 2 };
        }

        rc = sd_model_string(x->m, v->name.n ? v->name.p : "", v->name.n, &t.name);
        if (rc == 0)
            rc = sd_model_tensor(x->m, &t);
    }
    return rc;
}

/* --- Calls of layers */

/* The tensors of this field, inputs or outputs, that are no weights (older files list
 * these among the inputs); no more than a call may have. */
static size_t ends_of(const struct sd_onnx *x, struct sd_cursor graph, uint32_t field,
                      const struct sd_onnx_scope *scope, struct sd_operand *to)
{
    struct sd_pb_field f, part;
    size_t n = 0;

    while (n < SD_MODEL_OPERANDS_MAX && sd_pb_next(&graph, &f)) {
        const struct sd_onnx_value *v;

        if (f.number != field || !sd_pb_next(&f.inside, &part) || part.number != 1)
            continue;
        v = sd_onnx_look_up(x, scope, sd_onnx_text(part.inside));
        if (v && v->has_dims && !v->is_weight)
            to[n++] = operand_of(v);
    }
    return n;
}

static size_t count_ends(struct sd_cursor graph)
{
    struct sd_pb_field f;
    size_t n = 0;

    while (sd_pb_next(&graph, &f))
        n += f.number == GRAPH_INPUT || f.number == GRAPH_OUTPUT;
    return n;
}

int sd_onnx_call_model(struct sd_onnx *x, struct sd_cursor graph,
                       const struct sd_onnx_scope *scope)
{
    struct sd_operand *ends = sd_alloc((count_ends(graph) + 1) * sizeof *ends);
    size_t n_in, n_out;
    int rc;

    if (!ends)
        return sd_no_memory();
    n_in = ends_of(x, graph, GRAPH_INPUT, scope, ends);
    n_out = ends_of(x, graph, GRAPH_OUTPUT, scope, ends + n_in);
    rc = sd_model_called(x->m, SD_MODEL_ROOT, ends, n_in, ends + n_in, n_out);
    sd_free(ends);
    return rc;
}

/* How layers were called: leaves as often as their operators come, others once; the
 * model itself was told already. */
int sd_onnx_add_calls(struct sd_onnx *x)
{
    struct sd_model *m = x->m;
    bool *has_layers = sd_zalloc(m->n_layers * sizeof *has_layers);
    int rc = has_layers ? 0 : sd_no_memory();

    for (size_t i = 1; i < m->n_layers && rc == 0; i++)
        has_layers[m->layers[i].parent] = true;
    for (size_t i = 0; i < x->n_runs && rc == 0; i++) {
        const struct sd_onnx_run *r = &x->runs[i];
        const struct sd_model_op *first = &m->ops[r->first], *last = &m->ops[r->last];
        const struct sd_operand *in = first->in;
        size_t n_in = 0;

        if (r->layer == SD_MODEL_ROOT ||
            (has_layers[r->layer] && m->layers[r->layer].n_calls))
            continue;
        while (n_in < first->n_in && !in[n_in].is_weight)
            n_in++;
        rc = sd_model_called(m, r->layer, in, n_in, last->out, last->n_out);
    }
    sd_free(has_layers);
    return rc;
}
