/* SPDX-License-Identifier: MIT */
#include "formats/onnx/onnx_testing.h"

/* --- Inputs */

TEST(onnx_takes_the_shapes_that_the_user_gives)
{
    struct file f = { 0 };
    int64_t dims[] = { 4, 7 }, wrong[] = { 4 };
    struct sd_model_input in = { "x", dims, 2, 0 };
    struct sd_model_request request = { &in, 1 };
    struct sd_model m;

    add_input(&f, "x", "-1,-2");
    add_input(&f, "z", "-1,1");
    add_node(&f, "Add", "x z", "y", "");
    finish_file(&f);
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &request, &m) == 0);
    check_dims(&m.ops[0].out[0], "4,7");
    check_dims(&m.ops[0].in[1], "4,1"); /* the same batch */
    CHECK(m.n_notes == 0);
    sd_model_release(&m);

    in = (struct sd_model_input){ "q", dims, 2, 0 };
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &request, &m) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "no input named q; its first is x=1,1:float32"));
    sd_model_release(&m);

    in = (struct sd_model_input){ "z", dims, 2, 0 };
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &request, &m) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(),
                 "axis 1 of the input z is fixed at 1 in this file, not 7"));
    sd_model_release(&m);

    in = (struct sd_model_input){ NULL, wrong, 1, 0 };
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &request, &m) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "has 2 axes, but 1 were given"));
    sd_model_release(&m);
    drop_file(&f);
}

/* A node that gives floats, whose data are in another file. */
static void add_constant(struct file *f, const char *name, const char *dims)
{
    struct sd_buf node = { 0 }, a = { 0 }, t = { 0 };

    put_ints(&t, 1, dims);
    sd_pb_number(&t, 2, 1);
    sd_pb_number(&t, 14, 1);
    put_text(&a, 1, "value");
    sd_pb_message(&a, 5, &t);
    sd_pb_number(&a, 20, 4);
    make_node(&node, "Constant", "", name, "");
    sd_pb_message(&node, 5, &a);
    sd_pb_message(&f->graph, 1, &node);
    sd_buf_release(&node);
    sd_buf_release(&a);
    sd_buf_release(&t);
}

TEST(onnx_constants_that_are_used_as_weights_are_weights)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "2,3");
    add_constant(&f, "w", "3,5");
    add_constant(&f, "mask", "2,5");
    add_node(&f, "MatMul", "x w", "y", "");
    add_node(&f, "Add", "y mask", "z", "");
    add_node(&f, "MatMul", "x w", "again", "");
    read_it(&f, &m);
    CHECK(m.n_tensors == 1 && m.tensors[0].flags == SD_TENSOR_PARAMETER);
    CHECK(sd_dims_elements(m.tensors[0].dims) == 15);
    CHECK(m.ops[0].in[1].is_weight && !m.ops[1].in[1].is_weight);
    sd_model_release(&m);
    drop_file(&f);
}

TEST(onnx_inputs_without_a_name_are_those_that_none_names)
{
    struct file f = { 0 };
    int64_t ids[] = { 4, 7 }, mask[] = { 4, 1 };
    struct sd_model_input in[] = { { "x", ids, 2, 0 },
                                   { NULL, mask, 2, 0 },
                                   { NULL, mask, 2, 0 } };
    struct sd_model_request request = { in, 2 };
    struct sd_model m;

    add_input(&f, "x", "-1,-2");
    add_input(&f, "z", "-3,-4");
    add_node(&f, "Add", "x z", "y", "");
    finish_file(&f);
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &request, &m) == 0);
    check_dims(&m.ops[0].in[0], "4,7");
    check_dims(&m.ops[0].in[1], "4,1");
    sd_model_release(&m);

    request.n_inputs = 3;
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &request, &m) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "3 inputs were given, but the model has 2"));
    sd_model_release(&m);

    request.n_inputs = 2;
    in[1].name = "x";
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &request, &m) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "the input x was given twice"));
    sd_model_release(&m);
    drop_file(&f);
}

/* How many samples were counted is the first axis of what the model is called with. */
TEST(onnx_tells_what_the_model_itself_is_called_with)
{
    const struct sd_layer_call *call;
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "8,3");
    add_input(&f, "w", "3,5"); /* as older files do with their weights */
    add_weight(&f, "w", "3,5");
    add_node(&f, "MatMul", "x w", "y", "");
    add_node(&f, "Relu", "y", "z", "");
    put_value(&f.graph, 12, "z", "8,5");
    read_it(&f, &m);
    call = m.layers[SD_MODEL_ROOT].calls;
    CHECK(call && !call->next && call->n_calls == 1);
    CHECK(call->n_in == 1 && call->n_out == 1);
    check_dims(&call->in[0], "8,3");
    check_dims(&call->out[0], "8,5");
    sd_model_release(&m);
    drop_file(&f);
}

TEST(onnx_names_what_it_does_not_know)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "4,4");
    add_weight(&f, "absent", "2");
    add_node(&f, "Reshape", "x absent", "a", "");
    add_node(&f, "Fancy", "x", "b", "");
    add_node(&f, "NonZero", "x", "c", "");
    add_node(&f, "Relu", "c", "d", "");
    read_it(&f, &m);
    CHECK(m.n_ops == 4 && m.n_notes == 3);
    CHECK(strstr(sd_model_text(&m, m.notes[0]), "needs the constant absent"));
    CHECK(strstr(sd_model_text(&m, m.notes[1]), "no rule for the operator Fancy"));
    CHECK(strstr(sd_model_text(&m, m.notes[2]), "c (NonZero)"));
    CHECK(m.ops[3].in[0].kind == SD_OPERAND_NONE);
    sd_model_release(&m);
    drop_file(&f);
}

TEST(onnx_takes_the_word_of_the_file_where_no_rule_helps)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "4,4");
    add_node(&f, "Fancy", "x", "b", "");
    put_value(&f.graph, 13, "b", "4,9");
    add_node(&f, "Relu", "b", "c", "");
    read_it(&f, &m);
    CHECK(m.n_notes == 0);
    check_dims(&m.ops[1].out[0], "4,9");
    sd_model_release(&m);
    drop_file(&f);
}

/* --- Layers and weights */

static void add_named(struct file *f, const char *name, const char *in, const char *out)
{
    struct sd_buf node = { 0 };

    make_node(&node, "Gemm", in, out, "");
    put_text(&node, 3, name);
    sd_pb_message(&f->graph, 1, &node);
    sd_buf_release(&node);
}

static void add_scoped(struct file *f, const char *in, const char *out)
{
    static const char *const props[][2] = {
        { "pkg.torch.onnx.name_scopes", "['', 'top', 'top.0', 'linear_3']" },
        { "pkg.torch.onnx.class_hierarchy",
          "['m.Net', 'torch.nn.Sequential', 'torch.nn.Linear', 'aten.linear']" },
    };
    struct sd_buf node = { 0 }, prop = { 0 };

    make_node(&node, "Gemm", in, out, "");
    for (int i = 0; i < 2; i++) {
        put_text(&prop, 1, props[i][0]);
        put_text(&prop, 2, props[i][1]);
        sd_pb_message(&node, 9, &prop);
    }
    sd_pb_message(&f->graph, 1, &node);
    sd_buf_release(&prop);
    sd_buf_release(&node);
}

static const struct sd_model_layer *layer(const struct sd_model *m, const char *name)
{
    uint32_t at = sd_model_find_layer(m, name, strlen(name));

    CHECK(at != UINT32_MAX);
    return &m->layers[at];
}

TEST(onnx_layers_are_the_modules_that_exporters_tell)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "2,8");
    add_weight(&f, "w", "8,8");
    add_named(&f, "/body/body.0/fc/Gemm", "x w", "a");
    add_scoped(&f, "a w", "b");
    add_named(&f, "last", "b w", "c");
    read_it(&f, &m);
    CHECK(strcmp(sd_model_text(&m, layer(&m, "body.0.fc")->type), "Gemm") == 0);
    CHECK(&m.layers[layer(&m, "body.0.fc")->parent] == layer(&m, "body.0"));
    CHECK(&m.layers[layer(&m, "body.0")->parent] == layer(&m, "body"));
    CHECK(strcmp(sd_model_text(&m, layer(&m, "top.0")->type), "Linear") == 0);
    CHECK(strcmp(sd_model_text(&m, m.layers[0].type), "Net") == 0);
    CHECK(strcmp(sd_model_text(&m, layer(&m, "last")->type), "Gemm") == 0);
    CHECK(m.n_tensors == 1);
    CHECK(&m.layers[m.tensors[0].layer] == layer(&m, "body.0.fc"));
    CHECK(layer(&m, "top.0")->n_calls == 1);
    CHECK(m.n_edges == 2 && &m.layers[m.edges[0].from] == layer(&m, "body.0.fc") &&
          &m.layers[m.edges[0].to] == layer(&m, "top.0"));
    sd_model_release(&m);
    drop_file(&f);
}

TEST(onnx_parameters_are_what_is_trained)
{
    struct file f = { 0 };
    struct sd_model m;

    add_weight(&f, "w", "8,8");
    add_weight(&f, "number", "");
    add_list(&f, "shape", "1,2");
    read_it(&f, &m);
    CHECK(m.n_tensors == 3);
    CHECK(m.tensors[0].flags == SD_TENSOR_PARAMETER);
    CHECK(m.tensors[1].flags == SD_TENSOR_BUFFER);
    CHECK(m.tensors[2].flags == SD_TENSOR_BUFFER);
    sd_model_release(&m);
    drop_file(&f);
}

static void add_weight_of(struct file *f, int type, const char *name, const char *dims)
{
    struct sd_buf t = { 0 };

    if (*dims)
        put_ints(&t, 1, dims);
    sd_pb_number(&t, 2, (uint64_t)type);
    put_text(&t, 8, name);
    sd_pb_number(&t, 14, 1);
    sd_pb_message(&f->graph, 5, &t);
    sd_buf_release(&t);
}

static void check_held(struct file *f, int64_t parameters, int64_t buffers)
{
    struct sd_model m;

    read_it(f, &m);
    CHECK(elements_of(&m, SD_TENSOR_PARAMETER) == parameters);
    CHECK(elements_of(&m, SD_TENSOR_BUFFER) == buffers);
    sd_model_release(&m);
    drop_file(f);
    *f = (struct file){ 0 };
}

/* Real numbers that nobody trained. */
TEST(onnx_statistics_scales_and_sizes_are_no_parameters)
{
    struct file f = { 0 };

    add_input(&f, "x", "1,4,8,8");
    add_weight(&f, "gamma", "4");
    add_weight(&f, "beta", "4");
    add_weight(&f, "mean", "4");
    add_weight(&f, "var", "4");
    add_node(&f, "BatchNormalization", "x gamma beta mean var", "y", "");
    add_weight(&f, "scales", "4");
    add_node(&f, "Resize", "y - scales", "z", "");
    check_held(&f, 8, 12);

    add_input(&f, "x", "1,3,8,8");
    add_weight_of(&f, 3, "w", "4,3,3,3");
    add_weight(&f, "ws", "4");
    add_weight_of(&f, 3, "wz", "4");
    add_weight_of(&f, 6, "b", "4");
    add_weight(&f, "s", "");
    add_weight_of(&f, 2, "z", "");
    add_node(&f, "QLinearConv", "x s z w ws wz s z b", "y", "");
    check_held(&f, 108 + 4, 4 + 4 + 1 + 1);

    add_input(&f, "x", "1,3,8,8"); /* the same, taken apart */
    add_weight_of(&f, 3, "w", "4,3,3,3");
    add_weight(&f, "ws", "4");
    add_weight_of(&f, 3, "wz", "4");
    add_weight_of(&f, 6, "b", "4");
    add_weight(&f, "bs", "4");
    add_node(&f, "DequantizeLinear", "w ws wz", "wf", "axis=0!");
    add_node(&f, "DequantizeLinear", "b bs", "bf", "axis=0!");
    add_node(&f, "Conv", "x wf bf", "y", "");
    check_held(&f, 108 + 4, 12);

    add_input(&f, "x", "1,4,64"); /* two elements in a byte */
    add_weight_of(&f, 2, "w", "48,2,16");
    add_weight(&f, "s", "96");
    add_ms_node(&f, "MatMulNBits", "x w s", "y", "K=64!;N=48!;bits=4!;block_size=32!");
    check_held(&f, 48 * 64, 96);
}

TEST(onnx_weights_in_nodes_are_found_behind_what_moves_them)
{
    struct file f = { 0 };

    add_input(&f, "x", "1,8");
    add_constant(&f, "c", "5,8");
    add_node(&f, "Identity", "c", "same", "");
    add_node(&f, "Transpose", "same", "w", "");
    add_node(&f, "MatMul", "x w", "y", "");
    check_held(&f, 40, 0);

    add_input(&f, "x", "1,8");
    add_constant(&f, "c", "8,5");
    add_ms_node(&f, "FusedMatMul", "x c", "y", "");
    check_held(&f, 40, 0);

    add_input(&f, "x", "1,8");
    add_constant(&f, "c", "100,8");
    add_node(&f, "Gather", "c x", "y", "");
    check_held(&f, 800, 0);

    add_input(&f, "x", "1,8"); /* a number of a formula */
    add_constant(&f, "c", "8");
    add_node(&f, "Mul", "x c", "y", "");
    check_held(&f, 0, 0);
}

/* --- Strangers */

static void make_small(struct file *f)
{
    add_input(f, "x", "-1,6,16");
    add_weight(f, "w", "16,4");
    add_list(f, "to", "0,-1");
    add_node(f, "MatMul", "x w", "a", "");
    add_node(f, "Shape", "a", "s", "");
    add_node(f, "Reshape", "a to", "y", "");
    add_function(f, "one", "Relu");
    add_call(f, "one");
    finish_file(f);
}

TEST(onnx_cut_anywhere_ends_in_a_sentence)
{
    struct file f = { 0 };

    make_small(&f);
    for (size_t n = 0; n < f.whole.n; n++) {
        struct sd_model m;
        int rc;

        CHECK(sd_model_init(&m) == 0);
        rc = sd_onnx_read(f.whole.p, n, &no_request, &m);
        /* Only what stands behind the graph can be missed without a trace. */
        CHECK(rc == SD_EFORMAT || (rc == 0 && n > f.whole.n / 2));
        sd_model_release(&m);
    }
    drop_file(&f);
}

TEST(onnx_with_any_byte_changed_ends)
{
    struct file f = { 0 };

    make_small(&f);
    for (size_t i = 0; i < f.whole.n; i++)
        for (int bit = 0; bit < 8; bit++) {
            struct sd_model m;
            int rc;

            f.whole.p[i] ^= (uint8_t)(1 << bit);
            CHECK(sd_model_init(&m) == 0);
            rc = sd_onnx_read(f.whole.p, f.whole.n, &no_request, &m);
            CHECK(rc == 0 || rc == SD_EFORMAT);
            sd_model_release(&m);
            f.whole.p[i] ^= (uint8_t)(1 << bit);
        }
    drop_file(&f);
}

TEST(onnx_tensors_that_lie_are_refused)
{
    struct file f = { 0 };
    struct sd_buf t = { 0 };
    struct sd_model m;

    sd_pb_number(&t, 1, 4);
    sd_pb_number(&t, 2, 1);
    put_text(&t, 8, "w");
    put_text(&t, 9, "1234");
    sd_pb_message(&f.graph, 5, &t);
    sd_buf_release(&t);
    finish_file(&f);
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &no_request, &m) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "\"w\" has 4 bytes"));
    sd_model_release(&m);
    drop_file(&f);
}

/* A tensor "w" of this type and shape, and of these bytes in a field: 4 floats, 5 and 7
 * whole numbers, 9 raw; 0: there is none. */
static void put_tensor(struct sd_buf *to, uint32_t field, uint64_t type,
                       const char *dims, uint32_t data, size_t bytes)
{
    static const char zeros[256];
    struct sd_buf t = { 0 };

    put_ints(&t, 1, dims);
    sd_pb_number(&t, 2, type);
    put_text(&t, 8, "w");
    if (data)
        sd_pb_bytes(&t, data, zeros, bytes);
    sd_pb_message(to, field, &t);
    sd_buf_release(&t);
}

/* What reading a file with that one tensor says; NULL: it is read. */
static const char *refusal(uint64_t type, const char *dims, uint32_t data, size_t bytes)
{
    struct file f = { 0 };
    struct sd_model m;
    int rc;

    put_tensor(&f.graph, 5, type, dims, data, bytes);
    finish_file(&f);
    CHECK(sd_model_init(&m) == 0);
    rc = sd_onnx_read(f.whole.p, f.whole.n, &no_request, &m);
    CHECK(rc == 0 || rc == SD_EFORMAT);
    sd_model_release(&m);
    drop_file(&f);
    return rc == 0 ? NULL : sd_fail_text();
}

TEST(onnx_tensors_that_claim_more_than_they_hold_are_refused)
{
    enum { FLOATS = 4, INTS = 5, LONGS = 7, RAW = 9 };

    CHECK(!refusal(1, "8,5", FLOATS, 160));
    CHECK(
        strstr(refusal(1, "8,5", FLOATS, 40), "\"w\" claims 40 elements, and has 10"));
    CHECK(strstr(refusal(1, "1073741824,1048576", 0, 0), "and has 0"));
    CHECK(!refusal(1, "0,5", 0, 0));
    CHECK(!refusal(7, "40", LONGS, 40)); /* zeros of one byte each */
    CHECK(strstr(refusal(7, "40", LONGS, 39), "and has 39"));
    CHECK(!refusal(10, "40", INTS, 40) && refusal(10, "41", INTS, 40));
    CHECK(!refusal(22, "5", INTS, 3) && refusal(22, "7", INTS, 3)); /* two of 4 bits */
    CHECK(!refusal(14, "5", FLOATS, 40) && refusal(14, "6", FLOATS, 40)); /* complex */
    CHECK(!refusal(8, "5", 0, 0));                                        /* texts */
    CHECK(!refusal(77, "40", RAW, 5) && refusal(77, "1073741824", RAW, 5));
}

TEST(onnx_weights_of_an_unknown_type_are_counted_and_told)
{
    static const uint64_t types[] = { 77, 0, 27 };

    for (int i = 0; i < 3; i++) {
        struct file f = { 0 };
        struct sd_model m;
        char said[64];

        add_input(&f, "x", "4,8");
        put_tensor(&f.graph, 5, types[i], "8,5", 9, 160);
        add_node(&f, "MatMul", "x w", "y", "");
        read_it(&f, &m);
        CHECK(m.n_tensors == 1 && (m.tensors[0].flags & SD_TENSOR_PARAMETER));
        CHECK(sd_model_tensor_bytes(&m.tensors[0]) == 160);
        snprintf(said, sizeof said, "the type %d of the tensor w is not known",
                 (int)types[i]);
        CHECK(m.n_notes == 1 && strstr(sd_model_text(&m, m.notes[0]), said));
        sd_model_release(&m);
        drop_file(&f);
    }
}

TEST(onnx_sparse_weights_are_the_tensors_that_they_stand_for)
{
    struct file f = { 0 }, lies = { 0 };
    struct sd_buf sparse = { 0 };
    struct sd_model m;

    add_input(&f, "x", "4,8");
    put_tensor(&sparse, 1, 1, "3", 9, 12);
    put_ints(&sparse, 3, "8,5");
    sd_pb_message(&f.graph, 15, &sparse);
    add_node(&f, "MatMul", "x w", "y", "");
    read_it(&f, &m);
    CHECK(m.n_notes == 0 && m.n_tensors == 1);
    CHECK(sd_dims_elements(m.tensors[0].dims) == 40);
    CHECK(sd_model_tensor_bytes(&m.tensors[0]) == 12);
    check_dims(&m.ops[0].out[0], "4,5");
    sd_model_release(&m);
    drop_file(&f);
    sd_buf_clear(&sparse);
    put_tensor(&sparse, 1, 1, "3", 9, 12);
    put_ints(&sparse, 3, "2");
    sd_pb_message(&lies.graph, 15, &sparse);
    finish_file(&lies);
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(lies.whole.p, lies.whole.n, &no_request, &m) == SD_EFORMAT);
    sd_model_release(&m);
    drop_file(&lies);
    sd_buf_release(&sparse);
}

TEST(onnx_inputs_longer_than_any_are_refused)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "9223372036854775807,2");
    add_node(&f, "Relu", "x", "y", "");
    finish_file(&f);
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &no_request, &m) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "x has an axis of 9223372036854775807, which is too"));
    sd_model_release(&m);
    drop_file(&f);
}

TEST(onnx_without_an_opset_does_not_invent_one)
{
    struct sd_buf graph = { 0 }, whole = { 0 };
    struct sd_model m;

    put_text(&graph, 2, "g");
    sd_pb_message(&whole, 7, &graph);
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(whole.p, whole.n, &no_request, &m) == 0);
    CHECK(strcmp(sd_model_fact_of(&m, "source"), "onnx") == 0);
    sd_model_release(&m);
    sd_buf_release(&graph);
    sd_buf_release(&whole);
}

TEST(onnx_without_memory_says_so)
{
    struct file f = { 0 };

    make_small(&f);
    EACH_FAILURE(nth)
    {
        struct sd_model m;
        int rc = sd_model_init(&m);

        if (rc == 0)
            rc = sd_onnx_read(f.whole.p, f.whole.n, &no_request, &m);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_model_release(&m);
    }
    drop_file(&f);
}
