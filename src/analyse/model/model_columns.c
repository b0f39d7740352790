/* SPDX-License-Identifier: MIT */
#include "analyse/model/model_tables.h"

#include <string.h>

#include "analyse/views.h"

/* --- The columns there are */

enum column {
#define COLUMN(name, heading, meaning, kind, is_hidden, rank) name,
#include "analyse/model/model_columns.def"
#undef COLUMN
    N_COLUMNS
};
_Static_assert((int)N_COLUMNS <= (int)SD_MODEL_COLUMNS_MAX,
               "a table may have them all");

static const struct sd_column all_columns[] = {
#define COLUMN(name, heading, meaning, kind, is_hidden, rank)                          \
    { heading, meaning, SD_CELL_##kind, is_hidden, rank },
#include "analyse/model/model_columns.def"
#undef COLUMN
};

/* --- What is in them */

struct sd_cell sd_model_column_text(const char *text)
{
    return text ? sd_cell_text(text) : (struct sd_cell){ .kind = SD_CELL_NONE };
}

double sd_model_column_rate(const struct sd_model_sum *s)
{
    double flops = (double)s->work + (double)s->moved_work, ns = (double)s->time_ns;

    if (s->time_ns <= 0)
        return 0;
    if (s->backward_ns > 0)
        ns += (double)s->backward_ns;
    else
        flops -= (double)s->backward_work;
    return flops / ns * 1e9;
}

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

static struct sd_cell shapes_cell(const struct sd_model_line *r, bool is_output)
{
    const struct sd_layer_call *call;

    if (r->layer == UINT32_MAX)
        return sd_model_column_text(NULL);
    call = r->costs->model->layers[r->layer].calls;
    if (!call)
        return sd_model_column_text(NULL);
    return sd_model_column_text(
        is_output ? sd_model_words_operands(r->arena, call->out, call->n_out)
                  : sd_model_words_operands(r->arena, call->in, call->n_in));
}

static const char *rule_word(enum sd_op_coverage known)
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

static struct sd_cell rate_cell(const struct sd_model_line *r, bool is_share)
{
    double rate = sd_model_column_rate(r->sum);

    if (rate <= 0 || (is_share && r->request->peak_flops <= 0))
        return sd_model_column_text(NULL);
    return is_share ? sd_cell_real(SD_CELL_PERCENT, 100 * rate / r->request->peak_flops)
                    : sd_cell_real(SD_CELL_REAL, rate / 1e9);
}

static struct sd_cell intensity_cell(const struct sd_model_sum *s)
{
    int64_t bytes = sd_plus(s->read_bytes, s->written_bytes);

    return bytes > 0 ? sd_cell_real(SD_CELL_REAL, (double)s->work / (double)bytes)
                     : sd_model_column_text(NULL);
}

static struct sd_cell cell_of(const struct sd_model_line *r, enum column k)
{
    const struct sd_model *m = r->costs->model;
    const struct sd_model_sum *s = r->sum;

    switch (k) {
    case NAME:
        return sd_model_column_text(r->name);
    case TYPE:
        return r->layer == UINT32_MAX
                   ? sd_model_column_text(NULL)
                   : sd_model_column_text(sd_model_text(m, m->layers[r->layer].type));
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
        return sd_cell_real(SD_CELL_PERCENT,
                            share_of(r->costs, s, r->request->model_metric));
    case ADDED_UP:
        break; /* known when the rows are in order */
    case MEM_READ:
        return sd_cell_number(SD_CELL_COUNT, s->mem_read);
    case MEM_WRITE:
        return sd_cell_number(SD_CELL_COUNT, s->mem_write);
    case PARAM_BYTES:
        return sd_cell_number(SD_CELL_BYTES, sd_plus(s->param_bytes, s->buffer_bytes));
    case WEIGHT_BYTES:
        return sd_cell_number(SD_CELL_BYTES, s->param_bytes);
    case BUFFER_BYTES:
        return sd_cell_number(SD_CELL_BYTES, s->buffer_bytes);
    case ACTIVATIONS:
        return sd_cell_number(SD_CELL_COUNT, s->activations);
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
        return sd_model_column_text(rule_word(r->known));
    case N_COLUMNS:
        break;
    }
    return sd_model_column_text(NULL);
}

/* --- Which of them a table has */

static const enum column layer_columns[] = {
    NAME,          TYPE,          INPUT,        OUTPUT,
    CALLS,         PARAMS,        TRAINABLE,    BUFFERS,
    MACS,          FLOPS,         MADDS,        BACKWARD_MACS,
    SHARE,         ADDED_UP,      MEM_READ,     MEM_WRITE,
    PARAM_BYTES,   WEIGHT_BYTES,  BUFFER_BYTES, READ_BYTES,
    WRITTEN_BYTES, INTENSITY,     ACTIVATIONS,  ACTIVATION_BYTES,
    TIME,          BACKWARD_TIME, RATE,         PEAK,
};

static const enum column type_columns[] = {
    NAME,       LAYERS,        PARAMS,    TRAINABLE,        BUFFERS,   MACS,
    FLOPS,      MADDS,         SHARE,     MEM_READ,         MEM_WRITE, PARAM_BYTES,
    READ_BYTES, WRITTEN_BYTES, INTENSITY, ACTIVATION_BYTES, TIME,      BACKWARD_TIME,
    RATE,       PEAK,
};

static const enum column operator_columns[] = {
    NAME, CALLS, MACS, FLOPS, BACKWARD_MACS, SHARE, READ_BYTES, WRITTEN_BYTES, RULE,
};

static const struct {
    const char *first; /* heading of the first column */
    const enum column *columns;
    size_t n;
} lists[] = {
#define LIST(first, columns)                                                           \
    {                                                                                  \
        first, columns, sizeof columns / sizeof *columns                               \
    }
    [SD_COLUMNS_OF_LAYERS] = LIST("layer", layer_columns),
    [SD_COLUMNS_OF_TYPES] = LIST("type", type_columns),
    [SD_COLUMNS_OF_OPERATORS] = LIST("operator", operator_columns),
#undef LIST
};

static bool applies(const struct sd_model_costs *c, const struct sd_view_request *w,
                    enum column k)
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
    case ACTIVATIONS:
        return sd_model_knows_operators(c->model);
    default:
        return true;
    }
}

/* Every layer was called once; bytes of weights beside what they are used for. */
static bool is_dull(const struct sd_model_costs *c, enum column k)
{
    if (k == PARAM_BYTES)
        return sd_model_knows_operators(c->model);
    if (k != CALLS)
        return false;
    for (size_t i = 0; i < c->n_rows; i++)
        if (c->rows[i].sum.n_calls > 1)
            return false;
    return true;
}

void sd_model_columns(const struct sd_model_costs *c, const struct sd_view_request *w,
                      enum sd_model_columns_of of, struct sd_model_columns *to)
{
    to->n = 0;
    to->first = lists[of].first;
    for (size_t i = 0; i < lists[of].n; i++) {
        enum column k = lists[of].columns[i];

        if (!applies(c, w, k))
            continue;
        to->is_dull[to->n] = of != SD_COLUMNS_OF_OPERATORS && is_dull(c, k);
        to->at[to->n++] = (uint8_t)k;
    }
}

struct sd_view_table *sd_model_columns_add(const struct sd_model_columns *from,
                                           struct sd_view *v, const char *name,
                                           size_t n_rows)
{
    struct sd_column columns[N_COLUMNS];

    for (size_t i = 0; i < from->n; i++) {
        columns[i] = all_columns[from->at[i]];
        columns[i].is_hidden_in_text |= from->is_dull[i];
    }
    columns[0].name = from->first;
    return sd_views_add(v, name, columns, from->n, n_rows);
}

void sd_model_columns_fill(const struct sd_model_columns *columns,
                           struct sd_view_table *t, size_t row,
                           const struct sd_model_line *line)
{
    for (size_t k = 0; k < columns->n; k++)
        *sd_view_cell(t, row, k) = cell_of(line, (enum column)columns->at[k]);
}

void sd_model_columns_add_up(struct sd_view_table *t)
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
