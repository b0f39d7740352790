/* SPDX-License-Identifier: MIT */
/* Shapes of what moves elements about, reduces axes, or makes new tensors.  As in
 * onnx_shapes.c, what does not fit is left unknown. */
#include <string.h>

#include "formats/onnx_parts.h"

enum { AXES = SD_MODEL_DIMS_MAX };

/* A list of numbers from an attribute, as operators had it once, or from an input. */
struct list {
    int64_t v[AXES];
    uint32_t n;
    bool is_there, is_known;
};

static struct list list_of(const struct sd_onnx_step *s, const char *attribute,
                           uint32_t input)
{
    struct list l = { .is_known = true };
    const struct sd_onnx_elements *e;
    struct sd_onnx_attr a;

    if (attribute && sd_onnx_attr_find(s->node, attribute, &a) && a.has_list) {
        l.n = sd_onnx_attr_ints(&a, l.v, AXES);
        l.is_there = true;
    } else if (input < s->n_in && s->in[input]) {
        e = sd_onnx_wholes(s, input);
        l.is_there = true;
        l.is_known = e != NULL;
        l.n = e ? e->n : 0;
        if (e && e->n <= AXES)
            memcpy(l.v, e->whole, e->n * sizeof *l.v);
    }
    if (l.n > AXES)
        l.is_known = false;
    return l;
}

/* Which axes a list names; false: one that is not there. */
static bool mark_axes(const struct list *l, uint32_t n, bool marks[AXES])
{
    memset(marks, 0, AXES * sizeof *marks);
    for (uint32_t i = 0; i < l->n; i++) {
        uint32_t axis;

        if (!sd_onnx_axis(l->v[i], n, &axis))
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
    struct list l = list_of(s, "shape", 1);
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
    if (open != UINT32_MAX)
        l.v[open] = known > 0 ? all / known : 0;
    return sd_onnx_give(s, 0, l.v, l.n);
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
    struct list l = list_of(s, "axes", 1);
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
    struct list l = list_of(s, "axes", 1);
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
        if (!sd_onnx_axis(n ? perm[i] : (int64_t)(x->n_dims - 1 - i), x->n_dims, &from))
            return 0;
        dims[i] = x->dims[from];
    }
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

RULE(concat)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    int64_t dims[AXES];
    uint32_t axis;

    if (!x || !sd_onnx_axis(sd_onnx_int(s->node, "axis", 1), x->n_dims, &axis))
        return 0;
    memcpy(dims, x->dims, x->n_dims * sizeof *dims);
    for (uint32_t i = 1; i < s->n_in; i++) {
        const struct sd_onnx_value *v = sd_onnx_shaped(s, i);

        if (!v || v->n_dims != x->n_dims)
            return 0;
        dims[axis] = sd_plus(dims[axis], v->dims[axis]);
    }
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

/* Parts of given lengths, or as equal as can be, the last one the shortest. */
RULE(split)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct list l = list_of(s, "split", 1);
    int64_t dims[AXES], length, each;
    uint32_t axis;
    int rc = 0;

    if (!x || !l.is_known || (l.is_there && l.n != s->n_out) ||
        !sd_onnx_axis(sd_onnx_int(s->node, "axis", 0), x->n_dims, &axis))
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
    *start = within(*start, length, low, high);
    end = within(end, length, low, high);
    if (step > 0)
        return end > *start ? (end - *start - 1) / step + 1 : 0;
    return *start > end ? (*start - end - 1) / -step + 1 : 0;
}

RULE(slice)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct list starts = list_of(s, "starts", 1), ends = list_of(s, "ends", 2);
    struct list axes = list_of(s, "axes", 3), steps = list_of(s, NULL, 4);
    int64_t dims[AXES];
    uint32_t axis;

    if (!x || !starts.is_known || !ends.is_known || !axes.is_known || !steps.is_known ||
        starts.n != ends.n || (axes.is_there && axes.n != starts.n) ||
        (steps.is_there && steps.n != starts.n))
        return 0;
    memcpy(dims, x->dims, x->n_dims * sizeof *dims);
    for (uint32_t i = 0; i < starts.n; i++) {
        if (!sd_onnx_axis(axes.is_there ? axes.v[i] : (int64_t)i, x->n_dims, &axis))
            return 0;
        dims[axis] = sd_onnx_slice(x->dims[axis], &starts.v[i], ends.v[i],
                                   steps.is_there ? steps.v[i] : 1);
    }
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

/* Elements of the first input in the places of the output: along axis i of the output a
 * step goes `steps[i]` elements on in the input, the first being element `from`. */
static int pick(const struct sd_onnx_step *s, int64_t from, const int64_t *steps)
{
    const struct sd_onnx_value *x = s->in[0], *y = s->out[0];
    struct sd_onnx_elements *e;
    int rc;

    if (!x->elements || (int64_t)x->elements->n != sd_onnx_count(x) || !y->has_dims)
        return 0;
    e = sd_onnx_elements(s->x, sd_onnx_count(y), x->elements->is_real, &rc);
    for (uint32_t i = 0; e && i < e->n; i++) {
        int64_t left = i, at = from;

        for (uint32_t axis = y->n_dims; axis-- > 0; left /= y->dims[axis])
            at += left % y->dims[axis] * steps[axis];
        if (at < 0 || at >= (int64_t)x->elements->n)
            return 0;
        e->whole[i] = x->elements->whole[at]; /* or the bits of a real one */
    }
    s->out[0]->elements = e;
    return rc;
}

/* How many elements lie from one place of an axis to the next. */
static void strides_of(const struct sd_onnx_value *x, int64_t strides[AXES])
{
    int64_t size = 1;

    for (uint32_t i = x->n_dims; i-- > 0; size = sd_times(size, x->dims[i]))
        strides[i] = size;
}

int sd_onnx_fold_slice(const struct sd_onnx_step *s)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct list starts = list_of(s, "starts", 1), ends = list_of(s, "ends", 2);
    struct list axes = list_of(s, "axes", 3), steps = list_of(s, NULL, 4);
    bool is_cut[AXES] = { false };
    int64_t strides[AXES] = { 0 }, from = 0;
    uint32_t axis;

    if (!x || !x->elements || !s->out[0]->has_dims)
        return 0;
    /* No elements are known ones, too: torch's attention puts a shape together from
     * what stands before and behind some axes, and behind the last one stands nothing.
     * Axes may then have any length, and strides too: they are not looked at. */
    if (x->elements->n == 0 || sd_onnx_count(s->out[0]) == 0)
        return pick(s, 0, strides);
    strides_of(x, strides);
    for (uint32_t i = 0; i < starts.n; i++) {
        int64_t step = steps.is_there ? steps.v[i] : 1;

        if (!sd_onnx_axis(axes.is_there ? axes.v[i] : (int64_t)i, x->n_dims, &axis) ||
            is_cut[axis]) /* the same twice: a stride of many steps runs over */
            return 0;
        is_cut[axis] = true;
        if (sd_onnx_slice(x->dims[axis], &starts.v[i], ends.v[i], step) <= 0 ||
            step > SD_ONNX_FOLD_MAX || step < -SD_ONNX_FOLD_MAX)
            return 0;
        from += starts.v[i] * strides[axis];
        strides[axis] *= step;
    }
    return pick(s, from, strides);
}

int sd_onnx_fold_transpose(const struct sd_onnx_step *s)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    int64_t perm[AXES], strides[AXES], turned[AXES];
    uint32_t n = sd_onnx_ints(s->node, "perm", perm, AXES), from;

    if (!x || !x->elements || !s->out[0]->has_dims)
        return 0;
    strides_of(x, strides);
    for (uint32_t i = 0; i < x->n_dims; i++) {
        if (!sd_onnx_axis(n ? perm[i] : (int64_t)(x->n_dims - 1 - i), x->n_dims, &from))
            return 0;
        turned[i] = strides[from];
    }
    return pick(s, 0, turned);
}

RULE(gather)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0), *at = sd_onnx_shaped(s, 1);
    int64_t dims[2 * AXES];
    uint32_t axis, n = 0;

    if (!x || !at || !sd_onnx_axis(sd_onnx_int(s->node, "axis", 0), x->n_dims, &axis))
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
        !sd_onnx_broadcast(x->dims, x->n_dims, to->whole, to->n, dims, &n))
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
    struct list axes = list_of(s, NULL, 3);
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

        if (!sd_onnx_axis(axes.is_there ? axes.v[i] : (int64_t)i, x->n_dims, &axis) ||
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

/* --- Sums and the like */

RULE(reduce)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct list l = list_of(s, "axes", 1);
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

RULE(arg)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    bool keeps = sd_onnx_int(s->node, "keepdims", 1) != 0;
    int64_t dims[AXES];
    uint32_t axis, n = 0;

    s->out[0]->dtype = SD_DTYPE_I64;
    if (!x || !sd_onnx_axis(sd_onnx_int(s->node, "axis", 0), x->n_dims, &axis))
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

    if (!x || !sd_onnx_axis(sd_onnx_int(s->node, "axis", -1), x->n_dims, &axis))
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
        s->out[0]->dtype = t.dtype;
        s->out[0]->is_external = t.is_external;
        return sd_onnx_give(s, 0, t.dims, t.n_dims);
    }
    if (sd_onnx_attr_find(s->node, "value_ints", &a)) {
        s->out[0]->dtype = SD_DTYPE_I64;
        return sd_onnx_give(s, 0, (int64_t[]){ sd_onnx_attr_ints(&a, NULL, 0) }, 1);
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

RULE(one_hot)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    const struct sd_onnx_elements *depth = sd_onnx_wholes(s, 1);
    int64_t dims[AXES + 1];
    uint32_t axis;

    if (s->n_in > 2 && s->in[2])
        s->out[0]->dtype = s->in[2]->dtype;
    if (!x || !depth || depth->n != 1 ||
        !sd_onnx_axis(sd_onnx_int(s->node, "axis", -1), x->n_dims + 1, &axis))
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

/* Which axes a Shape with `start` and `end` takes. */
static void axes_taken(const struct sd_onnx_step *s, int64_t n, int64_t *from,
                       int64_t *to)
{
    *from = sd_onnx_int(s->node, "start", 0);
    *to = sd_onnx_int(s->node, "end", n);
    *from = *from < -n ? 0 : *from < 0 ? *from + n : *from > n ? n : *from;
    *to = *to < -n ? 0 : *to < 0 ? *to + n : *to > n ? n : *to;
    if (*to < *from)
        *to = *from;
}

RULE(shape)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    int64_t from, to;

    s->out[0]->dtype = SD_DTYPE_I64;
    if (!x)
        return 0;
    axes_taken(s, x->n_dims, &from, &to);
    return sd_onnx_give(s, 0, (int64_t[]){ to - from }, 1);
}

int sd_onnx_fold_shape(const struct sd_onnx_step *s)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct sd_onnx_elements *e;
    int64_t from, to;
    int rc;

    if (!x)
        return 0;
    axes_taken(s, x->n_dims, &from, &to);
    e = sd_onnx_elements(s->x, to - from, false, &rc);
    for (int64_t i = from; e && i < to; i++)
        e->whole[i - from] = x->dims[i];
    s->out[0]->elements = e;
    return rc;
}

RULE(size)
{
    s->out[0]->dtype = SD_DTYPE_I64;
    return sd_onnx_give(s, 0, NULL, 0);
}
