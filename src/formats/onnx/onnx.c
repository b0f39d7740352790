/* SPDX-License-Identifier: MIT */
#include "formats/onnx/onnx.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "formats/onnx/onnx_parts.h"

enum { /* what is read of a hostile file; real models have a thousandth of it */
       FOLD_ALL_MAX = 8 << 20,
       /* Of functions and bodies: so many bytes, which take less than a second, and all
        * of the file so often, because a body that is most of it is walked once for
        * each body that it is in. */
       INSIDE_BYTES_MAX = 32 << 20,
       INSIDE_TIMES = 4,
       /* Operators and values: each takes some hundred bytes, and may be one of a
        * function that is called many times. */
       PARTS_MAX = 512 << 10,
};

enum {
    MODEL_PRODUCER = 2,
    MODEL_VERSION = 3,
    MODEL_GRAPH = 7,
    MODEL_OPSETS = 8,
    MODEL_FUNCTIONS = 25
};

/* --- The walk */

/* Only shapes and constants: a runtime does it once, before anything runs. */
static bool is_folded(const struct sd_onnx_step *s)
{
    for (uint32_t i = 0; i < s->n_out; i++)
        if (s->out[i]->name.n && !s->out[i]->elements)
            return false;
    return true;
}

static int run_operator(const struct sd_onnx_step *s, const struct sd_onnx_scope *scope,
                        struct sd_arena *scratch)
{
    sd_onnx_rule shape, fold;
    bool has_rule = sd_onnx_rules(s->node, &shape, &fold);
    int rc = 0;

    if (has_rule && s->n_out) {
        rc = shape(s);
        if (rc == 0)
            rc = fold(s);
    }
    if (rc == 0)
        rc = sd_onnx_settle(s, scope, has_rule);
    if (rc == 0 && has_rule)
        sd_onnx_follow(s);
    if (rc == 0 && sd_onnx_text_is(s->node->op, "Constant")) {
        for (uint32_t i = 0; i < s->n_out; i++)
            s->out[i]->is_constant = s->out[i]->has_dims;
        return 0;
    }
    if (rc < 0 || (has_rule && s->n_out && is_folded(s)))
        return rc;
    return sd_onnx_add_op(s, scratch);
}

static bool is_standard(const struct sd_onnx_node *node, const char *op)
{
    return (node->domain.n == 0 || sd_onnx_text_is(node->domain, "ai.onnx")) &&
           sd_onnx_text_is(node->op, op);
}

static int dispatch(const struct sd_onnx_step *s, struct sd_onnx_scope *scope,
                    struct sd_arena *scratch)
{
    const struct sd_cursor *function;
    int rc = sd_onnx_find_function(s->x, s->node, &function);

    if (rc < 0)
        return rc;
    if (function)
        return sd_onnx_run_function(s, scope, *function);
    if (is_standard(s->node, "Identity") && s->n_in == 1 && s->n_out == 1 && s->in[0] &&
        (s->in[0]->is_weight || s->in[0]->is_constant)) {
        /* Exporters write equal weights once, and the others as copies of it. */
        s->out[0] = (struct sd_onnx_value *)(uintptr_t)s->in[0];
        return 0;
    }
    if (is_standard(s->node, "If"))
        return sd_onnx_run_if(s, scope);
    if (is_standard(s->node, "Loop"))
        return sd_onnx_run_rounds(s, scope, true);
    if (is_standard(s->node, "Scan") && s->x->opset > 0 && s->x->opset < 9)
        return sd_onnx_refuse_scan(s);
    if (is_standard(s->node, "Scan"))
        return sd_onnx_run_rounds(s, scope, false);
    return run_operator(s, scope, scratch);
}

static int fill_step(struct sd_onnx_step *s, const struct sd_onnx_scope *scope,
                     struct sd_arena *scratch)
{
    const struct sd_onnx_node *node = s->node;
    int rc = 0;

    s->n_in = node->n_in;
    s->n_out = node->n_out;
    s->in = sd_arena_alloc(scratch, (s->n_in + 1) * sizeof *s->in);
    s->out = sd_arena_alloc(scratch, (s->n_out + 1) * sizeof *s->out);
    if (!s->in || !s->out)
        return sd_no_memory();
    for (uint32_t i = 0; i < s->n_in; i++)
        s->in[i] = sd_onnx_look_up(s->x, scope, node->in[i]);
    for (uint32_t i = 0; i < s->n_out && rc == 0; i++) {
        rc = sd_onnx_make(s->x, node->out[i], &s->out[i]);
        if (rc == 0 && s->n_in && s->in[0])
            s->out[i]->dtype = s->in[0]->dtype;
    }
    return rc;
}

int sd_onnx_charge(struct sd_onnx *x, size_t bytes)
{
    if (bytes > x->inside_left)
        return sd_onnx_damaged("its functions and bodies have no end");
    x->inside_left -= bytes;
    return 0;
}

static int run_node(struct sd_onnx *x, struct sd_cursor c, struct sd_onnx_scope *scope)
{
    struct sd_arena scratch = { 0 };
    struct sd_onnx_node node;
    struct sd_onnx_step s = { .x = x, .node = &node };
    int rc = scope->depth > 0 ? sd_onnx_charge(x, sd_cursor_left(&c)) : 0;

    if (rc == 0)
        rc = sd_onnx_count_part(x);
    if (rc < 0)
        return rc;
    rc = sd_onnx_node_read(c, scope->call, &scratch, &node);
    if (rc == 0)
        rc = fill_step(&s, scope, &scratch);
    if (rc == 0)
        rc = dispatch(&s, scope, &scratch);
    for (uint32_t i = 0; i < s.n_out && rc == 0; i++)
        if (node.out[i].n)
            rc = sd_onnx_bind(x, scope, node.out[i], s.out[i]);
    sd_arena_release(&scratch);
    return rc;
}

int sd_onnx_run(struct sd_onnx *x, struct sd_cursor graph, uint32_t field,
                struct sd_onnx_scope *scope)
{
    struct sd_pb_field f;
    int rc = 0;

    while (rc == 0 && sd_pb_next(&graph, &f))
        if (f.number == field)
            rc = run_node(x, f.inside, scope);
    if (rc == 0 && graph.bad)
        rc = sd_onnx_damaged("its graph is cut");
    return rc;
}

/* --- The whole */

static int run_graph(struct sd_onnx *x, struct sd_cursor graph)
{
    struct sd_onnx_scope scope = { 0 };
    int rc = sd_onnx_weights(x, graph, &scope);

    if (rc == 0)
        rc = sd_onnx_inputs(x, graph, &scope);
    if (rc == 0)
        rc = sd_onnx_infos(x, graph, &scope);
    if (rc == 0)
        rc = sd_onnx_run(x, graph, GRAPH_NODE, &scope);
    if (rc == 0)
        rc = sd_onnx_call_model(x, graph, &scope);
    sd_onnx_leave(&scope);
    return rc;
}

static void read_opset(struct sd_onnx *x, struct sd_cursor c)
{
    bool is_standard_domain = true;
    struct sd_pb_field f;
    int64_t version = 0;

    while (sd_pb_next(&c, &f)) {
        if (f.number == 1)
            is_standard_domain = sd_cursor_left(&f.inside) == 0 ||
                                 sd_onnx_text_is(sd_onnx_text(f.inside), "ai.onnx");
        else if (f.number == 2)
            version = (int64_t)f.v;
    }
    if (is_standard_domain)
        x->opset = version;
}

static int tell_source(struct sd_onnx *x, struct sd_onnx_text producer,
                       struct sd_onnx_text version)
{
    char text[256];
    int rc;

    snprintf(text, sizeof text, "onnx, opset %lld", (long long)x->opset);
    rc = sd_model_fact(x->m, "source", x->opset ? text : "onnx");
    if (rc < 0 || producer.n == 0)
        return rc;
    snprintf(text, sizeof text, "%.*s %.*s", (int)(producer.n < 100 ? producer.n : 100),
             producer.p, (int)(version.n < 100 ? version.n : 100),
             version.n ? version.p : "");
    return sd_model_fact(x->m, "producer", text);
}

static int read_model(struct sd_onnx *x, struct sd_cursor c, struct sd_cursor *graph)
{
    struct sd_onnx_text producer = { 0 }, version = { 0 };
    struct sd_pb_field f;
    int rc = 0;

    *graph = (struct sd_cursor){ 0 };
    while (rc == 0 && sd_pb_next(&c, &f)) {
        if (f.number == MODEL_GRAPH && f.wire == SD_PB_BYTES)
            *graph = f.inside;
        else if (f.number == MODEL_OPSETS)
            read_opset(x, f.inside);
        else if (f.number == MODEL_FUNCTIONS)
            rc = sd_onnx_keep_function(x, f.inside);
        else if (f.number == MODEL_PRODUCER)
            producer = sd_onnx_text(f.inside);
        else if (f.number == MODEL_VERSION)
            version = sd_onnx_text(f.inside);
    }
    if (rc == 0 && c.bad)
        rc = sd_fail(SD_EFORMAT, "this is not an ONNX file, or it is truncated");
    if (rc == 0 && !graph->at)
        rc = sd_fail(SD_EFORMAT, "this is not an ONNX file: it has no graph");
    return rc == 0 ? tell_source(x, producer, version) : rc;
}

static int finish(struct sd_onnx *x)
{
    int rc = sd_onnx_tensors(x);

    if (rc == 0)
        rc = sd_onnx_finish_layers(x);
    if (rc == 0)
        rc = sd_onnx_add_calls(x);
    if (rc == 0 && x->unsized.bad)
        rc = sd_no_memory();
    if (rc == 0 && x->unsized.n)
        rc = sd_model_note(
            x->m,
            "symbolic axes count as 1 (%s); give other lengths with --input NAME=1,2,3",
            sd_buf_string(&x->unsized));
    if (rc == 0 && x->has_bodies)
        rc = sd_model_note(
            x->m, "what If, Loop and Scan do is counted once: the first branch "
                  "of an If whose condition is not known, one round of a Loop");
    if (rc == 0 && x->n_missed > SD_ONNX_MISSED_MAX)
        rc = sd_model_note(x->m, "%u more shapes are not known",
                           x->n_missed - SD_ONNX_MISSED_MAX);
    if (rc == 0 && x->n_untyped > 1)
        rc =
            sd_model_note(x->m, "%u more tensors have unknown types", x->n_untyped - 1);
    return rc;
}

static void release(struct sd_onnx *x)
{
    sd_table_release(&x->symbols);
    sd_table_release(&x->first_op);
    sd_table_release(&x->stored);
    sd_buf_release(&x->unsized);
    sd_intern_release(&x->names);
    sd_intern_release(&x->callees);
    sd_free(x->functions);
    sd_free(x->runs);
    sd_arena_release(&x->arena);
}

int sd_onnx_read(const void *p, size_t n, const struct sd_model_request *request,
                 struct sd_model *m)
{
    struct sd_onnx x = { .m = m,
                         .request = request,
                         .fold_left = FOLD_ALL_MAX,
                         .inside_left = INSIDE_BYTES_MAX + INSIDE_TIMES * n,
                         .parts_left = PARTS_MAX };
    struct sd_cursor graph;
    int rc;

    x.names.arena = x.callees.arena = &x.arena;
    x.last_weight = &x.weights;
    rc = read_model(&x, sd_cursor_over(p, n), &graph);
    if (rc == 0)
        rc = run_graph(&x, graph);
    if (rc == 0)
        rc = finish(&x);
    release(&x);
    return rc;
}

/* There is no magic number; but all of it is fields, and the graph is one of them. */
bool sd_onnx_is(const void *p, size_t n)
{
    struct sd_cursor c = sd_cursor_over(p, n);
    struct sd_pb_field f;
    bool has_graph = false;

    while (sd_pb_next(&c, &f)) {
        if (f.number > MODEL_FUNCTIONS)
            return false;
        has_graph |= f.number == MODEL_GRAPH && f.wire == SD_PB_BYTES;
    }
    return !c.bad && has_graph;
}

int sd_onnx_file(const char *path, const struct sd_model_request *request,
                 struct sd_model *m)
{
    struct sd_map map = { 0 };
    int rc = sd_map_file(&map, path);

    if (rc < 0)
        return rc;
    rc = sd_onnx_read(map.p, map.n, request, m);
    sd_map_release(&map);
    return rc == SD_EFORMAT ? sd_fail_in(rc, "%s", path) : rc;
}
