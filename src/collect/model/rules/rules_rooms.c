/* SPDX-License-Identifier: MIT */
/* rules_rooms: results whose storage is larger than they are.
 *
 * On a processor some operators take a tensor for the work on the way, and give it back
 * made smaller: its storage stays as large as it was.  Without data torch gives one
 * that has just the size of the result, so these rules are for models that live on a
 * processor alone. */
#include "cpython/compat.h"

#include "collect/model/rules/meta.h"

/* --- Losses: a sum or mean of what has the shape of the input */

enum reduction { EACH, MEAN, SUM };

static bool stretches_to(const struct sd_meta_tensor *t,
                         const struct sd_meta_tensor *whole)
{
    return t->s.number == whole->s.number &&
           sd_meta_shape_stretches_to(&t->s, &whole->s);
}

static PyObject *loss(const struct sd_rule_call *c, unsigned reduction_at)
{
    struct sd_meta_tensor in, target;
    struct sd_tensor_shape one = { 0 };
    int64_t reduction = MEAN;

    if (!c->is_on_cpu || !sd_meta_at(c, 0, &in) || !sd_meta_is_float(&in) ||
        !sd_meta_at(c, 1, &target) || !stretches_to(&target, &in) ||
        (sd_meta_value(c, reduction_at) &&
         !sd_meta_number(c, reduction_at, &reduction)) ||
        (reduction != MEAN && reduction != SUM))
        return NULL;
    return sd_meta_new_in(c, &one, in.s.number, sd_meta_shape_elements(&in.s));
}

/* input, target, reduction, ... */
PyObject *sd_rule_loss(const struct sd_rule_call *c) { return loss(c, 2); }

/* input, target, weight, reduction */
PyObject *sd_rule_weighted_loss(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in, weight;

    if (sd_meta_value(c, 2) && (!sd_meta_at(c, 0, &in) || !sd_meta_at(c, 2, &weight) ||
                                !stretches_to(&weight, &in)))
        return NULL;
    return loss(c, 3);
}

/* --- Bags of rows, summed up */

enum bag_mode { BAG_SUM, BAG_MEAN, BAG_MAX };

struct bags {
    struct sd_meta_tensor weight, indices, offsets;
    int64_t mode, n; /* how many bags */
    bool has_padding;
};

static bool is_index(const struct sd_meta_tensor *t)
{
    return t->s.n == 1 && t->is_contiguous &&
           (t->s.number == SD_TORCH_INT64 || t->s.number == SD_TORCH_INT32);
}

/* One for each index, of sums alone. */
static bool fit_weights(const struct sd_rule_call *c, const struct bags *b)
{
    struct sd_meta_tensor each;

    if (!sd_meta_value(c, 6))
        return true;
    return b->mode == BAG_SUM && sd_meta_at(c, 6, &each) && each.is_contiguous &&
           each.s.number == b->weight.s.number &&
           sd_meta_shape_is_same(&each.s, &b->indices.s);
}

/* weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
 * include_last_offset, padding_idx */
static bool bags_of(const struct sd_rule_call *c, struct bags *b)
{
    int64_t padding;

    b->mode = BAG_SUM;
    if (!c->is_on_cpu || !sd_meta_at(c, 0, &b->weight) ||
        !sd_meta_at(c, 1, &b->indices) || !sd_meta_at(c, 2, &b->offsets) ||
        (sd_meta_value(c, 4) && !sd_meta_number(c, 4, &b->mode)) || b->mode > BAG_MAX)
        return false;
    if (b->weight.s.n != 2 || !b->weight.is_contiguous ||
        !sd_meta_is_float(&b->weight) || !is_index(&b->indices) ||
        !is_index(&b->offsets) || b->indices.s.number != b->offsets.s.number)
        return false;
    b->has_padding = sd_meta_number(c, 8, &padding); /* a negative one is none */
    b->n = b->offsets.s.dims[0] - (sd_meta_value(c, 7) == Py_True);
    return b->n > 0 && fit_weights(c, b);
}

/* Which bag each index is in: sums of most floats do without. */
static PyObject *bag_of_each(const struct sd_rule_call *c, const struct bags *b)
{
    int64_t n = b->indices.s.dims[0];
    bool is_quick =
        b->mode == BAG_SUM && !b->has_padding && b->weight.s.number != SD_TORCH_FLOAT64;

    return is_quick ? sd_meta_vector(c, 0, b->indices.s.number)
                    : sd_meta_new_in(c, &b->indices.s, b->indices.s.number, n + 1);
}

/* The sums, which bag each index is in, how large each bag is, and of which index the
 * largest ones are. */
static PyObject *bag(const struct sd_rule_call *c, bool cuts_last_offset)
{
    struct sd_tensor_shape sizes = { .n = 1 }, sums = { .n = 2 };
    struct bags b;
    int64_t room;
    uint8_t number;

    if (!bags_of(c, &b))
        return NULL;
    room = b.offsets.s.dims[0];
    number = b.indices.s.number;
    sizes.dims[0] = cuts_last_offset || b.mode != BAG_SUM ? b.n : room;
    sums.dims[0] = b.n;
    sums.dims[1] = b.weight.s.dims[1];
    return sd_meta_quadruple(
        sd_meta_new(c, &sums, b.weight.s.number), bag_of_each(c, &b),
        sd_meta_new_in(c, &sizes, number, room),
        sd_meta_new(c, b.mode == BAG_MAX ? &sums : &sizes, number));
}

PyObject *sd_rule_bag(const struct sd_rule_call *c) { return bag(c, true); }

/* Without gradients, sums leave the place of the last offset in their sizes. */
PyObject *sd_rule_bag_alone(const struct sd_rule_call *c) { return bag(c, false); }

/* --- Windows of a picture as columns, and back: in the room of the larger one */

enum { AXES = 2 };

/* kernel_size, dilation, padding, stride: from this place on. */
static bool columns_at(const struct sd_rule_call *c, unsigned at,
                       struct sd_axis_window w[AXES])
{
    int64_t kernel[AXES], dilation[AXES], padding[AXES], stride[AXES];

    if (!sd_meta_numbers(c, at, AXES, kernel) ||
        !sd_meta_numbers(c, at + 1, AXES, dilation) ||
        !sd_meta_numbers(c, at + 2, AXES, padding) ||
        !sd_meta_numbers(c, at + 3, AXES, stride))
        return false;
    for (unsigned k = 0; k < AXES; k++)
        w[k] = (struct sd_axis_window){ kernel[k], stride[k], dilation[k], padding[k],
                                        padding[k] };
    return true;
}

/* How many windows a picture of this size has; 0: there is no such one. */
static int64_t windows(const struct sd_axis_window w[AXES], const int64_t *size)
{
    int64_t n = 1;

    for (unsigned k = 0; k < AXES; k++) {
        int64_t steps = sd_shapes_axis_window_steps(&w[k], size[k], SD_WINDOW_FITS);

        if (steps < 0)
            return 0;
        n = sd_times(n, steps);
    }
    return n;
}

/* The result is made with the shape of the input, and then given its own. */
static PyObject *in_room_of(const struct sd_rule_call *c,
                            const struct sd_meta_tensor *in,
                            const struct sd_tensor_shape *s)
{
    int64_t before = sd_meta_shape_elements(&in->s), now = sd_meta_shape_elements(s);

    return sd_meta_new_in(c, s, in->s.number, before > now ? before : now);
}

/* self, output_size, ... */
PyObject *sd_rule_folded(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in;
    struct sd_tensor_shape out = { 0 };
    struct sd_axis_window w[AXES];
    int64_t size[2], area;

    if (!c->is_on_cpu || !sd_meta_at(c, 0, &in) || !sd_meta_is_float(&in) ||
        in.s.n < 2 || in.s.n > 3 || sd_meta_shape_elements(&in.s) == 0 ||
        !sd_meta_numbers(c, 1, AXES, size) || !columns_at(c, 2, w) ||
        in.s.dims[in.s.n - 1] != windows(w, size))
        return NULL;
    area = sd_times(w[0].kernel, w[1].kernel);
    if (in.s.dims[in.s.n - 2] % area != 0)
        return NULL;
    if (in.s.n == 3)
        out.dims[out.n++] = in.s.dims[0];
    out.dims[out.n++] = in.s.dims[in.s.n - 2] / area;
    out.dims[out.n++] = size[0];
    out.dims[out.n++] = size[1];
    return in_room_of(c, &in, &out);
}

/* self, ... */
PyObject *sd_rule_unfolded(const struct sd_rule_call *c)
{
    struct sd_meta_tensor in;
    struct sd_tensor_shape out = { 0 };
    struct sd_axis_window w[AXES];
    int64_t n;

    if (!c->is_on_cpu || !sd_meta_at(c, 0, &in) || !sd_meta_is_float(&in) ||
        in.s.n < 3 || in.s.n > 4 || sd_meta_shape_elements(&in.s) == 0 ||
        !columns_at(c, 1, w))
        return NULL;
    n = windows(w, in.s.dims + in.s.n - AXES);
    if (n == 0)
        return NULL;
    if (in.s.n == 4)
        out.dims[out.n++] = in.s.dims[0];
    out.dims[out.n++] =
        sd_times(in.s.dims[in.s.n - 3], sd_times(w[0].kernel, w[1].kernel));
    out.dims[out.n++] = n;
    return in_room_of(c, &in, &out);
}
