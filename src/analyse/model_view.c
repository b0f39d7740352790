/* SPDX-License-Identifier: MIT */
#include "analyse/model_view.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

/* --- Words */

const char *sd_model_title(const struct sd_model *m)
{
    const char *type = sd_model_text(m, m->layers[SD_MODEL_ROOT].type);
    const char *path = sd_model_fact_of(m, "path");
    const char *slash = path ? strrchr(path, '/') : NULL;

    if (*type)
        return type;
    return slash && slash[1] ? slash + 1 : path ? path : "model";
}

bool sd_model_knows_training(const struct sd_model *m)
{
    const char *source = sd_model_fact_of(m, "source");

    return !source || strncmp(source, "torch", 5) == 0;
}

static void put_dims(struct sd_buf *to, struct sd_dims d)
{
    if (d.n == 0)
        sd_buf_text(to, "scalar");
    for (uint32_t i = 0; i < d.n; i++) {
        sd_buf_text(to, i ? "×" : "");
        if (d.d[i] < 0)
            sd_buf_text(to, "?");
        else
            sd_buf_printf(to, "%lld", (long long)d.d[i]);
    }
}

static const char *kept(struct sd_arena *a, struct sd_buf *text)
{
    const char *copy =
        text->bad ? NULL : sd_arena_string(a, sd_buf_string(text), text->n);

    sd_buf_release(text);
    return copy;
}

const char *sd_operands_text(struct sd_arena *a, const struct sd_operand *o, size_t n)
{
    enum { MOST = 4 };
    struct sd_buf text = { 0 };
    size_t n_put = 0;

    for (size_t i = 0; i < n; i++) {
        if (o[i].kind != SD_OPERAND_TENSOR && o[i].kind != SD_OPERAND_MEMBER)
            continue;
        if (n_put++ >= MOST)
            continue;
        sd_buf_text(&text, n_put > 1 ? ", " : "");
        put_dims(&text, o[i].dims);
    }
    if (n_put > MOST)
        sd_buf_printf(&text, ", %zu more", n_put - MOST);
    return kept(a, &text);
}

static const char *layer_name(const struct sd_model *m, uint32_t layer)
{
    const char *name = sd_model_text(m, m->layers[layer].name);

    return *name ? name : layer == SD_MODEL_ROOT ? sd_model_title(m) : "?";
}

/* Inside its parent a layer goes by the rest of its name. */
static const char *short_name(const struct sd_model *m, uint32_t layer)
{
    const char *name = layer_name(m, layer);
    const char *above = sd_model_text(m, m->layers[m->layers[layer].parent].name);
    size_t n = strlen(above);

    if (layer != SD_MODEL_ROOT && n > 0 && strncmp(name, above, n) == 0 &&
        name[n] == '.' && name[n + 1])
        return name + n + 1;
    return name;
}

/* --- Columns of layers, types and operators */

enum column {
    NAME,
    TYPE,
    INPUT,
    OUTPUT,
    LAYERS,
    CALLS,
    PARAMS,
    TRAINABLE,
    BUFFERS,
    MACS,
    FLOPS,
    MADDS,
    BACKWARD_MACS,
    SHARE,
    ADDED_UP,
    MEM_READ,
    MEM_WRITE,
    PARAM_BYTES,
    READ_BYTES,
    WRITTEN_BYTES,
    INTENSITY,
    ACTIVATION_BYTES,
    TIME,
    BACKWARD_TIME,
    RATE,
    PEAK,
    RULE,
    N_COLUMNS
};

static const struct sd_column all_columns[N_COLUMNS] = {
    [NAME] = { "layer", "its name in the model", SD_CELL_TEXT, false, 0 },
    [TYPE] = { "type", "its class", SD_CELL_TEXT, false, 0 },
    [INPUT] = { "input", "shapes of what it was first called with", SD_CELL_TEXT, false,
                5 },
    [OUTPUT] = { "output", "shapes of what that gave", SD_CELL_TEXT, false, 3 },
    [LAYERS] = { "layers", "how many there are", SD_CELL_COUNT, false, 0 },
    [CALLS] = { "calls", "how often it ran", SD_CELL_COUNT, false, 4 },
    [PARAMS] = { "params", "elements of parameters", SD_CELL_COUNT, false, 0 },
    [TRAINABLE] = { "params_trainable", "of these, with a gradient", SD_CELL_COUNT,
                    true, 6 },
    [BUFFERS] = { "buffers", "elements of buffers", SD_CELL_COUNT, true, 6 },
    [MACS] = { "macs", "multiply-adds of products", SD_CELL_COUNT, false, 0 },
    [FLOPS] = { "flops", "floating-point operations", SD_CELL_COUNT, true, 6 },
    [MADDS] = { "madds", "multiply-adds, as the mode counts", SD_CELL_COUNT, true, 6 },
    [BACKWARD_MACS] = { "backward_macs", "of the MACs, in the backward", SD_CELL_COUNT,
                        false, 5 },
    [SHARE] = { "share%", "of the model's", SD_CELL_PERCENT, false, 1 },
    [ADDED_UP] = { "sum%", "with all rows above", SD_CELL_PERCENT, false, 1 },
    [MEM_READ] = { "mem_read", "elements of inputs and parameters", SD_CELL_COUNT, true,
                   6 },
    [MEM_WRITE] = { "mem_write", "elements of outputs", SD_CELL_COUNT, true, 6 },
    [PARAM_BYTES] = { "bytes", "of parameters and buffers", SD_CELL_BYTES, false, 4 },
    [READ_BYTES] = { "read_bytes", "by its operators", SD_CELL_BYTES, true, 6 },
    [WRITTEN_BYTES] = { "written_bytes", "by its operators", SD_CELL_BYTES, true, 6 },
    [INTENSITY] = { "intensity", "FLOPs for each byte read or written", SD_CELL_REAL,
                    true, 6 },
    [ACTIVATION_BYTES] = { "activation_bytes", "kept for the backward", SD_CELL_BYTES,
                           false, 4 },
    [TIME] = { "runtime", "of one forward", SD_CELL_NS, false, 2 },
    [BACKWARD_TIME] = { "backward_time", "of one backward", SD_CELL_NS, false, 3 },
    [RATE] = { "gflops", "billions of FLOPs a second", SD_CELL_REAL, false, 3 },
    [PEAK] = { "peak%", "of what this machine can", SD_CELL_PERCENT, false, 3 },
    [RULE] = { "rule", "counted, free (no product in it), or none", SD_CELL_TEXT, false,
               0 },
};

/* What the cells of a row are made of. */
struct row {
    const struct sd_model_costs *costs;
    const struct sd_model_tables_wish *wish;
    struct sd_arena *arena;
    uint32_t layer; /* UINT32_MAX: of a type or operator */
    const char *name;
    const struct sd_model_sum *sum;
    enum sd_op_known known;
};

static struct sd_cell measured(enum sd_cell_kind kind, int64_t v)
{
    return v < 0 ? (struct sd_cell){ .kind = SD_CELL_NONE } : sd_cell_number(kind, v);
}

static double share_of(const struct sd_model_costs *c, const struct sd_model_sum *s,
                       enum sd_model_metric k)
{
    int64_t of = sd_model_metric_of(s, k), all = sd_model_metric_of(&c->total, k);

    return of > 0 && all > 0 ? 100.0 * (double)of / (double)all : 0;
}

static struct sd_cell text_cell(const char *text)
{
    return text ? sd_cell_text(text) : (struct sd_cell){ .kind = SD_CELL_NONE };
}

static struct sd_cell shapes_cell(const struct row *r, bool is_output)
{
    const struct sd_layer_call *call;

    if (r->layer == UINT32_MAX)
        return text_cell(NULL);
    call = r->costs->model->layers[r->layer].calls;
    if (!call)
        return text_cell(NULL);
    return text_cell(is_output ? sd_operands_text(r->arena, call->out, call->n_out)
                               : sd_operands_text(r->arena, call->in, call->n_in));
}

/* FLOPs a second in forward and backward, as far as they were timed.  FLOPs of the
 * backward count only with its time. */
double sd_model_rate(const struct sd_model_sum *s)
{
    double flops = (double)s->flops, ns = (double)s->time_ns;

    if (s->time_ns <= 0)
        return 0;
    if (s->backward_ns > 0)
        ns += (double)s->backward_ns;
    else
        flops -= 2.0 * (double)s->backward_macs;
    return flops / ns * 1e9;
}

static const char *rule_word(enum sd_op_known known)
{
    switch (known) {
    case SD_OP_UNKNOWN:
        return "none";
    case SD_OP_FREE:
        return "free";
    case SD_OP_COUNTED:
        break;
    }
    return "counted";
}

static struct sd_cell rate_cell(const struct row *r, bool is_share)
{
    double rate = sd_model_rate(r->sum);

    if (rate <= 0 || (is_share && r->wish->peak_flops <= 0))
        return text_cell(NULL);
    return is_share ? sd_cell_real(SD_CELL_PERCENT, 100 * rate / r->wish->peak_flops)
                    : sd_cell_real(SD_CELL_REAL, rate / 1e9);
}

static struct sd_cell intensity_cell(const struct sd_model_sum *s)
{
    int64_t bytes = sd_plus(s->read_bytes, s->written_bytes);

    return bytes > 0 ? sd_cell_real(SD_CELL_REAL, (double)s->flops / (double)bytes)
                     : text_cell(NULL);
}

static struct sd_cell cell_of(const struct row *r, enum column k)
{
    const struct sd_model *m = r->costs->model;
    const struct sd_model_sum *s = r->sum;

    switch (k) {
    case NAME:
        return text_cell(r->name);
    case TYPE:
        return r->layer == UINT32_MAX
                   ? text_cell(NULL)
                   : text_cell(sd_model_text(m, m->layers[r->layer].type));
    case INPUT:
        return shapes_cell(r, false);
    case OUTPUT:
        return shapes_cell(r, true);
    case LAYERS:
        return sd_cell_number(SD_CELL_COUNT, s->n_layers);
    case CALLS:
        return sd_cell_number(
            SD_CELL_COUNT, (int64_t)(r->layer == UINT32_MAX ? s->n_ops : s->n_calls));
    case PARAMS:
        return sd_cell_number(SD_CELL_COUNT, s->params);
    case TRAINABLE:
        return sd_cell_number(SD_CELL_COUNT, s->trainable);
    case BUFFERS:
        return sd_cell_number(SD_CELL_COUNT, s->buffers);
    case MACS:
        return sd_cell_number(SD_CELL_COUNT, s->macs);
    case FLOPS:
        return sd_cell_number(SD_CELL_COUNT, s->flops);
    case MADDS:
        return sd_cell_number(SD_CELL_COUNT, s->madds);
    case BACKWARD_MACS:
        return sd_cell_number(SD_CELL_COUNT, s->backward_macs);
    case SHARE:
        return sd_cell_real(SD_CELL_PERCENT, share_of(r->costs, s, r->wish->metric));
    case ADDED_UP:
        break; /* known when the rows are in order */
    case MEM_READ:
        return sd_cell_number(SD_CELL_COUNT, s->mem_read);
    case MEM_WRITE:
        return sd_cell_number(SD_CELL_COUNT, s->mem_write);
    case PARAM_BYTES:
        return sd_cell_number(SD_CELL_BYTES, sd_plus(s->param_bytes, s->buffer_bytes));
    case READ_BYTES:
        return sd_cell_number(SD_CELL_BYTES, s->read_bytes);
    case WRITTEN_BYTES:
        return sd_cell_number(SD_CELL_BYTES, s->written_bytes);
    case INTENSITY:
        return intensity_cell(s);
    case ACTIVATION_BYTES:
        return measured(SD_CELL_BYTES, s->activation_bytes);
    case TIME:
        return measured(SD_CELL_NS, s->time_ns);
    case BACKWARD_TIME:
        return measured(SD_CELL_NS, s->backward_ns);
    case RATE:
        return rate_cell(r, false);
    case PEAK:
        return rate_cell(r, true);
    case RULE:
        return text_cell(rule_word(r->known));
    case N_COLUMNS:
        break;
    }
    return text_cell(NULL);
}

/* --- Which columns a table has */

static const enum column operator_columns[] = {
    NAME, CALLS, MACS, FLOPS, BACKWARD_MACS, SHARE, READ_BYTES, WRITTEN_BYTES, RULE,
};

struct choice {
    enum column at[N_COLUMNS];
    bool is_dull[N_COLUMNS]; /* true, but nothing that a person looks for */
    size_t n;
};

static bool applies(const struct sd_model_costs *c,
                    const struct sd_model_tables_wish *w, enum column k)
{
    const struct sd_model_sum *t = &c->total;

    switch (k) {
    case TIME:
    case RATE:
        return t->time_ns >= 0;
    case PEAK:
        return t->time_ns >= 0 && w->peak_flops > 0;
    case BACKWARD_TIME:
        return t->backward_ns >= 0;
    case BACKWARD_MACS:
        return t->backward_macs > 0;
    case ACTIVATION_BYTES:
        return t->activation_bytes >= 0;
    case ADDED_UP:
        return w->has_impact;
    case INPUT:
    case OUTPUT:
    case CALLS:
    case MACS:
    case FLOPS:
    case MADDS:
    case MEM_READ:
    case MEM_WRITE:
    case READ_BYTES:
    case WRITTEN_BYTES:
    case INTENSITY:
        return c->model->n_ops > 0; /* a file of weights alone has none */
    default:
        return true;
    }
}

/* Every layer was called once; bytes of weights beside what they are used for. */
static bool is_dull(const struct sd_model_costs *c, enum column k)
{
    if (k == PARAM_BYTES)
        return c->model->n_ops > 0;
    if (k != CALLS)
        return false;
    for (size_t i = 0; i < c->n_rows; i++)
        if (c->rows[i].sum.n_calls > 1)
            return false;
    return true;
}

static void choose(const struct sd_model_costs *c, const struct sd_model_tables_wish *w,
                   const enum column *from, size_t n, struct choice *to)
{
    to->n = 0;
    for (size_t i = 0; i < n; i++)
        if (applies(c, w, from[i])) {
            to->is_dull[to->n] = from != operator_columns && is_dull(c, from[i]);
            to->at[to->n++] = from[i];
        }
}

static struct sd_view_table *add(struct sd_view *v, const char *name, const char *title,
                                 const struct choice *ch, const char *first,
                                 size_t n_rows)
{
    struct sd_column columns[N_COLUMNS];

    for (size_t i = 0; i < ch->n; i++) {
        columns[i] = all_columns[ch->at[i]];
        columns[i].is_hidden_in_text |= ch->is_dull[i];
    }
    columns[0].name = first;
    return sd_view_add(v, name, title, columns, ch->n, n_rows);
}

static void fill(struct sd_view_table *t, size_t at, const struct choice *ch,
                 const struct row *r)
{
    for (size_t k = 0; k < ch->n; k++)
        *sd_view_cell(t, at, k) = cell_of(r, ch->at[k]);
}

/* --- Layers */

static const enum column layer_columns[] = {
    NAME,          TYPE,          INPUT,
    OUTPUT,        CALLS,         PARAMS,
    TRAINABLE,     BUFFERS,       MACS,
    FLOPS,         MADDS,         BACKWARD_MACS,
    SHARE,         ADDED_UP,      MEM_READ,
    MEM_WRITE,     PARAM_BYTES,   READ_BYTES,
    WRITTEN_BYTES, INTENSITY,     ACTIVATION_BYTES,
    TIME,          BACKWARD_TIME, RATE,
    PEAK,
};

static bool is_wanted(const struct sd_model *m, uint32_t layer, const char *type)
{
    return !type || strcmp(sd_model_text(m, m->layers[layer].type), type) == 0;
}

static size_t count_wanted(const struct sd_model_costs *c, const char *type)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_rows; i++)
        n += is_wanted(c->model, c->rows[i].layer, type);
    return n;
}

static int no_such_type(const struct sd_model_costs *c, const char *type)
{
    struct sd_buf there = { 0 };
    int rc;

    for (size_t i = 0; i < c->n_types; i++)
        sd_buf_printf(&there, "%s%s", i ? ", " : "",
                      sd_model_text(c->model, c->types[i].name));
    rc = sd_fail(SD_EUSAGE, "no layer is a %s; there are: %s", type,
                 sd_buf_string(&there));
    sd_buf_release(&there);
    return rc;
}

static int add_layers(const struct sd_model_costs *c,
                      const struct sd_model_tables_wish *w, struct sd_view *v)
{
    size_t n = count_wanted(c, w->type), at = 0;
    struct sd_view_table *t;
    struct choice ch;

    if (w->type && n == 0)
        return no_such_type(c, w->type);
    choose(c, w, layer_columns, sizeof layer_columns / sizeof *layer_columns, &ch);
    t = add(v, "layers", "Layers", &ch, "layer", n);
    if (!t)
        return sd_no_memory();
    for (size_t i = 0; i < c->n_rows; i++) {
        const struct sd_model_row *row = &c->rows[i];

        if (!is_wanted(c->model, row->layer, w->type))
            continue;
        fill(t, at++, &ch,
             &(struct row){ .costs = c,
                            .wish = w,
                            .arena = &v->arena,
                            .layer = row->layer,
                            .name = layer_name(c->model, row->layer),
                            .sum = &row->sum });
    }
    return 0;
}

/* --- Layers as a tree: in the order of their first calls, each behind what holds it */

struct walk {
    const struct sd_model_costs *costs;
    const struct sd_model_tables_wish *wish;
    uint32_t *first, *next; /* child of each layer, and its next sibling; owned */
    uint32_t *order;        /* layers, depth first; owned */
    int32_t *row;           /* of each layer, or -1; owned */
    size_t n;
};

static void walk_release(struct walk *k)
{
    sd_free(k->first);
    sd_free(k->next);
    sd_free(k->order);
    sd_free(k->row);
}

static int walk_init(struct walk *k)
{
    size_t n = k->costs->model->n_layers;

    k->first = sd_alloc(n * sizeof *k->first);
    k->next = sd_alloc(n * sizeof *k->next);
    k->order = sd_alloc(n * sizeof *k->order);
    k->row = sd_alloc(n * sizeof *k->row);
    if (!k->first || !k->next || !k->order || !k->row)
        return sd_no_memory();
    for (size_t i = 0; i < n; i++) {
        k->first[i] = k->next[i] = UINT32_MAX;
        k->row[i] = -1;
    }
    return 0;
}

static bool comes_before(const struct sd_model *m, uint32_t a, uint32_t b)
{
    uint32_t x = m->layers[a].order, y = m->layers[b].order;

    if (x != y && x && y)
        return x < y;
    return x && !y ? true : !x && y ? false : a < b;
}

/* Siblings are few; a list that is kept in order is enough, and looking from its newest
 * end would need another array. */
static void link_children(struct walk *k)
{
    const struct sd_model *m = k->costs->model;

    for (uint32_t i = (uint32_t)m->n_layers; i-- > 1;) {
        uint32_t *at = &k->first[m->layers[i].parent];

        while (*at != UINT32_MAX && comes_before(m, *at, i))
            at = &k->next[*at];
        k->next[i] = *at;
        *at = i;
    }
}

/* Depth first without a stack: down to the first child, else to the next sibling of the
 * nearest that has one. */
static void list_in_order(struct walk *k)
{
    const struct sd_model *m = k->costs->model;
    uint32_t at = SD_MODEL_ROOT, depth = 0, most = k->wish->depth;

    while (k->n < m->n_layers) {
        k->row[at] = (int32_t)k->n;
        k->order[k->n++] = at;
        if (k->first[at] != UINT32_MAX && (!most || depth < most)) {
            at = k->first[at];
            depth++;
            continue;
        }
        while (at != SD_MODEL_ROOT && k->next[at] == UINT32_MAX) {
            at = m->layers[at].parent;
            depth--;
        }
        if (at == SD_MODEL_ROOT)
            return;
        at = k->next[at];
    }
}

static int put_tree(struct walk *k, struct sd_view *v)
{
    const struct sd_model *m = k->costs->model;
    struct sd_view_table *t;
    struct choice ch;

    choose(k->costs, k->wish, layer_columns,
           sizeof layer_columns / sizeof *layer_columns, &ch);
    t = add(v, "layers", "Layers", &ch, "layer", k->n);
    if (!t)
        return sd_no_memory();
    t->parents = sd_arena_alloc(&v->arena, (k->n + 1) * sizeof *t->parents);
    if (!t->parents)
        return sd_no_memory();
    for (size_t i = 0; i < k->n; i++) {
        uint32_t layer = k->order[i];

        t->parents[i] = layer == SD_MODEL_ROOT ? -1 : k->row[m->layers[layer].parent];
        fill(t, i, &ch,
             &(struct row){ .costs = k->costs,
                            .wish = k->wish,
                            .arena = &v->arena,
                            .layer = layer,
                            .name = short_name(m, layer),
                            .sum = &k->costs->within[layer] });
    }
    return 0;
}

static int add_tree(const struct sd_model_costs *c,
                    const struct sd_model_tables_wish *w, struct sd_view *v)
{
    struct walk k = { .costs = c, .wish = w };
    int rc = walk_init(&k);

    if (rc == 0) {
        link_children(&k);
        list_in_order(&k);
        rc = put_tree(&k, v);
    }
    walk_release(&k);
    return rc;
}

/* --- Types, operators, and what has no rule */

static const enum column type_columns[] = {
    NAME,       LAYERS,        PARAMS,    TRAINABLE,        BUFFERS,   MACS,
    FLOPS,      MADDS,         SHARE,     MEM_READ,         MEM_WRITE, PARAM_BYTES,
    READ_BYTES, WRITTEN_BYTES, INTENSITY, ACTIVATION_BYTES, TIME,      BACKWARD_TIME,
    RATE,       PEAK,
};

static int add_named(const struct sd_model_costs *c,
                     const struct sd_model_tables_wish *w, struct sd_view *v,
                     bool is_types, bool is_unknown_only)
{
    const struct sd_model_named *from = is_types ? c->types : c->operators;
    size_t n = is_types ? c->n_types : c->n_operators, n_rows = 0, at = 0;
    struct sd_view_table *t;
    struct choice ch;

    for (size_t i = 0; i < n; i++)
        n_rows += !is_unknown_only || from[i].sum.n_unknown > 0;
    if (is_types)
        choose(c, w, type_columns, sizeof type_columns / sizeof *type_columns, &ch);
    else
        choose(c, w, operator_columns,
               sizeof operator_columns / sizeof *operator_columns, &ch);
    t = add(v,
            is_types          ? "types"
            : is_unknown_only ? "unsupported"
                              : "operators",
            is_types          ? "Types of layers"
            : is_unknown_only ? "Operators without a rule: nothing of them is counted"
                              : "Operators",
            &ch, is_types ? "type" : "operator", n_rows);
    if (!t)
        return sd_no_memory();
    for (size_t i = 0; i < n; i++)
        if (!is_unknown_only || from[i].sum.n_unknown > 0)
            fill(t, at++, &ch,
                 &(struct row){ .costs = c,
                                .wish = w,
                                .arena = &v->arena,
                                .layer = UINT32_MAX,
                                .name = sd_model_text(c->model, from[i].name),
                                .sum = &from[i].sum,
                                .known = from[i].known });
    return 0;
}

/* --- Tensors, and what they are made of */

static int add_tensors(const struct sd_model_costs *c, struct sd_view *v)
{
    static const struct sd_column columns[] = {
        { "tensor", "its name in the model", SD_CELL_TEXT, false, 0 },
        { "shape", "its axes", SD_CELL_TEXT, false, 0 },
        { "dtype", "what its elements are", SD_CELL_TEXT, false, 0 },
        { "params", "elements of a parameter", SD_CELL_COUNT, false, 0 },
        { "buffers", "elements of a buffer", SD_CELL_COUNT, true, 5 },
        { "bytes", "as stored", SD_CELL_BYTES, false, 1 },
        { "kind", "parameter, frozen, buffer, or tied to an earlier one", SD_CELL_TEXT,
          false, 2 },
    };
    const struct sd_model *m = c->model;
    struct sd_view_table *t =
        sd_view_add(v, "tensors", "Tensors", columns, sizeof columns / sizeof *columns,
                    m->n_tensors);

    if (!t)
        return sd_no_memory();
    for (size_t i = 0; i < m->n_tensors; i++) {
        const struct sd_model_tensor *x = &m->tensors[i];
        struct sd_operand o = { .dims = x->dims, .dtype = x->dtype };
        bool is_buffer = x->flags & SD_TENSOR_BUFFER,
             is_tied = x->flags & SD_TENSOR_TIED;
        int64_t n = is_tied ? 0 : sd_dims_elements(x->dims);

        *sd_view_cell(t, i, 0) = text_cell(sd_model_text(m, x->name));
        *sd_view_cell(t, i, 1) = text_cell(sd_operands_text(&v->arena, &o, 1));
        *sd_view_cell(t, i, 2) = text_cell(sd_dtype_about(x->dtype)->name);
        *sd_view_cell(t, i, 3) = sd_cell_number(SD_CELL_COUNT, is_buffer ? 0 : n);
        *sd_view_cell(t, i, 4) = sd_cell_number(SD_CELL_COUNT, is_buffer ? n : 0);
        *sd_view_cell(t, i, 5) =
            sd_cell_number(SD_CELL_BYTES, is_tied ? 0 : sd_tensor_bytes(x));
        *sd_view_cell(t, i, 6) =
            text_cell(is_tied     ? "tied"
                      : is_buffer ? "buffer"
                      : x->flags & SD_TENSOR_TRAINABLE || !sd_model_knows_training(m)
                          ? "parameter"
                          : "frozen");
    }
    return 0;
}

static int add_dtypes(const struct sd_model_costs *c, struct sd_view *v)
{
    static const struct sd_column columns[] = {
        { "dtype", "what elements are", SD_CELL_TEXT, false, 0 },
        { "tensors", "how many have it", SD_CELL_COUNT, false, 0 },
        { "elements", "of parameters and buffers", SD_CELL_COUNT, false, 0 },
        { "bytes", "as stored", SD_CELL_BYTES, false, 0 },
    };
    const struct sd_model *m = c->model;
    int64_t n[256] = { 0 }, elements[256] = { 0 }, bytes[256] = { 0 };
    struct sd_view_table *t;
    size_t n_rows = 0, at = 0;

    for (size_t i = 0; i < m->n_tensors; i++) {
        const struct sd_model_tensor *x = &m->tensors[i];

        if (x->flags & SD_TENSOR_TIED)
            continue;
        n_rows += n[x->dtype]++ == 0;
        elements[x->dtype] = sd_plus(elements[x->dtype], sd_dims_elements(x->dims));
        bytes[x->dtype] = sd_plus(bytes[x->dtype], sd_tensor_bytes(x));
    }
    t = sd_view_add(v, "dtypes", "Types of elements", columns,
                    sizeof columns / sizeof *columns, n_rows);
    if (!t)
        return sd_no_memory();
    for (size_t i = 0; i < 256; i++) {
        if (n[i] == 0)
            continue;
        *sd_view_cell(t, at, 0) = text_cell(sd_dtype_about((uint8_t)i)->name);
        *sd_view_cell(t, at, 1) = sd_cell_number(SD_CELL_COUNT, n[i]);
        *sd_view_cell(t, at, 2) = sd_cell_number(SD_CELL_COUNT, elements[i]);
        *sd_view_cell(t, at++, 3) = sd_cell_number(SD_CELL_BYTES, bytes[i]);
    }
    return 0;
}

/* --- All of them */

static const char *const table_names[] = { "layers",      "types",   "operators",
                                           "unsupported", "tensors", "dtypes",
                                           NULL };

static bool names(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; *at;
         at += strcspn(at, ",") + (*(at + strcspn(at, ",")) == ','))
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || !at[n]))
            return true;
    return false;
}

static int check_names(const char *list)
{
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, ","), i = 0;

        while (table_names[i] &&
               (strlen(table_names[i]) != n || strncmp(at, table_names[i], n) != 0))
            i++;
        if (!table_names[i])
            return sd_fail(SD_EUSAGE,
                           "there is no table \"%.*s\" of a model; there are layers, "
                           "types, operators, unsupported, tensors, dtypes",
                           (int)n, at);
        at += n + (at[n] == ',');
    }
    return 0;
}

static const char *usual_tables(const struct sd_model_costs *c)
{
    if (c->model->n_ops == 0)
        return "tensors,dtypes"; /* weights alone */
    return c->total.n_unknown > 0 ? "layers,types,unsupported" : "layers,types";
}

static void add_up(struct sd_view_table *t)
{
    size_t share = 0, sum = 0;
    double all = 0;

    for (size_t k = 0; k < t->n_columns; k++) {
        if (strcmp(t->columns[k].name, all_columns[SHARE].name) == 0)
            share = k;
        if (strcmp(t->columns[k].name, all_columns[ADDED_UP].name) == 0)
            sum = k;
    }
    for (size_t i = 0; sum && i < t->n_rows; i++) {
        all += sd_view_cell(t, i, share)->real;
        *sd_view_cell(t, i, sum) = sd_cell_real(SD_CELL_PERCENT, all);
    }
}

/* The newest table of the view, sorted and cut. */
static int finish(const struct sd_model_tables_wish *w, struct sd_view *v,
                  const char *name)
{
    struct sd_view_table *t = &v->tables[v->n_tables - 1];
    bool is_impact = w->has_impact && strcmp(name, "layers") == 0;
    const char *key = is_impact ? "share%" : w->sort;
    bool has_key = false;
    int rc;

    for (size_t k = 0; key && k < t->n_columns; k++)
        has_key |= strcmp(t->columns[k].name, key + (*key == '-')) == 0;
    /* A column that only layers have is no error of the table of types. */
    if (key && !has_key && strcmp(name, "layers") != 0)
        key = NULL;
    rc = sd_view_table_sort(v, t, key, is_impact ? 0 : w->limit);
    if (rc == 0 && is_impact) {
        add_up(t);
        rc = sd_view_table_sort(v, t, NULL, w->limit);
    }
    return rc;
}

static int add_table(const struct sd_model_costs *c,
                     const struct sd_model_tables_wish *w, struct sd_view *v,
                     const char *name)
{
    if (strcmp(name, "layers") == 0)
        return w->is_tree ? add_tree(c, w, v) : add_layers(c, w, v);
    if (strcmp(name, "tensors") == 0)
        return add_tensors(c, v);
    if (strcmp(name, "dtypes") == 0)
        return add_dtypes(c, v);
    return add_named(c, w, v, strcmp(name, "types") == 0,
                     strcmp(name, "unsupported") == 0);
}

int sd_model_tables(const struct sd_model_costs *c,
                    const struct sd_model_tables_wish *w, struct sd_view *v)
{
    const char *list = w->tables       ? w->tables
                       : w->is_tree    ? "layers"
                       : w->has_impact ? "layers"
                                       : usual_tables(c);
    int rc = check_names(list);

    for (size_t i = 0; rc == 0 && table_names[i]; i++) {
        if (!names(list, table_names[i]))
            continue;
        rc = add_table(c, w, v, table_names[i]);
        if (rc == 0)
            rc = finish(w, v, table_names[i]);
    }
    return rc;
}
