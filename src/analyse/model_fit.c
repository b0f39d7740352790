/* SPDX-License-Identifier: MIT */
/* model_fit: how much memory training takes.
 *
 * Parameters, buffers, a gradient for each trainable parameter, the optimizer's states,
 * and what the forward keeps for the backward, which grows with the batch.  What the
 * framework's allocator keeps in hand and the scratch memory of kernels come on top. */
#include "analyse/model.h"

#include <string.h>

#include "analyse/model_view.h"
#include "base/error.h"

static const struct {
    const char *word;
    int64_t n_states, state_bytes;
} optimizers[] = {
#define OPTIMIZER(name, word, n_states, state_bytes) { word, n_states, state_bytes },
#include "analyse/optimizers.def"
#undef OPTIMIZER
};

static const char all_words[] = /* each with ", " before it */
#define OPTIMIZER(name, word, n_states, state_bytes) ", " word
#include "analyse/optimizers.def"
#undef OPTIMIZER
    ;

const char *sd_optimizer_word(enum sd_optimizer o) { return optimizers[o].word; }

int sd_optimizer_named(const char *word, enum sd_optimizer *o)
{
    for (size_t i = 0; i < SD_OPTIMIZERS; i++)
        if (!strcmp(optimizers[i].word, word)) {
            *o = (enum sd_optimizer)i;
            return 0;
        }
    return sd_fail(SD_EUSAGE, "there is no optimizer named '%s': there are %s", word,
                   all_words + 2);
}

/* How many samples were profiled: the first axis of what the model was called with. */
static int64_t profiled_batch(const struct sd_model *m)
{
    const struct sd_layer_call *c = m->layers[SD_MODEL_ROOT].calls;

    for (size_t i = 0; c && i < c->n_in; i++)
        if (c->in[i].dims.n > 0 && c->in[i].dims.d[0] > 0)
            return c->in[i].dims.d[0];
    return 1;
}

/* Without a measurement: what each operator of the forward wrote, which is what
 * autograd keeps when every operator keeps its result. */
static int64_t written_forward(const struct sd_model *m)
{
    int64_t all = 0;

    for (size_t i = 0; i < m->n_ops; i++) {
        struct sd_cost c;

        if (m->ops[i].is_backward)
            continue;
        sd_op_cost(m, &m->ops[i], &c);
        all = sd_plus(all, sd_times(m->ops[i].n_calls, c.written_bytes));
    }
    return all;
}

/* ceil(a * b / c) without running over where the result would not. */
static int64_t scaled(int64_t a, int64_t b, int64_t c)
{
    __int128 v = ((__int128)a * b + c - 1) / c;

    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* A file does not tell which parameters are trained: then all of them are. */
static bool is_trained(const struct sd_model *m, const struct sd_model_tensor *t)
{
    if (t->flags & (SD_TENSOR_BUFFER | SD_TENSOR_TIED))
        return false;
    return t->flags & SD_TENSOR_TRAINABLE || !sd_model_knows_training(m);
}

static void set_states(const struct sd_model *m, enum sd_optimizer optimizer,
                       struct sd_model_fit *fit)
{
    for (size_t i = 0; i < m->n_tensors; i++) {
        const struct sd_model_tensor *t = &m->tensors[i];
        int64_t bytes = sd_tensor_bytes(t), state = bytes;

        if (!is_trained(m, t))
            continue;
        if (optimizers[optimizer].state_bytes > 0)
            state =
                sd_times(sd_dims_elements(t->dims), optimizers[optimizer].state_bytes);
        fit->gradient_bytes = sd_plus(fit->gradient_bytes, bytes);
        fit->optimizer_bytes = sd_plus(fit->optimizer_bytes,
                                       sd_times(optimizers[optimizer].n_states, state));
    }
}

void sd_model_fit(const struct sd_model_costs *costs, enum sd_optimizer optimizer,
                  int64_t batch, int64_t available_bytes, struct sd_model_fit *fit)
{
    const struct sd_model *m = costs->model;
    int64_t kept = costs->total.activation_bytes, had = profiled_batch(m), fixed;

    *fit = (struct sd_model_fit){ .parameter_bytes = costs->total.param_bytes,
                                  .buffer_bytes = costs->total.buffer_bytes,
                                  .activations_measured = kept != SD_MODEL_NONE };
    set_states(m, optimizer, fit);
    if (!fit->activations_measured)
        kept = written_forward(m);
    fixed = sd_plus(sd_plus(fit->parameter_bytes, fit->buffer_bytes),
                    sd_plus(fit->gradient_bytes, fit->optimizer_bytes));
    fit->activation_bytes = scaled(kept, batch > 0 ? batch : had, had);
    fit->total_bytes = sd_plus(fixed, fit->activation_bytes);
    fit->largest_batch = -1;
    if (available_bytes > 0 && kept > 0)
        fit->largest_batch =
            available_bytes > fixed
                ? (int64_t)((__int128)(available_bytes - fixed) * had / kept)
                : 0;
    else if (available_bytes > 0 && fixed > available_bytes)
        fit->largest_batch = 0;
}
