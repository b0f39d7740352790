/* SPDX-License-Identifier: MIT */
#ifndef SD_MODEL_TIMES_H
#define SD_MODEL_TIMES_H
/* times: adds up how long each layer took, over several passes.
 *
 * At every moment one layer runs: the innermost that was entered.  At each border the
 * time since the last one is given to the layer that ran, so the times of all layers
 * add up to that of the pass and none is counted twice.  In a backward the borders are
 * the nodes of the graph that the layers' outputs and inputs came from. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sd_layer_times {
    uint32_t n_layers;
    uint32_t n_passes, cap_passes;
    uint64_t *now_ns;     /* owned: of the pass that runs, for each layer */
    uint64_t *forward_ns; /* owned: pass after pass, n_layers of each */
    uint64_t *backward_ns;
    uint32_t layer; /* that runs */
    uint64_t since_ns;
    bool is_running;
};

/* 0 or SD_ENOMEM. */
int sd_times_init(struct sd_layer_times *t, uint32_t n_layers, uint32_t n_passes);
void sd_times_release(struct sd_layer_times *t);

void sd_times_begin(struct sd_layer_times *t, uint32_t layer, uint64_t now_ns);
/* From now on it is this layer that runs. */
void sd_times_border(struct sd_layer_times *t, uint32_t layer, uint64_t now_ns);
/* The pass is over; it is kept as a forward or backward.  A whole pass is both, in this
 * order, or the first alone. */
void sd_times_end(struct sd_layer_times *t, bool is_backward, uint64_t now_ns);
/* The median over all passes, in nanoseconds. */
uint64_t sd_times_of(const struct sd_layer_times *t, uint32_t layer, bool is_backward);
#endif
