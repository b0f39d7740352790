/* SPDX-License-Identifier: MIT */
/* model_by_op: counts as tools do that look at operators: fvcore, ptflops' newer
 * half. */
#include "analyse/model/model_modes.h"

#include <string.h>

enum normed { NOT_NORMED, BATCH, OTHER };

/* Which norm it is, and where its weight stands among the inputs. */
static const struct {
    const char *name;
    enum normed kind;
    size_t weight;
    bool trains; /* whatever its attributes say */
} norms[] = {
    { "aten::_batch_norm_no_update", BATCH, 1, false },
    { "aten::_batch_norm_with_update", BATCH, 1, true },
    { "aten::_native_batch_norm_legit", BATCH, 1, false },
    { "aten::_native_batch_norm_legit_no_training", BATCH, 1, false },
    { "aten::batch_norm", BATCH, 1, false },
    { "aten::cudnn_batch_norm", BATCH, 1, false },
    { "aten::miopen_batch_norm", BATCH, 1, false },
    { "aten::native_batch_norm", BATCH, 1, false },
    { "aten::layer_norm", OTHER, 1, false },
    { "aten::native_layer_norm", OTHER, 1, false },
    { "aten::group_norm", OTHER, 1, false },
    { "aten::native_group_norm", OTHER, 1, false },
    { "aten::instance_norm", OTHER, 1, false },
    { "onnx::BatchNormalization", BATCH, 1, false },
    { "onnx::LayerNormalization", OTHER, 1, false },
    { "onnx::GroupNormalization", OTHER, 1, false },
    { "onnx::InstanceNormalization", OTHER, 1, false },
};

static bool has_in(const struct sd_model_op *op, size_t i)
{
    return i < op->n_in && op->in[i].kind != SD_OPERAND_NONE;
}

static int64_t in_elements(const struct sd_model_op *op)
{
    return op->n_in > 0 ? sd_operand_elements(&op->in[0]) : 0;
}

static int64_t out_elements(const struct sd_model_op *op)
{
    return op->n_out > 0 ? sd_operand_elements(&op->out[0]) : 0;
}

/* For each element: a batch norm that only applies what it has learnt is one
 * multiply-add with what was worked out before. */
static int64_t norm(const struct sd_model *m, const struct sd_model_op *op,
                    const char *name)
{
    for (size_t i = 0; i < sizeof norms / sizeof norms[0]; i++) {
        bool trains;

        if (strcmp(norms[i].name, name) != 0)
            continue;
        trains = norms[i].trains || sd_model_op_number(m, op, "training", 0, 0) != 0;
        if (norms[i].kind == BATCH && !trains)
            return sd_times(in_elements(op), has_in(op, norms[i].weight) ? 2 : 1);
        return sd_times(in_elements(op), has_in(op, norms[i].weight) ? 5 : 4);
    }
    return 0;
}

/* torch turns adaptive average pooling down to one element into this mean. */
static bool is_global_pool(const struct sd_model *m, const struct sd_model_op *op,
                           const char *name, size_t n_axes)
{
    const struct sd_attr *dim = sd_attr_find(m, op->attrs, op->n_attrs, "dim");

    if (strcmp(name, "aten::mean") != 0 || !dim || dim->kind != SD_ATTR_INTS ||
        dim->n != n_axes || !sd_model_op_number(m, op, "keepdim", 0, 0))
        return false;
    for (size_t i = 0; i < n_axes; i++)
        if (dim->numbers[i] != -1 - (int64_t)i)
            return false;
    return true;
}

/* What exporters make of the same: the mean of all axes of space, which stay with one
 * element.  With three axes it may as well be that of a norm. */
static bool is_mean_of_space(const struct sd_model_op *op, const char *name)
{
    struct sd_dims x, y;

    if (strcmp(name, "onnx::ReduceMean") != 0 || !has_in(op, 0) || op->n_out < 1)
        return false;
    x = op->in[0].dims;
    y = op->out[0].dims;
    if (x.n < 4 || y.n != x.n || y.d[0] != x.d[0] || y.d[1] != x.d[1])
        return false;
    for (uint32_t i = 2; i < y.n; i++)
        if (y.d[i] != 1)
            return false;
    return true;
}

/* For each element that comes out, by how many it is made of; 0: it is none. */
static int64_t resized_of(const struct sd_model *m, const struct sd_model_op *op,
                          const char *name)
{
    const struct sd_attr *mode;

    if (!strcmp(name, "aten::upsample_nearest2d"))
        return 1;
    if (!strcmp(name, "aten::upsample_bilinear2d") ||
        !strcmp(name, "aten::grid_sampler_2d"))
        return 4;
    if ((strcmp(name, "onnx::Resize") != 0 && strcmp(name, "onnx::Upsample") != 0) ||
        op->n_out < 1 || op->out[0].dims.n != 4)
        return 0;
    mode = sd_attr_find(m, op->attrs, op->n_attrs, "mode");
    if (!mode || mode->kind != SD_ATTR_TEXT ||
        !strcmp(sd_model_text(m, mode->text), "nearest"))
        return 1;
    return !strcmp(sd_model_text(m, mode->text), "linear") ? 4 : 0;
}

int64_t sd_mode_fvcore(const struct sd_model *m, const struct sd_model_op *op,
                       const struct sd_cost *cost)
{
    const char *name = sd_model_text(m, op->name);

    if (op->is_backward || cost->known == SD_OP_COUNTED)
        return cost->macs;
    if (!strcmp(name, "aten::_adaptive_avg_pool2d") || is_global_pool(m, op, name, 2) ||
        !strcmp(name, "onnx::GlobalAveragePool") || is_mean_of_space(op, name))
        return in_elements(op);
    if (resized_of(m, op, name) > 0)
        return sd_times(resized_of(m, op, name), out_elements(op));
    return norm(m, op, name);
}

/* Where a product's bias stands among its inputs. */
static const struct {
    const char *name;
    size_t bias;
} biased[] = {
    { "aten::addmm", 0 },       { "aten::_addmm_activation", 0 }, { "aten::addmv", 0 },
    { "aten::convolution", 2 }, { "aten::_convolution", 2 },      { "aten::linear", 2 },
    { "onnx::Conv", 2 },        { "onnx::ConvTranspose", 2 },     { "onnx::Gemm", 2 },
};

int64_t sd_mode_ptflops(const struct sd_model *m, const struct sd_model_op *op,
                        const struct sd_cost *cost)
{
    const char *name = sd_model_text(m, op->name);

    if (op->is_backward)
        return cost->macs;
    for (size_t i = 0; i < sizeof biased / sizeof biased[0]; i++)
        if (!strcmp(biased[i].name, name) && has_in(op, biased[i].bias))
            return sd_plus(cost->macs, out_elements(op));
    return cost->macs;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(*names, name))
            return true;
    return false;
}

/* selu is elu with a scale, and softmin softmax of the other sign, in torch; ptflops
 * has a price for neither. */
static bool is_disguised(const struct sd_model *m, const struct sd_model_op *op,
                         const char *name)
{
    const struct sd_attr *scale = sd_attr_find(m, op->attrs, op->n_attrs, "scale");

    if (!strncmp(name, "aten::elu", 9))
        return scale && scale->kind == SD_ATTR_FLOAT && scale->real != 1;
    return !strcmp(name, "aten::_softmax") && sd_mode_layer_is(m, op->layer, "Softmin");
}

/* Layers that keep their activation as a function, from before ptflops replaces it. */
static bool is_kept(const struct sd_model *m, const struct sd_model_op *op)
{
    static const char *const keepers[] = { "TransformerEncoderLayer",
                                           "TransformerDecoderLayer", NULL };

    return sd_mode_layer_is_any(m, op->layer, keepers);
}

/* It calls its products and its softmax as functions when it is to give its weights,
 * which are its second output; else all of it is one function that is not replaced. */
static bool gives_weights(const struct sd_model *m, uint32_t attention)
{
    for (const struct sd_layer_call *c = m->layers[attention].calls; c; c = c->next)
        if (c->n_out > 1)
            return true;
    return false;
}

static int64_t in_attention(const struct sd_model *m, const struct sd_model_op *op,
                            const char *name, const struct sd_cost *cost)
{
    if (!gives_weights(m, op->layer))
        return 0;
    if (!strcmp(name, "aten::_softmax"))
        return out_elements(op);
    if (!strcmp(name, "aten::bmm"))
        return cost->macs;
    if (!strcmp(name, "aten::baddbmm")) /* with a mask */
        return sd_plus(cost->macs, in_elements(op));
    return 0;
}

/* The functions that ptflops replaces while it looks: activations, pooling and
 * upsampling, whether a module calls them or not; and the products in attention. */
int64_t sd_mode_ptflops_functions(const struct sd_model *m,
                                  const struct sd_model_op *op,
                                  const struct sd_cost *cost)
{
    static const char *const activations[] = { "aten::relu",          "aten::relu_",
                                               "aten::elu",           "aten::elu_",
                                               "aten::_prelu_kernel", "aten::gelu",
                                               "aten::silu",          "aten::silu_",
                                               "aten::_softmax",      NULL };
    static const char *const pools[] = { "aten::max_pool2d_with_indices",
                                         "aten::max_pool3d_with_indices",
                                         "aten::avg_pool2d",
                                         "aten::avg_pool3d",
                                         "aten::_adaptive_avg_pool2d",
                                         "aten::_adaptive_avg_pool3d",
                                         "aten::adaptive_max_pool2d",
                                         "aten::adaptive_max_pool3d",
                                         NULL };
    const char *name = sd_model_text(m, op->name);

    if (op->is_backward || is_disguised(m, op, name))
        return 0;
    if (sd_mode_layer_is_attention(m, op->layer))
        return in_attention(m, op, name, cost);
    if (is_one_of(name, activations))
        return is_kept(m, op) ? 0 : out_elements(op);
    if (!strncmp(name, "aten::upsample_", 15) || !strncmp(name, "aten::_upsample_", 16))
        return out_elements(op);
    if (is_one_of(name, pools) || is_global_pool(m, op, name, 2) ||
        is_global_pool(m, op, name, 3))
        return in_elements(op);
    return 0;
}
