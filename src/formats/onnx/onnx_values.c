/* SPDX-License-Identifier: MIT */
/* onnx_values: keeps names, values and weights by scope. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "formats/onnx/onnx_parts.h"

/* --- Names */

int sd_onnx_name(struct sd_onnx *x, struct sd_onnx_text name, uint32_t *id)
{
    return sd_intern(&x->names, name.n ? name.p : "", name.n, id);
}

struct sd_onnx_value *sd_onnx_look_up(const struct sd_onnx *x,
                                      const struct sd_onnx_scope *scope,
                                      struct sd_onnx_text name)
{
    uint32_t id = name.n ? sd_intern_find(&x->names, name.p, name.n) : UINT32_MAX;
    uint64_t found;

    for (; id != UINT32_MAX && scope; scope = scope->up)
        if (sd_table_get(&scope->values, id, &found))
            return (struct sd_onnx_value *)(uintptr_t)found;
    return NULL;
}

int sd_onnx_bind(struct sd_onnx *x, struct sd_onnx_scope *scope,
                 struct sd_onnx_text name, const struct sd_onnx_value *v)
{
    uint32_t id;
    int rc = sd_onnx_name(x, name, &id);

    return rc == 0 ? sd_table_put(&scope->values, id, (uintptr_t)v) : rc;
}

int sd_onnx_count_part(struct sd_onnx *x)
{
    if (x->parts_left == 0)
        return sd_onnx_damaged("it has more operators and values than any model");
    x->parts_left--;
    return 0;
}

int sd_onnx_make(struct sd_onnx *x, struct sd_onnx_text name,
                 struct sd_onnx_value **out)
{
    int rc = sd_onnx_count_part(x);

    if (rc < 0)
        return rc;
    *out = sd_arena_alloc(&x->arena, sizeof **out);
    if (!*out)
        return sd_no_memory();
    (*out)->name = name;
    return 0;
}

int sd_onnx_set_dims(struct sd_onnx *x, struct sd_onnx_value *v, const int64_t *dims,
                     uint32_t n)
{
    int64_t *copy = sd_arena_alloc(&x->arena, (n + 1) * sizeof *copy);

    if (!copy)
        return sd_no_memory();
    if (n)
        memcpy(copy, dims, n * sizeof *copy);
    v->dims = copy;
    v->n_dims = n;
    v->has_dims = true;
    return 0;
}

void sd_onnx_leave(struct sd_onnx_scope *scope)
{
    sd_table_release(&scope->values);
    sd_table_release(&scope->infos);
}

/* --- Weights */

int sd_onnx_keep_weight(struct sd_onnx *x, struct sd_onnx_value *v)
{
    uint64_t known;
    int rc = 0;

    if (v->at) {
        if (sd_table_get(&x->stored, (uintptr_t)v->at, &known))
            return 0;
        rc = sd_table_put(&x->stored, (uintptr_t)v->at, (uintptr_t)v);
    }
    if (rc < 0)
        return rc;
    *x->last_weight = v;
    x->last_weight = &v->next_weight;
    return 0;
}

static int add_weight(struct sd_onnx *x, struct sd_onnx_scope *scope,
                      struct sd_cursor c)
{
    struct sd_onnx_tensor t;
    struct sd_onnx_value *v = NULL;
    uint64_t known;
    int rc = sd_onnx_tensor_read(c, &t);

    if (rc == 0 && sd_table_get(&x->stored, (uintptr_t)c.at, &known))
        return sd_onnx_bind(x, scope, t.name,
                            (const struct sd_onnx_value *)(uintptr_t)known);
    if (rc == 0)
        rc = sd_onnx_make(x, t.name, &v);
    if (rc == 0)
        rc = sd_onnx_set_dims(x, v, t.dims, t.n_dims);
    if (rc == 0)
        rc = sd_onnx_tensor_elements(x, &t, &v->elements);
    if (rc == 0)
        rc = sd_onnx_bind(x, scope, t.name, v);
    if (rc < 0)
        return rc;
    v->is_weight = true;
    v->is_external = t.is_external;
    v->at = c.at;
    rc = sd_onnx_take_type(x, &t, v);
    return rc == 0 ? sd_onnx_keep_weight(x, v) : rc;
}

/* To operators it is the tensor that it stands for, in the bytes of its values. */
static int add_sparse(struct sd_onnx *x, struct sd_onnx_scope *scope,
                      struct sd_cursor c)
{
    struct sd_onnx_sparse t;
    struct sd_onnx_value *v = NULL;
    uint64_t known;
    int rc = sd_onnx_sparse_read(c, &t);

    if (rc == 0 && sd_table_get(&x->stored, (uintptr_t)c.at, &known))
        return sd_onnx_bind(x, scope, t.values.name,
                            (const struct sd_onnx_value *)(uintptr_t)known);
    if (rc == 0)
        rc = sd_onnx_make(x, t.values.name, &v);
    if (rc == 0)
        rc = sd_onnx_set_dims(x, v, t.dims, t.n_dims);
    if (rc == 0)
        rc = sd_onnx_bind(x, scope, t.values.name, v);
    if (rc == 0)
        rc = sd_onnx_take_type(x, &t.values, v);
    if (rc < 0)
        return rc;
    v->is_weight = true;
    v->is_external = t.values.is_external;
    v->at = c.at;
    if (v->dtype != SD_DTYPE_UNKNOWN)
        v->stored_bytes = sd_dtype_bytes(
            v->dtype,
            sd_dims_elements((struct sd_dims){ t.values.dims, t.values.n_dims }));
    return sd_onnx_keep_weight(x, v);
}

int sd_onnx_weights(struct sd_onnx *x, struct sd_cursor graph,
                    struct sd_onnx_scope *scope)
{
    struct sd_pb_field f;
    int rc = 0;

    while (rc == 0 && sd_pb_next(&graph, &f)) {
        if (f.number == GRAPH_INITIALIZER)
            rc = add_weight(x, scope, f.inside);
        else if (f.number == GRAPH_SPARSE)
            rc = add_sparse(x, scope, f.inside);
    }
    if (rc == 0 && graph.bad)
        rc = sd_onnx_damaged("its graph is cut");
    return rc;
}

int sd_onnx_infos(struct sd_onnx *x, struct sd_cursor graph,
                  struct sd_onnx_scope *scope)
{
    struct sd_pb_field f, part;
    int rc = 0;

    while (rc == 0 && sd_pb_next(&graph, &f)) {
        struct sd_cursor c = f.inside, *kept;
        uint32_t id;

        if (f.number != GRAPH_INFO && f.number != GRAPH_OUTPUT)
            continue;
        if (!sd_pb_next(&c, &part) || part.number != 1)
            continue;
        kept = sd_arena_copy(&x->arena, &f.inside, sizeof f.inside);
        rc = kept ? sd_onnx_name(x, sd_onnx_text(part.inside), &id) : sd_no_memory();
        if (rc == 0)
            rc = sd_table_put(&scope->infos, id, (uintptr_t)kept);
    }
    return rc;
}
