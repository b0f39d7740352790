/* SPDX-License-Identifier: MIT */
/* onnx_windows: shapes of operators with windows: convolutions, pools, and resizing.
 * As in onnx_shapes.c, what does not fit is left unknown. */
#include <string.h>

#include "formats/onnx/onnx_parts.h"

enum { AXES = SD_MODEL_DIMS_MAX };

#define RULE(name) int sd_onnx_shape_##name(const struct sd_onnx_step *s)

/* --- Windows */

struct windows {
    struct sd_axis_window w[AXES]; /* of each axis behind batch and channels */
    enum sd_axis_window_end end;
};

/* What auto_pad says; false: the padding is as `pads` has it. */
static bool pads_itself(const struct sd_onnx_node *node, bool *is_same)
{
    struct sd_onnx_text word;

    if (!sd_onnx_word(node, "auto_pad", &word))
        return false;
    *is_same =
        sd_onnx_text_is(word, "SAME_UPPER") || sd_onnx_text_is(word, "SAME_LOWER");
    return *is_same || sd_onnx_text_is(word, "VALID");
}

/* From the attributes; the kernel is that of the weight, or NULL. */
static bool read_windows(const struct sd_onnx_step *s, uint32_t n,
                         const int64_t *kernel, struct windows *out)
{
    int64_t strides[AXES], dilations[AXES], pads[2 * AXES], shape[AXES];
    uint32_t n_strides = sd_onnx_ints(s->node, "strides", strides, AXES);
    uint32_t n_dilations = sd_onnx_ints(s->node, "dilations", dilations, AXES);
    uint32_t n_pads = sd_onnx_ints(s->node, "pads", pads, 2 * AXES);
    bool is_same = false, is_auto = pads_itself(s->node, &is_same);
    bool has_pads = n_pads && !is_auto;

    if (!kernel) {
        if (sd_onnx_ints(s->node, "kernel_shape", shape, AXES) != n)
            return false;
        kernel = shape;
    }
    if ((n_strides && n_strides != n) || (n_dilations && n_dilations != n) ||
        (n_pads && n_pads != 2 * n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        out->w[i] = (struct sd_axis_window){ kernel[i], n_strides ? strides[i] : 1,
                                             n_dilations ? dilations[i] : 1,
                                             has_pads ? pads[i] : 0,
                                             has_pads ? pads[n + i] : 0 };
    out->end = is_same ? SD_WINDOW_COVERS : SD_WINDOW_FITS;
    return true;
}

/* A kernel_shape is that of the weight, or is left out. */
static bool fits_kernel(const struct sd_onnx_step *s,
                        const struct sd_onnx_value *weight)
{
    int64_t shape[AXES];
    uint32_t n = sd_onnx_ints(s->node, "kernel_shape", shape, AXES);

    return n == 0 || (n + 2 == weight->n_dims &&
                      memcmp(shape, weight->dims + 2, n * sizeof *shape) == 0);
}

static int give_conv(const struct sd_onnx_step *s, const struct sd_onnx_value *x,
                     const struct sd_onnx_value *weight)
{
    struct windows windows;
    int64_t dims[AXES];

    if (!x || !weight || x->n_dims < 3 || weight->n_dims < 3)
        return 0;
    if (x->n_dims != weight->n_dims)
        return sd_onnx_unfit(s, x, weight, NULL);
    if (!sd_shapes_conv_channels(sd_onnx_dims(weight), sd_onnx_int(s->node, "group", 1),
                                 false, x->dims[1], &dims[1]))
        return sd_onnx_unfit(s, x, weight, "group");
    if (!fits_kernel(s, weight))
        return sd_onnx_unfit(s, x, weight, "kernel_shape");
    if (!read_windows(s, x->n_dims - 2, weight->dims + 2, &windows))
        return 0;
    dims[0] = x->dims[0];
    for (uint32_t i = 2; i < x->n_dims; i++)
        dims[i] =
            sd_shapes_axis_window_steps(&windows.w[i - 2], x->dims[i], windows.end);
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

RULE(conv) { return give_conv(s, sd_onnx_shaped(s, 0), sd_onnx_shaped(s, 1)); }

RULE(conv_integer)
{
    s->out[0]->dtype = SD_DTYPE_I32;
    return give_conv(s, sd_onnx_shaped(s, 0), sd_onnx_shaped(s, 1));
}

RULE(quantized_conv)
{
    return give_conv(s, sd_onnx_shaped(s, 0), sd_onnx_shaped(s, 3));
}

RULE(conv_transpose)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0),
                               *weight = sd_onnx_shaped(s, 1);
    int64_t extra[AXES] = { 0 }, shape[AXES], dims[AXES];
    struct windows windows;
    uint32_t n, n_shape;

    if (!x || !weight || x->n_dims < 3 || weight->n_dims < 3)
        return 0;
    if (x->n_dims != weight->n_dims || x->dims[1] != weight->dims[0])
        return sd_onnx_unfit(s, x, weight, NULL);
    if (!sd_shapes_conv_channels(sd_onnx_dims(weight), sd_onnx_int(s->node, "group", 1),
                                 true, x->dims[1], &dims[1]))
        return sd_onnx_unfit(s, x, weight, "group");
    if (!fits_kernel(s, weight))
        return sd_onnx_unfit(s, x, weight, "kernel_shape");
    n = x->n_dims - 2;
    if (!read_windows(s, n, weight->dims + 2, &windows))
        return 0;
    sd_onnx_ints(s->node, "output_padding", extra, n);
    n_shape = sd_onnx_ints(s->node, "output_shape", shape, AXES);
    dims[0] = x->dims[0];
    for (uint32_t i = 0; i < n; i++)
        dims[2 + i] = n_shape == n
                          ? shape[i]
                          : sd_shapes_axis_window_spread(&windows.w[i], x->dims[2 + i],
                                                         extra[i], windows.end);
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

RULE(pool)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct windows windows;
    int64_t dims[AXES];
    int rc;

    if (!x || x->n_dims < 3 || !read_windows(s, x->n_dims - 2, NULL, &windows))
        return 0;
    if (windows.end == SD_WINDOW_FITS && sd_onnx_int(s->node, "ceil_mode", 0))
        windows.end = SD_WINDOW_HANGS;
    memcpy(dims, x->dims, 2 * sizeof *dims);
    for (uint32_t i = 2; i < x->n_dims; i++)
        dims[i] =
            sd_shapes_axis_window_steps(&windows.w[i - 2], x->dims[i], windows.end);
    rc = sd_onnx_give(s, 0, dims, x->n_dims);
    if (rc == 0 && s->n_out > 1) {
        s->out[1]->dtype = SD_DTYPE_I64;
        rc = sd_onnx_give(s, 1, dims, x->n_dims);
    }
    return rc;
}

RULE(global_pool)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    int64_t dims[AXES];

    if (!x || x->n_dims < 2)
        return 0;
    for (uint32_t i = 0; i < x->n_dims; i++)
        dims[i] = i < 2 ? x->dims[i] : 1;
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

RULE(grid_sample)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0), *grid = sd_onnx_shaped(s, 1);
    int64_t dims[AXES];

    if (!x || !grid || x->n_dims < 3 || grid->n_dims != x->n_dims)
        return 0;
    memcpy(dims, x->dims, 2 * sizeof *dims);
    memcpy(dims + 2, grid->dims + 1, (x->n_dims - 2) * sizeof *dims);
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

RULE(roi_align)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0), *rois = sd_onnx_shaped(s, 1);

    if (!x || !rois || x->n_dims != 4 || rois->n_dims < 1)
        return 0;
    return sd_onnx_give(s, 0,
                        (int64_t[]){ rois->dims[0], x->dims[1],
                                     sd_onnx_int(s->node, "output_height", 1),
                                     sd_onnx_int(s->node, "output_width", 1) },
                        4);
}

RULE(roi_pool)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0), *rois = sd_onnx_shaped(s, 1);
    int64_t shape[2];

    if (!x || !rois || x->n_dims != 4 || rois->n_dims < 1 ||
        sd_onnx_ints(s->node, "pooled_shape", shape, 2) != 2)
        return 0;
    return sd_onnx_give(
        s, 0, (int64_t[]){ rois->dims[0], x->dims[1], shape[0], shape[1] }, 4);
}

/* Columns back to a picture: (n, channels * block, l) to (n, channels, picture). */
RULE(col2im)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct sd_onnx_list picture = sd_onnx_list(s, NULL, 1);
    struct sd_onnx_list block = sd_onnx_list(s, NULL, 2);
    int64_t dims[AXES + 2], size = 1;

    if (!x || x->n_dims != 3 || !picture.is_known || !block.is_known || block.n == 0 ||
        picture.n != block.n)
        return 0;
    for (uint32_t i = 0; i < block.n; i++) {
        if (block.v[i] < 1)
            return 0;
        size = sd_times(size, block.v[i]);
        dims[2 + i] = picture.v[i];
    }
    dims[0] = x->dims[0];
    dims[1] = x->dims[1] / size;
    return sd_onnx_give(s, 0, dims, 2 + picture.n);
}

/* The places (n, [depth,] height, width, 2 or 3) that a picture of this size is taken
 * from. */
RULE(affine_grid)
{
    struct sd_onnx_list size = sd_onnx_list(s, NULL, 1);
    int64_t dims[AXES];

    if (!size.is_known || size.n < 4 || size.n > 5)
        return 0;
    dims[0] = size.v[0];
    memcpy(dims + 1, size.v + 2, (size.n - 2) * sizeof *dims);
    dims[size.n - 1] = size.n - 2;
    return sd_onnx_give(s, 0, dims, size.n);
}

/* As large as what was pooled: as it is told, or as the windows have it. */
RULE(unpool)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    struct sd_onnx_list told = sd_onnx_list(s, NULL, 2);
    struct windows windows;
    int64_t dims[AXES];

    if (told.is_there)
        return told.is_known ? sd_onnx_give(s, 0, told.v, told.n) : 0;
    if (!x || x->n_dims < 3 || !read_windows(s, x->n_dims - 2, NULL, &windows))
        return 0;
    memcpy(dims, x->dims, 2 * sizeof *dims);
    for (uint32_t i = 2; i < x->n_dims; i++)
        dims[i] = sd_shapes_axis_window_spread(&windows.w[i - 2], x->dims[i], 0,
                                               SD_WINDOW_FITS);
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

/* Sizes, or factors by which the axes grow.  Both may be for some axes only. */
static int resize_by(const struct sd_onnx_step *s, const struct sd_onnx_value *x,
                     const struct sd_onnx_elements *e)
{
    int64_t dims[AXES], axes[AXES];
    uint32_t n_axes = sd_onnx_ints(s->node, "axes", axes, AXES), axis;

    memcpy(dims, x->dims, x->n_dims * sizeof *dims);
    if (n_axes > AXES || e->n != (n_axes ? n_axes : x->n_dims))
        return 0;
    for (uint32_t i = 0; i < e->n; i++) {
        double scaled;

        if (!sd_shapes_axis_find(n_axes ? axes[i] : (int64_t)i, x->n_dims, &axis))
            return 0;
        if (!e->is_real) {
            dims[axis] = e->whole[i];
            continue;
        }
        /* In the precision of the factors: 10 times 0.7 is 7, and not a little less. */
        scaled = (double)((float)x->dims[axis] * (float)e->real[i]);
        if (!(scaled >= 0 && scaled < (double)SD_ONNX_AXIS_MAX))
            return 0;
        dims[axis] = (int64_t)scaled;
    }
    return sd_onnx_give(s, 0, dims, x->n_dims);
}

RULE(resize)
{
    const struct sd_onnx_value *x = sd_onnx_shaped(s, 0);
    double scales[AXES];
    struct sd_onnx_elements attribute = { .is_real = true, .real = scales };
    struct sd_onnx_text policy;
    struct sd_onnx_attr a;

    if (!x || (sd_onnx_word(s->node, "keep_aspect_ratio_policy", &policy) &&
               !sd_onnx_text_is(policy, "stretch")))
        return 0;
    if (sd_onnx_attr_find(s->node, "scales", &a) && a.has_reals) { /* Upsample's once */
        attribute.n = sd_onnx_attr_reals(&a, scales, AXES);
        return attribute.n <= AXES ? resize_by(s, x, &attribute) : 0;
    }
    /* sizes, then scales; old versions had scales second. */
    for (uint32_t i = 3; i >= 1; i--) {
        const struct sd_onnx_value *v = i < s->n_in ? s->in[i] : NULL;

        if (v && v->elements && v->elements->n > 0)
            return resize_by(s, x, v->elements);
        if (v && !v->elements)
            sd_onnx_blame(s, v);
    }
    return 0;
}
