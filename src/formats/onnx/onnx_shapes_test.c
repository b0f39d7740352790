/* SPDX-License-Identifier: MIT */
#include "formats/onnx/onnx_testing.h"

TEST(onnx_windows_give_their_shapes)
{
    check_shape_2("Conv", "1,3,224,224", "64,3,7,7", NULL, "strides=2,2;pads=3,3,3,3",
                  "1,64,112,112");
    check_shape_2("Conv", "2,8,10", "4,8,3", NULL, "dilations=2", "2,4,6");
    check_shape_2("Conv", "1,3,9,9", "5,3,2,2", NULL,
                  "auto_pad='SAME_UPPER';strides=2,2", "1,5,5,5");
    check_shape_2("Conv", "1,3,9,9", "5,3,2,2", NULL, "auto_pad='VALID';strides=2,2",
                  "1,5,4,4");
    check_shape_2("ConvTranspose", "1,16,32,32", "16,8,4,4", NULL,
                  "strides=2,2;pads=1,1,1,1", "1,8,64,64");
    check_shape_2("ConvTranspose", "1,4,5", "4,3,3", NULL,
                  "group=2!;strides=2;output_padding=1", "1,6,12");
    check_shape("MaxPool", "1,64,112,112", "kernel_shape=3,3;strides=2,2;pads=1,1,1,1",
                "1,64,56,56");
    check_shape("MaxPool", "1,1,5", "kernel_shape=2;strides=2;ceil_mode=1!", "1,1,3");
    check_shape("AveragePool", "1,1,4",
                "kernel_shape=1;strides=3;pads=0,2;ceil_mode=1!", "1,1,2");
    check_shape("GlobalAveragePool", "1,512,7,7", "", "1,512,1,1");
}

TEST(onnx_pictures_give_their_shapes)
{
    check_shape_2("AffineGrid", "2,2,3", NULL, "2,3,4,5", "", "2,4,5,2");
    check_shape_2("CenterCropPad", "20,10,3", NULL, "10,7", "axes=0,1", "10,7,3");
    check_shape("MaxUnpool", "1,1,2,2", "kernel_shape=2,2;strides=2,2", "1,1,4,4");
}

TEST(onnx_products_give_their_shapes)
{
    check_shape_2("MatMul", "2,5,8", "8,3", NULL, "", "2,5,3");
    check_shape_2("MatMul", "2,1,5,8", "4,8,3", NULL, "", "2,4,5,3");
    check_shape_2("MatMul", "8", "8,3", NULL, "", "3");
    check_shape_2("MatMul", "5,8", "8", NULL, "", "5");
    check_shape_2("Gemm", "8,2", "3,8", NULL, "transA=1!;transB=1!", "2,3");
    check_shape_2("Einsum", "2,3,4", "4,5", NULL, "equation='bij,jk->bik'", "2,3,5");
    check_shape_2("Einsum", "2,3,4", "4,5", NULL, "equation='...j, jk'", "2,3,5");
}

static void check_no_einsum(const char *equation)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "3,4");
    add_weight(&f, "w", "4,5");
    add_node(&f, "Einsum", "x w", "y", equation);
    read_it(&f, &m);
    CHECK(m.n_ops == 1 && m.n_notes == 1);
    CHECK(m.ops[0].out[0].kind == SD_OPERAND_NONE);
    sd_model_release(&m);
    drop_file(&f);
}

/* A second "..." has no axes left: taking it read behind the end of the shape. */
TEST(onnx_takes_no_second_ellipsis_of_an_einsum)
{
    check_no_einsum("equation='...ij...,jk->ik'");
    check_no_einsum("equation='..................,jk->jk'");
    check_no_einsum("equation='..ij,jk->ik'");
    check_no_einsum("equation='ij.,jk->ik'");
    check_no_einsum("equation=''");
}

/* These were given a shape, which no runtime would give them. */
TEST(onnx_takes_no_einsum_that_its_operands_do_not_fit)
{
    check_no_einsum("equation='ik,jk->ij'");
    check_no_einsum("equation='i,jk->ik'");
    check_no_einsum("equation='ij->i'");
    check_no_einsum("equation='i1,1k->ik'");
    check_no_einsum("equation='ij,jk->ii'");
}

/* Of five elements, backwards from here to the front, every second. */
static void check_back(const char *from, const char *dims)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "5");
    add_list(&f, "from", from);
    add_list(&f, "to", "-1000");
    add_list(&f, "axis", "0");
    add_list(&f, "step", "-2");
    add_node(&f, "Slice", "x from to axis step", "y", "");
    read_it(&f, &m);
    check_dims(&m.ops[0].out[0], dims);
    sd_model_release(&m);
    drop_file(&f);
}

static void put_reals(struct sd_buf *node, const char *name, const float *v, size_t n)
{
    struct sd_buf a = { 0 }, packed = { 0 };

    sd_buf_add(&packed, v, n * sizeof *v);
    put_text(&a, 1, name);
    sd_pb_message(&a, 7, &packed);
    sd_pb_number(&a, 20, 6);
    sd_pb_message(node, 5, &a);
    sd_buf_release(&a);
    sd_buf_release(&packed);
}

/* 10 times 0.7 is 7 in the precision of the factor, and 6.99... in a larger one. */
TEST(onnx_factors_are_lists_of_attributes_too)
{
    static const float scales[] = { 1, 1, 0.7F, 2.3F };
    struct sd_buf node = { 0 };
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "1,1,10,10");
    make_node(&node, "Constant", "", "scales", "");
    put_reals(&node, "value_floats", scales, 4);
    sd_pb_message(&f.graph, 1, &node);
    add_node(&f, "Resize", "x - scales", "y", "");
    make_node(&node, "Upsample", "x", "z", ""); /* as opset 7 has it */
    put_reals(&node, "scales", scales, 4);
    sd_pb_message(&f.graph, 1, &node);
    read_it(&f, &m);
    CHECK(m.n_ops == 2 && m.n_notes == 0);
    check_dims(&m.ops[0].out[0], "1,1,7,23");
    check_dims(&m.ops[1].out[0], "1,1,7,23");
    sd_model_release(&m);
    sd_buf_release(&node);
    drop_file(&f);
}

TEST(onnx_moves_give_their_shapes)
{
    check_shape_2("Reshape", "2,3,4", NULL, "0,-1", "", "2,12");
    check_shape_2("Reshape", "2,3,4", NULL, "4,6", "", "4,6");
    check_shape("Flatten", "2,3,4", "", "2,12");
    check_shape("Flatten", "2,3,4", "axis=-1!", "6,4");
    check_shape_2("Squeeze", "1,3,1", NULL, "-1", "", "1,3");
    check_shape("Squeeze", "1,3,1", "", "3");
    check_shape_2("Unsqueeze", "3", NULL, "0,-1", "", "1,3,1");
    check_shape("Unsqueeze", "3", "axes=0", "1,3");
    check_shape("Transpose", "2,3,4", "perm=1,2,0", "3,4,2");
    check_shape("Transpose", "2,3,4", "", "4,3,2");
    check_shape_2("Concat", "2,3", "2,5", NULL, "axis=-1!", "2,8");
    check_shape_2("Gather", "5,3", "2,2", NULL, "axis=0!", "2,2,3");
    check_shape("Slice", "9,4", "starts=2;ends=-1;axes=0", "6,4");
    check_back("-100", "1"); /* it begins within the axis, as onnxruntime has it */
    check_back("100", "3");
    check_back("0", "1");
    check_shape_2("Expand", "3,1", NULL, "2,1,6", "", "2,3,6");
    check_shape_2("Tile", "3,1", NULL, "2,5", "", "6,5");
    check_shape_2("Pad", "3,1", NULL, "1,0,0,5", "", "4,6");
    check_shape("DepthToSpace", "1,8,2,3", "blocksize=2!", "1,2,4,6");
    check_shape("SpaceToDepth", "1,2,4,6", "blocksize=2!", "1,8,2,3");
    check_shape("ReduceMean", "2,3,4", "axes=-1,1;keepdims=0!", "2");
    check_shape("ReduceMean", "2,3", "keepdims=1!", "1,1");
    check_shape("ArgMax", "2,3", "axis=1!", "2,1");
    check_shape_2("TopK", "2,30", NULL, "5", "", "2,5");
    check_shape_2("Split", "2,6", NULL, "6", "axis=1!", "2,6");
    check_shape_2("Add", "2,1,3", "4,1", NULL, "", "2,4,3");
    check_shape_2("Resize", "1,1,4,4", NULL, "1,1,8,6", "", "1,1,8,6");
}

/* --- onnxruntime's own */

/* The shapes of the named outputs, "-" one that is not known, of one operator of inputs
 * or weights of these shapes. */
static void check_ms(const char *op, const char *const *in, size_t n_in,
                     const char *attrs, const char *const *out, size_t n_out)
{
    struct file f = { 0 };
    struct sd_buf ins = { 0 }, outs = { 0 };
    struct sd_model m;

    for (size_t i = 0; i < n_in; i++) {
        char name[8];

        snprintf(name, sizeof name, in[i] ? "i%zu" : "-", i);
        sd_buf_printf(&ins, "%s%s", i ? " " : "", name);
        if (in[i])
            add_input(&f, name, in[i]);
    }
    for (size_t i = 0; i < n_out; i++)
        sd_buf_printf(&outs, "%so%zu", i ? " " : "", i);
    add_ms_node(&f, op, sd_buf_string(&ins), sd_buf_string(&outs), attrs);
    read_it(&f, &m);
    CHECK(m.n_ops == 1 && m.n_notes == 0 && m.ops[0].n_out == n_out);
    for (size_t i = 0; i < n_out; i++) {
        if (out[i])
            check_dims(&m.ops[0].out[i], out[i]);
        else
            CHECK(m.ops[0].out[i].kind == SD_OPERAND_NONE);
    }
    sd_model_release(&m);
    sd_buf_release(&ins);
    sd_buf_release(&outs);
    drop_file(&f);
}

#define LIST(...)                                                                      \
    (const char *const[]) { __VA_ARGS__ }

TEST(onnxruntimes_fused_operators_give_their_shapes)
{
    check_ms("Attention", LIST("2,4,32", "32,96", "96"), 3, "num_heads=4!",
             LIST("2,4,32", "2,2,4,4,8"), 2);
    check_ms("Attention", LIST("1,4,32", "32,40", "40"), 3,
             "num_heads=4!;qkv_hidden_sizes=16,16,8", LIST("1,4,8"), 1);
    check_ms("QAttention", LIST("1,4,32", "32,96", "96", "", ""), 5, "num_heads=4!",
             LIST("1,4,32"), 1);
    check_ms("MultiHeadAttention", LIST("1,4,32", "1,7,32", "1,7,16"), 3,
             "num_heads=4!", LIST("1,4,16"), 1);
    check_ms("MultiHeadAttention", LIST("1,4,2,3,8"), 1, "num_heads=2!", LIST("1,4,16"),
             1);
    check_ms("GroupQueryAttention", LIST("1,4,32", "1,4,16", "1,4,16", "1,2,5,8"), 4,
             "num_heads=4!;kv_num_heads=2!", LIST("1,4,32", "1,2,9,8", "1,2,9,8"), 3);
    check_ms("GroupQueryAttention", LIST("1,4,64", NULL, NULL), 3,
             "num_heads=4!;kv_num_heads=2!", LIST("1,4,32"), 1);
    check_ms("EmbedLayerNormalization",
             LIST("2,5", "2,5", "100,16", "64,16", "2,16", "16", "16"), 7, "",
             LIST("2,5,16", "2", "2,5,16"), 3);
    check_ms("SkipLayerNormalization", LIST("2,5,16", "2,5,16", "16", "16"), 4, "",
             LIST("2,5,16", NULL, NULL, "2,5,16"), 4);
    check_ms("BiasSplitGelu", LIST("1,5,16", "16"), 2, "", LIST("1,5,8"), 1);
    check_ms("FusedMatMul", LIST("4,3,8", "3,8,5"), 2, "transBatchA=1!", LIST("3,4,5"),
             1);
}

TEST(onnxruntimes_quantized_operators_give_their_shapes)
{
    check_ms("DynamicQuantizeMatMul", LIST("1,4,8", "8,3", ""), 3, "", LIST("1,4,3"),
             1);
    check_ms("MatMulIntegerToFloat", LIST("1,4,8", "8,3", "", ""), 4, "", LIST("1,4,3"),
             1);
    check_ms("DynamicQuantizeLSTM", LIST("5,2,6", "2,6,28", "2,7,28"), 3,
             "hidden_size=7!", LIST("5,2,2,7", "2,2,7"), 2);
    check_ms("QGemm", LIST("2,8", "", "", "3,8", "", ""), 6, "transB=1!", LIST("2,3"),
             1);
    check_ms("QLinearAdd", LIST("2,1,8", "", "", "4,1", "", ""), 6, "", LIST("2,4,8"),
             1);
    check_ms("QLinearConcat", LIST("", "", "2,3", "", "", "2,5", "", ""), 8, "axis=1!",
             LIST("2,8"), 1);
    check_ms("QLinearGlobalAveragePool", LIST("1,8,7,7", "", ""), 3, "",
             LIST("1,8,1,1"), 1);
    check_ms("QLinearGlobalAveragePool", LIST("1,7,7,8", "", ""), 3, "channels_last=1!",
             LIST("1,1,1,8"), 1);
    check_ms("QLinearReduceMean", LIST("1,8,7,7", "", "", "", ""), 5,
             "axes=2,3;keepdims=0!", LIST("1,8"), 1);
    check_ms("QLinearConv", LIST("1,3,8,8", "", "", "4,3,3,3", "", "", "", ""), 8, "",
             LIST("1,4,6,6"), 1);
}

/* Only output 0 was told of: what used another was not counted, without a word. */
TEST(onnx_tells_of_a_further_output_without_a_shape_when_it_is_used)
{
    struct file used = { 0 }, unused = { 0 };
    struct sd_model m;

    add_input(&unused, "x", "2,5,16");
    add_node(&unused, "LayerNormalization", "x", "y mean", "");
    add_node(&unused, "Relu", "y", "z", "");
    read_it(&unused, &m);
    CHECK(m.n_notes == 0);
    sd_model_release(&m);
    drop_file(&unused);
    add_input(&used, "x", "2,5,16");
    add_node(&used, "LayerNormalization", "x", "y mean", "");
    add_node(&used, "Relu", "mean", "w", "");
    add_node(&used, "Relu", "mean", "v", "");
    read_it(&used, &m);
    CHECK(m.n_notes == 1 &&
          strstr(sd_model_text(&m, m.notes[0]), "mean (LayerNormalization)"));
    sd_model_release(&m);
    drop_file(&used);
}

/* Elements neither come nor go, and what is put together has equal sides. */
TEST(onnx_shapes_that_do_not_fit_are_told_and_not_taken)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "-1,-2,8");
    add_list(&f, "to", "1,128,8");
    add_node(&f, "Reshape", "x to", "y", "");
    read_it(&f, &m);
    CHECK(m.n_ops == 1 && m.ops[0].out[0].kind == SD_OPERAND_NONE);
    CHECK(m.n_notes == 2);
    CHECK(strstr(sd_model_text(&m, m.notes[0]), "fixes the shape of y (Reshape) to "
                                                "1,128,8, and its input has 1,1,8"));
    sd_model_release(&m);
    drop_file(&f);
    f = (struct file){ 0 };
    add_input(&f, "x", "3,8");
    add_input(&f, "w", "7,8");
    add_node(&f, "Concat", "x w", "y", "axis=1!");
    read_it(&f, &m);
    CHECK(m.ops[0].out[0].kind == SD_OPERAND_NONE && m.n_notes == 1);
    sd_model_release(&m);
    drop_file(&f);
}

/* One operator of two inputs that do not fit, although the file has a shape for what
 * it gives: `said` is in the note. */
static void check_unfit(const char *op, const char *x, const char *w, const char *attrs,
                        const char *said)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", x);
    add_weight(&f, "w", w);
    add_node(&f, op, "x w", "y", attrs);
    put_value(&f.graph, 12, "y", "4,8,7,7");
    read_it(&f, &m);
    CHECK(m.n_ops == 1 && m.ops[0].out[0].kind == SD_OPERAND_NONE);
    CHECK(m.n_notes == 1 && strstr(sd_model_text(&m, m.notes[0]), said));
    sd_model_release(&m);
    drop_file(&f);
}

TEST(onnx_products_that_do_not_fit_are_told_and_not_counted)
{
    check_unfit("MatMul", "4,9", "8,5", "",
                "go into y (MatMul) do not fit, 4×9 and "
                "8×5: neither");
    check_unfit("MatMul", "4,8", "3", "", "4×8 and 3");
    check_unfit("Gemm", "4,9", "5,8", "transB=1!", "4×9 and 5×8, with transB 1");
    check_unfit("Conv", "4,9,9,9", "8,5,3,3", "", "4×9×9×9 and 8×5×3×3, with group 1");
    check_unfit("Conv", "4,8,9", "8,8,3,3", "", "4×8×9 and 8×8×3×3");
    check_unfit("Conv", "4,5,9,9", "8,5,3,3", "group=0!", "with group 0");
    check_unfit("Conv", "4,8,9,9", "8,8,3,3", "group=-1!", "with group -1");
    check_unfit("Conv", "4,8,9,9", "8,2,3,3", "group=3!", "with group 3");
    check_unfit("Conv", "4,8,9,9", "6,2,3,3", "group=4!", "with group 4");
    check_unfit("Conv", "4,8,9,9", "8,8,3,3", "kernel_shape=5,5",
                "with kernel_shape 5×5");
    check_unfit("ConvTranspose", "4,8,9,9", "7,8,3,3", "", "4×8×9×9 and 7×8×3×3");
    check_unfit("ConvTranspose", "4,8,9,9", "8,8,3,3", "group=3!", "with group 3");
}

TEST(onnx_operands_that_are_nowhere_are_named)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "4,8");
    add_weight(&f, "v", "5,5");
    add_weight(&f, "w", "8,5");
    add_node(&f, "MatMul", "x gone", "a", "");
    add_node(&f, "MatMul", "t v", "y", ""); /* before t is made */
    add_node(&f, "MatMul", "x w", "t", "");
    add_node(&f, "Clip", "x - w", "z", ""); /* left out, not absent */
    read_it(&f, &m);
    CHECK(m.n_ops == 4 && m.n_notes == 2);
    CHECK(
        strstr(sd_model_text(&m, m.notes[0]), "operand gone of a (MatMul) is absent"));
    CHECK(strstr(sd_model_text(&m, m.notes[1]), "operand t of y (MatMul) is absent"));
    check_dims(&m.ops[2].out[0], "4,5");
    sd_model_release(&m);
    drop_file(&f);
}

TEST(onnx_recurrent_nets_give_their_shapes)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "10,4,64");
    add_weight(&f, "w", "2,512,64");
    add_weight(&f, "r", "2,512,128");
    add_node(&f, "LSTM", "x w r", "y h c",
             "hidden_size=128!;direction='bidirectional'");
    read_it(&f, &m);
    check_dims(&m.ops[0].out[0], "10,2,4,128");
    check_dims(&m.ops[0].out[2], "2,4,128");
    CHECK(sd_model_op_number(&m, &m.ops[0], "hidden_size", 0, -1) == 128);
    CHECK(m.ops[0].in[1].is_weight && !m.ops[0].in[0].is_weight);
    sd_model_release(&m);
    drop_file(&f);
}

/* As exporters write x.view(x.shape[0], -1, 8).  What only makes a shape is no operator
 * of the model. */
TEST(onnx_shapes_that_are_computed_are_followed)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "-1,6,16");
    add_list(&f, "zero", "0");
    add_list(&f, "axis", "0");
    add_list(&f, "rest", "-1");
    add_list(&f, "two", "2");
    add_node(&f, "Shape", "x", "shape", "");
    add_node(&f, "Gather", "shape zero", "batch", "");
    add_node(&f, "Gather", "shape two", "width", "");
    add_node(&f, "Div", "width two", "half", "");
    add_node(&f, "Cast", "half", "same", "to=7!");
    add_node(&f, "Concat", "batch rest same", "to", "axis=0!");
    add_node(&f, "Reshape", "x to", "y", "");
    read_it(&f, &m);
    CHECK(m.n_ops == 1);
    check_dims(&m.ops[0].out[0], "1,12,8");
    CHECK(m.n_notes == 1 && strstr(sd_model_text(&m, m.notes[0]), "batch of x"));
    sd_model_release(&m);
    drop_file(&f);
}

TEST(onnx_elements_of_small_tensors_are_computed)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "1,48");
    add_list(&f, "a", "7,8");
    add_list(&f, "b", "2");
    add_list(&f, "from", "-1");
    add_list(&f, "to", "-9223372036854775808");
    add_list(&f, "step", "-1");
    add_list(&f, "zero", "0");
    add_node(&f, "Sub", "a b", "s", "");                        /* 5 6 */
    add_node(&f, "Slice", "s from to zero step", "turned", ""); /* 6 5 */
    add_node(&f, "Mod", "a turned", "m", "");                   /* 1 3 */
    add_node(&f, "Max", "m b", "max", "");                      /* 2 3 */
    add_node(&f, "ReduceProd", "max", "all", "keepdims=1!");    /* 6 */
    add_node(&f, "Equal", "all b", "is", "");                   /* 0 */
    add_node(&f, "Where", "is b all", "chosen", "");            /* 6 */
    add_node(&f, "Neg", "b", "n", "");                          /* -2 */
    add_node(&f, "Abs", "n", "p", "");                          /* 2 */
    add_node(&f, "Concat", "chosen p b from", "shape", "axis=0!");
    add_node(&f, "Reshape", "x shape", "y", ""); /* 6 2 2 -1 */
    read_it(&f, &m);
    CHECK(m.n_ops == 1);
    check_dims(&m.ops[0].out[0], "6,2,2,2");
    sd_model_release(&m);
    drop_file(&f);
}

/* The shape that x, of 12 elements, gets from one number, which Mod makes of these. */
static void check_mod(const char *a, const char *b, const char *attrs, const char *dims)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "12");
    add_list(&f, "a", a);
    add_list(&f, "b", b);
    add_list(&f, "rest", "-1");
    add_node(&f, "Mod", "a b", "m", attrs);
    add_node(&f, "Concat", "m rest", "shape", "axis=0!");
    add_node(&f, "Reshape", "x shape", "y", "");
    read_it(&f, &m);
    if (dims)
        check_dims(&m.ops[m.n_ops - 1].out[0], dims);
    else
        CHECK(m.n_notes > 0 && m.ops[m.n_ops - 1].out[0].kind == SD_OPERAND_NONE);
    sd_model_release(&m);
    drop_file(&f);
}

TEST(onnx_remainders_are_those_of_onnx_and_hostile_ones_do_no_harm)
{
    check_mod("11", "8", "", "3,4");
    check_mod("-9", "4", "", "3,4"); /* the sign of the divisor */
    check_mod("9", "-4", "fmod=1!", "1,12");
    check_mod("-9", "4", "fmod=1!", NULL); /* -1, a second open axis */
    check_mod("5", "0", "", NULL);
    /* The processor traps on the least number by -1: nothing is left of it. */
    check_mod("-9223372036854775808", "-1", "", "12,1");
    check_mod("-9223372036854775808", "-1", "fmod=1!", "12,1");
}

TEST(onnx_bits_of_small_tensors_are_computed)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "1,60");
    add_list(&f, "a", "6");
    add_list(&f, "b", "3");
    add_list(&f, "rest", "-1");
    add_node(&f, "BitwiseAnd", "a b", "and", "");   /* 2 */
    add_node(&f, "BitwiseXor", "a b", "xor", "");   /* 5 */
    add_node(&f, "BitwiseOr", "and b", "or", "");   /* 3 */
    add_node(&f, "Greater", "a b", "yes", "");      /* true */
    add_node(&f, "Less", "a b", "no", "");          /* false */
    add_node(&f, "Xor", "yes no", "is", "");        /* true */
    add_node(&f, "Where", "is or a", "chosen", ""); /* 3 */
    add_node(&f, "Concat", "and xor chosen rest", "shape", "axis=0!");
    add_node(&f, "Reshape", "x shape", "y", "");
    read_it(&f, &m);
    CHECK(m.n_ops == 1);
    check_dims(&m.ops[0].out[0], "2,5,3,2");
    sd_model_release(&m);
    drop_file(&f);
}

/* As torch's older exporter writes unflatten(-1, (3, 16)) in its attention: what stands
 * before the axis, the new axes, and what stands behind it, which is nothing. */
TEST(onnx_shapes_of_which_a_part_is_empty_are_followed)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "7,2,48");
    add_list(&f, "axis", "2");
    add_list(&f, "axes", "3");
    add_list(&f, "parts", "3,16");
    add_list(&f, "zero", "0");
    add_list(&f, "one", "1");
    add_list(&f, "end", "9223372036854775807");
    add_node(&f, "Shape", "x", "shape", "");
    add_node(&f, "Mod", "axis axes", "at", "");
    add_node(&f, "Slice", "shape zero at", "before", "");
    add_node(&f, "Add", "at one", "next", "");
    add_node(&f, "Slice", "shape next end", "behind", "");
    add_node(&f, "Slice", "behind zero end", "still", ""); /* nothing of nothing */
    add_node(&f, "ReduceProd", "still", "single", "keepdims=1!"); /* 1 */
    add_node(&f, "Concat", "before parts behind still single", "to", "axis=0!");
    add_node(&f, "Reshape", "x to", "y", "");
    read_it(&f, &m);
    CHECK(m.n_ops == 1 && m.n_notes == 0);
    check_dims(&m.ops[0].out[0], "7,2,3,16,1");
    sd_model_release(&m);
    drop_file(&f);
}

/* As torch's older exporter writes a padding: pairs of an axis, the last axis first,
 * are turned round. */
TEST(onnx_paddings_that_are_computed_are_followed)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "1,3,8,9");
    add_list(&f, "pads", "1,2,3,4,0,0,0,0"); /* width 1 2, height 3 4 */
    add_list(&f, "two", "-1,2");
    add_list(&f, "from", "-1");
    add_list(&f, "to", "-9223372036854775807");
    add_list(&f, "axis", "0");
    add_list(&f, "flat", "-1");
    add_node(&f, "Reshape", "pads two", "pairs", "");
    add_node(&f, "Slice", "pairs from to axis from", "turned", "");
    add_node(&f, "Transpose", "turned", "apart", "perm=1,0");
    add_node(&f, "Reshape", "apart flat", "list", "");
    add_node(&f, "Pad", "x list", "y", "");
    read_it(&f, &m);
    CHECK(m.n_ops == 1);
    check_dims(&m.ops[0].out[0], "1,3,15,12");
    sd_model_release(&m);
    drop_file(&f);
}

/* Splits `x` by a list of lengths, NULL: into rows, and takes part `at`.
 * "value_int=12!" is one length for all. */
static void check_part(const char *attrs, const char *lengths, const char *at,
                       const char *dims)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", "2,32");
    if (lengths && strchr(lengths, '='))
        add_node(&f, "Constant", "", "lengths", lengths);
    else if (lengths)
        add_list(&f, "lengths", lengths);
    add_list(&f, "at", at);
    add_node(&f, "SplitToSequence", lengths ? "x lengths" : "x", "s", attrs);
    add_node(&f, "SequenceAt", "s at", "y", "");
    read_it(&f, &m);
    CHECK(m.n_ops >= 2);
    if (dims)
        check_dims(&m.ops[m.n_ops - 1].out[0], dims);
    else
        CHECK(m.ops[m.n_ops - 1].out[0].kind == SD_OPERAND_NONE);
    CHECK((m.n_notes == 0) == (dims != NULL));
    sd_model_release(&m);
    drop_file(&f);
}

TEST(onnx_parts_of_a_sequence_have_shapes)
{
    check_part("axis=-1!", "10,10,12", "0", "2,10");
    check_part("axis=-1!", "10,10,12", "-1", "2,12");
    check_part("axis=1!;keepdims=0!", "32", "0", "2,32");
    check_part("axis=1!", "value_int=12!", "1", "2,12");
    check_part("axis=1!", "value_int=12!", "2", "2,8");
    check_part("axis=1!", "value_int=16!", "-1", "2,16");
    check_part("", NULL, "1", "1,32");
    check_part("keepdims=0!", NULL, "1", "32");
    check_part("keepdims=0!;axis=1!", NULL, "31", "2");
}

TEST(onnx_parts_that_are_not_there_are_told)
{
    check_part("axis=-1!", "10,10,12", "3", NULL);
    check_part("axis=-1!", "10,10,12", "-4", NULL);
    check_part("axis=-1!", "10,10", "0", NULL);
    check_part("axis=-1!", "-10,42", "0", NULL);
    check_part("axis=1!", "value_int=12!", "3", NULL);
    check_part("axis=1!", "value_int=0!", "0", NULL);
    check_part("axis=2!", "10,10,12", "0", NULL);
}
