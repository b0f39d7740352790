/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_MODEL_MODEL_FIT_H
#define SD_ANALYSE_MODEL_MODEL_FIT_H
/* model_fit: works out how much memory training takes.
 *
 * Parameters, buffers, a gradient for each trainable parameter, the optimizer's states,
 * and what the forward keeps for the backward.  A second count with twice the batch
 * tells how much of that grows with it; without one all of it is taken to.  What the
 * framework's allocator keeps in hand and the scratch memory of kernels come on top. */
#include "analyse/model/model_costs.h"

enum sd_optimizer {
#define OPTIMIZER(name, word, n_states, state_bytes) SD_OPTIMIZER_##name,
#include "analyse/model/optimizers.def"
#undef OPTIMIZER
    SD_OPTIMIZERS
};
int sd_optimizer_named(const char *word, enum sd_optimizer *o); /* 0 or SD_EUSAGE */
const char *sd_optimizer_word(enum sd_optimizer o);

struct sd_model_fit {
    int64_t parameter_bytes, buffer_bytes;
    int64_t gradient_bytes;   /* of the parameters that are trained */
    int64_t optimizer_bytes;  /* its states */
    int64_t activation_bytes; /* of the batch that is asked for */
    int64_t total_bytes;
    int64_t
        largest_batch; /* that fits into `available`; 0: not even one; -1: unbounded */
    bool activations_measured; /* else summed up from what operators wrote */
    bool growth_measured; /* with twice the batch; else all grows as the batch does */
};

/* For `batch` samples, 0 for as many as were profiled: these are the fact "batch", or
 * the first axis of the model's input.  Parameters of which it is not known whether
 * they are trained (those of files) are.  available_bytes 0: not asked. */
void sd_model_fit(const struct sd_model_costs *costs, enum sd_optimizer optimizer,
                  int64_t batch, int64_t available_bytes, struct sd_model_fit *fit);
const char *
sd_model_fit_growth(const struct sd_model_fit *fit); /* "measured", "assumed" */
/* What of it is beyond 64 bits, or NULL. */
const char *sd_model_fit_beyond(const struct sd_model_fit *fit);
#endif
