/* SPDX-License-Identifier: MIT */
#include "analyse/model/model_costs.h"

#include <stdio.h>
#include <string.h>

#include "analyse/model/model_costs_testing.h"
#include "analyse/model/model_view.h"
#include "base/error.h"
#include "base/test.h"

static const int depths_18[] = { 2, 2, 2, 2 }, depths_50[] = { 3, 4, 6, 3 };

static struct sd_model_sum total(const struct sd_model *m, enum sd_model_mode mode)
{
    struct sd_model_costs costs;
    struct sd_model_sum sum;

    CHECK(sd_model_costs(m, mode, &costs) == 0);
    sum = costs.total;
    sd_model_costs_release(&costs);
    return sum;
}

/* What is known of a net: published, or given by the tools themselves. */
struct known {
    int64_t params, buffers, macs, fvcore, thop, hooks, aten, torchinfo;
};

static bool counts(struct sd_net *n, enum sd_model_mode mode, int64_t macs)
{
    struct sd_model_sum s = total(&n->m, mode);

    if (macs != 0 && s.macs != macs)
        fprintf(stderr, "%s: %lld, should be %lld\n", sd_model_mode_name(mode),
                (long long)s.macs, (long long)macs);
    return macs == 0 || (s.macs == macs && s.flops == 2 * macs && s.madds == macs);
}

static void check(struct sd_net *n, struct known k)
{
    struct sd_model_sum s = total(&n->m, SD_COUNT_MACS);

    CHECK(s.params == k.params && s.trainable == k.params && s.buffers == k.buffers);
    CHECK(s.n_unknown == 0);
    CHECK(counts(n, SD_COUNT_MACS, k.macs));
    CHECK(counts(n, SD_COUNT_FVCORE, k.fvcore));
    CHECK(counts(n, SD_COUNT_THOP, k.thop));
    CHECK(counts(n, SD_COUNT_PTFLOPS_HOOKS, k.hooks));
    CHECK(counts(n, SD_COUNT_PTFLOPS, k.aten));
    CHECK(counts(n, SD_COUNT_TORCHINFO, k.torchinfo));
    sd_net_end(n);
}

TEST(alexnet_counts_as_published_and_as_each_tool_counts_it)
{
    struct sd_net n;

    sd_net_alexnet(&n);
    check(&n, (struct known){ 61100840, 0, 714188480, 714197696, 714206912, 716441128,
                              714682664, 714682664 });
}

TEST(vgg16_counts_as_published_and_as_each_tool_counts_it)
{
    struct sd_net n;

    sd_net_vgg16(&n);
    check(&n, (struct known){ 138357544, 0, 15470264320, 15470289408, 15470314496,
                              15523225576, 15483821032, 15483821032 });
}

TEST(resnet18_counts_as_published_and_as_each_tool_counts_it)
{
    struct sd_net n;

    sd_net_resnet(&n, depths_18, false, 1, 64);
    check(&n, (struct known){ 11689512, 9620, 1814073344, 1819065856, 1824033792,
                              1825313768, 1814074344, 1814083944 });
}

TEST(resnet50_counts_as_published_and_as_each_tool_counts_it)
{
    struct sd_net n;

    sd_net_resnet(&n, depths_50, true, 1, 64);
    check(&n, (struct known){ 25557032, 53173, 4089184256, 4111512576, 4133742592,
                              4132436968, 4089185256, 4089238376 });
}

TEST(resnext50_counts_as_published_and_as_each_tool_counts_it)
{
    struct sd_net n;

    sd_net_resnet(&n, depths_50, true, 32, 128);
    check(&n, (struct known){ 25028904, 68277, 4230479872, 0, 4288184320, 4286878696,
                              4230480872, 4230549096 });
}

TEST(densenet121_counts_as_published_and_as_each_tool_counts_it)
{
    struct sd_net n;

    sd_net_densenet121(&n);
    check(&n, (struct known){ 7978856, 83769, 2834161664, 2865546752, 2897007104,
                              2899843048, 2834162664, 2834246312 });
}

TEST(squeezenet_counts_as_published_and_as_each_tool_counts_it)
{
    struct sd_net n;

    sd_net_squeezenet(&n);
    check(&n, (struct known){ 1248424, 0, 818924576, 819093576, 819094576, 836821960,
                              823270824, 823270824 });
}

TEST(mobilenet_v2_counts_as_published_and_as_each_tool_counts_it)
{
    struct sd_net n;

    sd_net_mobilenet_v2(&n);
    check(&n, (struct known){ 3504872, 34164, 300774272, 314193216, 327486720,
                              320300008, 300775272, 300809384 });
}

TEST(activations_are_the_elements_that_products_write)
{
    struct sd_net n;

    sd_net_resnet(&n, depths_18, false, 1, 64);
    CHECK(total(&n.m, SD_COUNT_MACS).activations == 2484712);
    sd_net_end(&n);
    sd_net_resnet(&n, depths_50, true, 1, 64);
    CHECK(total(&n.m, SD_COUNT_MACS).activations == 11114984);
    sd_net_end(&n);
    sd_net_vgg16(&n);
    CHECK(total(&n.m, SD_COUNT_MACS).activations == 13556712);
    sd_net_end(&n);
    sd_net_mobilenet_v2(&n);
    CHECK(total(&n.m, SD_COUNT_MACS).activations == 6679112);
    sd_net_end(&n);
}

static const struct sd_model_sum *row(const struct sd_model_costs *costs,
                                      const char *name)
{
    for (size_t i = 0; i < costs->n_rows; i++)
        if (!strcmp(sd_model_text(costs->model,
                                  costs->model->layers[costs->rows[i].layer].name),
                    name))
            return &costs->rows[i].sum;
    sd_test_failed(__FILE__, __LINE__, name);
    return NULL;
}

static bool row_is(const struct sd_model_costs *costs, const char *name, int64_t flops,
                   int64_t madds)
{
    const struct sd_model_sum *s = row(costs, name);

    return s->flops == flops && s->madds == madds;
}

TEST(metinor_counts_resnet18_to_its_printed_digits)
{
    struct sd_model_costs costs;
    struct sd_net n;

    sd_net_resnet(&n, depths_18, false, 1, 64);
    CHECK(sd_model_costs(&n.m, SD_COUNT_METINOR, &costs) == 0);
    CHECK(costs.n_rows == 52);
    CHECK(costs.total.flops == 1821399040 && costs.total.madds == 3638757912);
    CHECK(costs.total.mem_read == 18714664 && costs.total.mem_write == 6724584);
    CHECK(row_is(&costs, "conv1", 118013952, 235225088));
    CHECK(row(&costs, "conv1")->mem_read == 159936);
    CHECK(row(&costs, "conv1")->mem_write == 802816);
    CHECK(row_is(&costs, "bn1", 1605632, 3211264));
    CHECK(row(&costs, "bn1")->mem_read == 802944);
    CHECK(row_is(&costs, "relu", 802816, 802816));
    CHECK(row_is(&costs, "maxpool", 802816, 1605632));
    CHECK(row(&costs, "maxpool")->mem_write == 200704);
    CHECK(row_is(&costs, "layer4.1.conv2", 115605504, 231185920));
    CHECK(row(&costs, "layer4.1.conv2")->mem_read == 2384384);
    CHECK(row_is(&costs, "fc", 512000, 1023000));
    sd_model_costs_release(&costs);
    sd_net_end(&n);
}

TEST(memory_is_metinors_in_every_mode)
{
    struct sd_net n;

    sd_net_resnet(&n, depths_18, false, 1, 64);
    for (enum sd_model_mode mode = 0; mode < SD_COUNT_MODES; mode++)
        CHECK(total(&n.m, mode).mem_read == 18714664 &&
              total(&n.m, mode).mem_write == 6724584);
    sd_net_end(&n);
}

TEST(rows_stand_in_the_order_of_calls_and_add_up_to_the_total)
{
    struct sd_model_costs costs;
    struct sd_net n;
    int64_t params = 0, macs = 0;

    sd_net_resnet(&n, depths_18, false, 1, 64);
    CHECK(sd_model_costs(&n.m, SD_COUNT_MACS, &costs) == 0);
    CHECK(costs.n_rows == 52 && costs.coverage == 1.0);
    for (size_t i = 0; i < costs.n_rows; i++) {
        params += costs.rows[i].sum.params;
        macs += costs.rows[i].sum.macs;
    }
    CHECK(params == costs.total.params && macs == costs.total.macs);
    CHECK(!strcmp(sd_model_text(&n.m, n.m.layers[costs.rows[0].layer].name), "conv1"));
    CHECK(!strcmp(sd_model_text(&n.m, n.m.layers[costs.rows[51].layer].name), "fc"));
    CHECK(row(&costs, "layer1.0.relu")->n_calls == 2);
    sd_model_costs_release(&costs);
    sd_net_end(&n);
}

TEST(a_layers_sum_has_all_layers_in_it)
{
    struct sd_model_costs costs;
    struct sd_net n;
    uint32_t layer4;

    sd_net_resnet(&n, depths_18, false, 1, 64);
    CHECK(sd_model_costs(&n.m, SD_COUNT_MACS, &costs) == 0);
    layer4 = sd_model_find_layer(&n.m, "layer4", 6);
    CHECK(costs.within[layer4].params == 8393728);
    CHECK(costs.own[layer4].params == 0);
    CHECK(costs.within[SD_MODEL_ROOT].macs == 1814073344);
    sd_model_costs_release(&costs);
    sd_net_end(&n);
}

TEST(types_and_operators_are_summed_by_name)
{
    struct sd_model_costs costs;
    struct sd_net n;

    sd_net_resnet(&n, depths_18, false, 1, 64);
    CHECK(sd_model_costs(&n.m, SD_COUNT_MACS, &costs) == 0);
    CHECK(costs.n_types == 6);
    CHECK(!strcmp(sd_model_text(&n.m, costs.types[0].name), "Conv2d"));
    CHECK(costs.types[0].sum.n_layers == 20 && costs.types[0].sum.n_calls == 20);
    CHECK(!strcmp(sd_model_text(&n.m, costs.operators[0].name), "aten::convolution"));
    CHECK(costs.operators[0].sum.n_ops == 20);
    CHECK(costs.operators[0].sum.macs == 1814073344 - 512000);
    CHECK(costs.operators[0].known == SD_OP_COUNTED);
    CHECK(costs.operators[1].known == SD_OP_FREE);
    sd_model_costs_release(&costs);
    sd_net_end(&n);
}

TEST(an_operator_without_a_rule_gets_a_row_and_lowers_the_coverage)
{
    struct sd_model_costs costs;
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    SD_NET_OP(&m, "aten::mm", "8,64", "", "8,32", "32,64");
    SD_NET_OP(&m, "aten::special_bessel_j0", "8,64", "", "8,64");
    SD_NET_OP(&m, "aten::view", "512", "", "8,64");
    SD_NET_OP(&m, "mine::thing", "8,64", "", "8,64");
    CHECK(sd_model_costs(&m, SD_COUNT_MACS, &costs) == 0);
    CHECK(costs.coverage == 0.5 && costs.total.n_unknown == 2);
    CHECK(costs.n_rows == 1 && costs.rows[0].layer == SD_MODEL_ROOT);
    CHECK(costs.total.macs == 16384);
    CHECK(costs.operators[1].known == SD_OP_UNKNOWN);
    sd_model_costs_release(&costs);
    m.ops[1].given_macs = 5;
    m.ops[3].given_macs = 0;
    CHECK(sd_model_costs(&m, SD_COUNT_MACS, &costs) == 0);
    CHECK(costs.coverage == 1.0 && costs.total.macs == 16389);
    sd_model_costs_release(&costs);
    sd_model_release(&m);
}

TEST(weights_alone_are_rows_by_layer)
{
    struct sd_model_costs costs;
    struct sd_model m;
    struct sd_model_tensor t = { .flags = SD_TENSOR_PARAMETER,
                                 .dtype = SD_DTYPE_F16,
                                 .bytes = -1,
                                 .dims = { (const int64_t[]){ 3, 5 }, 2 } };

    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_model_layer_at(&m, "h.0.mlp", 7, &t.layer) == 0);
    CHECK(sd_model_tensor(&m, &t) == 0);
    t.flags |= SD_TENSOR_TIED;
    CHECK(sd_model_layer_at(&m, "head", 4, &t.layer) == 0);
    CHECK(sd_model_tensor(&m, &t) == 0);
    CHECK(sd_model_costs(&m, SD_COUNT_MACS, &costs) == 0);
    CHECK(costs.n_rows == 1 && costs.total.params == 15);
    CHECK(costs.total.param_bytes == 30 && costs.total.trainable == 0);
    CHECK(costs.coverage == 1.0);
    sd_model_costs_release(&costs);
    sd_model_release(&m);
}

TEST(rows_are_ordered_by_a_metric_and_equal_ones_stay)
{
    struct sd_model_costs costs;
    struct sd_net n;
    uint32_t order[64];
    enum sd_model_metric k;

    sd_net_resnet(&n, depths_18, false, 1, 64);
    CHECK(sd_model_costs(&n.m, SD_COUNT_MACS, &costs) == 0);
    CHECK(sd_model_metric_named("FLOPS", &k) == 0 && k == SD_BY_FLOPS);
    CHECK(sd_model_metric_named("flips", &k) == SD_EUSAGE);
    sd_model_metric_order(&costs, k, SD_MODEL_LARGEST_FIRST, order);
    CHECK(order[0] == 0); /* conv1 */
    CHECK(sd_model_metric_of(&costs.rows[order[1]].sum, k) == 2 * 115605504);
    CHECK(order[1] < order[2] && order[2] < order[3]);
    sd_model_metric_order(&costs, k, SD_MODEL_SMALLEST_FIRST, order);
    CHECK(sd_model_metric_of(&costs.rows[order[0]].sum, k) == 0 && order[0] == 1);
    CHECK(order[51] == 0);
    sd_model_costs_release(&costs);
    sd_net_end(&n);
}

TEST(times_of_a_layer_are_with_what_is_in_it_and_rows_have_their_own)
{
    struct sd_model_costs costs;
    struct sd_model m;
    uint32_t outer, inner;

    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_model_layer_at(&m, "a.b", 3, &inner) == 0);
    outer = m.layers[inner].parent;
    m.layers[0].time_ns = 100;
    m.layers[outer].time_ns = 90;
    m.layers[inner].time_ns = 60;
    CHECK(sd_model_costs(&m, SD_COUNT_MACS, &costs) == 0);
    CHECK(costs.total.time_ns == 100 && costs.own[0].time_ns == 10);
    CHECK(costs.own[outer].time_ns == 30 && costs.within[outer].time_ns == 90);
    CHECK(costs.own[inner].time_ns == 60);
    CHECK(costs.total.backward_ns == SD_MODEL_NONE);
    sd_model_costs_release(&costs);
    sd_model_release(&m);
}

TEST(a_layer_that_was_timed_as_one_has_a_row_and_the_work_of_what_is_in_it)
{
    struct sd_model_costs costs;
    struct sd_model m;
    uint32_t outer, inner;

    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_model_layer_at(&m, "a.b", 3, &inner) == 0);
    outer = m.layers[inner].parent;
    SD_NET_OP(&m, "aten::mm", "8,64", "", "8,32", "32,64");
    m.ops[0].layer = inner;
    m.layers[inner].n_calls = 1;
    CHECK(sd_model_costs(&m, SD_COUNT_MACS, &costs) == 0);
    CHECK(costs.n_rows == 1); /* nothing was timed */
    sd_model_costs_release(&costs);
    m.layers[0].time_ns = 100;
    m.layers[outer].time_ns = 80;
    CHECK(sd_model_costs(&m, SD_COUNT_MACS, &costs) == 0);
    CHECK(costs.n_rows == 2);
    CHECK(costs.own[outer].time_ns == 80 && costs.own[inner].time_ns == SD_MODEL_NONE);
    CHECK(costs.own[outer].work + costs.own[outer].moved_work == 2 * 16384);
    CHECK(costs.own[inner].work + costs.own[inner].moved_work == 0);
    CHECK(costs.total.macs == 16384);
    sd_model_costs_release(&costs);
    sd_model_release(&m);
}

TEST(every_way_to_count_has_a_name_and_says_what_it_is)
{
    enum sd_model_mode back;

    for (enum sd_model_mode mode = 0; mode < SD_COUNT_MODES; mode++) {
        CHECK(sd_model_mode_named(sd_model_mode_name(mode), &back) == 0 &&
              back == mode);
        CHECK(strlen(sd_model_mode_definition(mode)) > 40);
    }
    CHECK(sd_model_mode_named("calories", &back) == SD_EUSAGE);
    for (enum sd_model_mode mode = 0; mode < SD_COUNT_MODES; mode++)
        CHECK(strstr(sd_fail_text(), sd_model_mode_name(mode)));
}

TEST(a_wrong_word_is_answered_with_all_there_are)
{
    enum sd_model_metric k;
    enum sd_model_mode mode;

    CHECK(sd_model_metric_named("speed", &k) == SD_EUSAGE);
    for (size_t i = 0; i < SD_BY_END; i++)
        CHECK(strstr(sd_fail_text(), sd_model_metric_word((enum sd_model_metric)i)));
    CHECK(sd_model_mode_named("mine", &mode) == SD_EUSAGE);
    for (size_t i = 0; i < SD_COUNT_MODES; i++)
        CHECK(strstr(sd_fail_text(), sd_model_mode_name((enum sd_model_mode)i)));
}

/* A tool without a count of the backward says so where its definition is printed. */
TEST(modes_that_have_no_backward_say_so)
{
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    SD_NET_OP(&m, "aten::mm", "2,4", "", "2,3", "3,4");
    m.ops[0].is_backward = true;
    for (size_t i = 0; i < SD_COUNT_MODES; i++) {
        enum sd_model_mode mode = (enum sd_model_mode)i;
        bool has = !sd_model_mode_is_of_modules(mode);
        struct sd_model_costs costs;

        CHECK((strstr(sd_model_mode_definition(mode), "o backward") == NULL) == has);
        CHECK(sd_model_costs(&m, mode, &costs) == (has ? 0 : SD_EUSAGE));
        if (!has)
            continue;
        CHECK(costs.total.backward_macs == 24);
        sd_model_costs_release(&costs);
    }
    sd_model_release(&m);
}

/* What a machine did in a second does not depend on how a tool counts. */
TEST(rates_are_of_our_own_flops_in_every_mode)
{
    struct sd_model_costs costs;
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    SD_NET_OP(&m, "aten::mm", "2,4", "", "2,3", "3,4");
    m.layers[SD_MODEL_ROOT].time_ns = 48;
    for (size_t mode = 0; mode < SD_COUNT_MODES; mode++) {
        CHECK(sd_model_costs(&m, (enum sd_model_mode)mode, &costs) == 0);
        CHECK(costs.total.work == 48 && costs.total.backward_work == 0);
        CHECK(sd_model_column_rate(&costs.total) > 0.99e9 &&
              sd_model_column_rate(&costs.total) < 1.01e9);
        sd_model_costs_release(&costs);
    }
    sd_model_release(&m);
}

TEST(costs_survive_every_allocation_that_fails)
{
    struct sd_net n;

    sd_net_alexnet(&n);
    EACH_FAILURE(nth)
    {
        struct sd_model_costs costs;
        int rc = sd_model_costs(&n.m, SD_COUNT_MACS, &costs);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_model_costs_release(&costs);
    }
    sd_net_end(&n);
}

/* One operator of ONNX, from a shape of four axes to another. */
static int64_t fvcore_of(const char *name, const char *mode, const int64_t *from,
                         const int64_t *to)
{
    struct sd_operand x = { .dims = { from, 4 }, .dtype = SD_DTYPE_F32 };
    struct sd_operand y = { .dims = { to, 4 }, .dtype = SD_DTYPE_F32 };
    struct sd_model_op op = { .given_macs = -1 };
    struct sd_attr attr;
    struct sd_model m;
    uint32_t key, word = 0;
    int64_t macs;

    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_model_word(&m, name, &op.name) == 0);
    CHECK(sd_model_word(&m, "mode", &key) == 0 && sd_model_word(&m, mode, &word) == 0);
    attr = sd_attr_text(key, word);
    CHECK(sd_model_op(&m, &op, &x, 1, &y, 1, &attr, 1) == 0);
    macs = total(&m, SD_COUNT_FVCORE).macs;
    sd_model_release(&m);
    return macs;
}

/* What exporters make of adaptive pools and of torch's upsample. */
TEST(fvcore_counts_means_of_space_and_resizing_of_onnx_files)
{
    static const int64_t x[] = { 1, 8, 7, 7 }, one[] = { 1, 8, 1, 1 },
                         row[] = { 1, 8, 7, 1 }, large[] = { 1, 8, 14, 14 };

    CHECK(fvcore_of("onnx::GlobalAveragePool", "", x, one) == 8 * 49);
    CHECK(fvcore_of("onnx::ReduceMean", "", x, one) == 8 * 49);
    CHECK(fvcore_of("onnx::ReduceMean", "", x, row) == 0);
    CHECK(fvcore_of("onnx::Resize", "nearest", x, large) == 8 * 196);
    CHECK(fvcore_of("onnx::Resize", "linear", x, large) == 4 * 8 * 196);
    CHECK(fvcore_of("onnx::Resize", "cubic", x, large) == 0);
}
