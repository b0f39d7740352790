/* SPDX-License-Identifier: MIT */
/* Nets as torch's dispatcher shows them: see model_costs_testing.h. */
#include "analyse/model/model_costs_testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"

static uint32_t word(struct sd_model *m, const char *s)
{
    uint32_t id = 0;

    CHECK(sd_model_word(m, s, &id) == 0);
    return id;
}

void sd_net_start(struct sd_net *n, int64_t batch, int64_t c, int64_t side)
{
    *n = (struct sd_net){ .batch = batch, .c = c, .h = side, .w = side, .inside = "" };
    CHECK(sd_model_init(&n->m) == 0);
}

void sd_net_end(struct sd_net *n) { sd_model_release(&n->m); }

/* The picture as it is now; `d` holds its axes. */
static struct sd_operand picture(const struct sd_net *n, int64_t d[4])
{
    d[0] = n->batch;
    d[1] = n->c;
    d[2] = n->h;
    d[3] = n->w;
    return (struct sd_operand){ .dims = { d, n->h > 0 ? 4 : 2 },
                                .dtype = SD_DTYPE_F32 };
}

static uint32_t layer(struct sd_net *n, const char *name, const char *type)
{
    char path[128];
    uint32_t at = 0;

    snprintf(path, sizeof path, "%s%s%s", n->inside, *n->inside && *name ? "." : "",
             name);
    CHECK(sd_model_layer_at(&n->m, path, strlen(path), &at) == 0);
    if (*type) {
        sd_model_set_type(&n->m, at, word(&n->m, type));
        n->m.layers[at].flags |= SD_LAYER_LEAF;
    }
    return at;
}

static void tensor(struct sd_net *n, uint32_t at, const char *name, struct sd_dims dims,
                   uint16_t flags)
{
    char path[160];
    struct sd_model_tensor t = {
        .layer = at, .flags = flags, .dtype = SD_DTYPE_F32, .bytes = -1, .dims = dims
    };

    snprintf(path, sizeof path, "%s.%s", sd_model_text(&n->m, n->m.layers[at].name),
             name);
    t.name = word(&n->m, path);
    CHECK(sd_model_tensor(&n->m, &t) == 0);
}

enum { LEARNT = SD_TENSOR_PARAMETER | SD_TENSOR_TRAINABLE };

/* A module that was called, and the operator in it: in, out and up to four inputs. */
static void call(struct sd_net *n, uint32_t at, const char *op,
                 const struct sd_operand *in, size_t n_in, const struct sd_operand *out,
                 const struct sd_attr *attrs, size_t n_attrs)
{
    struct sd_model_op o = { .name = word(&n->m, op), .layer = at, .given_macs = -1 };

    CHECK(sd_model_op(&n->m, &o, in, n_in, out, 1, attrs, n_attrs) == 0);
    if (n->m.layers[at].flags & SD_LAYER_LEAF)
        CHECK(sd_model_called(&n->m, at, in, 1, out, 1) == 0);
}

void sd_net_conv(struct sd_net *n, const char *name, struct sd_net_conv how)
{
    int64_t groups = how.groups ? how.groups : 1, before[4], after[4];
    int64_t weight[] = { how.out, n->c / groups, how.k, how.k }, bias[] = { how.out };
    struct sd_operand in[3] = { picture(n, before),
                                { .dims = { weight, 4 }, .dtype = SD_DTYPE_F32 },
                                { .kind = SD_OPERAND_NONE } };
    struct sd_operand out;
    struct sd_attr attrs[] = { sd_attr_int(word(&n->m, "transposed"), 0),
                               sd_attr_int(word(&n->m, "groups"), groups) };
    uint32_t at = layer(n, name, "Conv2d");

    tensor(n, at, "weight", in[1].dims, LEARNT);
    if (how.bias) {
        in[2] = (struct sd_operand){ .dims = { bias, 1 }, .dtype = SD_DTYPE_F32 };
        tensor(n, at, "bias", in[2].dims, LEARNT);
    }
    n->c = how.out;
    n->h = (n->h + 2 * how.pad - how.k) / how.stride + 1;
    n->w = (n->w + 2 * how.pad - how.k) / how.stride + 1;
    out = picture(n, after);
    call(n, at, "aten::convolution", in, 3, &out, attrs, 2);
}

void sd_net_norm(struct sd_net *n, const char *name)
{
    int64_t axes[4], c[] = { n->c };
    struct sd_operand side = { .dims = { c, 1 }, .dtype = SD_DTYPE_F32 };
    struct sd_operand in[] = { picture(n, axes), side, side, side, side }, out = in[0];
    struct sd_attr training = sd_attr_int(word(&n->m, "training"), 0);
    uint32_t at = layer(n, name, "BatchNorm2d");

    tensor(n, at, "weight", side.dims, LEARNT);
    tensor(n, at, "bias", side.dims, LEARNT);
    tensor(n, at, "running_mean", side.dims, SD_TENSOR_BUFFER);
    tensor(n, at, "running_var", side.dims, SD_TENSOR_BUFFER);
    tensor(n, at, "num_batches_tracked", (struct sd_dims){ NULL, 0 }, SD_TENSOR_BUFFER);
    call(n, at, "aten::native_batch_norm", in, 5, &out, &training, 1);
}

void sd_net_relu(struct sd_net *n, const char *name, const char *type)
{
    int64_t axes[4];
    struct sd_operand x = picture(n, axes);

    call(n, layer(n, name, type),
         strcmp(type, "ReLU6") == 0 ? "aten::hardtanh_" : "aten::relu_", &x, 1, &x,
         NULL, 0);
}

static int64_t pooled(int64_t side, int64_t k, int64_t stride, int64_t pad, bool ceil)
{
    int64_t span = side + 2 * pad - k;

    return (ceil ? span + stride - 1 : span) / stride + 1;
}

void sd_net_max_pool(struct sd_net *n, const char *name, int64_t k, int64_t stride,
                     int64_t pad, bool ceil)
{
    int64_t before[4], after[4];
    struct sd_operand in = picture(n, before), out;
    struct sd_attr kernel = sd_attr_int(word(&n->m, "kernel_size"), k);
    uint32_t at = layer(n, name, "MaxPool2d");

    CHECK(sd_model_layer_attrs(&n->m, at, &kernel, 1) == 0);
    n->h = pooled(n->h, k, stride, pad, ceil);
    n->w = pooled(n->w, k, stride, pad, ceil);
    out = picture(n, after);
    call(n, at, "aten::max_pool2d_with_indices", &in, 1, &out, NULL, 0);
}

void sd_net_avg_pool(struct sd_net *n, const char *name, int64_t k)
{
    int64_t before[4], after[4];
    struct sd_operand in = picture(n, before), out;

    n->h /= k;
    n->w /= k;
    out = picture(n, after);
    call(n, layer(n, name, "AvgPool2d"), "aten::avg_pool2d", &in, 1, &out, NULL, 0);
}

static void global_pool(struct sd_net *n, uint32_t at)
{
    static const int64_t dims[] = { -1, -2 };
    int64_t before[4], after[4];
    struct sd_operand in = picture(n, before), out;
    struct sd_attr attrs[] = { sd_attr_ints(word(&n->m, "dim"), dims, 2),
                               sd_attr_int(word(&n->m, "keepdim"), 1) };

    n->h = n->w = 1;
    out = picture(n, after);
    call(n, at, "aten::mean", &in, 1, &out, attrs, 2);
}

void sd_net_adaptive(struct sd_net *n, const char *name, int64_t side)
{
    uint32_t at = layer(n, name, "AdaptiveAvgPool2d");
    int64_t before[4], after[4];
    struct sd_operand in = picture(n, before), out;

    if (side == 1) {
        global_pool(n, at);
        return;
    }
    n->h = n->w = side;
    out = picture(n, after);
    call(n, at, "aten::_adaptive_avg_pool2d", &in, 1, &out, NULL, 0);
}

/* What comes before it is flattened. */
void sd_net_linear(struct sd_net *n, const char *name, int64_t out)
{
    int64_t k = n->c * (n->h ? n->h * n->w : 1), x[] = { n->batch, k };
    int64_t y[] = { n->batch, out }, b[] = { out }, w[] = { k, out };
    struct sd_operand in[] = { { .dims = { b, 1 }, .dtype = SD_DTYPE_F32 },
                               { .dims = { x, 2 }, .dtype = SD_DTYPE_F32 },
                               { .dims = { w, 2 }, .dtype = SD_DTYPE_F32 } };
    struct sd_operand result = { .dims = { y, 2 }, .dtype = SD_DTYPE_F32 };
    struct sd_model_op op = { .name = word(&n->m, "aten::addmm"), .given_macs = -1 };
    uint32_t at = layer(n, name, "Linear");

    tensor(n, at, "weight", (struct sd_dims){ (int64_t[]){ out, k }, 2 }, LEARNT);
    tensor(n, at, "bias", in[0].dims, LEARNT);
    op.layer = at;
    CHECK(sd_model_op(&n->m, &op, in, 3, &result, 1, NULL, 0) == 0);
    CHECK(sd_model_called(&n->m, at, &in[1], 1, &result, 1) == 0);
    n->c = out;
    n->h = n->w = 0;
}

/* In eval it does nothing at all. */
void sd_net_dropout(struct sd_net *n, const char *name)
{
    int64_t axes[4];
    struct sd_operand x = picture(n, axes);
    uint32_t at = layer(n, name, "Dropout");

    CHECK(sd_model_called(&n->m, at, &x, 1, &x, 1) == 0);
}

void sd_net_add(struct sd_net *n)
{
    int64_t axes[4];
    struct sd_operand x[2] = { picture(n, axes), picture(n, axes) };

    call(n, layer(n, "", ""), "aten::add_", x, 2, x, NULL, 0);
}

void sd_net_pool_function(struct sd_net *n) { global_pool(n, layer(n, "", "")); }

void sd_net_relu_function(struct sd_net *n)
{
    int64_t axes[4];
    struct sd_operand x = picture(n, axes);

    call(n, layer(n, "", ""), "aten::relu_", &x, 1, &x, NULL, 0);
}

/* --- One operator, written down */

enum { OPERANDS = 64, AXES = 8 };

static size_t numbers(const char *p, int64_t *d)
{
    size_t n = 0;

    while (*p) {
        char *end;

        CHECK(n < AXES);
        d[n++] = strtoll(p, &end, 10);
        CHECK(end != p);
        p = *end == ',' ? end + 1 : end;
        if (*end == ' ')
            break;
    }
    return n;
}

static struct sd_operand operand(const char *text, int64_t *d)
{
    struct sd_operand o = { .dtype = SD_DTYPE_F32 };

    if (*text == '-')
        o.kind = SD_OPERAND_NONE;
    else if (*text == '+')
        o.kind = SD_OPERAND_MEMBER;
    o.dims.n = *text == '-' ? 0 : (uint32_t)numbers(text + (*text == '+'), d);
    o.dims.d = d;
    return o;
}

static size_t attributes(struct sd_model *m, const char *text, struct sd_attr *attrs,
                         int64_t (*d)[AXES])
{
    size_t n = 0;

    for (const char *p = text; *p;) {
        const char *is = strchr(p, '='), *end = strchr(is, ' ');
        uint32_t name, value;

        end = end ? end : is + strlen(is);
        CHECK(sd_model_string(m, p, (size_t)(is - p), &name) == 0);
        if (is[1] == '\'') {
            CHECK(sd_model_string(m, is + 2, (size_t)(end - is - 3), &value) == 0);
            attrs[n] = sd_attr_text(name, value);
        } else {
            size_t k = numbers(is + 1, d[n]);

            attrs[n] = k == 1 ? sd_attr_int(name, d[n][0])
                              : sd_attr_ints(name, d[n], (uint32_t)k);
        }
        n++;
        p = *end ? end + 1 : end;
    }
    return n;
}

void sd_net_op(struct sd_model *m, const char *name, const char *const *in, size_t n_in,
               const char *out, const char *attrs)
{
    static int64_t d[OPERANDS + 1][AXES], a[16][AXES];
    struct sd_operand operands[OPERANDS], result = operand(out, d[OPERANDS]);
    struct sd_attr given[16];
    struct sd_model_op op = { .name = word(m, name), .given_macs = -1 };

    CHECK(n_in <= OPERANDS);
    for (size_t i = 0; i < n_in; i++)
        operands[i] = operand(in[i], d[i]);
    CHECK(sd_model_op(m, &op, operands, n_in, &result, 1, given,
                      attributes(m, attrs, given, a)) == 0);
}

/* --- Whole nets */

static void downsample(struct sd_net *n, int64_t c, int64_t side, int64_t out,
                       int64_t stride)
{
    struct sd_net before = *n;

    n->c = c;
    n->h = n->w = side;
    sd_net_conv(n, "downsample.0", (struct sd_net_conv){ out, 1, stride, 0, 0, false });
    sd_net_norm(n, "downsample.1");
    n->c = before.c;
    n->h = n->w = before.h;
}

static void block(struct sd_net *n, bool bottleneck, int64_t groups, int64_t inner,
                  int64_t out, int64_t stride)
{
    int64_t c = n->c, side = n->h;

    if (bottleneck) {
        sd_net_conv(n, "conv1", (struct sd_net_conv){ inner, 1, 1, 0, 0, false });
        sd_net_norm(n, "bn1");
        sd_net_relu(n, "relu", "ReLU");
    }
    sd_net_conv(n, bottleneck ? "conv2" : "conv1",
                (struct sd_net_conv){ inner, 3, stride, 1, groups, false });
    sd_net_norm(n, bottleneck ? "bn2" : "bn1");
    sd_net_relu(n, "relu", "ReLU");
    sd_net_conv(n, bottleneck ? "conv3" : "conv2",
                (struct sd_net_conv){ out, bottleneck ? 1 : 3, 1, bottleneck ? 0 : 1, 0,
                                      false });
    sd_net_norm(n, bottleneck ? "bn3" : "bn2");
    if (stride != 1 || c != out)
        downsample(n, c, side, out, stride);
    sd_net_add(n);
    sd_net_relu(n, "relu", "ReLU");
}

void sd_net_resnet(struct sd_net *n, const int *depths, bool bottleneck, int64_t groups,
                   int64_t width)
{
    char inside[32];

    sd_net_start(n, 1, 3, 224);
    sd_net_conv(n, "conv1", (struct sd_net_conv){ 64, 7, 2, 3, 0, false });
    sd_net_norm(n, "bn1");
    sd_net_relu(n, "relu", "ReLU");
    sd_net_max_pool(n, "maxpool", 3, 2, 1, false);
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < depths[stage]; i++) {
            snprintf(inside, sizeof inside, "layer%d.%d", stage + 1, i);
            n->inside = inside;
            block(n, bottleneck, groups, width << stage,
                  (bottleneck ? INT64_C(256) : INT64_C(64)) << stage,
                  stage > 0 && i == 0 ? 2 : 1);
        }
    n->inside = "";
    sd_net_adaptive(n, "avgpool", 1);
    sd_net_linear(n, "fc", 1000);
}

void sd_net_alexnet(struct sd_net *n)
{
    sd_net_start(n, 1, 3, 224);
    sd_net_conv(n, "features.0", (struct sd_net_conv){ 64, 11, 4, 2, 0, true });
    sd_net_relu(n, "features.1", "ReLU");
    sd_net_max_pool(n, "features.2", 3, 2, 0, false);
    sd_net_conv(n, "features.3", (struct sd_net_conv){ 192, 5, 1, 2, 0, true });
    sd_net_relu(n, "features.4", "ReLU");
    sd_net_max_pool(n, "features.5", 3, 2, 0, false);
    sd_net_conv(n, "features.6", (struct sd_net_conv){ 384, 3, 1, 1, 0, true });
    sd_net_relu(n, "features.7", "ReLU");
    sd_net_conv(n, "features.8", (struct sd_net_conv){ 256, 3, 1, 1, 0, true });
    sd_net_relu(n, "features.9", "ReLU");
    sd_net_conv(n, "features.10", (struct sd_net_conv){ 256, 3, 1, 1, 0, true });
    sd_net_relu(n, "features.11", "ReLU");
    sd_net_max_pool(n, "features.12", 3, 2, 0, false);
    sd_net_adaptive(n, "avgpool", 6);
    sd_net_dropout(n, "classifier.0");
    sd_net_linear(n, "classifier.1", 4096);
    sd_net_relu(n, "classifier.2", "ReLU");
    sd_net_dropout(n, "classifier.3");
    sd_net_linear(n, "classifier.4", 4096);
    sd_net_relu(n, "classifier.5", "ReLU");
    sd_net_linear(n, "classifier.6", 1000);
}

void sd_net_vgg16(struct sd_net *n)
{
    static const int plan[] = { 64, 64,  0,   128, 128, 0,   256, 256, 256,
                                0,  512, 512, 512, 0,   512, 512, 512, 0 };
    char name[32];
    int at = 0;

    sd_net_start(n, 1, 3, 224);
    for (size_t i = 0; i < sizeof plan / sizeof plan[0]; i++) {
        snprintf(name, sizeof name, "features.%d", at++);
        if (plan[i] == 0) {
            sd_net_max_pool(n, name, 2, 2, 0, false);
            continue;
        }
        sd_net_conv(n, name, (struct sd_net_conv){ plan[i], 3, 1, 1, 0, true });
        snprintf(name, sizeof name, "features.%d", at++);
        sd_net_relu(n, name, "ReLU");
    }
    sd_net_adaptive(n, "avgpool", 7);
    sd_net_linear(n, "classifier.0", 4096);
    sd_net_relu(n, "classifier.1", "ReLU");
    sd_net_dropout(n, "classifier.2");
    sd_net_linear(n, "classifier.3", 4096);
    sd_net_relu(n, "classifier.4", "ReLU");
    sd_net_dropout(n, "classifier.5");
    sd_net_linear(n, "classifier.6", 1000);
}

static void fire(struct sd_net *n, const char *inside, int64_t squeeze, int64_t expand)
{
    n->inside = inside;
    sd_net_conv(n, "squeeze", (struct sd_net_conv){ squeeze, 1, 1, 0, 0, true });
    sd_net_relu(n, "squeeze_activation", "ReLU");
    sd_net_conv(n, "expand1x1", (struct sd_net_conv){ expand, 1, 1, 0, 0, true });
    sd_net_relu(n, "expand1x1_activation", "ReLU");
    n->c = squeeze;
    sd_net_conv(n, "expand3x3", (struct sd_net_conv){ expand, 3, 1, 1, 0, true });
    sd_net_relu(n, "expand3x3_activation", "ReLU");
    n->c = 2 * expand;
    n->inside = "";
}

void sd_net_squeezenet(struct sd_net *n)
{
    sd_net_start(n, 1, 3, 224);
    sd_net_conv(n, "features.0", (struct sd_net_conv){ 96, 7, 2, 0, 0, true });
    sd_net_relu(n, "features.1", "ReLU");
    sd_net_max_pool(n, "features.2", 3, 2, 0, true);
    fire(n, "features.3", 16, 64);
    fire(n, "features.4", 16, 64);
    fire(n, "features.5", 32, 128);
    sd_net_max_pool(n, "features.6", 3, 2, 0, true);
    fire(n, "features.7", 32, 128);
    fire(n, "features.8", 48, 192);
    fire(n, "features.9", 48, 192);
    fire(n, "features.10", 64, 256);
    sd_net_max_pool(n, "features.11", 3, 2, 0, true);
    fire(n, "features.12", 64, 256);
    sd_net_conv(n, "classifier.1", (struct sd_net_conv){ 1000, 1, 1, 0, 0, true });
    sd_net_relu(n, "classifier.2", "ReLU");
    sd_net_adaptive(n, "classifier.3", 1);
}

static void inverted(struct sd_net *n, int64_t expand, int64_t out, int64_t stride)
{
    int64_t c = n->c, wide = c * expand;

    if (expand > 1) {
        sd_net_conv(n, "conv.0.0", (struct sd_net_conv){ wide, 1, 1, 0, 0, false });
        sd_net_norm(n, "conv.0.1");
        sd_net_relu(n, "conv.0.2", "ReLU6");
    }
    sd_net_conv(n, "conv.1.0", (struct sd_net_conv){ wide, 3, stride, 1, wide, false });
    sd_net_norm(n, "conv.1.1");
    sd_net_relu(n, "conv.1.2", "ReLU6");
    sd_net_conv(n, "conv.2", (struct sd_net_conv){ out, 1, 1, 0, 0, false });
    sd_net_norm(n, "conv.3");
    if (stride == 1 && c == out)
        sd_net_add(n);
}

void sd_net_mobilenet_v2(struct sd_net *n)
{
    static const int plan[][4] = { { 1, 16, 1, 1 }, { 6, 24, 2, 2 }, { 6, 32, 3, 2 },
                                   { 6, 64, 4, 2 }, { 6, 96, 3, 1 }, { 6, 160, 3, 2 },
                                   { 6, 320, 1, 1 } };
    char inside[32];
    int at = 1;

    sd_net_start(n, 1, 3, 224);
    sd_net_conv(n, "features.0.0", (struct sd_net_conv){ 32, 3, 2, 1, 0, false });
    sd_net_norm(n, "features.0.1");
    sd_net_relu(n, "features.0.2", "ReLU6");
    for (size_t i = 0; i < sizeof plan / sizeof plan[0]; i++)
        for (int k = 0; k < plan[i][2]; k++) {
            snprintf(inside, sizeof inside, "features.%d", at++);
            n->inside = inside;
            inverted(n, plan[i][0], plan[i][1], k == 0 ? plan[i][3] : 1);
        }
    n->inside = "";
    sd_net_conv(n, "features.18.0", (struct sd_net_conv){ 1280, 1, 1, 0, 0, false });
    sd_net_norm(n, "features.18.1");
    sd_net_relu(n, "features.18.2", "ReLU6");
    sd_net_pool_function(n);
    sd_net_dropout(n, "classifier.0");
    sd_net_linear(n, "classifier.1", 1000);
}

static void dense_layer(struct sd_net *n)
{
    int64_t c = n->c;

    sd_net_norm(n, "norm1");
    sd_net_relu(n, "relu1", "ReLU");
    sd_net_conv(n, "conv1", (struct sd_net_conv){ 128, 1, 1, 0, 0, false });
    sd_net_norm(n, "norm2");
    sd_net_relu(n, "relu2", "ReLU");
    sd_net_conv(n, "conv2", (struct sd_net_conv){ 32, 3, 1, 1, 0, false });
    n->c = c + 32;
}

static void transition(struct sd_net *n, const char *inside)
{
    n->inside = inside;
    sd_net_norm(n, "norm");
    sd_net_relu(n, "relu", "ReLU");
    sd_net_conv(n, "conv", (struct sd_net_conv){ n->c / 2, 1, 1, 0, 0, false });
    sd_net_avg_pool(n, "pool", 2);
}

void sd_net_densenet121(struct sd_net *n)
{
    static const int depths[] = { 6, 12, 24, 16 };
    char inside[64];

    sd_net_start(n, 1, 3, 224);
    n->inside = "features";
    sd_net_conv(n, "conv0", (struct sd_net_conv){ 64, 7, 2, 3, 0, false });
    sd_net_norm(n, "norm0");
    sd_net_relu(n, "relu0", "ReLU");
    sd_net_max_pool(n, "pool0", 3, 2, 1, false);
    for (int stage = 0; stage < 4; stage++) {
        for (int i = 0; i < depths[stage]; i++) {
            snprintf(inside, sizeof inside, "features.denseblock%d.denselayer%d",
                     stage + 1, i + 1);
            n->inside = inside;
            dense_layer(n);
        }
        snprintf(inside, sizeof inside, "features.transition%d", stage + 1);
        if (stage < 3)
            transition(n, inside);
    }
    n->inside = "features";
    sd_net_norm(n, "norm5");
    n->inside = "";
    sd_net_relu_function(n);
    sd_net_pool_function(n);
    sd_net_linear(n, "classifier", 1000);
}
