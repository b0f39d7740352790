/* SPDX-License-Identifier: MIT */
/* onnx_moves: shapes of operators that move elements, reduce axes, or create tensors.
 * As in onnx_shapes.c, what does not fit is left unknown. */
#include <string.h>

#include "base/mem.h"
#include "formats/onnx/onnx_parts.h"

enum { AXES = SD_MODEL_DIMS_MAX, ONNX_INT32 = 6 };

/* Which axes a list names; false: one that is not there. */
static bool mark_axes(const struct sd_onnx_list *l, uint32_t n, bool marks[AXES])
{
    memset(marks, 0, AXES * sizeof *marks);
    for (uint32_t i = 0; i < l->n; i++) {
        uint32_t axis;

        if (!sd_shapes_axis_find(l->v[i], n, &axis))
            return false;
        marks[axis] = true;
    }
    return true;
}

#define RULE(name) int sd_onnx_shape_##name(const struct sd_onnx_step *s)

/* --- The same elements in another shape, or some of them */

RULE(reshape)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct sd_onnx_list l = sd_onnx_list(s, "shape", 1);
    bool keeps_zero = sd_onnx_int(s->node, "allowzero", 0) != 0;
    int64_t known = 1, all;
    uint32_t open = UINT32_MAX;

    if (!x || !l.is_there || !l.is_known)
        return 0;
    all = sd_onnx_count(x);
    for (uint32_t i = 0; i < l.n; i++) {
        if (l.v[i] == 0 && !keeps_zero)
            l.v[i] = i < x->n_dims ? x->dims[i] : 0;
        if (l.v[i] == -1)
            open = i;
        else if (l.v[i] < 0)
            return 0;
        else
            known = sd_times(known, l.v[i]);
    }
    if (open != UINT32_MAX) {
        l.v[open] = known > 0 ? all / known : 0;
        known = sd_times(known, l.v[open]);
    }
    /* Of so many elements none becomes more or less: a file that was made for one
     * length has it here, whatever its inputs are given. */
    return known == all ? sd_onnx_give(s, 0, l.v, l.n) : sd_onnx_misfit(s, l.v, l.n);
}

RULE(flatten)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    int64_t axis = sd_onnx_int(s->node, "axis", 1), dims[2] = { 1, 1 };

    if (!x)
        return 0;
    if (axis < 0)
        axis += x->n_dims;
    for (uint32_t i = 0; i < x->n_dims; i++)
        dims[i >= axis] = sd_times(dims[i >= axis], x->dims[i]);
    return sd_onnx_give(s, 0, dims, 2);
}

RULE(squeeze)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct sd_onnx_list l = sd_onnx_list(s, "axes", 1);
    bool gone[AXES];
    int64_t dims[AXES];
    uint32_t n = 0;

    if (!x || !l.is_known || !mark_axes(&l, x->n_dims, gone))
        return 0;
    for (uint32_t i = 0; i < x->n_dims; i++)
        if (!(l.is_there ? gone[i] : x->dims[i] == 1))
            dims[n++] = x->dims[i];
    return sd_onnx_give(s, 0, dims, n);
}

RULE(unsqueeze)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct sd_onnx_list l = sd_onnx_list(s, "axes", 1);
    bool added[AXES];
    int64_t dims[AXES];
    uint32_t n, from = 0;

    if (!x || !l.is_there || !l.is_known || x->n_dims + l.n > AXES)
        return 0;
    n = x->n_dims + l.n;
    if (!mark_axes(&l, n, added))
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!added[i] && from == x->n_dims)
            return 0; /* an axis was named twice */
        dims[i] = added[i] ? 1 : x->dims[from++];
    }
    return sd_onnx_give(s, 0, dims, n);
}

RULE(transpose)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    int64_t perm[AXES], dims[AXES];
    uint32_t n = sd_onnx_ints(s->node, "perm", perm, AXES), from;

    if (!x || (n && n != x->n_dims))
        return 0;
    for (uint32_t i = 0; i < x->n_dims; i++) {
        if (!sd_shapes_axis_find(n ? perm[i] : (int64_t)(x->n_dims - 1 - i), x->n_dims,
                                 &from))
            return 0;
        dims[i] = x->dims[from];
    }
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

bool sd_onnx_join(int64_t *dims, uint32_t n, uint32_t axis,
                  const struct sd_onnx_value *v)
{
    if (!v || v->n_dims != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (i != axis && v->dims[i] != dims[i])
            return false;
    dims[axis] = sd_plus(dims[axis], v->dims[axis]);
    return true;
}

RULE(concat)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    int64_t dims[AXES];
    uint32_t axis;

    if (!x || !sd_shapes_axis_find(sd_onnx_int(s->node, "axis", 1), x->n_dims, &axis))
        return 0;
    memcpy(dims, x->dims, x->n_dims * sizeof *dims);
    for (uint32_t i = 1; i < s->n_in; i++) {
        if (!sd_onnx_join(dims, x->n_dims, axis, sd_onnx_shaped(s, i)))
            return 0;
    }
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

/* Parts of given lengths, or as equal as can be, the last one the shortest. */
RULE(split)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct sd_onnx_list l = sd_onnx_list(s, "split", 1);
    int64_t dims[AXES], length, each;
    uint32_t axis;
    int rc = 0;

    if (!x || !l.is_known || (l.is_there && l.n != s->n_out) ||
        !sd_shapes_axis_find(sd_onnx_int(s->node, "axis", 0), x->n_dims, &axis))
        return 0;
    memcpy(dims, x->dims, x->n_dims * sizeof *dims);
    length = x->dims[axis];
    each = (length + s->n_out - 1) / s->n_out;
    for (uint32_t i = 0; i < s->n_out && rc == 0; i++) {
        dims[axis] = l.is_there ? l.v[i] : each < length ? each : length;
        length -= l.is_there ? 0 : dims[axis];
        rc = sd_onnx_give(s, i, dims, x->n_dims);
    }
    return rc;
}

/* Do the lengths that input 1 gives make up the axis?  A single number, not in a list,
 * is the length of each. */
static bool cut(const struct sd_onnx_step *s, int64_t length,
                struct sd_onnx_sequence *parts)
{
    const struct sd_onnx_elements *e = sd_onnx_wholes(s, 1);
    int64_t all = 0;

    if (!e || !s->in[1]->has_dims || s->in[1]->n_dims > 1)
        return false;
    if (s->in[1]->n_dims == 0) {
        if (e->n != 1 || e->whole[0] <= 0)
            return false;
        parts->each = e->whole[0];
        parts->n = length / parts->each + (length % parts->each != 0);
        return true;
    }
    for (uint32_t i = 0; i < e->n; i++) {
        if (e->whole[i] < 0)
            return false;
        all = sd_plus(all, e->whole[i]);
    }
    parts->lengths = e;
    parts->n = e->n;
    return all == length;
}

RULE(split_to_sequence)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct sd_onnx_sequence parts = { .whole = x, .each = 1 };
    bool has_lengths = s->n_in > 1 && s->in[1];

    if (!x || s->n_out == 0 ||
        !sd_shapes_axis_find(sd_onnx_int(s->node, "axis", 0), x->n_dims, &parts.axis))
        return 0;
    if (!has_lengths) {
        parts.n = x->dims[parts.axis];
        parts.drops_axis = sd_onnx_int(s->node, "keepdims", 1) == 0;
    } else if (!cut(s, x->dims[parts.axis], &parts)) {
        return 0;
    }
    s->out[0]->sequence = sd_arena_copy(&s->x->arena, &parts, sizeof parts);
    return s->out[0]->sequence ? 0 : sd_no_memory();
}

RULE(sequence_at)
{
    const struct sd_onnx_sequence *parts =
        s->n_in > 0 && s->in[0] ? s->in[0]->sequence : NULL;
    const struct sd_onnx_elements *at = parts ? sd_onnx_wholes(s, 1) : NULL;
    int64_t dims[AXES], i;
    uint32_t n = 0;

    if (!at || at->n != 1)
        return 0;
    i = at->whole[0] < 0 ? at->whole[0] + parts->n : at->whole[0];
    if (i < 0 || i >= parts->n)
        return 0;
    for (uint32_t k = 0; k < parts->whole->n_dims; k++) {
        int64_t length = parts->whole->dims[k];

        if (k == parts->axis && parts->drops_axis)
            continue;
        if (k == parts->axis && parts->lengths)
            length = parts->lengths->whole[i];
        else if (k == parts->axis)
            length = i < parts->n - 1 ? parts->each : length - i * parts->each;
        dims[n++] = length;
    }
    return sd_onnx_give(s, 0, dims, n);
}

static int64_t within(int64_t at, int64_t length, int64_t low, int64_t high)
{
    if (at < 0)
        at = at < -length ? low : at + length;
    return at < low ? low : at > high ? high : at;
}

int64_t sd_onnx_slice(int64_t length, int64_t *start, int64_t end, int64_t step)
{
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? length : length - 1;

    if (step == 0 || step == INT64_MIN)
        return -1;
    if (length == 0) {
        *start = 0;
        return 0;
    }
    /* Unlike Python's, one that goes back begins within the axis. */
    *start = within(*start, length, 0, high);
    end = within(end, length, low, high);
    if (step > 0)
        return end > *start ? (end - *start - 1) / step + 1 : 0;
    return *start > end ? (*start - end - 1) / -step + 1 : 0;
}

RULE(slice)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct sd_onnx_list starts = sd_onnx_list(s, "starts", 1),
                        ends = sd_onnx_list(s, "ends", 2);
    struct sd_onnx_list axes = sd_onnx_list(s, "axes", 3),
                        steps = sd_onnx_list(s, NULL, 4);
    int64_t dims[AXES];
    uint32_t axis;

    if (!x || !starts.is_known || !ends.is_known || !axes.is_known || !steps.is_known ||
        starts.n != ends.n || (axes.is_there && axes.n != starts.n) ||
        (steps.is_there && steps.n != starts.n))
        return 0;
    memcpy(dims, x->dims, x->n_dims * sizeof *dims);
    for (uint32_t i = 0; i < starts.n; i++) {
        if (!sd_shapes_axis_find(axes.is_there ? axes.v[i] : (int64_t)i, x->n_dims,
                                 &axis))
            return 0;
        dims[axis] = sd_onnx_slice(x->dims[axis], &starts.v[i], ends.v[i],
                                   steps.is_there ? steps.v[i] : 1);
    }
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

RULE(gather)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0), *at = sd_onnx_shaped(s, 1);
    int64_t dims[2 * AXES];
    uint32_t axis, n = 0;

    if (!x || !at ||
        !sd_shapes_axis_find(sd_onnx_int(s->node, "axis", 0), x->n_dims, &axis))
        return 0;
    for (uint32_t i = 0; i < axis; i++)
        dims[n++] = x->dims[i];
    for (uint32_t i = 0; i < at->n_dims; i++)
        dims[n++] = at->dims[i];
    for (uint32_t i = axis + 1; i < x->n_dims; i++)
        dims[n++] = x->dims[i];
    return sd_onnx_give(s, 0, dims, n);
}

RULE(gather_nd)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0), *at = sd_onnx_shaped(s, 1);
    int64_t batch = sd_onnx_int(s->node, "batch_dims", 0), taken;
    int64_t dims[2 * AXES];
    uint32_t n = 0;

    if (!x || !at || at->n_dims == 0 || batch < 0 || batch >= at->n_dims)
        return 0;
    taken = at->dims[at->n_dims - 1];
    if (taken > x->n_dims - batch)
        return 0;
    for (uint32_t i = 0; i + 1 < at->n_dims; i++)
        dims[n++] = at->dims[i];
    for (uint32_t i = (uint32_t)(batch + taken); i < x->n_dims; i++)
        dims[n++] = x->dims[i];
    return sd_onnx_give(s, 0, dims, n);
}

RULE(expand)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    const struct sd_onnx_elements *to = sd_onnx_wholes(s, 1);
    int64_t dims[AXES];
    uint32_t n;

    if (!x || !to || to->n > AXES ||
        !sd_dims_broadcast(sd_onnx_dims(x), (struct sd_dims){ to->whole, to->n }, dims,
                           &n))
        return 0;
    return sd_onnx_give(s, 0, dims, n);
}

RULE(tile)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    const struct sd_onnx_elements *times = sd_onnx_wholes(s, 1);
    int64_t dims[AXES];

    if (!x || !times || times->n != x->n_dims)
        return 0;
    for (uint32_t i = 0; i < x->n_dims; i++) {
        if (times->whole[i] < 0)
            return 0;
        dims[i] = sd_times(x->dims[i], times->whole[i]);
    }
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

RULE(pad)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct sd_onnx_list axes = sd_onnx_list(s, NULL, 3);
    int64_t attribute[2 * AXES], dims[AXES];
    const int64_t *pads = attribute;
    uint32_t n = sd_onnx_ints(s->node, "pads", attribute, 2 * AXES), axis;

    if (!x || !axes.is_known)
        return 0;
    if (n == 0) {
        const struct sd_onnx_elements *e = sd_onnx_wholes(s, 1);

        if (!e)
            return 0;
        pads = e->whole;
        n = e->n;
    }
    if (n != 2 * (axes.is_there ? axes.n : x->n_dims))
        return 0;
    memcpy(dims, x->dims, x->n_dims * sizeof *dims);
    for (uint32_t i = 0; i < n / 2; i++) {
        int64_t more;

        if (!sd_shapes_axis_find(axes.is_there ? axes.v[i] : (int64_t)i, x->n_dims,
                                 &axis) ||
            __builtin_add_overflow(pads[i], pads[n / 2 + i], &more) ||
            __builtin_add_overflow(dims[axis], more, &dims[axis]))
            return 0;
    }
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

RULE(depth_to_space)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    int64_t size = sd_onnx_int(s->node, "blocksize", 0);

    if (!x || x->n_dims != 4 || size < 1 || size > 1 << 20)
        return 0;
    return sd_onnx_give(s, 0,
                        (int64_t[]){ x->dims[0], x->dims[1] / (size * size),
                                     x->dims[2] * size, x->dims[3] * size },
                        4);
}

RULE(space_to_depth)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    int64_t size = sd_onnx_int(s->node, "blocksize", 0);

    if (!x || x->n_dims != 4 || size < 1 || size > 1 << 10)
        return 0;
    return sd_onnx_give(s, 0,
                        (int64_t[]){ x->dims[0], x->dims[1] * size * size,
                                     x->dims[2] / size, x->dims[3] / size },
                        4);
}

/* Some axes, or all, cut or padded to a length. */
RULE(center_crop_pad)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct sd_onnx_list to = sd_onnx_list(s, NULL, 1);
    struct sd_onnx_list axes = sd_onnx_list(s, "axes", UINT32_MAX);
    int64_t dims[AXES];
    uint32_t axis;

    if (!x || !to.is_known || !axes.is_known ||
        to.n != (axes.is_there ? axes.n : x->n_dims))
        return 0;
    memcpy(dims, x->dims, x->n_dims * sizeof *dims);
    for (uint32_t i = 0; i < to.n; i++) {
        if (!sd_shapes_axis_find(axes.is_there ? axes.v[i] : (int64_t)i, x->n_dims,
                                 &axis))
            return 0;
        dims[axis] = to.v[i];
    }
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

/* --- Sums and the like */

static int give_reduced(const struct sd_onnx_step *s, uint32_t axes_at)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct sd_onnx_list l = sd_onnx_list(s, "axes", axes_at);
    bool keeps = sd_onnx_int(s->node, "keepdims", 1) != 0, gone[AXES];
    int64_t dims[AXES];
    uint32_t n = 0;

    if (!x || !l.is_known || !mark_axes(&l, x->n_dims, gone))
        return 0;
    if (l.n == 0 && sd_onnx_int(s->node, "noop_with_empty_axes", 0))
        return sd_onnx_give_like(s, 0, x);
    for (uint32_t i = 0; i < x->n_dims; i++) {
        if (l.n && !gone[i])
            dims[n++] = x->dims[i];
        else if (keeps)
            dims[n++] = 1;
    }
    return sd_onnx_give(s, 0, dims, n);
}

RULE(reduce) { return give_reduced(s, 1); }

/* The axes are an attribute alone: scales and zero points are its inputs. */
RULE(quantized_reduce) { return give_reduced(s, UINT32_MAX); }

RULE(arg)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    bool keeps = sd_onnx_int(s->node, "keepdims", 1) != 0;
    int64_t dims[AXES];
    uint32_t axis, n = 0;

    s->out[0]->dtype = SD_DTYPE_I64;
    if (!x || !sd_shapes_axis_find(sd_onnx_int(s->node, "axis", 0), x->n_dims, &axis))
        return 0;
    for (uint32_t i = 0; i < x->n_dims; i++) {
        if (i != axis)
            dims[n++] = x->dims[i];
        else if (keeps)
            dims[n++] = 1;
    }
    return sd_onnx_give(s, 0, dims, n);
}

RULE(top_k)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    const struct sd_onnx_elements *e = s->n_in > 1 ? sd_onnx_wholes(s, 1) : NULL;
    int64_t k = e && e->n == 1 ? e->whole[0] : sd_onnx_int(s->node, "k", -1);
    int64_t dims[AXES];
    uint32_t axis;
    int rc;

    if (!x || !sd_shapes_axis_find(sd_onnx_int(s->node, "axis", -1), x->n_dims, &axis))
        return 0;
    memcpy(dims, x->dims, x->n_dims * sizeof *dims);
    dims[axis] = k;
    rc = sd_onnx_give(s, 0, dims, x->n_dims);
    if (rc == 0 && s->n_out > 1) {
        s->out[1]->dtype = SD_DTYPE_I64;
        rc = sd_onnx_give(s, 1, dims, x->n_dims);
    }
    return rc;
}

/* --- New ones */

RULE(constant)
{
    struct sd_onnx_tensor t;
    struct sd_onnx_attr a;
    int rc;

    if (sd_onnx_attr_find(s->node, "value", &a) && a.has_tensor) {
        rc = sd_onnx_tensor_read(a.tensor, &t);
        if (rc < 0)
            return rc;
        s->out[0]->is_external = t.is_external;
        s->out[0]->at = a.tensor.at;
        rc = sd_onnx_take_type(s->x, &t, s->out[0]);
        return rc == 0 ? sd_onnx_give(s, 0, t.dims, t.n_dims) : rc;
    }
    if (sd_onnx_attr_find(s->node, "value_ints", &a)) {
        s->out[0]->dtype = SD_DTYPE_I64;
        return sd_onnx_give(s, 0, (int64_t[]){ sd_onnx_attr_ints(&a, NULL, 0) }, 1);
    }
    if (sd_onnx_attr_find(s->node, "value_floats", &a)) {
        s->out[0]->dtype = SD_DTYPE_F32;
        return sd_onnx_give(s, 0, (int64_t[]){ sd_onnx_attr_reals(&a, NULL, 0) }, 1);
    }
    if (sd_onnx_attr_find(s->node, "value_int", &a))
        s->out[0]->dtype = SD_DTYPE_I64;
    else if (sd_onnx_attr_find(s->node, "value_float", &a))
        s->out[0]->dtype = SD_DTYPE_F32;
    else
        return 0;
    return sd_onnx_give(s, 0, NULL, 0);
}

RULE(constant_of_shape)
{
    const struct sd_onnx_elements *e = sd_onnx_wholes(s, 0);
    struct sd_onnx_tensor t;
    struct sd_onnx_attr a;

    s->out[0]->dtype = SD_DTYPE_F32;
    if (sd_onnx_attr_find(s->node, "value", &a) && a.has_tensor) {
        int rc = sd_onnx_tensor_read(a.tensor, &t);

        if (rc < 0)
            return rc;
        s->out[0]->dtype = t.dtype;
    }
    return e ? sd_onnx_give(s, 0, e->whole, e->n) : 0;
}

RULE(random)
{
    int64_t dims[AXES];
    uint32_t n = sd_onnx_ints(s->node, "shape", dims, AXES);

    s->out[0]->dtype = (uint8_t)sd_dtype_of_onnx(sd_onnx_int(s->node, "dtype", 1));
    return n <= AXES ? sd_onnx_give(s, 0, dims, n) : 0;
}

RULE(window) /* of weights, as long as the input says */
{
    const struct sd_onnx_elements *e = sd_onnx_wholes(s, 0);
    int64_t type = sd_onnx_int(s->node, "output_datatype", 1);

    s->out[0]->dtype = (uint8_t)sd_dtype_of_onnx(type);
    return e && e->n == 1 ? sd_onnx_give(s, 0, e->whole, 1) : 0;
}

RULE(multinomial)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    int64_t n = sd_onnx_int(s->node, "sample_size", 1);

    s->out[0]->dtype =
        (uint8_t)sd_dtype_of_onnx(sd_onnx_int(s->node, "dtype", ONNX_INT32));
    return x && x->n_dims == 2 ? sd_onnx_give(s, 0, (int64_t[]){ x->dims[0], n }, 2)
                               : 0;
}

/* Of each target, or of all one. */
RULE(loss)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0), *to = sd_onnx_shaped(s, 1);
    struct sd_onnx_text word;
    int rc;

    if (sd_onnx_word(s->node, "reduction", &word) && sd_onnx_text_is(word, "none"))
        rc = sd_onnx_give_like(s, 0, to);
    else
        rc = sd_onnx_give(s, 0, NULL, 0);
    return rc == 0 ? sd_onnx_give_like(s, 1, x) : rc;
}

RULE(single_bool)
{
    s->out[0]->dtype = SD_DTYPE_BOOL;
    return sd_onnx_give(s, 0, NULL, 0);
}

RULE(one_hot)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    const struct sd_onnx_elements *depth = sd_onnx_wholes(s, 1);
    int64_t dims[AXES + 1];
    uint32_t axis;

    if (s->n_in > 2 && s->in[2])
        s->out[0]->dtype = s->in[2]->dtype;
    if (!x || !depth || depth->n != 1 ||
        !sd_shapes_axis_find(sd_onnx_int(s->node, "axis", -1), x->n_dims + 1, &axis))
        return 0;
    for (uint32_t i = 0; i <= x->n_dims; i++)
        dims[i] = i == axis ? depth->whole[0] : x->dims[i - (i > axis)];
    return sd_onnx_give(s, 0, dims, x->n_dims + 1);
}

/* ceil((limit - start) / delta), of whole numbers or others. */
RULE(range)
{
    double v[3], n;

    for (uint32_t i = 0; i < 3; i++) {
        const struct sd_onnx_elements *e =
            i < s->n_in && s->in[i] ? s->in[i]->elements : NULL;

        if (!e || e->n != 1) {
            if (i < s->n_in && s->in[i])
                sd_onnx_blame(s, s->in[i]);
            return 0;
        }
        v[i] = e->is_real ? e->real[0] : (double)e->whole[0];
    }
    n = (v[1] - v[0]) / v[2];
    if (!(n < (double)SD_ONNX_AXIS_MAX))
        return 0;
    if (n < 0)
        n = 0;
    return sd_onnx_give(s, 0, (int64_t[]){ (int64_t)n + (n > (double)(int64_t)n) }, 1);
}

RULE(shape)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    int64_t from, to;

    s->out[0]->dtype = SD_DTYPE_I64;
    if (!x)
        return 0;
    sd_onnx_axes_taken(s, x->n_dims, &from, &to);
    return sd_onnx_give(s, 0, (int64_t[]){ to - from }, 1);
}

RULE(size)
{
    s->out[0]->dtype = SD_DTYPE_I64;
    return sd_onnx_give(s, 0, NULL, 0);
}
