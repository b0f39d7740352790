/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_MODEL_OP_RULES_H
#define SD_ANALYSE_MODEL_OP_RULES_H
/* op_rules: the formulas behind ops.def: how many multiply-adds one call of an operator
 * has, from its shapes and attributes.
 *
 * -1 means that the operands do not fit the formula: too few, or shapes that no such
 * call can have.  Numbers stop at INT64_MAX instead of running over. */
#include <stdint.h>

#include "profile/model/model.h"

typedef int64_t sd_op_rule(const struct sd_model *m, const struct sd_model_op *op);

/* Matrix products of two operands, as numpy's matmul has them: (..., m, k) by (..., k,
 * n), leading axes broadcast, vectors too.  Named after their places among the inputs.
 */
sd_op_rule sd_op_rule_matmul_01, sd_op_rule_matmul_12, sd_op_rule_matmul_03;
sd_op_rule sd_op_rule_inner;      /* over the last axes of both */
sd_op_rule sd_op_rule_foreach_mm; /* two lists of matrices, as long as each other */
sd_op_rule sd_op_rule_gemm, sd_op_rule_gemm_q,
    sd_op_rule_fused_matmul;  /* ONNX's: transA, transB */
sd_op_rule sd_op_rule_linear; /* (..., k) by a weight (n, k) */
sd_op_rule
    sd_op_rule_linear_backward; /* one product for each gradient that is wanted */
sd_op_rule sd_op_rule_packed;   /* (..., k) by packed weights: what came out times k */
sd_op_rule sd_op_rule_packed_out; /* (..., k) by packed weights, out_features wide */
sd_op_rule sd_op_rule_grouped_mm; /* rows of several matrices in one, by `offs` */
sd_op_rule sd_op_rule_distance;   /* pairs of rows: the product that cdist has inside */
sd_op_rule sd_op_rule_einsum;     /* by its equation, from left to right */
sd_op_rule sd_op_rule_trilinear;
/* The same of nested tensors, which come as their parts, one for each sample. */
sd_op_rule sd_op_rule_nested_linear, sd_op_rule_nested_linear_backward;
sd_op_rule sd_op_rule_nested_matmul;          /* two of them, as many parts in each */
sd_op_rule sd_op_rule_nested_matmul_backward; /* the gradient first */

/* Convolutions: one product of the whole weight at each position of the output; of a
 * transposed one at each position of the input.  The weight is input 1 (of q: 3). */
sd_op_rule sd_op_rule_conv, sd_op_rule_conv_transposed, sd_op_rule_conv_q,
    sd_op_rule_conv_tbc;
sd_op_rule
    sd_op_rule_conv_backward; /* one convolution for each gradient that is wanted */

/* Attention.  No saving for causal masks: kernels differ in it, definitions do not. */
sd_op_rule sd_op_rule_sdpa; /* (..., s, d): q, k, v first */
sd_op_rule
    sd_op_rule_sdpa_backward; /* the gradient first; five products, one of them again */
sd_op_rule sd_op_rule_flash, sd_op_rule_flash_backward; /* (batch, s, heads, d) */
sd_op_rule sd_op_rule_multi_head;                       /* the projections too */
sd_op_rule sd_op_rule_encoder_layer;
sd_op_rule sd_op_rule_onnx_attention; /* opset 23 */
sd_op_rule sd_op_rule_microsoft_attention,
    sd_op_rule_quantized_attention; /* input, weights: the projection too */
sd_op_rule sd_op_rule_microsoft_multi_head, sd_op_rule_group_query;

/* Recurrent layers: each weight matrix once for each step and sample. */
sd_op_rule sd_op_rule_rnn_layer, sd_op_rule_rnn_layer_backward; /* input, w_ih, w_hh */
sd_op_rule sd_op_rule_rnn_list, sd_op_rule_rnn_list_backward;   /* weights in a list */
sd_op_rule sd_op_rule_rnn_cell; /* input, states, w_ih, w_hh */
#endif
