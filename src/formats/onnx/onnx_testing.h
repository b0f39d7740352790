/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_ONNX_ONNX_TESTING_H
#define SD_FORMATS_ONNX_ONNX_TESTING_H
/* onnx_testing: ONNX files made by hand, the fields of onnx.proto by their numbers, and
 * what is read of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "formats/onnx/onnx.h"
#include "formats/protobuf.h"

struct file {
    struct sd_buf graph, functions, whole;
    uint64_t opset; /* 0: 20 */
};

static inline void put_text(struct sd_buf *b, uint32_t field, const char *s)
{
    sd_pb_bytes(b, field, s, strlen(s));
}

/* Each of the words "a b c", "-" being one that is left out. */
static inline void put_words(struct sd_buf *b, uint32_t field, const char *words)
{
    while (*words) {
        size_t n = strcspn(words, " ");

        sd_pb_bytes(b, field, words, n == 1 && *words == '-' ? 0 : n);
        words += n + (words[n] == ' ');
    }
}

static inline void put_ints(struct sd_buf *b, uint32_t field, const char *numbers)
{
    struct sd_buf packed = { 0 };

    for (char *at; *numbers; numbers = at + (*at == ','))
        sd_pb_varint(&packed, (uint64_t)strtoll(numbers, &at, 10));
    sd_pb_message(b, field, &packed);
    sd_buf_release(&packed);
}

/* "strides=2,2;group=1!;equation='ab,bc'": lists, numbers and texts. */
static inline void put_attrs(struct sd_buf *node, const char *attrs)
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

static inline void make_node(struct sd_buf *node, const char *op, const char *in,
                             const char *out, const char *attrs)
{
    put_words(node, 1, in);
    put_words(node, 2, out);
    put_text(node, 4, op);
    put_attrs(node, attrs);
}

static inline void add_node(struct file *f, const char *op, const char *in,
                            const char *out, const char *attrs)
{
    struct sd_buf node = { 0 };

    make_node(&node, op, in, out, attrs);
    sd_pb_message(&f->graph, 1, &node);
    sd_buf_release(&node);
}

/* "x=1,3,-8": an axis of a negative number is symbolic. */
static inline void put_value(struct sd_buf *to, uint32_t field, const char *name,
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

static inline void add_input(struct file *f, const char *name, const char *dims)
{
    put_value(&f->graph, 11, name, dims);
}

/* A weight of floats, whose data are in another file. */
static inline void add_weight(struct file *f, const char *name, const char *dims)
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
static inline void add_list(struct file *f, const char *name, const char *numbers)
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

static inline void finish_file(struct file *f)
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

static inline void drop_file(struct file *f)
{
    sd_buf_release(&f->graph);
    sd_buf_release(&f->functions);
    sd_buf_release(&f->whole);
}

static const struct sd_model_request no_request;

static inline void read_it(struct file *f, struct sd_model *m)
{
    finish_file(f);
    CHECK(sd_onnx_is(f->whole.p, f->whole.n));
    CHECK(sd_model_init(m) == 0);
    CHECK(sd_onnx_read(f->whole.p, f->whole.n, &no_request, m) == 0);
}

static inline void check_dims(const struct sd_operand *o, const char *dims)
{
    struct sd_buf text = { 0 };

    for (uint32_t i = 0; i < o->dims.n; i++)
        sd_buf_printf(&text, "%s%lld", i ? "," : "", (long long)o->dims.d[i]);
    CHECK(o->kind == SD_OPERAND_TENSOR);
    CHECK(strcmp(sd_buf_string(&text), dims) == 0);
    sd_buf_release(&text);
}

/* The shape that one operator gives for an x of this shape. */
static inline void check_shape(const char *op, const char *x, const char *attrs,
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
static inline void check_shape_2(const char *op, const char *x, const char *weight,
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

/* A function "twice" of two nodes, each of which may be another call. */
static inline void add_function(struct file *f, const char *name, const char *op)
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

static inline void add_call(struct file *f, const char *name)
{
    struct sd_buf node = { 0 };

    make_node(&node, name, "x", "y", "");
    put_text(&node, 7, "mine");
    sd_pb_message(&f->graph, 1, &node);
    sd_buf_release(&node);
}

static inline void add_ms_node(struct file *f, const char *op, const char *in,
                               const char *out, const char *attrs)
{
    struct sd_buf node = { 0 };

    make_node(&node, op, in, out, attrs);
    put_text(&node, 7, "com.microsoft");
    sd_pb_message(&f->graph, 1, &node);
    sd_buf_release(&node);
}

static inline int64_t elements_of(const struct sd_model *m, uint16_t flag)
{
    int64_t all = 0;

    for (size_t i = 0; i < m->n_tensors; i++)
        if (m->tensors[i].flags & flag)
            all += sd_dims_elements(m->tensors[i].dims);
    return all;
}
#endif
