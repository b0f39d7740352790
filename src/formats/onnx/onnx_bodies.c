/* SPDX-License-Identifier: MIT */
/* onnx_bodies: runs the subgraphs of If, Loop and Scan. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "formats/onnx/onnx_parts.h"

enum {
    FUNCTION_NAME = 1,
    FUNCTION_INPUT = 4,
    FUNCTION_OUTPUT = 5,
    FUNCTION_NODE = 7,
    FUNCTION_DOMAIN = 10,
    FUNCTION_DEFAULT = 11,
    FUNCTION_OVERLOAD = 13
};

/* --- Bodies: If, Loop, Scan */

static int enter(const struct sd_onnx_scope *from, struct sd_onnx_scope *scope)
{
    scope->depth = from->depth + 1;
    if (scope->depth > SD_ONNX_DEPTH_MAX)
        return sd_onnx_damaged("functions or bodies stand too deep in each other");
    return 0;
}

/* The first `n` inputs, or outputs, of a graph by their field number, in one walk; p is
 * NULL where there is none.  The caller frees *names. */
static int names_of(struct sd_cursor graph, uint32_t field, uint32_t n,
                    struct sd_onnx_text **names)
{
    struct sd_pb_field f, part;
    uint32_t i = 0;

    *names = sd_zalloc((n + 1) * sizeof **names);
    if (!*names)
        return sd_no_memory();
    while (i < n && sd_pb_next(&graph, &f)) {
        if (f.number != field)
            continue;
        while (!(*names)[i].p && sd_pb_next(&f.inside, &part))
            if (part.number == 1)
                (*names)[i] = sd_onnx_text(part.inside);
        i++;
    }
    return 0;
}

static int run_body(struct sd_onnx *x, struct sd_cursor graph,
                    struct sd_onnx_scope *scope)
{
    int rc = sd_onnx_charge(x, sd_cursor_left(&graph));

    if (rc == 0)
        rc = sd_onnx_weights(x, graph, scope);
    if (rc == 0)
        rc = sd_onnx_infos(x, graph, scope);
    return rc == 0 ? sd_onnx_run(x, graph, GRAPH_NODE, scope) : rc;
}

static void take_over(struct sd_onnx_value *to, const struct sd_onnx_value *from)
{
    struct sd_onnx_text name = to->name;

    if (!from)
        return;
    *to = *from;
    to->name = name;
    to->is_weight = to->is_constant = false;
    to->next_weight = NULL;
}

/* The branch that is not counted is stored, too. */
static int run_quietly(const struct sd_onnx_step *s, const char *branch,
                       const struct sd_onnx_scope *outer)
{
    struct sd_onnx_scope scope = { .up = outer, .call = s->node->call };
    struct sd_onnx_attr a;
    int rc;

    if (!sd_onnx_attr_find(s->node, branch, &a) || !a.has_graph)
        return 0;
    s->x->n_quiet++;
    rc = enter(outer, &scope);
    if (rc == 0)
        rc = run_body(s->x, a.graph, &scope);
    s->x->n_quiet--;
    sd_onnx_leave(&scope);
    return rc;
}

int sd_onnx_run_if(const struct sd_onnx_step *s, struct sd_onnx_scope *outer)
{
    static const char *const branches[] = { "then_branch", "else_branch" };
    const struct sd_onnx_elements *known = sd_onnx_wholes(s, 0);
    bool is_else = known && known->n == 1 && known->whole[0] == 0;
    struct sd_onnx_scope scope = { .up = outer, .call = s->node->call };
    struct sd_onnx_text *names = NULL;
    struct sd_onnx_attr a;
    int rc;

    for (uint32_t i = 0; i < s->n_out; i++)
        s->out[i]->needs = NULL;
    if (!sd_onnx_attr_find(s->node, branches[is_else], &a) || !a.has_graph)
        return sd_onnx_damaged("an If has no branches");
    rc = enter(outer, &scope);
    if (rc == 0)
        rc = run_body(s->x, a.graph, &scope);
    if (rc == 0)
        rc = names_of(a.graph, GRAPH_OUTPUT, s->n_out, &names);
    for (uint32_t i = 0; i < s->n_out && rc == 0; i++)
        if (names[i].p)
            take_over(s->out[i], sd_onnx_look_up(s->x, &scope, names[i]));
    sd_free(names);
    sd_onnx_leave(&scope);
    if (rc == 0)
        rc = run_quietly(s, branches[!is_else], outer);
    s->x->has_bodies |= !known && s->x->n_quiet == 0;
    return rc;
}

/* `v` without, or with, an axis, which may be counted from the end of the longer one.
 */
static int without_axis(struct sd_onnx *x, struct sd_onnx_value *v, int64_t axis)
{
    int64_t dims[SD_MODEL_DIMS_MAX];
    uint32_t at, n = 0;

    v->elements = NULL;
    if (!v->has_dims)
        return 0;
    if (!sd_shapes_axis_find(axis, v->n_dims, &at)) {
        v->has_dims = false;
        return 0;
    }
    for (uint32_t i = 0; i < v->n_dims; i++)
        if (i != at)
            dims[n++] = v->dims[i];
    return sd_onnx_set_dims(x, v, dims, n);
}

static int with_axis(struct sd_onnx *x, struct sd_onnx_value *v, int64_t axis,
                     int64_t length)
{
    int64_t dims[SD_MODEL_DIMS_MAX + 1];
    uint32_t at, n = 0;

    v->elements = NULL;
    if (!v->has_dims)
        return 0;
    if (v->n_dims >= SD_MODEL_DIMS_MAX ||
        !sd_shapes_axis_find(axis, v->n_dims + 1, &at)) {
        v->has_dims = false;
        return 0;
    }
    for (uint32_t i = 0; i <= v->n_dims; i++)
        dims[i] = i == at ? length : v->dims[n++];
    return sd_onnx_set_dims(x, v, dims, v->n_dims + 1);
}

/* A Loop or a Scan: states go round, a Scan takes slices of what is scanned, and both
 * put what comes last among the outputs one behind the other. */
struct rounds {
    const struct sd_onnx_step *s;
    bool is_loop;
    uint32_t n_states; /* a Loop's with the number of the round and the condition */
    int64_t length;    /* how many rounds; -1: not known */
    int64_t in_axes[SD_MODEL_DIMS_MAX], out_axes[SD_MODEL_DIMS_MAX];
    uint32_t n_in_axes, n_out_axes;
};

static int64_t axis_of(const int64_t *axes, uint32_t n, uint32_t i)
{
    return i < n && i < SD_MODEL_DIMS_MAX ? axes[i] : 0;
}

static int plan(const struct sd_onnx_step *s, bool is_loop, struct rounds *r)
{
    const struct sd_onnx_elements *times = is_loop ? sd_onnx_wholes(s, 0) : NULL;
    int64_t scanned = is_loop ? 0 : sd_onnx_int(s->node, "num_scan_inputs", 0);

    for (uint32_t i = 0; i < s->n_out; i++)
        s->out[i]->needs = NULL;
    if (scanned < 0 || scanned > s->n_in || (is_loop && s->n_in < 2))
        return sd_onnx_damaged("a Loop or Scan has other inputs than it says");
    *r = (struct rounds){ .s = s,
                          .is_loop = is_loop,
                          .n_states = s->n_in - (uint32_t)scanned,
                          .length = times && times->n == 1 ? times->whole[0] : -1 };
    r->n_in_axes =
        sd_onnx_ints(s->node, "scan_input_axes", r->in_axes, SD_MODEL_DIMS_MAX);
    r->n_out_axes =
        sd_onnx_ints(s->node, "scan_output_axes", r->out_axes, SD_MODEL_DIMS_MAX);
    return 0;
}

/* What goes round: inputs of the body by place.  Elements change from round to round.
 */
static int give_body(struct rounds *r, struct sd_onnx_scope *scope,
                     struct sd_onnx_text name, uint32_t i)
{
    static const struct sd_onnx_value number = { .has_dims = true,
                                                 .dtype = SD_DTYPE_I64 };
    const struct sd_onnx_step *s = r->s;
    const struct sd_onnx_value *v = r->is_loop && i < 2 ? &number : s->in[i];
    int64_t axis =
        i < r->n_states ? 0 : axis_of(r->in_axes, r->n_in_axes, i - r->n_states);
    struct sd_onnx_value *copy;
    uint32_t at;
    int rc;

    if (i >= r->n_states && v && v->has_dims &&
        sd_shapes_axis_find(axis, v->n_dims, &at))
        r->length = v->dims[at];
    if (!name.p)
        return 0;
    rc = sd_onnx_make(s->x, name, &copy);
    if (rc < 0)
        return rc;
    take_over(copy, v);
    copy->elements = NULL;
    if (i >= r->n_states)
        rc = without_axis(s->x, copy, axis);
    return rc == 0 ? sd_onnx_bind(s->x, scope, name, copy) : rc;
}

static int take_output(const struct rounds *r, const struct sd_onnx_scope *scope,
                       struct sd_onnx_text name, uint32_t i)
{
    const struct sd_onnx_step *s = r->s;
    uint32_t n_states = r->n_states - (r->is_loop ? 2 : 0);
    struct sd_onnx_value *out = s->out[i];

    if (!name.p)
        return 0;
    take_over(out, sd_onnx_look_up(s->x, scope, name));
    out->elements = NULL;
    if (i < n_states)
        return 0;
    if (r->length >= 0 && r->length <= SD_ONNX_AXIS_MAX)
        return with_axis(s->x, out, axis_of(r->out_axes, r->n_out_axes, i - n_states),
                         r->length);
    out->has_dims = false;
    out->untold = s->node->op;
    if (r->is_loop)
        out->needs = s->in[0]; /* how many rounds there are */
    return 0;
}

int sd_onnx_run_rounds(const struct sd_onnx_step *s, struct sd_onnx_scope *outer,
                       bool is_loop)
{
    struct sd_onnx_scope scope = { .up = outer, .call = s->node->call };
    struct sd_onnx_text *inputs = NULL, *outputs = NULL;
    struct sd_onnx_attr a;
    struct rounds r;
    int rc = plan(s, is_loop, &r);

    if (rc == 0 && (!sd_onnx_attr_find(s->node, "body", &a) || !a.has_graph))
        rc = sd_onnx_damaged("a Loop or Scan has no body");
    if (rc == 0)
        rc = enter(outer, &scope);
    if (rc == 0)
        rc = names_of(a.graph, GRAPH_INPUT, s->n_in, &inputs);
    if (rc == 0)
        rc = names_of(a.graph, GRAPH_OUTPUT, s->n_out + 1, &outputs);
    for (uint32_t i = 0; i < s->n_in && rc == 0; i++)
        rc = give_body(&r, &scope, inputs[i], i);
    if (rc == 0)
        rc = run_body(s->x, a.graph, &scope);
    for (uint32_t i = 0; i < s->n_out && rc == 0; i++)
        rc = take_output(&r, &scope, outputs[is_loop ? i + 1 : i], i);
    sd_free(inputs);
    sd_free(outputs);
    sd_onnx_leave(&scope);
    s->x->has_bodies |= s->x->n_quiet == 0;
    return rc;
}

/* Samples apart, and an input for their lengths, of which there is nothing today. */
int sd_onnx_refuse_scan(const struct sd_onnx_step *s)
{
    return sd_model_note(s->x->m, "a Scan of opset 8 is not counted, nor what follows "
                                  "from it: opset 9 has it in another form");
}

/* --- Functions of the model's own */

static int function_key(const struct sd_onnx_node *node, struct sd_buf *key)
{
    sd_buf_clear(key);
    sd_buf_add(key, node->domain.p, node->domain.n);
    sd_buf_u8(key, 0);
    sd_buf_add(key, node->op.p, node->op.n);
    sd_buf_u8(key, 0);
    sd_buf_add(key, node->overload.p, node->overload.n);
    return key->bad ? sd_no_memory() : 0;
}

int sd_onnx_find_function(struct sd_onnx *x, const struct sd_onnx_node *node,
                          const struct sd_cursor **function)
{
    struct sd_buf key = { 0 };
    uint32_t id;
    int rc = 0;

    *function = NULL;
    if (x->callees.n == 0)
        return 0;
    rc = function_key(node, &key);
    if (rc == 0) {
        id = sd_intern_find(&x->callees, key.p, key.n);
        if (id != UINT32_MAX)
            *function = &x->functions[id];
    }
    sd_buf_release(&key);
    return rc;
}

int sd_onnx_keep_function(struct sd_onnx *x, struct sd_cursor function)
{
    struct sd_onnx_node as_node = { 0 };
    struct sd_cursor c = function, *grown;
    struct sd_buf key = { 0 };
    struct sd_pb_field f;
    size_t n_before = x->callees.n;
    uint32_t id;
    int rc;

    while (sd_pb_next(&c, &f)) {
        if (f.number == FUNCTION_NAME)
            as_node.op = sd_onnx_text(f.inside);
        else if (f.number == FUNCTION_DOMAIN)
            as_node.domain = sd_onnx_text(f.inside);
        else if (f.number == FUNCTION_OVERLOAD)
            as_node.overload = sd_onnx_text(f.inside);
    }
    if (c.bad)
        return sd_onnx_damaged("a function is cut");
    grown = sd_grow_array(x->functions, &x->cap_functions, n_before + 1, sizeof *grown);
    if (!grown)
        return sd_no_memory();
    x->functions = grown;
    rc = function_key(&as_node, &key);
    if (rc == 0)
        rc = sd_intern(&x->callees, key.p, key.n, &id);
    if (rc == 0 && x->callees.n > n_before)
        grown[id] = function;
    sd_buf_release(&key);
    return rc;
}

static int keep_default(struct sd_onnx_call *call, size_t *cap, struct sd_cursor c)
{
    struct sd_cursor *grown =
        sd_grow_array(call->defaults, cap, call->n_defaults + 1, sizeof *grown);

    if (!grown)
        return sd_no_memory();
    call->defaults = grown;
    grown[call->n_defaults++] = c;
    return 0;
}

int sd_onnx_run_function(const struct sd_onnx_step *s,
                         const struct sd_onnx_scope *outer, struct sd_cursor function)
{
    struct sd_onnx_call call = { .node = s->node, .work_left = &s->x->inside_left };
    struct sd_onnx_scope scope = { .call = &call };
    struct sd_cursor c = function;
    struct sd_pb_field f;
    size_t cap = 0;
    uint32_t in = 0, out = 0;
    int rc = enter(outer, &scope);

    if (rc == 0)
        rc = sd_onnx_charge(s->x, sd_cursor_left(&function));
    while (rc == 0 && sd_pb_next(&c, &f)) {
        if (f.number == FUNCTION_INPUT && in < s->n_in && s->in[in++])
            rc = sd_onnx_bind(s->x, &scope, sd_onnx_text(f.inside), s->in[in - 1]);
        else if (f.number == FUNCTION_DEFAULT)
            rc = keep_default(&call, &cap, f.inside);
    }
    if (rc == 0)
        rc = sd_onnx_run(s->x, function, FUNCTION_NODE, &scope);
    for (c = function; rc == 0 && out < s->n_out && sd_pb_next(&c, &f);)
        if (f.number == FUNCTION_OUTPUT) {
            take_over(s->out[out],
                      sd_onnx_look_up(s->x, &scope, sd_onnx_text(f.inside)));
            out++;
        }
    sd_free(call.defaults);
    sd_onnx_leave(&scope);
    return rc;
}
