/* SPDX-License-Identifier: MIT */
#include "profile/model/model.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/test.h"

#define DIMS(...)                                                                      \
    (struct sd_dims)                                                                   \
    {                                                                                  \
        (const int64_t[]){ __VA_ARGS__ },                                              \
            sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)                 \
    }

static uint32_t word(struct sd_model *m, const char *s)
{
    uint32_t id = 0;

    CHECK(sd_model_word(m, s, &id) == 0);
    return id;
}

static uint32_t layer(struct sd_model *m, const char *path)
{
    uint32_t at = 0;

    CHECK(sd_model_layer_at(m, path, strlen(path), &at) == 0);
    return at;
}

/* A layer that was called, a tensor, an operator with every kind of attribute. */
static int fill(struct sd_model *m)
{
    static const int64_t stride[] = { 2, 2 };
    struct sd_operand in[] = {
        { .dims = DIMS(1, 3, 8, 8), .dtype = SD_DTYPE_F32 },
        { .dims = DIMS(4, 3, 3, 3), .dtype = SD_DTYPE_F32, .is_weight = true },
        { .kind = SD_OPERAND_NONE },
    };
    struct sd_operand out = { .dims = DIMS(1, 4, 4, 4), .dtype = SD_DTYPE_F32 };
    uint32_t conv, name, text;
    struct sd_attr attrs[4];
    struct sd_model_op op = { .given_macs = -1 };
    int rc = sd_model_layer_at(m, "features.0", 10, &conv);

    if (rc == 0)
        rc = sd_model_word(m, "name", &name);
    if (rc == 0)
        rc = sd_model_word(m, "Conv2d", &text);
    if (rc == 0)
        rc = sd_model_word(m, "aten::convolution", &op.name);
    if (rc < 0)
        return rc;
    sd_model_set_type(m, conv, text);
    m->layers[conv].flags = SD_LAYER_LEAF;
    attrs[0] = sd_attr_ints(name, stride, 2);
    attrs[1] = sd_attr_int(text, -7);
    attrs[2] = sd_attr_real(name, 0.5);
    attrs[3] = sd_attr_text(name, text);
    op.layer = conv;
    rc = sd_model_layer_attrs(m, conv, attrs, 4);
    if (rc == 0)
        rc = sd_model_op(m, &op, in, 3, &out, 1, attrs, 4);
    if (rc == 0)
        rc = sd_model_op(m, &op, in, 3, &out, 1, attrs, 4);
    if (rc == 0)
        rc = sd_model_called(m, conv, in, 1, &out, 1);
    if (rc == 0)
        rc = sd_model_tensor(m, &(struct sd_model_tensor){ .name = name,
                                                           .layer = conv,
                                                           .flags = SD_TENSOR_PARAMETER,
                                                           .dtype = SD_DTYPE_F32,
                                                           .bytes = -1,
                                                           .dims = in[1].dims });
    if (rc == 0)
        rc = sd_model_edge(m, SD_MODEL_ROOT, conv);
    if (rc == 0)
        rc = sd_model_edge(m, SD_MODEL_ROOT, conv);
    if (rc == 0)
        rc = sd_model_fact(m, "device", "meta");
    return rc < 0 ? rc : sd_model_note(m, "%d layers were %s", 2, "skipped");
}

TEST(a_fresh_model_is_one_layer_without_a_name)
{
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    CHECK(m.n_layers == 1 && m.layers[0].parent == 0);
    CHECK(!strcmp(sd_model_text(&m, m.layers[0].name), ""));
    CHECK(sd_model_find_layer(&m, "", 0) == SD_MODEL_ROOT);
    sd_model_release(&m);
    sd_model_release(&m);
}

TEST(a_layers_path_makes_the_layers_around_it_once)
{
    struct sd_model m;
    uint32_t a, b;

    CHECK(sd_model_init(&m) == 0);
    a = layer(&m, "layer1.0.conv1");
    b = layer(&m, "layer1.0.conv2");
    CHECK(m.n_layers == 5 && a == 3 && b == 4);
    CHECK(m.layers[a].parent == m.layers[b].parent);
    CHECK(!strcmp(sd_model_text(&m, m.layers[m.layers[a].parent].name), "layer1.0"));
    CHECK(layer(&m, "") == SD_MODEL_ROOT);
    CHECK(sd_model_find_layer(&m, "layer1", 6) == 1);
    CHECK(sd_model_find_layer(&m, "layer9", 6) == UINT32_MAX);
    CHECK(sd_model_layer(&m, "layer1", 6, "Sequential", 0, &a) == 0 && a == 1);
    CHECK(!strcmp(sd_model_text(&m, m.layers[1].type), "Sequential"));
    sd_model_release(&m);
}

/* Chains without end would be walked for every row and operator in them. */
TEST(layers_lie_no_deeper_in_each_other_than_their_bound)
{
    uint32_t at = SD_MODEL_ROOT, deepest = 0;
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    for (int i = 0; i < 2 * SD_MODEL_DEPTH_MAX; i++) {
        char name[16];

        snprintf(name, sizeof name, "n%d", i);
        CHECK(sd_model_layer(&m, name, strlen(name), "", at, &at) == 0);
    }
    CHECK(m.n_layers == 2 * SD_MODEL_DEPTH_MAX + 1);
    for (size_t i = 1; i < m.n_layers; i++) {
        uint32_t depth = 0;

        for (size_t k = i; k != SD_MODEL_ROOT; k = m.layers[k].parent)
            depth++;
        CHECK(m.layers[i].depth == depth);
        deepest = depth > deepest ? depth : deepest;
    }
    CHECK(deepest == SD_MODEL_DEPTH_MAX);
    sd_model_release(&m);
}

TEST(equal_calls_in_a_row_are_one_record)
{
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    CHECK(fill(&m) == 0);
    CHECK(m.n_ops == 1 && m.ops[0].n_calls == 2);
    m.ops[0].is_backward = true;
    CHECK(fill(&m) == 0);
    CHECK(m.n_ops == 2 && m.ops[1].n_calls == 2);
    CHECK(m.layers[2].n_calls == 2 && m.layers[2].calls == m.layers[2].last_call);
    CHECK(m.layers[2].order == 1);
    sd_model_release(&m);
}

TEST(calls_that_cannot_be_added_up_are_another_record)
{
    struct sd_model_op op = { .n_calls = UINT32_MAX, .given_macs = -1 };
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_model_word(&m, "aten::relu", &op.name) == 0);
    CHECK(sd_model_op(&m, &op, NULL, 0, NULL, 0, NULL, 0) == 0);
    op.n_calls = 3;
    CHECK(sd_model_op(&m, &op, NULL, 0, NULL, 0, NULL, 0) == 0);
    CHECK(m.n_ops == 2 && m.ops[0].n_calls == UINT32_MAX && m.ops[1].n_calls == 3);
    sd_model_release(&m);
}

TEST(equal_shapes_are_kept_once)
{
    struct sd_operand in[2] = { { .dims = DIMS(2, 3), .kind = SD_OPERAND_TENSOR },
                                { .dims = DIMS(2, 3), .kind = SD_OPERAND_TENSOR } };
    struct sd_operand out = { .dims = DIMS(3, 2), .kind = SD_OPERAND_TENSOR };
    struct sd_model_op op = { .given_macs = -1 };
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_model_op(&m, &op, in, 2, &out, 1, NULL, 0) == 0);
    CHECK(m.ops[0].in[0].dims.d == m.ops[0].in[1].dims.d);
    CHECK(m.ops[0].in[0].dims.d[1] == 3 && m.ops[0].out[0].dims.d[1] == 2);
    sd_model_release(&m);
}

TEST(an_attribute_that_is_one_number_holds_for_every_axis)
{
    static const int64_t three[] = { 1, 2, 3 };
    struct sd_attr one = sd_attr_int(0, 7), many = sd_attr_ints(0, three, 3);
    struct sd_attr single = sd_attr_ints(0, three, 1), real = sd_attr_real(0, 2.5);

    CHECK(sd_attr_number(&one, 2, -1) == 7);
    CHECK(sd_attr_number(&many, 2, -1) == 3 && sd_attr_number(&many, 3, -1) == -1);
    CHECK(sd_attr_number(&single, 5, -1) == 1);
    CHECK(sd_attr_number(&real, 0, -1) == -1 && sd_attr_number(NULL, 0, 4) == 4);
}

TEST(sizes_stop_instead_of_running_over)
{
    struct sd_operand none = { .kind = SD_OPERAND_NONE };

    CHECK(sd_dims_elements(DIMS(INT64_MAX, 2)) == INT64_MAX);
    CHECK(sd_dims_elements(DIMS(INT64_MAX, INT64_MAX, 0)) == 0);
    CHECK(sd_dims_elements((struct sd_dims){ NULL, 0 }) == 1);
    CHECK(sd_operand_elements(&none) == 0);
    CHECK(sd_plus(INT64_MAX, 1) == INT64_MAX);
}

TEST(a_builder_refuses_shapes_that_no_tensor_has)
{
    struct sd_model m;
    struct sd_model_tensor t = { .dims = DIMS(3, -1), .bytes = -1 };

    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_model_tensor(&m, &t) == SD_EFORMAT);
    t.dims.n = SD_MODEL_DIMS_MAX + 1;
    CHECK(sd_model_tensor(&m, &t) == SD_EFORMAT);
    CHECK(m.n_tensors == 0);
    sd_model_release(&m);
}

TEST(a_model_written_and_read_is_the_same)
{
    struct sd_model m, back;
    struct sd_buf first = { 0 }, second = { 0 };

    CHECK(sd_model_init(&m) == 0);
    CHECK(fill(&m) == 0);
    sd_model_write(&m, &first);
    CHECK(!first.bad && !memcmp(first.p, SD_MODEL_MAGIC, 8));
    CHECK(sd_model_read(&back, first.p, first.n) == 0);
    CHECK(back.n_edges == 1 && back.edges[0].to == 2);
    CHECK(back.ops[0].n_calls == 2 && back.layers[2].n_calls == 1);
    CHECK(sd_model_op_number(&back, &back.ops[0], "Conv2d", 0, 0) == -7);
    CHECK(!strcmp(sd_model_fact_of(&back, "device"), "meta"));
    CHECK(!strcmp(sd_model_text(&back, back.notes[0]), "2 layers were skipped"));
    sd_model_write(&back, &second);
    CHECK(first.n == second.n && !memcmp(first.p, second.p, first.n));
    sd_buf_release(&first);
    sd_buf_release(&second);
    sd_model_release(&back);
    sd_model_release(&m);
}

TEST(a_model_cut_anywhere_is_refused)
{
    struct sd_model m, back;
    struct sd_buf whole = { 0 };

    CHECK(sd_model_init(&m) == 0);
    CHECK(fill(&m) == 0);
    sd_model_write(&m, &whole);
    for (size_t n = 0; n < whole.n; n++)
        CHECK(sd_model_read(&back, whole.p, n) == SD_EFORMAT);
    sd_buf_release(&whole);
    sd_model_release(&m);
}

TEST(a_model_of_a_later_form_says_so)
{
    struct sd_model m;
    struct sd_buf b = { 0 };

    sd_buf_text(&b, SD_MODEL_MAGIC);
    sd_buf_u32(&b, 2);
    CHECK(sd_model_read(&m, b.p, b.n) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "format 2"));
    sd_buf_release(&b);
}

TEST(a_model_survives_every_allocation_that_fails)
{
    EACH_FAILURE(nth)
    {
        struct sd_model m, back;
        struct sd_buf b = { 0 };
        int rc = sd_model_init(&m);

        if (rc == 0)
            rc = fill(&m);
        if (rc == 0) {
            sd_model_write(&m, &b);
            rc = b.bad ? SD_ENOMEM : sd_model_read(&back, b.p, b.n);
            if (rc == 0)
                sd_model_release(&back);
        }
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_buf_release(&b);
        sd_model_release(&m);
    }
}

TEST(names_are_words_of_the_model)
{
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    CHECK(word(&m, "") == 0);
    CHECK(word(&m, "a") == word(&m, "a"));
    CHECK(!strcmp(sd_model_text(&m, 999), ""));
    sd_model_release(&m);
}
