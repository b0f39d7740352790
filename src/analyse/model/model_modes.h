/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_MODEL_MODEL_MODES_H
#define SD_ANALYSE_MODEL_MODEL_MODES_H
/* model_modes: how other tools count.  Some look at operators, as we do, and have their
 * own price for each; others look at modules as they are called, and at nothing between
 * them; one does both. */
#include "analyse/model/model_costs.h"

/* Of one call of an operator, whose cost by our own definition is `cost`. */
typedef int64_t sd_mode_op(const struct sd_model *m, const struct sd_model_op *op,
                           const struct sd_cost *cost);

/* What a tool says of one call of a leaf. */
struct sd_mode_counts {
    int64_t macs, flops, madds;
};
typedef struct sd_mode_counts sd_mode_layer(const struct sd_model *m, uint32_t layer,
                                            const struct sd_layer_call *call);

struct sd_mode {
    sd_mode_op *op;       /* or NULL */
    sd_mode_layer *layer; /* or NULL */
    bool once;            /* of `layer`: only its last call counts */
    /* Layers with layers in them that `layer` counts, too; NULL: none. */
    bool (*whole)(const struct sd_model *m, uint32_t layer);
};

const struct sd_mode *sd_model_mode_of(enum sd_model_mode mode);

/* The layers' own tools. */
sd_mode_layer sd_mode_metinor, sd_mode_thop, sd_mode_ptflops_hooks, sd_mode_torchinfo;
sd_mode_op sd_mode_fvcore, sd_mode_ptflops, sd_mode_ptflops_functions;

/* --- For the modes: questions about a call of a layer. */

bool sd_mode_layer_is(const struct sd_model *m, uint32_t layer, const char *type);
/* One of these types; the list ends with NULL. */
bool sd_mode_layer_is_any(const struct sd_model *m, uint32_t layer,
                          const char *const *types);
/* Is the type "Conv1d", "Conv2d" or "Conv3d" (with `stem` "Conv")? */
bool sd_mode_layer_is_nd(const struct sd_model *m, uint32_t layer, const char *stem);
/* Is it torch's MultiheadAttention?  Its weights tell it from others of that name. */
bool sd_mode_layer_is_attention(const struct sd_model *m, uint32_t layer);
int64_t sd_mode_layer_params(const struct sd_model *m, uint32_t layer); /* its own */
/* What it calls "weight", "bias", ...; or NULL. */
const struct sd_model_tensor *sd_mode_layer_tensor(const struct sd_model *m,
                                                   uint32_t layer, const char *name);
bool sd_mode_layer_has(const struct sd_model *m, uint32_t layer, const char *name);
const struct sd_operand *sd_mode_call_in(const struct sd_layer_call *c);
const struct sd_operand *sd_mode_call_out(const struct sd_layer_call *c);
int64_t
sd_mode_call_in_elements(const struct sd_layer_call *c); /* of the first; 0: none */
int64_t sd_mode_call_out_elements(const struct sd_layer_call *c);
#endif
