/* SPDX-License-Identifier: MIT */
#include "cli/model/model_put.h"

#include <string.h>

#include "base/text.h"
#include "cli/learn/verb_help.h"
#include "cli/say.h"
#include "outputs/tables.h"

/* --- As text */

static void put_escaped(struct sd_out *out, const char *text)
{
    struct sd_buf shown = { 0 };

    sd_text_escape(&shown, text, strlen(text));
    sd_out_text(out, sd_made(out, &shown));
    sd_buf_release(&shown);
}

/* Sums stop at the largest number. */
static const char *at_least(int64_t n) { return n == INT64_MAX ? "at least " : ""; }

/* "ResNet18: 11,689,512 parameters (44.6 MiB), 1,814,073,344 MACs, ..." */
static void put_totals(struct sd_out *out, const struct sd_model_costs *c)
{
    const struct sd_model_sum *t = &c->total;
    char n[4][SD_TEXT_MAX];

    put_escaped(out, sd_model_words_title(c->model));
    sd_out_printf(out, ": %s%s parameters (%s)", at_least(t->params),
                  sd_text_count(n[0], t->params), sd_text_bytes(n[1], t->param_bytes));
    if (t->trainable != t->params && sd_model_knows_training(c->model))
        sd_out_printf(out, ", %s of them trainable", sd_text_count(n[0], t->trainable));
    if (t->buffers > 0)
        sd_out_printf(out, ", %s in buffers", sd_text_count(n[0], t->buffers));
    if (sd_model_knows_operators(c->model))
        sd_out_printf(out, "; %s%s MACs, %s%s FLOPs", at_least(t->macs),
                      sd_text_count(n[2], t->macs), at_least(t->flops),
                      sd_text_count(n[3], t->flops));
    if (t->backward_macs > 0)
        sd_out_printf(out, ", of them %s MACs in the backward",
                      sd_text_count(n[2], t->backward_macs));
    sd_out_text(out, "\n");
}

/* The whole was timed by itself, without the hooks that layers are timed by. */
static int64_t whole_ns(const struct sd_model *m, const char *key, int64_t of_layers)
{
    const char *told = sd_model_fact_of(m, key);
    uint64_t ns;

    return told && sd_text_parse_number(told, &ns) ? (int64_t)ns : of_layers;
}

static void put_measured(struct sd_out *out, const struct sd_model_costs *c)
{
    const struct sd_model_sum *t = &c->total;
    int64_t forward = whole_ns(c->model, "forward_ns", t->time_ns);
    int64_t backward = whole_ns(c->model, "backward_ns", t->backward_ns);
    const char *grad = sd_model_fact_of(c->model, "timed_grad");
    char n[2][SD_TEXT_MAX];

    if (t->time_ns >= 0)
        sd_out_printf(out, "forward %s", sd_text_duration(n[0], forward));
    if (t->time_ns >= 0 && grad)
        sd_out_printf(out, " (grad %s)", strcmp(grad, "on") == 0 ? "on" : "off");
    if (t->time_ns >= 0 && t->backward_ns >= 0)
        sd_out_printf(out, ", backward %s", sd_text_duration(n[0], backward));
    if (t->activation_bytes >= 0)
        sd_out_printf(out, "%sactivations kept for the backward %s",
                      t->time_ns >= 0 ? "; " : "",
                      sd_text_bytes(n[1], t->activation_bytes));
    if (t->time_ns >= 0 || t->activation_bytes >= 0)
        sd_out_text(out, "\n");
}

static void put_facts(struct sd_out *out, const struct sd_model *m)
{
    static const char *const keys[] = { "source", "only", "device", "mode", "ran_on" };
    bool has_any = false;

    for (size_t i = 0; i < m->n_facts; i++)
        if (strcmp(sd_model_text(m, m->facts[i].key), "input") == 0) {
            sd_out_text(out, has_any ? "; input " : "input ");
            put_escaped(out, sd_model_text(m, m->facts[i].value));
            has_any = true;
        }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = sd_model_fact_of(m, keys[i]);

        if (!value)
            continue;
        sd_out_printf(out, "%s%s", has_any ? "; " : "",
                      strcmp(keys[i], "ran_on") == 0 ? "counted on "
                      : strcmp(keys[i], "only") == 0 ? "only "
                                                     : "");
        put_escaped(out, value);
        has_any = true;
    }
    sd_out_text(out, has_any ? "\n" : "");
}

static const char no_operators[] =
    "No operator is known of this model: what it computes is not counted.";

/* Calls that are not counted although their operator has a rule: a shape is missing, or
 * does not fit it. */
static uint64_t count_unfit(const struct sd_model_costs *c)
{
    uint64_t n = 0;

    for (size_t i = 0; i < c->n_operators; i++)
        if (sd_op_known(sd_model_text(c->model, c->operators[i].name)) != SD_OP_UNKNOWN)
            n += c->operators[i].sum.n_unknown;
    return n;
}

/* What the counts are, and what they lack. */
static void put_counting(struct sd_out *out, const struct sd_model_costs *c)
{
    const struct sd_model_sum *t = &c->total;
    struct sd_buf text = { 0 };
    uint64_t unfit = count_unfit(c);
    char n[2][SD_TEXT_MAX];

    if (sd_model_knows_operators(c->model)) {
        sd_buf_printf(&text, "\nCounted as %s: %s\n", sd_model_mode_name(c->mode),
                      sd_model_mode_definition(c->mode));
        if (t->n_ops == 0)
            sd_buf_text(&text, "No operator was seen.\n");
        else if (t->n_unknown == 0)
            sd_buf_text(&text, "Every operator has a rule (coverage 1).\n");
        else
            sd_buf_printf(&text,
                          "%s of %s calls of operators %s (coverage %.4f): what they "
                          "cost is not in the sums.\n",
                          sd_text_count(n[0], (int64_t)t->n_unknown),
                          sd_text_count(n[1], (int64_t)t->n_ops),
                          unfit == 0              ? "have no rule"
                          : unfit == t->n_unknown ? "have shapes that are not known"
                                                  : "have no rule, or shapes that are "
                                                    "not known",
                          c->coverage);
    } else {
        sd_buf_printf(&text, "\n%s\n", no_operators);
    }
    for (size_t i = 0; i < c->model->n_notes; i++) {
        const char *note = sd_model_text(c->model, c->model->notes[i]);

        sd_text_escape(&text, note, strlen(note));
        sd_buf_text(&text, "\n");
    }
    if (text.n > 0)
        text.n--; /* its last new line is put below */
    sd_put_wrapped(out, sd_made(out, &text), 0, 0);
    sd_buf_release(&text);
}

/* Some layers keep more in training (dropout its masks), so the mode is told. */
static void put_how_it_ran(struct sd_out *out, const struct sd_model *m,
                           const struct sd_model_fit *fit)
{
    const char *mode = sd_model_fact_of(m, "mode");

    if (!mode || !fit->activations_measured)
        return;
    sd_out_text(out, strcmp(mode, "train") == 0
                         ? "Activations are those of training mode.\n"
                         : "Activations are those of evaluation mode: training may "
                           "keep more.\n");
}

static void put_fit(struct sd_out *out, const struct sd_model_costs *c,
                    const struct sd_model_fit_request *w)
{
    struct sd_model_fit fit;
    char text[SD_TEXT_MAX];
    const struct {
        const char *name;
        const int64_t *bytes;
    } rows[] = {
        { "parameters", &fit.parameter_bytes },   { "buffers", &fit.buffer_bytes },
        { "gradients", &fit.gradient_bytes },     { "optimizer", &fit.optimizer_bytes },
        { "activations", &fit.activation_bytes }, { "in all", &fit.total_bytes }
    };

    sd_model_fit(c, w->optimizer, w->batch, w->available_bytes, &fit);
    sd_out_printf(out, "\nTraining with %s, a batch of %s\n",
                  sd_optimizer_word(w->optimizer),
                  w->batch > 0 ? sd_text_count(text, w->batch) : "the profiled size");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        sd_out_printf(
            out, "  %-12s %12s%s\n", rows[i].name, sd_text_bytes(text, *rows[i].bytes),
            rows[i].bytes == &fit.activation_bytes && !fit.activations_measured
                ? "  (all that operators wrote: not measured)"
            : *rows[i].bytes == INT64_MAX ? "  (at least)"
                                          : "");
    put_how_it_ran(out, c->model, &fit);
    if (!fit.growth_measured)
        sd_out_text(out,
                    "This assumes that activations grow in proportion to the batch.\n");
    if (!sd_model_knows_training(c->model))
        sd_out_text(out, "The file does not say which parameters are trained, so all "
                         "of them count as trained.\n");
    if (w->available_bytes <= 0)
        return;
    sd_out_printf(out, "Of %s: ", sd_text_bytes(text, w->available_bytes));
    if (fit.largest_batch < 0)
        sd_out_text(out, "any batch fits, nothing grows with it.\n");
    else if (fit.largest_batch == 0)
        sd_out_text(out, "not even a batch of 1 fits.\n");
    else
        sd_out_printf(out, "the largest batch that fits is %s.\n",
                      sd_text_count(text, fit.largest_batch));
}

void sd_model_put_text(struct sd_out *out, const struct sd_model_costs *c,
                       const struct sd_view *v, const struct sd_model_fit_request *fit,
                       const struct sd_text_style *style)
{
    put_totals(out, c);
    put_measured(out, c);
    put_facts(out, c->model);
    sd_out_text(out, v->n_tables ? "\n" : "");
    sd_tables_put_text(out, v, style);
    if (fit->is_asked)
        put_fit(out, c, fit);
    put_counting(out, c);
}

/* --- For programs */

static void key_number(struct sd_json *j, const char *key, int64_t v)
{
    sd_json_key(j, key);
    if (v < 0)
        sd_json_null(j);
    else
        sd_json_int(j, v);
}

/* What operators do and move is not known where none is, nor is what a file does not
 * tell. */
static void put_sums(struct sd_json *j, const struct sd_model_costs *c)
{
    const struct sd_model_sum *t = &c->total;
    bool has_ops = sd_model_knows_operators(c->model);

    key_number(j, "params", t->params);
    key_number(j, "trainable", sd_model_knows_training(c->model) ? t->trainable : -1);
    key_number(j, "buffers", t->buffers);
    key_number(j, "param_bytes", t->param_bytes);
    key_number(j, "buffer_bytes", t->buffer_bytes);
    key_number(j, "macs", has_ops ? t->macs : -1);
    key_number(j, "flops", has_ops ? t->flops : -1);
    key_number(j, "madds", has_ops ? t->madds : -1);
    key_number(j, "backward_macs", has_ops ? t->backward_macs : -1);
    key_number(j, "mem_read", has_ops ? t->mem_read : -1);
    key_number(j, "mem_write", has_ops ? t->mem_write : -1);
    key_number(j, "read_bytes", has_ops ? t->read_bytes : -1);
    key_number(j, "written_bytes", has_ops ? t->written_bytes : -1);
    key_number(j, "activation_bytes", t->activation_bytes);
    key_number(j, "time_ns", t->time_ns);
    key_number(j, "backward_time_ns", t->backward_ns);
    key_number(j, "operator_calls", has_ops ? (int64_t)t->n_ops : -1);
}

static void put_words(struct sd_json *j, const struct sd_model *m)
{
    sd_json_key_array(j, "inputs");
    for (size_t i = 0; i < m->n_facts; i++)
        if (strcmp(sd_model_text(m, m->facts[i].key), "input") == 0)
            sd_json_string(j, sd_model_text(m, m->facts[i].value));
    sd_json_end(j);
    sd_json_key_object(j, "facts");
    for (size_t i = 0; i < m->n_facts; i++)
        if (strcmp(sd_model_text(m, m->facts[i].key), "input") != 0)
            sd_json_key_string(j, sd_model_text(m, m->facts[i].key),
                               sd_model_text(m, m->facts[i].value));
    sd_json_end(j);
    sd_json_key_array(j, "notes");
    if (!sd_model_knows_operators(m))
        sd_json_string(j, no_operators);
    for (size_t i = 0; i < m->n_notes; i++)
        sd_json_string(j, sd_model_text(m, m->notes[i]));
    sd_json_end(j);
}

static void put_unsupported(struct sd_json *j, const struct sd_model_costs *c)
{
    sd_json_key_object(j, "unsupported");
    for (size_t i = 0; i < c->n_operators; i++)
        if (c->operators[i].sum.n_unknown > 0)
            sd_json_key_uint(j, sd_model_text(c->model, c->operators[i].name),
                             c->operators[i].sum.n_unknown);
    sd_json_end(j);
}

static void put_fit_json(struct sd_json *j, const struct sd_model_costs *c,
                         const struct sd_model_fit_request *w)
{
    struct sd_model_fit fit;

    sd_model_fit(c, w->optimizer, w->batch, w->available_bytes, &fit);
    sd_json_key_object(j, "fit");
    sd_json_key_string(j, "optimizer", sd_optimizer_word(w->optimizer));
    key_number(j, "batch", w->batch);
    key_number(j, "parameter_bytes", fit.parameter_bytes);
    key_number(j, "buffer_bytes", fit.buffer_bytes);
    key_number(j, "gradient_bytes", fit.gradient_bytes);
    key_number(j, "optimizer_bytes", fit.optimizer_bytes);
    key_number(j, "activation_bytes", fit.activation_bytes);
    key_number(j, "total_bytes", fit.total_bytes);
    sd_json_key_bool(j, "activations_measured", fit.activations_measured);
    sd_json_key_string(j, "activations_grow", sd_model_fit_growth(&fit));
    if (w->available_bytes > 0)
        key_number(j, "largest_batch", fit.largest_batch);
    sd_json_end(j);
}

void sd_model_put_json(struct sd_out *out, const struct sd_model_costs *c,
                       const struct sd_view *v, const struct sd_model_fit_request *fit)
{
    struct sd_json j;

    sd_json_init(&j, out, true);
    sd_json_object(&j);
    sd_json_key_string(&j, "model", sd_model_words_title(c->model));
    put_sums(&j, c);
    key_number(&j, "forward_ns", whole_ns(c->model, "forward_ns", c->total.time_ns));
    sd_json_key_string(&j, "count", sd_model_mode_name(c->mode));
    sd_json_key_string(&j, "definition", sd_model_mode_definition(c->mode));
    sd_json_key(&j, "coverage");
    if (sd_model_knows_operators(c->model))
        sd_json_real(&j, c->coverage);
    else
        sd_json_null(&j); /* of operators that nobody knows */
    put_unsupported(&j, c);
    put_words(&j, c->model);
    if (fit->is_asked)
        put_fit_json(&j, c, fit);
    for (size_t i = 0; i < v->n_tables; i++)
        if (strcmp(v->tables[i].name, "unsupported") != 0)
            sd_report_table_json(&j, &v->tables[i]);
    for (size_t i = 0; i < v->n_drawings; i++)
        sd_report_drawing_json(&j, &v->drawings[i]);
    sd_json_end(&j);
    sd_out_text(out, "\n");
}
