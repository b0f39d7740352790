/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_MODEL_MODEL_COSTS_TESTING_H
#define SD_ANALYSE_MODEL_MODEL_COSTS_TESTING_H
/* model_costs_testing: models written down layer by layer, as torch's dispatcher shows
 * them, so that formulas can be tested against published integers without torch. */
#include "profile/model/model.h"

/* A picture on its way through a net. */
struct sd_net {
    struct sd_model m;
    int64_t batch, c, h, w;
    const char *inside; /* the layers to come are in this one: "layer1.0" */
};

struct sd_net_conv {
    int64_t out, k, stride, pad, groups; /* groups 0: 1 */
    bool bias;
};

void sd_net_start(struct sd_net *n, int64_t batch, int64_t c, int64_t side);
void sd_net_end(struct sd_net *n);

/* Modules. */
void sd_net_conv(struct sd_net *n, const char *name, struct sd_net_conv how);
void sd_net_norm(struct sd_net *n, const char *name);
void sd_net_relu(struct sd_net *n, const char *name, const char *type); /* "ReLU" */
void sd_net_max_pool(struct sd_net *n, const char *name, int64_t k, int64_t stride,
                     int64_t pad, bool ceil);
void sd_net_avg_pool(struct sd_net *n, const char *name, int64_t k);
void sd_net_adaptive(struct sd_net *n, const char *name, int64_t side);
void sd_net_linear(struct sd_net *n, const char *name, int64_t out);
void sd_net_dropout(struct sd_net *n, const char *name);
/* Functions, called by `inside`. */
void sd_net_add(struct sd_net *n);
void sd_net_pool_function(struct sd_net *n); /* F.adaptive_avg_pool2d(x, 1) */
void sd_net_relu_function(struct sd_net *n);

/* Any operator: shapes are written as "1,3,8,8", an absent operand as "-", a member of
 * a list as "+2,3"; attributes as "stride=2,2 transposed=0 equation='ij,jk'". */
void sd_net_op(struct sd_model *m, const char *name, const char *const *in, size_t n_in,
               const char *out, const char *attrs);
#define SD_NET_OP(m, name, out, attrs, ...)                                            \
    sd_net_op(m, name, (const char *const[]){ __VA_ARGS__ },                           \
              sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *), out,      \
              attrs)

/* Whole nets, of torchvision. */
void sd_net_resnet(struct sd_net *n, const int *depths, bool bottleneck, int64_t groups,
                   int64_t width);
void sd_net_alexnet(struct sd_net *n);
void sd_net_vgg16(struct sd_net *n);
void sd_net_squeezenet(struct sd_net *n);
void sd_net_mobilenet_v2(struct sd_net *n);
void sd_net_densenet121(struct sd_net *n);
#endif
