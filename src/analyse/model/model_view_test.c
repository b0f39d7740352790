/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "analyse/model/model_view.h"
#include "base/error.h"
#include "base/test.h"

/* Net: conv1 (Conv2d), layer1.fc (Linear) behind it, and an operator of its own that
 * nobody knows.  conv1: 8·4·9·16·16 = 73,728 MACs; fc: 8·10 = 80. */
struct net {
    struct sd_model m;
    uint32_t conv, layer1, fc;
};

static struct sd_operand tensor(const int64_t *d, uint32_t n, bool is_weight)
{
    return (struct sd_operand){ .dims = { d, n },
                                .dtype = (uint8_t)sd_dtype_named("float32", 7),
                                .is_weight = is_weight };
}

static void add_op(struct net *n, const char *name, uint32_t layer,
                   const struct sd_operand *in, size_t n_in,
                   const struct sd_operand *out)
{
    struct sd_model_op op = { .layer = layer, .given_macs = -1 };

    CHECK(sd_model_word(&n->m, name, &op.name) == 0);
    CHECK(sd_model_op(&n->m, &op, in, n_in, out, 1, NULL, 0) == 0);
}

static void add_weight(struct net *n, const char *name, uint32_t layer,
                       const int64_t *d, uint32_t n_d, uint16_t flags)
{
    struct sd_model_tensor t = { .layer = layer,
                                 .flags = flags,
                                 .dtype = (uint8_t)sd_dtype_named("float32", 7),
                                 .dims = { d, n_d },
                                 .bytes = -1 };

    CHECK(sd_model_word(&n->m, name, &t.name) == 0);
    CHECK(sd_model_tensor(&n->m, &t) == 0);
}

static void make(struct net *n)
{
    static const int64_t image[] = { 1, 4, 16, 16 }, kernel[] = { 8, 4, 3, 3 },
                         maps[] = { 1, 8, 16, 16 }, row[] = { 1, 8 },
                         matrix[] = { 10, 8 }, turned[] = { 8, 10 }, bias[] = { 10 },
                         result[] = { 1, 10 };
    struct sd_operand in[3], out;
    uint32_t root_type;

    CHECK(sd_model_init(&n->m) == 0);
    CHECK(sd_model_word(&n->m, "Net", &root_type) == 0);
    sd_model_set_type(&n->m, SD_MODEL_ROOT, root_type);
    CHECK(sd_model_layer(&n->m, "conv1", 5, "Conv2d", 0, &n->conv) == 0);
    CHECK(sd_model_layer(&n->m, "layer1", 6, "Sequential", 0, &n->layer1) == 0);
    CHECK(sd_model_layer(&n->m, "layer1.fc", 9, "Linear", n->layer1, &n->fc) == 0);
    n->m.layers[n->conv].flags |= SD_LAYER_LEAF;
    n->m.layers[n->fc].flags |= SD_LAYER_LEAF;
    add_weight(n, "conv1.weight", n->conv, kernel, 4,
               SD_TENSOR_PARAMETER | SD_TENSOR_TRAINABLE);
    add_weight(n, "layer1.fc.weight", n->fc, matrix, 2, SD_TENSOR_PARAMETER);
    add_weight(n, "layer1.fc.count", n->fc, bias, 1, SD_TENSOR_BUFFER);
    in[0] = tensor(image, 4, false);
    in[1] = tensor(kernel, 4, true);
    out = tensor(maps, 4, false);
    sd_model_entered(&n->m, SD_MODEL_ROOT);
    add_op(n, "aten::convolution", n->conv, in, 2, &out);
    CHECK(sd_model_called(&n->m, n->conv, in, 1, &out, 1) == 0);
    in[0] = tensor(bias, 1, true);
    in[1] = tensor(row, 2, false);
    in[2] = tensor(turned, 2, true);
    out = tensor(result, 2, false);
    sd_model_entered(&n->m, n->layer1);
    add_op(n, "aten::addmm", n->fc, in, 3, &out);
    CHECK(sd_model_called(&n->m, n->fc, in + 1, 1, &out, 1) == 0);
    add_op(n, "mine::odd", SD_MODEL_ROOT, &out, 1, &out);
}

static const struct sd_view_table *table(const struct sd_view *v, const char *name)
{
    for (size_t i = 0; i < v->n_tables; i++)
        if (strcmp(v->tables[i].name, name) == 0)
            return &v->tables[i];
    return NULL;
}

static const struct sd_cell *cell(const struct sd_view_table *t, const char *row,
                                  const char *column)
{
    for (size_t i = 0; i < t->n_rows; i++)
        for (size_t k = 0; k < t->n_columns; k++)
            if (strcmp(sd_view_cell(t, i, 0)->text, row) == 0 &&
                strcmp(t->columns[k].name, column) == 0)
                return sd_view_cell(t, i, k);
    return NULL;
}

static enum sd_model_metric metric(const char *word)
{
    enum sd_model_metric k = 0;

    CHECK(sd_model_metric_named(word, &k) == 0);
    return k;
}

static int view(struct net *n, struct sd_view_request w, struct sd_view *v)
{
    struct sd_model_costs c;
    int rc;

    w.model_metric = metric("macs");
    w.is_short = true;
    CHECK(sd_model_costs(&n->m, SD_COUNT_MACS, &c) == 0);
    rc = sd_views_make_model(&c, &w, v);
    sd_model_costs_release(&c);
    return rc;
}

TEST(model_tables_have_layers_shares_types_and_what_has_no_rule)
{
    struct net n;
    struct sd_view v = { 0 };
    const struct sd_view_table *layers;

    make(&n);
    CHECK(view(&n, (struct sd_view_request){ 0 }, &v) == 0);
    layers = table(&v, "layers");
    CHECK(layers && layers->n_rows == 3 && v.n_tables == 3);
    CHECK(cell(layers, "conv1", "macs")->number == 73728);
    CHECK(cell(layers, "conv1", "flops")->number == 147456);
    CHECK(cell(layers, "layer1.fc", "params")->number == 80);
    CHECK(cell(layers, "layer1.fc", "params_trainable")->number == 0);
    CHECK(strcmp(cell(layers, "conv1", "output")->text, "1×8×16×16") == 0);
    CHECK(cell(layers, "conv1", "share%")->real > 99.8);
    CHECK(cell(layers, "Net", "macs")->number == 0);
    CHECK(cell(table(&v, "types"), "Linear", "macs")->number == 80);
    CHECK(table(&v, "unsupported")->n_rows == 1);
    CHECK(cell(table(&v, "unsupported"), "mine::odd", "calls")->number == 1);
    sd_view_release(&v);
    sd_model_release(&n.m);
}

TEST(model_tree_adds_up_what_a_layer_holds)
{
    struct net n;
    struct sd_view v = { 0 };
    const struct sd_view_table *t;

    make(&n);
    CHECK(view(&n, (struct sd_view_request){ .is_tree = true }, &v) == 0);
    t = table(&v, "layers");
    CHECK(t->n_rows == 4 && t->parents[0] == -1 && t->parents[3] == 2);
    CHECK(cell(t, "Net", "macs")->number == 73808);
    CHECK(cell(t, "layer1", "macs")->number == 80);
    CHECK(cell(t, "fc", "params")->number == 80);
    sd_view_release(&v);
    CHECK(view(&n, (struct sd_view_request){ .is_tree = true, .n_levels = 2 }, &v) ==
          0);
    CHECK(table(&v, "layers")->n_rows == 3);
    sd_view_release(&v);
    CHECK(view(&n, (struct sd_view_request){ .is_tree = true, .n_levels = 1 }, &v) ==
          0);
    t = table(&v, "layers"); /* the model alone, with all that is in it */
    CHECK(t->n_rows == 1 && cell(t, "Net", "macs")->number == 73808);
    sd_view_release(&v);
    sd_model_release(&n.m);
}

TEST(model_impact_falls_and_adds_up_to_all)
{
    struct net n;
    struct sd_view v = { 0 };
    const struct sd_view_table *t;

    make(&n);
    CHECK(view(&n, (struct sd_view_request){ .has_impact = true }, &v) == 0);
    t = table(&v, "layers");
    CHECK(v.n_tables == 1 && t->n_rows == 3);
    CHECK(strcmp(sd_view_cell(t, 0, 0)->text, "conv1") == 0);
    CHECK(cell(t, "layer1.fc", "sum%")->real > 99.999);
    sd_view_release(&v);
    sd_model_release(&n.m);
}

TEST(model_tables_refuse_names_that_there_are_not)
{
    struct net n;
    struct sd_view v = { 0 };

    make(&n);
    CHECK(view(&n, (struct sd_view_request){ .views = "layer" }, &v) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "operators"));
    CHECK(view(&n, (struct sd_view_request){ .type = "LSTM" }, &v) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "Conv2d, "));
    CHECK(view(&n,
               (struct sd_view_request){ .sort =
                                             (const char *const[]){ "weight", NULL } },
               &v) == SD_EUSAGE);
    sd_view_release(&v);
    sd_model_release(&n.m);
}

TEST(model_tensors_tell_shapes_kinds_and_bytes)
{
    struct net n;
    struct sd_view v = { 0 };
    const struct sd_view_table *t;

    make(&n);
    CHECK(view(&n, (struct sd_view_request){ .views = "tensors,dtypes" }, &v) == 0);
    t = table(&v, "tensors");
    CHECK(strcmp(cell(t, "conv1.weight", "shape")->text, "8×4×3×3") == 0);
    CHECK(strcmp(cell(t, "conv1.weight", "kind")->text, "parameter") == 0);
    CHECK(strcmp(cell(t, "layer1.fc.weight", "kind")->text, "frozen") == 0);
    CHECK(cell(t, "layer1.fc.count", "buffers")->number == 10);
    CHECK(cell(table(&v, "dtypes"), "float32", "bytes")->number == 4 * (288 + 80 + 10));
    sd_view_release(&v);
    sd_model_release(&n.m);
}

TEST(model_bars_are_sorted_and_cut_where_it_is_said)
{
    struct net n;
    struct sd_model_costs c;
    struct sd_arena a = { 0 };
    struct sd_view_bars b;
    struct sd_view_request w = { .model_metric = metric("params"), .limit = 1 };

    make(&n);
    CHECK(sd_model_costs(&n.m, SD_COUNT_MACS, &c) == 0);
    CHECK(sd_model_bars(&c, SD_MODEL_BARS_TOP, &w, &a, &b) == 0);
    CHECK(b.n_bars == 1 && strcmp(b.bars[0].name, "conv1") == 0);
    CHECK(b.bars[0].values[0] > 287 && strstr(b.note, "2 more"));
    w = (struct sd_view_request){ .model_metric = metric("macs") };
    CHECK(sd_model_bars(&c, SD_MODEL_BARS_IMPACT, &w, &a, &b) == 0);
    CHECK(b.n_bars == 2 && b.kind == SD_CELL_PERCENT);
    CHECK(b.bars[0].values[0] + b.bars[1].values[0] > 99.999);
    w = (struct sd_view_request){ .model_metric = metric("runtime") };
    CHECK(sd_model_bars(&c, SD_MODEL_BARS_LAYERS, &w, &a, &b) == SD_EUSAGE);
    w = (struct sd_view_request){ .model_metric = metric("macs"), .type = "LSTM" };
    CHECK(sd_model_bars(&c, SD_MODEL_BARS_LAYERS, &w, &a, &b) == SD_EABSENT);
    sd_arena_release(&a);
    sd_model_costs_release(&c);
    sd_model_release(&n.m);
}

TEST(model_map_has_a_box_for_each_layer_that_ran)
{
    struct net n;
    struct sd_model_costs c;
    struct sd_arena a = { 0 };
    struct sd_view_map m;

    make(&n);
    CHECK(sd_model_costs(&n.m, SD_COUNT_MACS, &c) == 0);
    CHECK(sd_model_map(&c, metric("macs"), 0, &a, &m) == 0);
    CHECK(m.n_boxes == 3 && m.n_links == 2);
    CHECK(strstr(m.note, "order"));
    /* What goes from one to another, where that is known. */
    CHECK(sd_model_edge(&n.m, n.conv, n.layer1) == 0);
    CHECK(sd_model_edge(&n.m, n.layer1, n.fc) == 0);
    CHECK(sd_model_map(&c, metric("macs"), 0, &a, &m) == 0);
    CHECK(m.n_boxes == 4 && m.n_links == 2 && !m.note);
    CHECK(sd_model_map(&c, metric("macs"), 2, &a, &m) == 0);
    CHECK(m.n_boxes == 3 && m.n_links == 1);
    CHECK(strcmp(m.boxes[2].name, "layer1") == 0);
    CHECK(strcmp(m.boxes[2].value, "80, 0.1 %") == 0);
    CHECK(strcmp(m.boxes[0].value, "") == 0); /* Net's own, not all that it holds */
    CHECK(sd_model_map(&c, metric("macs"), 1, &a, &m) == 0);
    CHECK(m.n_boxes == 1 && m.n_links == 0);
    CHECK(strstr(m.boxes[0].value, ", 100.0 %"));
    sd_arena_release(&a);
    sd_model_costs_release(&c);
    sd_model_release(&n.m);
}

TEST(model_pictures_of_weights_alone_have_no_macs)
{
    struct sd_model_tensor t = { .dims = { (int64_t[]){ 8 }, 1 },
                                 .dtype = SD_DTYPE_F32,
                                 .bytes = -1,
                                 .flags = SD_TENSOR_PARAMETER };
    struct sd_view_request w = { .model_metric = metric("params") };
    struct sd_model_costs c;
    struct sd_arena a = { 0 };
    struct sd_view_bars b;
    struct sd_view_map map;
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_model_tensor(&m, &t) == 0);
    CHECK(sd_model_costs(&m, SD_COUNT_MACS, &c) == 0);
    CHECK(c.n_rows == 1 && c.rows[0].sum.params == 8);
    CHECK(sd_model_bars(&c, SD_MODEL_BARS_TOP, &w, &a, &b) == 0);
    CHECK(strcmp(b.subtitle, "8 parameters") == 0);
    CHECK(sd_model_map(&c, metric("params"), 0, &a, &map) == 0);
    CHECK(strcmp(map.subtitle, "8 parameters") == 0);
    sd_arena_release(&a);
    sd_model_costs_release(&c);
    sd_model_release(&m);
}

/* What it comes from tells it from weights, not that it has no operators. */
TEST(a_model_that_runs_no_operator_is_counted_and_is_no_weights)
{
    struct sd_view_request w = { .model_metric = metric("macs"), .is_short = true };
    struct sd_model_costs c;
    struct sd_view v = { 0 };
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    CHECK(!sd_model_knows_operators(&m));
    CHECK(sd_model_fact(&m, "source", "torch 2.13.0") == 0);
    CHECK(!sd_model_knows_operators(&m)); /* nobody ran it */
    CHECK(sd_model_fact(&m, "ran_on", "meta") == 0);
    CHECK(sd_model_knows_operators(&m));
    m.layers[SD_MODEL_ROOT].flags |= SD_LAYER_LEAF;
    CHECK(sd_model_called(&m, SD_MODEL_ROOT, NULL, 0, NULL, 0) == 0);
    CHECK(sd_model_costs(&m, SD_COUNT_MACS, &c) == 0);
    CHECK(sd_views_make_model(&c, &w, &v) == 0);
    CHECK(v.n_tables == 2 && strcmp(v.tables[0].name, "layers") == 0);
    CHECK(cell(&v.tables[0], "model", "macs")->number == 0);
    sd_view_release(&v);
    sd_model_costs_release(&c);
    sd_model_release(&m);
}

TEST(a_models_dtype_is_that_of_most_of_its_parameters)
{
    struct sd_model_tensor t = { .dims = { (int64_t[]){ 8 }, 1 },
                                 .dtype = SD_DTYPE_F64,
                                 .bytes = -1,
                                 .flags = SD_TENSOR_PARAMETER };
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    CHECK(!strcmp(sd_model_words_dtype(&m), "float32"));
    CHECK(sd_model_tensor(&m, &t) == 0);
    CHECK(!strcmp(sd_model_words_dtype(&m), "float64"));
    t.dtype = SD_DTYPE_BF16;
    t.dims.d = (int64_t[]){ 9 };
    CHECK(sd_model_tensor(&m, &t) == 0);
    CHECK(!strcmp(sd_model_words_dtype(&m), "bfloat16"));
    t.dtype = SD_DTYPE_I64;
    t.dims.d = (int64_t[]){ 99 };
    t.flags = SD_TENSOR_BUFFER;
    CHECK(sd_model_tensor(&m, &t) == 0);
    CHECK(!strcmp(sd_model_words_dtype(&m), "bfloat16"));
    sd_model_release(&m);
}

/* --top N --metric M sorts by the column of that name. */
TEST(every_metric_that_applies_has_a_column_to_sort_by)
{
    struct net n;

    make(&n);
    for (enum sd_model_metric k = 0; k < SD_BY_END; k++) {
        struct sd_view v = { 0 };
        int rc;

        if (k == SD_BY_BACKWARD_MACS || k == SD_BY_ACTIVATION_BYTES ||
            k == SD_BY_RUNTIME || k == SD_BY_BACKWARD_TIME)
            continue; /* not there unless it was measured */
        rc = view(&n,
                  (struct sd_view_request){
                      .views = "layers",
                      .sort = (const char *const[]){ sd_model_metric_word(k), NULL } },
                  &v);
        CHECK(rc == 0);
        sd_view_release(&v);
    }
    sd_model_release(&n.m);
}

TEST(a_tree_is_of_all_layers)
{
    struct sd_view v = { 0 };
    struct net n;

    make(&n);
    CHECK(view(&n, (struct sd_view_request){ .is_tree = true, .type = "Conv2d" }, &v) ==
          SD_EUSAGE);
    sd_view_release(&v);
    CHECK(view(&n, (struct sd_view_request){ .is_tree = true, .has_impact = true },
               &v) == SD_EUSAGE);
    sd_view_release(&v);
    sd_model_release(&n.m);
}

/* Layers with rising numbers of parameters, more than are drawn. */
TEST(bars_that_are_not_drawn_are_counted_and_many_rows_are_sorted)
{
    enum { LAYERS = SD_BARS_MAX + 50 };
    struct sd_view_request w = { .model_metric = metric("params"),
                                 .limit = SD_BARS_MAX + 30 };
    struct sd_arena a = { 0 };
    struct sd_model_costs c;
    struct sd_view_bars b;
    struct sd_model m;
    uint32_t order[LAYERS];

    CHECK(sd_model_init(&m) == 0);
    for (int i = 0; i < LAYERS; i++) {
        int64_t side = i / 2 + 1; /* two of each */
        struct sd_model_tensor t = { .dims = { &side, 1 },
                                     .dtype = SD_DTYPE_F32,
                                     .bytes = -1,
                                     .flags = SD_TENSOR_PARAMETER };
        char name[16];

        snprintf(name, sizeof name, "l%d", i);
        CHECK(sd_model_layer_at(&m, name, strlen(name), &t.layer) == 0);
        CHECK(sd_model_tensor(&m, &t) == 0);
    }
    CHECK(sd_model_costs(&m, SD_COUNT_MACS, &c) == 0 && c.n_rows == LAYERS);
    sd_model_metric_order(&c, w.model_metric, SD_MODEL_LARGEST_FIRST, order);
    CHECK(order[0] == LAYERS - 2 && order[1] == LAYERS - 1 && order[LAYERS - 1] == 1);
    sd_model_metric_order(&c, w.model_metric, SD_MODEL_SMALLEST_FIRST, order);
    CHECK(order[0] == 0 && order[1] == 1 && order[LAYERS - 1] == LAYERS - 1);
    CHECK(sd_model_bars(&c, SD_MODEL_BARS_TOP, &w, &a, &b) == 0);
    CHECK(b.n_bars == SD_BARS_MAX && strcmp(b.note, "50 more are not drawn") == 0);
    sd_arena_release(&a);
    sd_model_costs_release(&c);
    sd_model_release(&m);
}
