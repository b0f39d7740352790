/* SPDX-License-Identifier: MIT */
/* model_by_layer: counts as tools do that look at modules: metinor, THOP, ptflops'
 * older half, torchinfo.  Each knows some types, and every other is 0 to it. */
#include "analyse/model/model_modes.h"

#include <stdio.h>
#include <string.h>

static struct sd_mode_counts counted(int64_t macs)
{
    return (struct sd_mode_counts){ macs, sd_times(2, macs), macs };
}

static int64_t axis(const struct sd_operand *o, uint32_t i)
{
    return o && i < o->dims.n ? o->dims.d[i] : 1;
}

/* All axes but that of the channels, which is the second. */
static int64_t positions(const struct sd_operand *o)
{
    int64_t channels = axis(o, 1);

    return o && channels > 0 ? sd_operand_elements(o) / channels : 0;
}

static int64_t last_axis(const struct sd_operand *o)
{
    return o && o->dims.n > 0 ? o->dims.d[o->dims.n - 1] : 1;
}

/* The elements of a layer's weight; of one that is made of several they all count. */
static int64_t weight(const struct sd_model *m, uint32_t layer)
{
    const struct sd_model_tensor *t = sd_mode_layer_tensor(m, layer, "weight");

    return t ? sd_dims_elements(t->dims) : sd_mode_layer_params(m, layer);
}

/* The size of a kernel over all axes, without channels. */
static int64_t kernel(const struct sd_model *m, uint32_t layer, size_t n_axes)
{
    int64_t all = 1;

    for (size_t i = 0; i < n_axes; i++)
        all = sd_times(all, sd_model_layer_number(m, layer, "kernel_size", i, 1));
    return all;
}

/* What it was made with, such as mode="nearest"; "" when it has no such word. */
static const char *word_of(const struct sd_model *m, uint32_t layer, const char *name)
{
    const struct sd_model_layer *l = &m->layers[layer];
    const struct sd_attr *a = sd_attr_find(m, l->attrs, l->n_attrs, name);

    return a && a->kind == SD_ATTR_TEXT ? sd_model_text(m, a->text) : "";
}

static bool is_affine(const struct sd_model *m, uint32_t layer)
{
    return sd_mode_layer_has(m, layer, "weight");
}

/* --- metinor.  Its formulas are torchstat's: additions and multiplications apart. */

static const char *const relus[] = {
    "ReLU", "ReLU6", "PReLU", "ELU", "LeakyReLU", NULL
};

static struct sd_mode_counts metinor_conv(const struct sd_model *m, uint32_t layer,
                                          const struct sd_layer_call *c,
                                          bool transposed)
{
    bool has_bias = sd_mode_layer_has(m, layer, "bias");
    int64_t at = positions(transposed ? sd_mode_call_in(c) : sd_mode_call_out(c));
    int64_t macs = sd_times(at, weight(m, layer));
    int64_t out = sd_times(at, axis(sd_mode_call_out(c), 1));

    /* Of one output: k multiplications, k - 1 additions, one more for a bias. */
    return (struct sd_mode_counts){
        .macs = sd_plus(macs, has_bias ? sd_mode_call_out_elements(c) : 0),
        .madds = sd_times(2, macs) - (has_bias ? 0 : out),
    };
}

static struct sd_mode_counts metinor_linear(const struct sd_layer_call *c)
{
    int64_t out = sd_mode_call_out_elements(c), k = last_axis(sd_mode_call_in(c));

    return (struct sd_mode_counts){ .macs = sd_times(out, k),
                                    .madds = sd_times(out, sd_times(2, k) - 1) };
}

static struct sd_mode_counts metinor(const struct sd_model *m, uint32_t layer,
                                     const struct sd_layer_call *c)
{
    int64_t in = sd_mode_call_in_elements(c), out = sd_mode_call_out_elements(c);

    if (sd_mode_layer_is_nd(m, layer, "Conv"))
        return metinor_conv(m, layer, c, false);
    if (sd_mode_layer_is_nd(m, layer, "ConvTranspose"))
        return metinor_conv(m, layer, c, true);
    if (sd_mode_layer_is(m, layer, "Linear"))
        return metinor_linear(c);
    if (sd_mode_layer_is_nd(m, layer, "BatchNorm"))
        return (struct sd_mode_counts){ .macs =
                                            sd_times(is_affine(m, layer) ? 2 : 1, in),
                                        .madds = sd_times(4, in) };
    if (sd_mode_layer_is_any(m, layer, relus))
        return (struct sd_mode_counts){ .macs = in, .madds = in };
    if (sd_mode_layer_is(m, layer, "MaxPool2d"))
        return (struct sd_mode_counts){ .macs = in,
                                        .madds =
                                            sd_times(kernel(m, layer, 2) - 1, out) };
    if (sd_mode_layer_is(m, layer, "AvgPool2d"))
        return (struct sd_mode_counts){ .macs = in,
                                        .madds = sd_times(kernel(m, layer, 2), out) };
    if (sd_mode_layer_is(m, layer, "Upsample"))
        return (struct sd_mode_counts){ .macs = out };
    if (sd_mode_layer_is(m, layer, "Softmax") && in > 0)
        return (struct sd_mode_counts){ .madds = sd_times(3, in) - 1 };
    return (struct sd_mode_counts){ 0 };
}

struct sd_mode_counts sd_mode_metinor(const struct sd_model *m, uint32_t layer,
                                      const struct sd_layer_call *c)
{
    struct sd_mode_counts counts = metinor(m, layer, c);

    counts.flops = counts.macs;
    return counts;
}

/* --- THOP */

static const char *const recurrent[] = { "RNN",      "LSTM",    "GRU", "RNNCell",
                                         "LSTMCell", "GRUCell", NULL };

/* How many numbers one step of one sample takes, with what the gates add. */
static int64_t gates(const struct sd_model *m, uint32_t layer, int64_t in,
                     int64_t hidden)
{
    bool has_bias = sd_model_layer_number(m, layer, "bias", 0, 1) != 0;
    int64_t gate = (in + hidden) * hidden + hidden + (has_bias ? 2 * hidden : 0);

    if (sd_mode_layer_is(m, layer, "LSTM") || sd_mode_layer_is(m, layer, "LSTMCell"))
        return 4 * gate + 4 * hidden;
    if (sd_mode_layer_is(m, layer, "GRU") || sd_mode_layer_is(m, layer, "GRUCell"))
        return 3 * gate + 4 * hidden;
    return gate;
}

/* Nobody has layers wider than this; beyond it the sums above could run over. */
enum { WIDEST = 1 << 24, MOST_LAYERS = 1 << 12 };

static int64_t thop_recurrent(const struct sd_model *m, uint32_t layer,
                              const struct sd_layer_call *c)
{
    int64_t in = sd_model_layer_number(m, layer, "input_size", 0, 0);
    int64_t hidden = sd_model_layer_number(m, layer, "hidden_size", 0, 0);
    int64_t n_layers = sd_model_layer_number(m, layer, "num_layers", 0, 1);
    int64_t sides = sd_model_layer_number(m, layer, "bidirectional", 0, 0) ? 2 : 1;
    int64_t one;

    if (in <= 0 || in > WIDEST || hidden <= 0 || hidden > WIDEST || n_layers < 1)
        return 0;
    one = sd_plus(
        sd_times(sides, gates(m, layer, in, hidden)),
        sd_times(n_layers - 1, sides * gates(m, layer, sides * hidden, hidden)));
    return sd_times(one, sd_mode_call_in_elements(c) / in);
}

/* For each element that comes out; 0: it has no price for this way. */
static int64_t thop_upsample(const struct sd_model *m, uint32_t layer)
{
    static const struct {
        const char *mode;
        int64_t price;
    } ways[] = {
        { "nearest", 1 }, { "linear", 5 }, { "bilinear", 11 }, { "bicubic", 259 }
    };
    const char *mode = word_of(m, layer, "mode");

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (!strcmp(ways[i].mode, mode))
            return ways[i].price;
    return 0;
}

static int64_t thop_softmax(const struct sd_model *m, uint32_t layer,
                            const struct sd_layer_call *c)
{
    const struct sd_operand *in = sd_mode_call_in(c);
    uint32_t at;
    int64_t n;

    if (!in || !sd_shapes_axis_find(sd_model_layer_number(m, layer, "dim", 0, -1),
                                    in->dims.n, &at))
        return 0;
    n = in->dims.d[at];
    return n > 0 ? sd_times(sd_mode_call_in_elements(c) / n, sd_times(3, n) - 1) : 0;
}

static int64_t thop(const struct sd_model *m, uint32_t layer,
                    const struct sd_layer_call *c)
{
    static const char *const norms[] = {
        "BatchNorm1d",    "BatchNorm2d",    "BatchNorm3d",
        "LayerNorm",      "InstanceNorm1d", "InstanceNorm2d",
        "InstanceNorm3d", "SyncBatchNorm",  NULL
    };
    static const char *const resizing[] = { "Upsample", "UpsamplingNearest2d",
                                            "UpsamplingBilinear2d", NULL };

    if (sd_mode_layer_is_nd(m, layer, "Conv") ||
        sd_mode_layer_is_nd(m, layer, "ConvTranspose"))
        return sd_times(positions(sd_mode_call_out(c)), weight(m, layer));
    if (sd_mode_layer_is(m, layer, "Linear"))
        return sd_times(sd_mode_call_out_elements(c), last_axis(sd_mode_call_in(c)));
    if (sd_mode_layer_is_any(m, layer, norms))
        return sd_times(is_affine(m, layer) ? 4 : 2, sd_mode_call_in_elements(c));
    if (sd_mode_layer_is(m, layer, "PReLU") &&
        !(m->layers[layer].flags & SD_LAYER_TRAINING))
        return sd_mode_call_in_elements(c);
    if (sd_mode_layer_is(m, layer, "Softmax"))
        return thop_softmax(m, layer, c);
    if (sd_mode_layer_is_nd(m, layer, "AvgPool"))
        return sd_mode_call_out_elements(c);
    if (sd_mode_layer_is_nd(m, layer, "AdaptiveAvgPool"))
        return sd_plus(sd_mode_call_in_elements(c), sd_mode_call_out_elements(c));
    if (sd_mode_layer_is_any(m, layer, resizing))
        return sd_times(thop_upsample(m, layer), sd_mode_call_out_elements(c));
    if (sd_mode_layer_is_any(m, layer, recurrent))
        return thop_recurrent(m, layer, c);
    return 0;
}

struct sd_mode_counts sd_mode_thop(const struct sd_model *m, uint32_t layer,
                                   const struct sd_layer_call *c)
{
    return counted(thop(m, layer, c));
}

/* --- ptflops, by hooks */

/* Both weights of one layer, its biases, and what its gates do with one hidden state;
 * `suffix` is "_l0" of the first of several, "" of a cell. */
static int64_t hooks_step(const struct sd_model *m, uint32_t layer, const char *suffix)
{
    static const char *const names[] = { "weight_ih", "weight_hh", "bias_ih",
                                         "bias_hh" };
    int64_t hidden = sd_model_layer_number(m, layer, "hidden_size", 0, 0), all;
    bool is_lstm =
        sd_mode_layer_is(m, layer, "LSTM") || sd_mode_layer_is(m, layer, "LSTMCell");
    bool is_gru =
        sd_mode_layer_is(m, layer, "GRU") || sd_mode_layer_is(m, layer, "GRUCell");

    all = hidden > 0 ? sd_times(is_lstm ? 10 : is_gru ? 7 : 1, hidden) : 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct sd_model_tensor *t;
        char name[32];

        snprintf(name, sizeof name, "%s%s", names[i], suffix);
        t = sd_mode_layer_tensor(m, layer, name);
        all = sd_plus(all, t ? sd_dims_elements(t->dims) : 0);
    }
    return all;
}

/* One layer after the other; both directions cost the same. */
static int64_t hooks_recurrent(const struct sd_model *m, uint32_t layer,
                               const struct sd_layer_call *c)
{
    int64_t in = sd_model_layer_number(m, layer, "input_size", 0, 0), one = 0;
    int64_t n_layers = sd_model_layer_number(m, layer, "num_layers", 0, 0);
    char suffix[16];

    if (in <= 0)
        return 0;
    if (n_layers == 0)
        one = hooks_step(m, layer, "");
    for (int64_t i = 0; i < n_layers && i < MOST_LAYERS; i++) {
        snprintf(suffix, sizeof suffix, "_l%d", (int)i);
        one = sd_plus(one, hooks_step(m, layer, suffix));
    }
    if (sd_model_layer_number(m, layer, "bidirectional", 0, 0))
        one = sd_times(2, one);
    return sd_times(one, sd_mode_call_in_elements(c) / in);
}

/* Of one of its inputs: (length, batch, width), or (batch, length, width), or without a
 * batch. */
struct line {
    int64_t length, width;
};

static struct line line_of(const struct sd_operand *o, bool is_batch_first)
{
    bool has_batch = o->dims.n == 3;

    return (struct line){ axis(o, has_batch && is_batch_first ? 1 : 0), last_axis(o) };
}

static int64_t squared(struct line l)
{
    return sd_times(l.length, sd_times(l.width, l.width));
}

/* Attention as a whole: its parts are no modules that are called.  Keys and values are
 * taken to keep their own widths, and the last projection to have that of the values
 * and a bias. */
static int64_t hooks_attention(const struct sd_model *m, uint32_t layer,
                               const struct sd_layer_call *c)
{
    bool is_batch_first = sd_model_layer_number(m, layer, "batch_first", 0, 0) != 0;
    int64_t heads = sd_model_layer_number(m, layer, "num_heads", 0, 1), all, per_score;
    struct line q, k, v;

    if (c->n_in < 3 || c->in[0].dims.n < 2 || c->in[0].dims.n > 3)
        return 0;
    q = line_of(&c->in[0], is_batch_first);
    k = line_of(&c->in[1], is_batch_first);
    v = line_of(&c->in[2], is_batch_first);
    all = sd_times(q.length, q.width); /* scaling */
    all = sd_plus(all, sd_plus(squared(q), sd_plus(squared(k), squared(v))));
    if (sd_mode_layer_has(m, layer, "in_proj_bias"))
        all = sd_plus(
            all, sd_times(sd_plus(q.length, sd_plus(k.length, v.length)), q.width));
    /* Both products and the softmax, in each head. */
    per_score = sd_plus(1, sd_plus(q.width / heads, v.width / heads));
    all = sd_plus(all,
                  sd_times(sd_times(heads, per_score), sd_times(q.length, k.length)));
    all = sd_plus(all, sd_times(q.length, sd_times(v.width, sd_plus(v.width, 1))));
    return sd_times(all,
                    c->in[0].dims.n == 3 ? axis(&c->in[0], is_batch_first ? 0 : 1) : 1);
}

static int64_t hooks(const struct sd_model *m, uint32_t layer,
                     const struct sd_layer_call *c)
{
    static const char *const activations[] = { "ReLU",  "PReLU", "ELU", "LeakyReLU",
                                               "ReLU6", "GELU",  NULL };
    int64_t in = sd_mode_call_in_elements(c), out = sd_mode_call_out_elements(c);
    int64_t bias = sd_mode_layer_has(m, layer, "bias") ? out : 0;

    if (sd_mode_layer_is_nd(m, layer, "Conv"))
        return sd_plus(sd_times(positions(sd_mode_call_out(c)), weight(m, layer)),
                       bias);
    if (sd_mode_layer_is_nd(m, layer, "ConvTranspose"))
        return sd_plus(sd_times(positions(sd_mode_call_in(c)), weight(m, layer)), bias);
    if (sd_mode_layer_is(m, layer, "Linear"))
        return sd_plus(sd_times(out, last_axis(sd_mode_call_in(c))), bias);
    if (sd_mode_layer_is_nd(m, layer, "BatchNorm") ||
        sd_mode_layer_is_nd(m, layer, "InstanceNorm") ||
        sd_mode_layer_is(m, layer, "GroupNorm"))
        return sd_times(is_affine(m, layer) ? 2 : 1, in);
    if (sd_mode_layer_is(m, layer, "LayerNorm"))
        return in;
    if (sd_mode_layer_is_any(m, layer, activations))
        return out;
    if (sd_mode_layer_is_nd(m, layer, "MaxPool") ||
        sd_mode_layer_is_nd(m, layer, "AvgPool") ||
        sd_mode_layer_is_nd(m, layer, "AdaptiveMaxPool") ||
        sd_mode_layer_is_nd(m, layer, "AdaptiveAvgPool"))
        return in;
    if (sd_mode_layer_is_any(m, layer, recurrent))
        return hooks_recurrent(m, layer, c);
    if (sd_mode_layer_is_attention(m, layer))
        return hooks_attention(m, layer, c);
    if (!sd_mode_layer_is(m, layer, "Upsample"))
        return 0;
    /* The function counts it once more where it resizes; "area" is a pool in torch. */
    return !strcmp(word_of(m, layer, "mode"), "area") ? sd_times(2, out) : out;
}

struct sd_mode_counts sd_mode_ptflops_hooks(const struct sd_model *m, uint32_t layer,
                                            const struct sd_layer_call *c)
{
    return counted(hooks(m, layer, c));
}

/* --- torchinfo: parameters, as often as they are used */

struct sd_mode_counts sd_mode_torchinfo(const struct sd_model *m, uint32_t layer,
                                        const struct sd_layer_call *c)
{
    const struct sd_operand *out = sd_mode_call_out(c);
    int64_t params = sd_mode_layer_params(m, layer), width = last_axis(out);

    if (!out || params == 0)
        return counted(0);
    if (strstr(sd_model_text(m, m->layers[layer].type), "Conv"))
        return counted(sd_times(params, positions(out)));
    if (sd_mode_layer_is(m, layer, "Linear"))
        return counted(
            width > 0 ? sd_times(params, sd_mode_call_out_elements(c) / width) : 0);
    if (sd_mode_layer_is(m, layer, "LSTM") || sd_mode_layer_is(m, layer, "GRU") ||
        sd_mode_layer_is(m, layer, "RNN"))
        return counted(sd_times(params, sd_times(axis(out, 0), axis(out, 1))));
    return counted(sd_times(params, axis(out, 0)));
}
