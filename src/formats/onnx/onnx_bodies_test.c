/* SPDX-License-Identifier: MIT */
#include "formats/onnx/onnx_testing.h"

TEST(onnx_functions_are_what_is_in_them)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "3");
    add_function(&f, "one", "Relu");
    add_function(&f, "two", "one");
    add_call(&f, "two");
    add_node(&f, "Neg", "y", "z", "");
    read_it(&f, &m);
    CHECK(m.n_ops == 2 && m.ops[0].n_calls == 4); /* equal calls are one record */
    check_dims(&m.ops[1].out[0], "3");
    sd_model_release(&m);
    drop_file(&f);
}

TEST(onnx_functions_without_end_are_refused)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "3");
    add_function(&f, "again", "again");
    add_call(&f, "again");
    finish_file(&f);
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &no_request, &m) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "too deep"));
    sd_model_release(&m);
    drop_file(&f);
}

/* Walking a function costs its length, whether or not it has nodes: ten thousand calls
 * of one of ten thousand fields that mean nothing have to end. */
TEST(onnx_functions_of_nothing_have_an_end)
{
    enum { FIELDS = 12000, CALLS = 12000 };
    struct file f = { 0 };
    struct sd_buf function = { 0 };
    struct sd_model m;

    add_input(&f, "x", "3");
    put_text(&function, 1, "idle");
    for (int i = 0; i < FIELDS; i++)
        sd_pb_number(&function, 9, 1);
    sd_pb_message(&f.functions, 25, &function);
    for (int i = 0; i < CALLS; i++)
        add_node(&f, "idle", "x", "y", "");
    finish_file(&f);
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &no_request, &m) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "no end"));
    sd_model_release(&m);
    sd_buf_release(&function);
    drop_file(&f);
}

/* The same of attributes that stand for one of the call: each looks through it. */
TEST(onnx_attributes_of_calls_are_not_searched_without_end)
{
    enum { NODES = 3000, JUNK = 15000 };
    struct file f = { 0 };
    struct sd_buf function = { 0 }, node = { 0 }, a = { 0 };
    struct sd_model m;

    add_input(&f, "x", "3");
    put_text(&function, 1, "asks");
    for (int i = 0; i < NODES; i++) {
        make_node(&node, "Softmax", "x", "y", "");
        put_text(&a, 1, "axis");
        put_text(&a, 21, "wanted");
        sd_pb_message(&node, 5, &a);
        sd_pb_message(&function, 7, &node);
    }
    for (int i = 0; i < JUNK; i++) {
        put_text(&a, 1, "other");
        sd_pb_message(&function, 11, &a);
    }
    sd_pb_message(&f.functions, 25, &function);
    add_node(&f, "asks", "x", "y", "");
    finish_file(&f);
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &no_request, &m) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "no end"));
    sd_model_release(&m);
    sd_buf_release(&function);
    sd_buf_release(&node);
    sd_buf_release(&a);
    drop_file(&f);
}

/* A sum looks at every element and makes one: what is looked at is what costs. */
TEST(onnx_sums_of_constants_have_an_end)
{
    enum { ELEMENTS = 1024, SUMS = 9000 };
    struct sd_buf t = { 0 }, zeros = { 0 };
    struct file f = { 0 };
    struct sd_model m;

    sd_pb_number(&t, 1, ELEMENTS);
    sd_pb_number(&t, 2, 7);
    put_text(&t, 8, "c");
    for (int i = 0; i < ELEMENTS; i++)
        sd_buf_u64(&zeros, 1);
    sd_pb_message(&t, 9, &zeros);
    sd_pb_message(&f.graph, 5, &t);
    for (int i = 0; i < SUMS; i++)
        add_node(&f, "ReduceMax", "c", "y", "keepdims=0!");
    read_it(&f, &m);
    CHECK(m.n_ops > 0); /* the first are worked out and gone */
    sd_model_release(&m);
    sd_buf_release(&t);
    sd_buf_release(&zeros);
    drop_file(&f);
}

/* Each takes some hundred bytes, and twenty in the file. */
TEST(onnx_of_more_operators_than_any_model_is_refused)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "3");
    for (int i = 0; i < 300000; i++)
        add_node(&f, "Relu", "x", "x", "");
    finish_file(&f);
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &no_request, &m) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "more operators and values than any model"));
    sd_model_release(&m);
    drop_file(&f);
}

/* Every node names 30 layers that no other has. */
TEST(onnx_makes_no_more_layers_than_operators_can_have)
{
    enum { NODES = 2000 };
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "3");
    for (int i = 0; i < NODES; i++) {
        struct sd_buf node = { 0 };

        make_node(&node, "Relu", "x", "y", "");
        sd_buf_u8(&node, 3 << 3 | 2); /* its name */
        sd_buf_u8(&node, 8 + 60);
        sd_buf_printf(&node, "/a%05d/", i);
        for (int level = 0; level < 30; level++)
            sd_buf_text(&node, "b/");
        sd_pb_message(&f.graph, 1, &node);
        sd_buf_release(&node);
    }
    read_it(&f, &m);
    CHECK(m.n_layers > NODES && m.n_layers < 1100 + 2 * NODES);
    sd_model_release(&m);
    drop_file(&f);
}

/* An If or a Loop with a body that ends in `out`. */
static void add_body(struct file *f, const char *op, const char *attr, const char *in,
                     const char *outputs)
{
    struct sd_buf node = { 0 }, graph = { 0 }, a = { 0 }, inner = { 0 };

    make_node(&inner, "Relu", "x", "r", "");
    sd_pb_message(&graph, 1, &inner);
    put_value(&graph, 11, "i", "");
    put_value(&graph, 11, "c", "");
    if (strcmp(op, "Loop") == 0)
        put_value(&graph, 12, "c", "");
    put_value(&graph, 12, "r", "");
    make_node(&node, op, in, outputs, "");
    put_text(&a, 1, attr);
    sd_pb_message(&a, 6, &graph);
    sd_pb_number(&a, 20, 5);
    sd_pb_message(&node, 5, &a);
    sd_pb_message(&f->graph, 1, &node);
    sd_buf_release(&node);
    sd_buf_release(&graph);
    sd_buf_release(&a);
    sd_buf_release(&inner);
}

TEST(onnx_bodies_are_counted_once_and_it_is_said)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "3");
    add_input(&f, "cond", "");
    add_list(&f, "five", "5");
    add_body(&f, "If", "then_branch", "cond", "y");
    add_body(&f, "Loop", "body", "five -", "all");
    add_node(&f, "Neg", "all", "z", "");
    read_it(&f, &m);
    CHECK(m.n_ops == 3 || (m.n_ops == 2 && m.ops[0].n_calls == 2));
    check_dims(&m.ops[m.n_ops - 1].out[0], "5,3");
    CHECK(m.n_notes == 1 && strstr(sd_model_text(&m, m.notes[0]), "counted once"));
    sd_model_release(&m);
    drop_file(&f);
}

/* A Scan whose body is a Relu of one slice. */
static void add_scan(struct file *f, const char *attrs)
{
    struct sd_buf node = { 0 }, graph = { 0 }, a = { 0 }, inner = { 0 };

    make_node(&inner, "Relu", "slice", "r", "");
    sd_pb_message(&graph, 1, &inner);
    put_value(&graph, 11, "slice", "");
    put_value(&graph, 12, "r", "");
    make_node(&node, "Scan", "x", "y", attrs);
    put_text(&a, 1, "body");
    sd_pb_message(&a, 6, &graph);
    sd_pb_number(&a, 20, 5);
    sd_pb_message(&node, 5, &a);
    sd_pb_message(&f->graph, 1, &node);
    sd_buf_release(&node);
    sd_buf_release(&graph);
    sd_buf_release(&a);
    sd_buf_release(&inner);
}

TEST(onnx_scans_go_along_the_axes_that_they_name)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "3,5,8");
    add_scan(&f, "num_scan_inputs=1!;scan_input_axes=1;scan_output_axes=-1");
    add_node(&f, "Neg", "y", "z", "");
    read_it(&f, &m);
    check_dims(&m.ops[0].out[0], "3,8");
    check_dims(&m.ops[1].out[0], "3,8,5");
    sd_model_release(&m);
    drop_file(&f);
}

TEST(onnx_scans_of_opset_8_are_not_counted_and_it_is_said)
{
    struct file f = { .opset = 8 };
    struct sd_model m;

    add_input(&f, "x", "3,5,8");
    add_scan(&f, "num_scan_inputs=1!");
    read_it(&f, &m);
    CHECK(m.n_ops == 0);
    CHECK(m.n_notes == 1 && strstr(sd_model_text(&m, m.notes[0]), "Scan of opset 8"));
    sd_model_release(&m);
    drop_file(&f);
}

static void check_no_scan(const char *attrs)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "3,5,8");
    add_scan(&f, attrs);
    finish_file(&f);
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &no_request, &m) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "other inputs than it says"));
    sd_model_release(&m);
    drop_file(&f);
}

TEST(onnx_scans_of_more_inputs_than_there_are_are_refused)
{
    check_no_scan("num_scan_inputs=2!");
    check_no_scan("num_scan_inputs=-5!");
    check_no_scan("num_scan_inputs=-9223372036854775808!");
}

/* A product with a weight of 8 by 8, as a branch of an If. */
static void put_branch(struct sd_buf *node, const char *name, const char *weight)
{
    struct sd_buf graph = { 0 }, a = { 0 }, inner = { 0 };
    struct file f = { 0 };

    add_weight(&f, weight, "8,8");
    sd_buf_add(&graph, f.graph.p, f.graph.n);
    put_words(&inner, 1, "in");
    put_text(&inner, 1, weight);
    put_words(&inner, 2, "out");
    put_text(&inner, 4, "MatMul");
    sd_pb_message(&graph, 1, &inner);
    put_value(&graph, 12, "out", "");
    put_text(&a, 1, name);
    sd_pb_message(&a, 6, &graph);
    sd_pb_number(&a, 20, 5);
    sd_pb_message(node, 5, &a);
    sd_buf_release(&graph);
    sd_buf_release(&a);
    sd_buf_release(&inner);
    drop_file(&f);
}

/* What is stored is stored once, whoever walks over it and however often. */
TEST(onnx_weights_of_bodies_are_counted_once_and_of_both_branches)
{
    struct sd_buf function = { 0 }, node = { 0 };
    struct file f = { 0 };
    struct sd_model m;

    put_text(&function, 1, "chooses");
    put_text(&function, 10, "mine");
    put_words(&function, 4, "in");
    put_words(&function, 5, "r");
    make_node(&node, "If", "in", "r", "");
    put_branch(&node, "then_branch", "a");
    put_branch(&node, "else_branch", "b");
    sd_pb_message(&function, 7, &node);
    sd_pb_message(&f.functions, 25, &function);
    add_input(&f, "x", "1,8");
    add_call(&f, "chooses");
    add_call(&f, "chooses");
    read_it(&f, &m);
    CHECK(elements_of(&m, SD_TENSOR_PARAMETER) == 2 * 64);
    CHECK(m.n_ops == 1 && m.ops[0].n_calls == 2);
    sd_model_release(&m);
    sd_buf_release(&function);
    sd_buf_release(&node);
    drop_file(&f);
}
