/* SPDX-License-Identifier: MIT */
#include "formats/onnx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "formats/protobuf.h"

/* --- Files made by hand: the fields of onnx.proto by their numbers */

struct file {
    struct sd_buf graph, functions, whole;
    uint64_t opset; /* 0: 20 */
};

static void put_text(struct sd_buf *b, uint32_t field, const char *s)
{
    sd_pb_bytes(b, field, s, strlen(s));
}

/* Each of the words "a b c", "-" being one that is left out. */
static void put_words(struct sd_buf *b, uint32_t field, const char *words)
{
    while (*words) {
        size_t n = strcspn(words, " ");

        sd_pb_bytes(b, field, words, n == 1 && *words == '-' ? 0 : n);
        words += n + (words[n] == ' ');
    }
}

static void put_ints(struct sd_buf *b, uint32_t field, const char *numbers)
{
    struct sd_buf packed = { 0 };

    for (char *at; *numbers; numbers = at + (*at == ','))
        sd_pb_varint(&packed, (uint64_t)strtoll(numbers, &at, 10));
    sd_pb_message(b, field, &packed);
    sd_buf_release(&packed);
}

/* "strides=2,2;group=1!;equation='ab,bc'": lists, numbers and texts. */
static void put_attrs(struct sd_buf *node, const char *attrs)
{
    struct sd_buf a = { 0 };

    while (*attrs) {
        const char *eq = strchr(attrs, '='), *value = eq + 1;
        size_t n = strcspn(value, ";");
        char text[64] = "";

        memcpy(text, value, n);
        sd_pb_bytes(&a, 1, attrs, (size_t)(eq - attrs));
        if (text[0] == '\'') {
            sd_pb_bytes(&a, 4, text + 1, n - 2);
            sd_pb_number(&a, 20, 3);
        } else if (text[n - 1] == '!') {
            sd_pb_number(&a, 3, (uint64_t)strtoll(text, NULL, 10));
            sd_pb_number(&a, 20, 2);
        } else {
            put_ints(&a, 8, text);
            sd_pb_number(&a, 20, 7);
        }
        sd_pb_message(node, 5, &a);
        attrs = value + n + (value[n] == ';');
    }
    sd_buf_release(&a);
}

static void make_node(struct sd_buf *node, const char *op, const char *in,
                      const char *out, const char *attrs)
{
    put_words(node, 1, in);
    put_words(node, 2, out);
    put_text(node, 4, op);
    put_attrs(node, attrs);
}

static void add_node(struct file *f, const char *op, const char *in, const char *out,
                     const char *attrs)
{
    struct sd_buf node = { 0 };

    make_node(&node, op, in, out, attrs);
    sd_pb_message(&f->graph, 1, &node);
    sd_buf_release(&node);
}

/* "x=1,3,-8": an axis of a negative number is symbolic. */
static void put_value(struct sd_buf *to, uint32_t field, const char *name,
                      const char *dims)
{
    struct sd_buf axis = { 0 }, shape = { 0 }, tensor = { 0 }, type = { 0 },
                  value = { 0 };

    for (char *at; *dims; dims = at + (*at == ',')) {
        long long v = strtoll(dims, &at, 10);

        if (v < 0)
            put_text(&axis, 2, v == -1 ? "batch" : "length");
        else
            sd_pb_number(&axis, 1, (uint64_t)v);
        sd_pb_message(&shape, 1, &axis);
    }
    sd_pb_number(&tensor, 1, 1);
    sd_pb_message(&tensor, 2, &shape);
    sd_pb_message(&type, 1, &tensor);
    put_text(&value, 1, name);
    sd_pb_message(&value, 2, &type);
    sd_pb_message(to, field, &value);
    sd_buf_release(&axis);
    sd_buf_release(&shape);
    sd_buf_release(&tensor);
    sd_buf_release(&type);
    sd_buf_release(&value);
}

static void add_input(struct file *f, const char *name, const char *dims)
{
    put_value(&f->graph, 11, name, dims);
}

/* A weight of floats, whose data are in another file. */
static void add_weight(struct file *f, const char *name, const char *dims)
{
    struct sd_buf t = { 0 };

    if (*dims)
        put_ints(&t, 1, dims);
    sd_pb_number(&t, 2, 1);
    put_text(&t, 8, name);
    sd_pb_number(&t, 14, 1);
    sd_pb_message(&f->graph, 5, &t);
    sd_buf_release(&t);
}

/* A list of whole numbers, as a field of them. */
static void add_list(struct file *f, const char *name, const char *numbers)
{
    struct sd_buf t = { 0 };
    uint64_t n = 1;

    for (const char *p = numbers; *p; p++)
        n += *p == ',';
    sd_pb_number(&t, 1, n);
    sd_pb_number(&t, 2, 7);
    put_ints(&t, 7, numbers);
    put_text(&t, 8, name);
    sd_pb_message(&f->graph, 5, &t);
    sd_buf_release(&t);
}

static void finish_file(struct file *f)
{
    struct sd_buf opset = { 0 };

    sd_pb_number(&f->whole, 1, 10);
    put_text(&f->whole, 2, "by hand");
    sd_pb_message(&f->whole, 7, &f->graph);
    sd_pb_number(&opset, 2, f->opset ? f->opset : 20);
    sd_pb_message(&f->whole, 8, &opset);
    sd_buf_add(&f->whole, f->functions.p, f->functions.n);
    CHECK(!f->whole.bad);
    sd_buf_release(&opset);
}

static void drop_file(struct file *f)
{
    sd_buf_release(&f->graph);
    sd_buf_release(&f->functions);
    sd_buf_release(&f->whole);
}

static const struct sd_model_wish no_wish;

static void read_it(struct file *f, struct sd_model *m)
{
    finish_file(f);
    CHECK(sd_onnx_is(f->whole.p, f->whole.n));
    CHECK(sd_model_init(m) == 0);
    CHECK(sd_onnx_read(f->whole.p, f->whole.n, &no_wish, m) == 0);
}

static void check_dims(const struct sd_operand *o, const char *dims)
{
    struct sd_buf text = { 0 };

    for (uint32_t i = 0; i < o->dims.n; i++)
        sd_buf_printf(&text, "%s%lld", i ? "," : "", (long long)o->dims.d[i]);
    CHECK(o->kind == SD_OPERAND_TENSOR);
    CHECK(strcmp(sd_buf_string(&text), dims) == 0);
    sd_buf_release(&text);
}

/* The shape that one operator gives for an x of this shape. */
static void check_shape(const char *op, const char *x, const char *attrs,
                        const char *dims)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", x);
    add_node(&f, op, "x", "y", attrs);
    read_it(&f, &m);
    CHECK(m.n_ops == 1 && m.n_notes == 0);
    check_dims(&m.ops[0].out[0], dims);
    sd_model_release(&m);
    drop_file(&f);
}

/* The same with a second input: a weight, or a list of numbers. */
static void check_shape_2(const char *op, const char *x, const char *weight,
                          const char *list, const char *attrs, const char *dims)
{
    struct file f = { 0 };
    struct sd_model m;

    add_input(&f, "x", x);
    if (weight)
        add_weight(&f, "w", weight);
    else
        add_list(&f, "w", list);
    add_node(&f, op, "x w", "y", attrs);
    read_it(&f, &m);
    CHECK(m.n_ops == 1 && m.n_notes == 0);
    check_dims(&m.ops[0].out[0], dims);
    sd_model_release(&m);
    drop_file(&f);
}

/* --- Shapes */

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

static void add_ms_node(struct file *f, const char *op, const char *in, const char *out,
                        const char *attrs)
{
    struct sd_buf node = { 0 };

    make_node(&node, op, in, out, attrs);
    put_text(&node, 7, "com.microsoft");
    sd_pb_message(&f->graph, 1, &node);
    sd_buf_release(&node);
}

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
                                                "1,128,8, and what goes in has 1,1,8"));
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
    CHECK(sd_op_number(&m, &m.ops[0], "hidden_size", 0, -1) == 128);
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

/* --- Inputs */

TEST(onnx_takes_the_shapes_that_the_user_gives)
{
    struct file f = { 0 };
    int64_t dims[] = { 4, 7 }, wrong[] = { 4 };
    struct sd_model_input in = { "x", dims, 2, 0 };
    struct sd_model_wish wish = { &in, 1 };
    struct sd_model m;

    add_input(&f, "x", "-1,-2");
    add_input(&f, "z", "-1,1");
    add_node(&f, "Add", "x z", "y", "");
    finish_file(&f);
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &wish, &m) == 0);
    check_dims(&m.ops[0].out[0], "4,7");
    check_dims(&m.ops[0].in[1], "4,1"); /* the same batch */
    CHECK(m.n_notes == 0);
    sd_model_release(&m);

    in = (struct sd_model_input){ "q", dims, 2, 0 };
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &wish, &m) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "no input named q; its first is x=1,1:float32"));
    sd_model_release(&m);

    in = (struct sd_model_input){ "z", dims, 2, 0 };
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &wish, &m) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "axis 1 of the input z is 1 in this file, not 7"));
    sd_model_release(&m);

    in = (struct sd_model_input){ NULL, wrong, 1, 0 };
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &wish, &m) == SD_EUSAGE);
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
    struct sd_model_wish wish = { in, 2 };
    struct sd_model m;

    add_input(&f, "x", "-1,-2");
    add_input(&f, "z", "-3,-4");
    add_node(&f, "Add", "x z", "y", "");
    finish_file(&f);
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &wish, &m) == 0);
    check_dims(&m.ops[0].in[0], "4,7");
    check_dims(&m.ops[0].in[1], "4,1");
    sd_model_release(&m);

    wish.n_inputs = 3;
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &wish, &m) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "3 inputs were given, but the model has 2"));
    sd_model_release(&m);

    wish.n_inputs = 2;
    in[1].name = "x";
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &wish, &m) == SD_EUSAGE);
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

static int64_t elements_of(const struct sd_model *m, uint16_t flag)
{
    int64_t all = 0;

    for (size_t i = 0; i < m->n_tensors; i++)
        if (m->tensors[i].flags & flag)
            all += sd_dims_elements(m->tensors[i].dims);
    return all;
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

/* --- Functions and bodies */

/* A function "twice" of two nodes, each of which may be another call. */
static void add_function(struct file *f, const char *name, const char *op)
{
    struct sd_buf function = { 0 }, node = { 0 };

    put_text(&function, 1, name);
    put_text(&function, 10, "mine");
    put_words(&function, 4, "in");
    put_words(&function, 5, "out");
    make_node(&node, op, "in", "between", "");
    put_text(&node, 7, strcmp(op, "Relu") == 0 ? "" : "mine");
    sd_pb_message(&function, 7, &node);
    make_node(&node, op, "between", "out", "");
    put_text(&node, 7, strcmp(op, "Relu") == 0 ? "" : "mine");
    sd_pb_message(&function, 7, &node);
    sd_pb_message(&f->functions, 25, &function);
    sd_buf_release(&function);
    sd_buf_release(&node);
}

static void add_call(struct file *f, const char *name)
{
    struct sd_buf node = { 0 };

    make_node(&node, name, "x", "y", "");
    put_text(&node, 7, "mine");
    sd_pb_message(&f->graph, 1, &node);
    sd_buf_release(&node);
}

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
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &no_wish, &m) == SD_EFORMAT);
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
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &no_wish, &m) == SD_EFORMAT);
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
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &no_wish, &m) == SD_EFORMAT);
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
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &no_wish, &m) == SD_EFORMAT);
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
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &no_wish, &m) == SD_EFORMAT);
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
        rc = sd_onnx_read(f.whole.p, n, &no_wish, &m);
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
            rc = sd_onnx_read(f.whole.p, f.whole.n, &no_wish, &m);
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
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &no_wish, &m) == SD_EFORMAT);
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
    rc = sd_onnx_read(f.whole.p, f.whole.n, &no_wish, &m);
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
        CHECK(sd_tensor_bytes(&m.tensors[0]) == 160);
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
    CHECK(sd_tensor_bytes(&m.tensors[0]) == 12);
    check_dims(&m.ops[0].out[0], "4,5");
    sd_model_release(&m);
    drop_file(&f);
    sd_buf_clear(&sparse);
    put_tensor(&sparse, 1, 1, "3", 9, 12);
    put_ints(&sparse, 3, "2");
    sd_pb_message(&lies.graph, 15, &sparse);
    finish_file(&lies);
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_onnx_read(lies.whole.p, lies.whole.n, &no_wish, &m) == SD_EFORMAT);
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
    CHECK(sd_onnx_read(f.whole.p, f.whole.n, &no_wish, &m) == SD_EFORMAT);
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
    CHECK(sd_onnx_read(whole.p, whole.n, &no_wish, &m) == 0);
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
            rc = sd_onnx_read(f.whole.p, f.whole.n, &no_wish, &m);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_model_release(&m);
    }
    drop_file(&f);
}
