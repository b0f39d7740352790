/* SPDX-License-Identifier: MIT */
#include "analyse/model/model_fit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/model/model_view.h"
#include "base/error.h"

static const struct {
    const char *word;
    int64_t n_states, state_bytes;
} optimizers[] = {
#define OPTIMIZER(name, word, n_states, state_bytes) { word, n_states, state_bytes },
#include "analyse/model/optimizers.def"
#undef OPTIMIZER
};

static const char all_words[] = /* each with ", " before it */
#define OPTIMIZER(name, word, n_states, state_bytes) ", " word
#include "analyse/model/optimizers.def"
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
    return sd_fail(SD_EUSAGE, "there is no optimizer '%s'; the optimizers are %s", word,
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

    for (size_t i = 0; i < m->n_ops; i++)
        if (!m->ops[i].is_backward)
            all = sd_plus(all, sd_times(m->ops[i].n_calls,
                                        sd_op_cost(m, &m->ops[i]).written_bytes));
    return all;
}

/* A fact that is a whole number of at least `least`; else -1. */
static int64_t number_fact(const struct sd_model *m, const char *key, int64_t least)
{
    const char *text = sd_model_fact_of(m, key);
    char *end;
    long long v;

    if (!text)
        return -1;
    errno = 0;
    v = strtoll(text, &end, 10);
    return errno || end == text || *end || v < least ? -1 : v;
}

/* What is kept for a batch: `at_batch` for `batch` samples, `slope` for each further
 * `batch` of them. */
struct growth {
    int64_t batch, at_batch, slope;
    bool is_measured;
};

static struct growth growth_of(const struct sd_model *m, int64_t measured)
{
    int64_t batch = number_fact(m, "batch", 1);
    int64_t at_2 = number_fact(m, "activation_bytes_at_2", 0);
    struct growth g = { profiled_batch(m), measured, measured, false };

    if (measured == SD_MODEL_NONE)
        g.at_batch = g.slope = written_forward(m);
    else if (batch > 0 && at_2 >= measured)
        g = (struct growth){ batch, measured, at_2 - measured, true };
    return g;
}

/* at_batch + (batch / g->batch - 1) * slope, rounded up, without running over where the
 * result would not.  What grows faster than the batch is not less than nothing in a
 * small one. */
static int64_t kept_for(const struct growth *g, int64_t batch)
{
    __int128 more = ((__int128)batch - g->batch) * g->slope;
    __int128 v = g->at_batch + (more + (more > 0 ? g->batch - 1 : 0)) / g->batch;

    return v > INT64_MAX ? INT64_MAX : v < 0 ? 0 : (int64_t)v;
}

/* -1: any. */
static int64_t largest_batch(const struct growth *g, int64_t left)
{
    __int128 v;

    if (left < 0)
        return 0;
    if (g->slope == 0)
        return left < g->at_batch ? 0 : -1;
    v = (__int128)(left - g->at_batch) * g->batch;
    /* Division rounds to zero, which is up where there is less than is kept. */
    v = g->batch + (v - (v < 0 ? g->slope - 1 : 0)) / g->slope;
    return v > INT64_MAX ? INT64_MAX : v < 0 ? 0 : (int64_t)v;
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
        int64_t bytes = sd_model_tensor_bytes(t), state = bytes;

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
    int64_t kept = costs->total.activation_bytes, fixed;
    const struct growth g = growth_of(m, kept);

    *fit = (struct sd_model_fit){ .parameter_bytes = costs->total.param_bytes,
                                  .buffer_bytes = costs->total.buffer_bytes,
                                  .activations_measured = kept != SD_MODEL_NONE,
                                  .growth_measured = g.is_measured };
    set_states(m, optimizer, fit);
    fixed = sd_plus(sd_plus(fit->parameter_bytes, fit->buffer_bytes),
                    sd_plus(fit->gradient_bytes, fit->optimizer_bytes));
    fit->activation_bytes = kept_for(&g, batch > 0 ? batch : g.batch);
    fit->total_bytes = sd_plus(fixed, fit->activation_bytes);
    fit->largest_batch =
        available_bytes > 0 ? largest_batch(&g, available_bytes - fixed) : -1;
}

const char *sd_model_fit_growth(const struct sd_model_fit *fit)
{
    return fit->growth_measured ? "measured" : "assumed";
}

const char *sd_model_fit_beyond(const struct sd_model_fit *fit)
{
    const int64_t sums[] = { fit->parameter_bytes,  fit->buffer_bytes,
                             fit->gradient_bytes,   fit->optimizer_bytes,
                             fit->activation_bytes, fit->total_bytes };

    return sd_model_costs_sums_beyond(sums, sizeof sums / sizeof *sums);
}
