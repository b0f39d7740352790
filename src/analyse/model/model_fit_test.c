/* SPDX-License-Identifier: MIT */
#include "analyse/model/model_fit.h"

#include <string.h>

#include "analyse/model/model_costs_testing.h"
#include "base/error.h"
#include "base/test.h"

static const int depths_18[] = { 2, 2, 2, 2 };

TEST(training_needs_gradients_states_and_activations)
{
    struct sd_model_costs costs;
    struct sd_model_fit fit;
    struct sd_net n;
    enum sd_optimizer o;
    const int64_t params = 11689512 * 4;

    sd_net_resnet(&n, depths_18, false, 1, 64);
    n.m.layers[1].activation_bytes = 1000;
    CHECK(sd_model_costs(&n.m, SD_COUNT_MACS, &costs) == 0);
    CHECK(sd_optimizer_named("adam", &o) == 0);
    sd_model_fit(&costs, o, 8, 0, &fit);
    CHECK(fit.parameter_bytes == params && fit.gradient_bytes == params);
    CHECK(fit.optimizer_bytes == 2 * params && fit.buffer_bytes == 9620 * 4);
    CHECK(fit.activations_measured && fit.activation_bytes == 8000);
    CHECK(fit.total_bytes == 4 * params + 9620 * 4 + 8000 && fit.largest_batch == -1);
    sd_model_fit(&costs, o, 8, 4 * params + 9620 * 4 + 2999, &fit);
    CHECK(fit.largest_batch == 2);
    sd_model_fit(&costs, o, 8, params, &fit);
    CHECK(fit.largest_batch == 0);
    sd_model_fit(&costs, o, 0, 0, &fit); /* as many as were profiled */
    CHECK(fit.activation_bytes == 1000);
    CHECK(sd_optimizer_named("magic", &o) == SD_EUSAGE);
    for (o = 0; o < SD_OPTIMIZERS; o++)
        CHECK(strstr(sd_fail_text(), sd_optimizer_word(o)));
    sd_model_costs_release(&costs);
    sd_net_end(&n);
}

/* One layer keeps 1,000 bytes for the 4 samples of a second input, 1,400 for 8. */
TEST(what_does_not_grow_with_the_batch_stays)
{
    struct sd_model_costs costs;
    struct sd_model_fit fit;
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    m.layers[SD_MODEL_ROOT].activation_bytes = 1000;
    CHECK(sd_model_fact(&m, "batch", "4") == 0);
    CHECK(sd_model_costs(&m, SD_COUNT_MACS, &costs) == 0);
    sd_model_fit(&costs, SD_OPTIMIZER_SGD, 8, 0,
                 &fit); /* half of it is no measurement */
    CHECK(!fit.growth_measured && !strcmp(sd_model_fit_growth(&fit), "assumed"));
    sd_model_costs_release(&costs);
    CHECK(sd_model_fact(&m, "activation_bytes_at_2", "1400") == 0);
    CHECK(sd_model_costs(&m, SD_COUNT_MACS, &costs) == 0);
    sd_model_fit(&costs, SD_OPTIMIZER_SGD, 8, 0, &fit);
    CHECK(fit.growth_measured && !strcmp(sd_model_fit_growth(&fit), "measured"));
    CHECK(fit.activation_bytes == 1400 && fit.total_bytes == 1400);
    sd_model_fit(&costs, SD_OPTIMIZER_SGD, 0, 0, &fit);
    CHECK(fit.activation_bytes == 1000);
    sd_model_fit(&costs, SD_OPTIMIZER_SGD, 1, 0, &fit);
    CHECK(fit.activation_bytes == 700);
    sd_model_fit(&costs, SD_OPTIMIZER_SGD, 64, 7099, &fit);
    CHECK(fit.activation_bytes == 7000 && fit.largest_batch == 64);
    sd_model_fit(&costs, SD_OPTIMIZER_SGD, 1, 799, &fit);
    CHECK(fit.largest_batch == 1);
    sd_model_fit(&costs, SD_OPTIMIZER_SGD, 1, 699, &fit);
    CHECK(fit.largest_batch == 0);
    sd_model_fit(&costs, SD_OPTIMIZER_SGD, INT64_MAX, INT64_MAX, &fit);
    CHECK(fit.activation_bytes == INT64_MAX && sd_model_fit_beyond(&fit));
    CHECK(fit.largest_batch == (INT64_MAX - 600) / 100);
    sd_model_costs_release(&costs);
    sd_model_release(&m);
}

/* The second count of a batch of 2, and what is no number, or less than the first. */
TEST(growth_is_measured_only_where_its_facts_are_whole)
{
    static const struct {
        const char *batch, *at_2;
        int64_t for_8, largest_of_1200;
        bool is_measured;
    } cases[] = {
        { "2", "1000", 1000, -1, true },
        { "2", "2000", 4000, 2, true },
        { "2", "3000", 7000, 2, true },
        { "2", "999", 8000, 1, false },
        { "0", "2000", 8000, 1, false },
        { "-2", "2000", 8000, 1, false },
        { "2x", "2000", 8000, 1, false },
        { "2", "", 8000, 1, false },
        { "2", "99999999999999999999", 8000, 1, false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sd_model_costs costs;
        struct sd_model_fit fit;
        struct sd_model m;

        CHECK(sd_model_init(&m) == 0);
        m.layers[SD_MODEL_ROOT].activation_bytes = 1000;
        CHECK(sd_model_fact(&m, "batch", cases[i].batch) == 0);
        CHECK(sd_model_fact(&m, "activation_bytes_at_2", cases[i].at_2) == 0);
        CHECK(sd_model_costs(&m, SD_COUNT_MACS, &costs) == 0);
        sd_model_fit(&costs, SD_OPTIMIZER_SGD, 8, 1200, &fit);
        CHECK(fit.activation_bytes == cases[i].for_8);
        CHECK(fit.largest_batch == cases[i].largest_of_1200);
        CHECK(fit.growth_measured == cases[i].is_measured);
        sd_model_costs_release(&costs);
        sd_model_release(&m);
    }
}

/* A file does not say what is trained: memory for none of it would be no answer. */
TEST(parameters_of_files_are_trained)
{
    struct sd_model_tensor t = { .dims = { (int64_t[]){ 3, 4 }, 2 },
                                 .dtype = SD_DTYPE_F32,
                                 .bytes = -1,
                                 .flags = SD_TENSOR_PARAMETER };
    struct sd_model_costs costs;
    struct sd_model_fit fit;
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_model_fact(&m, "source", "safetensors") == 0);
    CHECK(sd_model_tensor(&m, &t) == 0);
    t.flags = SD_TENSOR_BUFFER;
    CHECK(sd_model_tensor(&m, &t) == 0);
    CHECK(sd_model_costs(&m, SD_COUNT_MACS, &costs) == 0);
    sd_model_fit(&costs, SD_OPTIMIZER_ADAM, 1, 0, &fit);
    CHECK(fit.gradient_bytes == 48 && fit.optimizer_bytes == 96);
    sd_model_costs_release(&costs);
    sd_model_release(&m);
}

TEST(unmeasured_activations_are_what_the_forward_wrote)
{
    struct sd_model_costs costs;
    struct sd_model_fit fit;
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    SD_NET_OP(&m, "aten::relu", "2,8", "", "2,8");
    SD_NET_OP(&m, "aten::view", "16", "", "2,8");
    CHECK(sd_model_costs(&m, SD_COUNT_MACS, &costs) == 0);
    sd_model_fit(&costs, SD_OPTIMIZER_SGD, 3, 0, &fit);
    CHECK(!fit.activations_measured && fit.activation_bytes == 3 * 64);
    sd_model_costs_release(&costs);
    sd_model_release(&m);
}
