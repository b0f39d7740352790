/* SPDX-License-Identifier: MIT */
#include "analyse/model/model_costs.h"

#include <string.h>

#include "analyse/model/model_modes.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/table.h"

/* --- Sums */

/* Two measured things together; one that was not measured adds nothing. */
static int64_t plus_measured(int64_t a, int64_t b)
{
    if (a == SD_MODEL_NONE || b == SD_MODEL_NONE)
        return a == SD_MODEL_NONE ? b : a;
    return sd_plus(a, b);
}

/* What was not measured yet is not 0. */
static struct sd_model_sum nothing(void)
{
    return (struct sd_model_sum){ .time_ns = SD_MODEL_NONE,
                                  .backward_ns = SD_MODEL_NONE,
                                  .activation_bytes = SD_MODEL_NONE };
}

static void add(struct sd_model_sum *to, const struct sd_model_sum *s)
{
    to->params = sd_plus(to->params, s->params);
    to->trainable = sd_plus(to->trainable, s->trainable);
    to->buffers = sd_plus(to->buffers, s->buffers);
    to->param_bytes = sd_plus(to->param_bytes, s->param_bytes);
    to->buffer_bytes = sd_plus(to->buffer_bytes, s->buffer_bytes);
    to->macs = sd_plus(to->macs, s->macs);
    to->flops = sd_plus(to->flops, s->flops);
    to->madds = sd_plus(to->madds, s->madds);
    to->backward_macs = sd_plus(to->backward_macs, s->backward_macs);
    to->work = sd_plus(to->work, s->work);
    to->backward_work = sd_plus(to->backward_work, s->backward_work);
    to->moved_work += s->moved_work;
    to->mem_read = sd_plus(to->mem_read, s->mem_read);
    to->mem_write = sd_plus(to->mem_write, s->mem_write);
    to->read_bytes = sd_plus(to->read_bytes, s->read_bytes);
    to->written_bytes = sd_plus(to->written_bytes, s->written_bytes);
    to->activations = sd_plus(to->activations, s->activations);
    to->time_ns = plus_measured(to->time_ns, s->time_ns);
    to->backward_ns = plus_measured(to->backward_ns, s->backward_ns);
    to->activation_bytes = plus_measured(to->activation_bytes, s->activation_bytes);
    to->n_ops += s->n_ops;
    to->n_unknown += s->n_unknown;
    to->n_calls += s->n_calls;
    to->n_layers += s->n_layers;
}

const char *sd_model_costs_sums_beyond(const int64_t *sums, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (sums[i] == INT64_MAX)
            return "some sums need more than 64 bits: 9,223,372,036,854,775,807 means "
                   "that or more";
    return NULL;
}

const char *sd_model_costs_beyond(const struct sd_model_costs *costs)
{
    const struct sd_model_sum *t = &costs->total;
    const int64_t sums[] = {
        t->params,           t->trainable,  t->buffers,       t->param_bytes,
        t->buffer_bytes,     t->macs,       t->flops,         t->madds,
        t->backward_macs,    t->work,       t->backward_work, t->mem_read,
        t->mem_write,        t->read_bytes, t->written_bytes, t->activations,
        t->activation_bytes,
    };

    return sd_model_costs_sums_beyond(sums, sizeof sums / sizeof *sums);
}

/* --- What each layer has of its own */

static void add_tensor(struct sd_model_sum *s, const struct sd_model_tensor *t)
{
    int64_t elements = sd_dims_elements(t->dims), bytes = sd_model_tensor_bytes(t);

    if (t->flags & SD_TENSOR_TIED)
        return;
    if (t->flags & SD_TENSOR_BUFFER) {
        s->buffers = sd_plus(s->buffers, elements);
        s->buffer_bytes = sd_plus(s->buffer_bytes, bytes);
        return;
    }
    s->params = sd_plus(s->params, elements);
    s->param_bytes = sd_plus(s->param_bytes, bytes);
    if (t->flags & SD_TENSOR_TRAINABLE)
        s->trainable = sd_plus(s->trainable, elements);
}

/* What this record of an operator adds, with all its calls. */
static struct sd_model_sum sum_of(const struct sd_model *m, const struct sd_mode *mode,
                                  const struct sd_model_op *op, struct sd_cost c)
{
    struct sd_model_sum s = nothing();
    int64_t n = op->n_calls;

    s.n_ops = op->n_calls;
    s.n_unknown = c.known == SD_OP_UNKNOWN ? op->n_calls : 0;
    s.work = sd_times(n, c.flops);
    s.backward_work = op->is_backward ? s.work : 0;
    s.read_bytes = sd_times(n, c.read_bytes);
    s.written_bytes = sd_times(n, c.written_bytes);
    if (c.known == SD_OP_COUNTED && !op->is_backward && op->n_out > 0)
        s.activations = sd_times(n, sd_operand_elements(&op->out[0]));
    if (mode->layer && !mode->op)
        return s;
    if (mode->op) {
        c.macs = c.madds = mode->op(m, op, &c);
        c.flops = sd_times(2, c.macs);
    }
    s.macs = sd_times(n, c.macs);
    s.flops = sd_times(n, c.flops);
    s.madds = sd_times(n, c.madds);
    s.backward_macs = op->is_backward ? s.macs : 0;
    return s;
}

static void add_calls(const struct sd_model *m, const struct sd_mode *mode,
                      uint32_t layer, struct sd_model_sum *s)
{
    for (const struct sd_layer_call *c = m->layers[layer].calls; c; c = c->next) {
        struct sd_mode_counts one;
        int64_t n = mode->once ? 1 : c->n_calls;

        if (mode->once && c->next)
            continue;
        one = mode->layer(m, layer, c);
        s->macs = sd_plus(s->macs, sd_times(n, one.macs));
        s->flops = sd_plus(s->flops, sd_times(n, one.flops));
        s->madds = sd_plus(s->madds, sd_times(n, one.madds));
    }
}

static int64_t elements_of(const struct sd_operand *o, size_t n)
{
    int64_t all = 0;

    for (size_t i = 0; i < n; i++)
        all = sd_plus(all, sd_operand_elements(&o[i]));
    return all;
}

/* As metinor has it: of the last call; adaptive pooling is nothing to it. */
static void set_memory(const struct sd_model *m, uint32_t layer, int64_t params,
                       struct sd_model_sum *s)
{
    static const char adaptive[] = "Adaptive";
    const struct sd_layer_call *c = m->layers[layer].last_call;
    const char *type = sd_model_text(m, m->layers[layer].type);

    if (!c || !strncmp(type, adaptive, sizeof adaptive - 1))
        return;
    s->mem_read = sd_plus(elements_of(c->in, c->n_in), params);
    s->mem_write = elements_of(c->out, c->n_out);
}

/* --- Operators by name */

struct naming {
    struct sd_model_costs *costs;
    const bool *is_inside;  /* of each layer: are its operators named? */
    struct sd_table places; /* of a name among costs->operators, or types */
    size_t cap;
};

/* Which layers are this one or in it: a parent stands before its children.  The caller
 * frees it. */
static bool *find_inside(const struct sd_model *m, uint32_t outer)
{
    bool *is_inside = sd_zalloc(m->n_layers * sizeof *is_inside);

    sd_assert(outer < m->n_layers);
    for (size_t i = outer; is_inside && i < m->n_layers; i++)
        is_inside[i] = i == outer || is_inside[m->layers[i].parent];
    return is_inside;
}

static int named(struct naming *n, struct sd_model_group **list, size_t *n_list,
                 uint32_t name, struct sd_model_group **found)
{
    struct sd_model_group *grown;
    uint64_t at;
    int rc;

    if (sd_table_get(&n->places, name, &at)) {
        *found = &(*list)[at];
        return 0;
    }
    grown = sd_grow_array(*list, &n->cap, *n_list + 1, sizeof **list);
    if (!grown)
        return sd_no_memory();
    *list = grown;
    rc = sd_table_put(&n->places, name, *n_list);
    if (rc < 0)
        return rc;
    *found = &grown[(*n_list)++];
    sd_assert(*n_list <= n->cap);
    **found = (struct sd_model_group){ name, SD_OP_COUNTED, nothing() };
    return 0;
}

static int add_op(struct naming *n, const struct sd_mode *mode,
                  const struct sd_model_op *op)
{
    struct sd_model_costs *costs = n->costs;
    struct sd_model_group *by_name;
    struct sd_cost cost = sd_op_cost(costs->model, op);
    struct sd_model_sum s = sum_of(costs->model, mode, op, cost);
    int rc;

    sd_assert(op->layer < costs->model->n_layers);
    add(&costs->own[op->layer], &s);
    if (!n->is_inside[op->layer])
        return 0;
    rc = named(n, &costs->operators, &costs->n_operators, op->name, &by_name);
    if (rc < 0)
        return rc;
    add(&by_name->sum, &s);
    if (cost.known < by_name->known) /* one call without a rule is enough to say so */
        by_name->known = cost.known;
    return 0;
}

static int add_ops(struct sd_model_costs *costs, const struct sd_mode *mode,
                   uint32_t within)
{
    bool *is_inside = find_inside(costs->model, within);
    struct naming n = { .costs = costs, .is_inside = is_inside };
    int rc = is_inside ? 0 : sd_no_memory();

    for (size_t i = 0; i < costs->model->n_ops && rc == 0; i++)
        rc = add_op(&n, mode, &costs->model->ops[i]);
    sd_table_release(&n.places);
    sd_free(is_inside);
    return rc;
}

/* --- Layers */

static bool is_leaf(const struct sd_model *m, uint32_t layer)
{
    return m->layers[layer].flags & SD_LAYER_LEAF;
}

static void start_layer(const struct sd_model *m, uint32_t layer,
                        struct sd_model_sum *s)
{
    const struct sd_model_layer *l = &m->layers[layer];

    *s = nothing();
    s->n_calls = l->n_calls;
    s->n_layers = 1;
    s->time_ns = l->time_ns;
    s->backward_ns = l->backward_ns;
    s->activation_bytes = l->activation_bytes;
}

/* What a layer measured is with all that is in it; take that away. */
static void take_inner(int64_t *outer, int64_t inner)
{
    if (*outer == SD_MODEL_NONE || inner == SD_MODEL_NONE)
        return;
    *outer = *outer > inner ? *outer - inner : 0;
}

static void own_times(struct sd_model_costs *costs)
{
    const struct sd_model *m = costs->model;

    for (size_t i = 1; i < m->n_layers; i++) {
        struct sd_model_sum *outer = &costs->own[m->layers[i].parent];

        take_inner(&outer->time_ns, m->layers[i].time_ns);
        take_inner(&outer->backward_ns, m->layers[i].backward_ns);
    }
}

static void add_tensors(struct sd_model_costs *costs)
{
    const struct sd_model *m = costs->model;

    for (size_t i = 0; i < m->n_tensors; i++)
        add_tensor(&costs->own[m->tensors[i].layer], &m->tensors[i]);
}

/* Of each layer the parameters that a call of it reads: to its layer a tied one is as
 * good as its own.  The caller frees it. */
static int64_t *find_read(const struct sd_model *m)
{
    int64_t *read = sd_zalloc(m->n_layers * sizeof *read);

    for (size_t i = 0; read && i < m->n_tensors; i++) {
        const struct sd_model_tensor *t = &m->tensors[i];

        if (!(t->flags & SD_TENSOR_BUFFER))
            read[t->layer] = sd_plus(read[t->layer], sd_dims_elements(t->dims));
    }
    return read;
}

static int add_leaves(struct sd_model_costs *costs, const struct sd_mode *mode)
{
    int64_t *read = find_read(costs->model);

    if (!read)
        return sd_no_memory();
    for (uint32_t i = 0; i < costs->model->n_layers; i++) {
        bool leaf = is_leaf(costs->model, i);

        if (leaf)
            set_memory(costs->model, i, read[i], &costs->own[i]);
        if (mode->layer && (leaf || (mode->whole && mode->whole(costs->model, i))))
            add_calls(costs->model, mode, i, &costs->own[i]);
    }
    sd_free(read);
    return 0;
}

/* A parent stands before its children, so from the end each is whole when it is added.
 */
static void sum_within(struct sd_model_costs *costs)
{
    const struct sd_model *m = costs->model;

    memcpy(costs->within, costs->own, m->n_layers * sizeof *costs->own);
    for (size_t i = m->n_layers; i-- > 1;)
        add(&costs->within[m->layers[i].parent], &costs->within[i]);
    for (size_t i = 0; i < m->n_layers; i++) {
        costs->within[i].n_calls = m->layers[i].n_calls;
        if (m->layers[i].time_ns != SD_MODEL_NONE)
            costs->within[i].time_ns = m->layers[i].time_ns;
        if (m->layers[i].backward_ns != SD_MODEL_NONE)
            costs->within[i].backward_ns = m->layers[i].backward_ns;
    }
}

/* --- Rows */

static bool is_row(const struct sd_model_costs *costs, uint32_t layer)
{
    const struct sd_model_sum *s = &costs->own[layer];

    return (is_leaf(costs->model, layer) && s->n_calls > 0) || s->params > 0 ||
           s->buffers > 0 || s->macs > 0 || s->madds > 0 || s->n_unknown > 0;
}

/* Those that were timed as one, because layers in them that ran when they were counted
 * did not run by themselves then: what those computed was done in that time. */
static void mark_whole(struct sd_model_costs *costs, bool *is_whole)
{
    const struct sd_model *m = costs->model;

    for (uint32_t i = 1; i < m->n_layers; i++) {
        int64_t work = costs->own[i].work - costs->own[i].backward_work;
        uint32_t at = i;

        if (m->layers[i].n_calls == 0 || m->layers[i].time_ns != SD_MODEL_NONE)
            continue;
        while (at != SD_MODEL_ROOT && m->layers[at].time_ns == SD_MODEL_NONE)
            at = m->layers[at].parent;
        if (m->layers[at].time_ns == SD_MODEL_NONE || work == INT64_MAX)
            continue; /* nothing was timed, or nobody knows how much there is */
        is_whole[at] = true;
        costs->own[at].moved_work = sd_plus(costs->own[at].moved_work, work);
        costs->own[i].moved_work -= work;
    }
}

/* Layers by the order of their first calls; counting places instead of sorting. */
static int order_layers(const struct sd_model *m, uint32_t **order)
{
    size_t n = m->n_layers, at = 0;
    uint32_t *by_order;

    *order = sd_alloc(n * sizeof **order);
    by_order = sd_zalloc((n + 1) * sizeof *by_order);
    if (!*order || !by_order) {
        sd_free(by_order);
        return sd_no_memory();
    }
    for (uint32_t i = 0; i < n; i++)
        if (m->layers[i].order > 0 && m->layers[i].order <= n)
            by_order[m->layers[i].order] = i + 1;
    for (size_t i = 1; i <= n; i++)
        if (by_order[i] > 0)
            (*order)[at++] = by_order[i] - 1;
    for (uint32_t i = 0; i < n && at < n; i++) { /* never called, or a damaged order */
        uint32_t o = m->layers[i].order;

        if (o == 0 || o > n || by_order[o] != i + 1)
            (*order)[at++] = i;
    }
    sd_free(by_order);
    return 0;
}

static int add_rows(struct sd_model_costs *costs)
{
    struct naming types = { .costs = costs };
    bool *is_whole = sd_zalloc(costs->model->n_layers * sizeof *is_whole);
    uint32_t *order = NULL;
    int rc = is_whole ? order_layers(costs->model, &order) : sd_no_memory();

    if (is_whole)
        mark_whole(costs, is_whole);
    for (size_t i = 0; i < costs->model->n_layers && rc == 0; i++) {
        uint32_t layer = order[i];
        struct sd_model_group *type;

        if (!is_row(costs, layer) && !is_whole[layer])
            continue;
        costs->rows[costs->n_rows++] =
            (struct sd_model_row){ layer, costs->own[layer] };
        sd_assert(costs->n_rows <= costs->model->n_layers);
        rc = named(&types, &costs->types, &costs->n_types,
                   costs->model->layers[layer].type, &type);
        if (rc == 0)
            add(&type->sum, &costs->own[layer]);
    }
    sd_table_release(&types.places);
    sd_free(order);
    sd_free(is_whole);
    return rc;
}

static void set_total(struct sd_model_costs *costs)
{
    const struct sd_model_sum *t = &costs->total;

    costs->total = costs->within[SD_MODEL_ROOT];
    costs->total.n_layers = (uint32_t)costs->n_rows;
    sd_assert(t->n_unknown <= t->n_ops);
    costs->coverage =
        t->n_ops > 0 ? 1.0 - (double)t->n_unknown / (double)t->n_ops : 1.0;
}

static int make_room(struct sd_model_costs *costs)
{
    size_t n = costs->model->n_layers;

    costs->rows = sd_zalloc(n * sizeof *costs->rows);
    costs->own = sd_zalloc(n * sizeof *costs->own);
    costs->within = sd_zalloc(n * sizeof *costs->within);
    return costs->rows && costs->own && costs->within ? 0 : sd_no_memory();
}

/* A number without the backward would be taken for one with it. */
static int check_mode(const struct sd_model *m, enum sd_model_mode mode)
{
    if (!sd_model_mode_is_of_modules(mode))
        return 0;
    for (size_t i = 0; i < m->n_ops; i++)
        if (m->ops[i].is_backward)
            return sd_fail(SD_EUSAGE,
                           "%s counts modules only, not the backward pass; count only "
                           "the forward pass",
                           sd_model_mode_name(mode));
    return 0;
}

int sd_model_costs(const struct sd_model *m, enum sd_model_mode mode,
                   struct sd_model_costs *costs)
{
    return sd_model_costs_within(m, mode, SD_MODEL_ROOT, costs);
}

int sd_model_costs_within(const struct sd_model *m, enum sd_model_mode mode,
                          uint32_t layer, struct sd_model_costs *costs)
{
    const struct sd_mode *how = sd_model_mode_of(mode);
    int rc;

    sd_assert(m->n_layers > 0 && layer < m->n_layers);
    *costs = (struct sd_model_costs){ .model = m, .mode = mode };
    rc = check_mode(m, mode);
    if (rc == 0)
        rc = make_room(costs);
    if (rc < 0)
        goto out;
    for (uint32_t i = 0; i < m->n_layers; i++)
        start_layer(m, i, &costs->own[i]);
    own_times(costs);
    add_tensors(costs);
    rc = add_leaves(costs, how);
    if (rc == 0)
        rc = add_ops(costs, how, layer);
    if (rc < 0)
        goto out;
    sum_within(costs);
    rc = add_rows(costs);
    set_total(costs);
out:
    if (rc < 0)
        sd_model_costs_release(costs);
    return rc;
}

void sd_model_costs_release(struct sd_model_costs *costs)
{
    sd_free(costs->rows);
    sd_free(costs->own);
    sd_free(costs->within);
    sd_free(costs->types);
    sd_free(costs->operators);
    *costs = (struct sd_model_costs){ 0 };
}
