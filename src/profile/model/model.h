/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_MODEL_MODEL_H
#define SD_PROFILE_MODEL_MODEL_H
/* model: a neural network as its reports see it: layers, tensors, and the operators
 * that ran, with the shapes they ran on.
 *
 * Whatever a model comes from (torch, an ONNX file, weights alone, a capture) becomes
 * this, so that one table, one tree and one set of formulas serve all of them.  No cost
 * is in it: what an operator costs is worked out from its shapes when it is asked for
 * (analyse/model/op_cost.h), so that a better formula also betters captures of last
 * year.
 *
 * Everything lives in one arena.  Names are ids of `strings`, layers are their places
 * in `layers`; place 0 is the whole model, is always there and is its own parent.
 * Builders copy what they are given.  They return 0 or SD_ENOMEM, but for a layer,
 * operand or attribute count that no model has (SD_EFORMAT), so that a reader of
 * foreign files need not check it before. */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/intern.h"
#include "base/table.h"
#include "profile/model/dtype.h"
#include "profile/model/shapes.h"

enum {
    SD_MODEL_OPERANDS_MAX = 65535, /* inputs, or outputs, of one call */
    SD_MODEL_ATTRS_MAX = 255,      /* of one operator or layer */
    SD_MODEL_DEPTH_MAX = 256,      /* layers in each other; what is said to lie deeper
                                      stands beside the last of them */
    SD_MODEL_ROOT = 0,             /* the layer that is the whole model */
};

/* --- Operands */

enum sd_operand_kind {
    SD_OPERAND_TENSOR,
    SD_OPERAND_MEMBER, /* a tensor of a list: cat's, stack's */
    SD_OPERAND_NONE,   /* an optional one that was left out; it keeps its place */
    SD_OPERAND_SCALAR, /* a plain number where a tensor may stand */
};

struct sd_operand {
    struct sd_dims dims;
    uint8_t dtype;  /* enum sd_dtype */
    uint8_t kind;   /* enum sd_operand_kind */
    bool is_weight; /* a parameter, buffer or constant of the model, not a value that
                       was worked out */
};

/* --- Attributes: what is neither a tensor nor a name.  Of an aten operator they are
 * the arguments that were given, under the names of its schema (stride, padding,
 * dilation, transposed, groups, output_mask, num_heads, hidden_size, dim, keepdim,
 * ...); those that were left out have the schema's default.  Of a layer they are what
 * its module says of itself (kernel_size, stride, groups, bias, affine, in_features,
 * hidden_size, num_layers, bidirectional, ...). */

enum sd_attr_kind {
    SD_ATTR_INT, /* booleans too: 0 and 1 */
    SD_ATTR_FLOAT,
    SD_ATTR_TEXT,
    SD_ATTR_INTS, /* lists of booleans too */
};

struct sd_attr {
    uint32_t name; /* in `strings` */
    uint32_t n;    /* of INTS: how many */
    uint8_t kind;  /* enum sd_attr_kind */
    union {
        int64_t number;
        double real;
        uint32_t text; /* in `strings` */
        const int64_t *numbers;
    };
};

/* --- Operators, in the order in which they ran */

struct sd_model_op {
    uint32_t name;    /* "aten::convolution" (namespace and name, no overload),
                         "onnx::Conv" (other domains: "com.microsoft::Gelu") */
    uint32_t layer;   /* the innermost that was open */
    uint32_t n_calls; /* equal calls in a row are one record */
    uint16_t n_in, n_out;
    uint8_t n_attrs;
    bool is_backward;
    const struct sd_operand *in, *out; /* in the order of the schema */
    const struct sd_attr *attrs;
    int64_t given_macs; /* of one call, from a rule of the user's;
                           -1: ask the table; below: sd_model_given_flops */
};

/* A rule of torch's kind tells FLOPs, which may be odd: they stand below -1, whole.
 * And back again. */
static inline int64_t sd_model_given_flops(int64_t flops)
{
    return flops < INT64_MAX ? -2 - flops : INT64_MIN;
}

/* --- Tensors that the model keeps */

enum sd_model_tensor_flags {
    SD_TENSOR_PARAMETER = 1,
    SD_TENSOR_BUFFER = 2,
    SD_TENSOR_TRAINABLE = 4,
    SD_TENSOR_TIED = 8, /* has the storage of an earlier one: counted once */
};

struct sd_model_tensor {
    uint32_t name;  /* the whole of it: "layer1.0.conv1.weight" */
    uint32_t layer; /* whose it is */
    uint16_t flags; /* enum sd_model_tensor_flags */
    uint8_t dtype;
    struct sd_dims dims;
    int64_t bytes; /* as stored; -1: from dims and dtype */
    uint32_t next; /* tensor of the same layer, its place and 1; 0: none.  Set by the
                      builder */
};

/* --- Layers */

enum sd_model_layer_flags {
    SD_LAYER_LEAF = 1,     /* a module without modules in it */
    SD_LAYER_TRAINING = 2, /* it was in training mode */
};

#define SD_MODEL_NONE (-1) /* a time or size that was not measured */

/* How a layer was called: one for each run of calls with equal shapes. */
struct sd_layer_call {
    struct sd_layer_call *next;        /* in order of time */
    const struct sd_operand *in, *out; /* tensors among the arguments and results,
                                          containers opened */
    uint16_t n_in, n_out;
    uint32_t n_calls;
};

struct sd_model_layer {
    uint32_t name;   /* "layer1.0.conv1"; "" is the model */
    uint32_t type;   /* "Conv2d" */
    uint32_t parent; /* a place in `layers` */
    uint16_t depth;  /* how many layers it is in; 0: the model.  Set by the builder */
    uint16_t flags;  /* enum sd_model_layer_flags */
    uint8_t n_attrs;
    const struct sd_attr *attrs;
    uint32_t order; /* of its first call, from 1; 0: was never called */
    uint32_t n_calls;
    struct sd_layer_call *calls, *last_call;
    uint32_t first_tensor, last_tensor; /* of its own, as `next` of a tensor */
    int64_t time_ns;     /* all its calls in one forward of the model, with the layers
                            in it: the median of several; or SD_MODEL_NONE */
    int64_t backward_ns; /* the same of the backward */
    int64_t activation_bytes; /* what itself, without the layers in it, keeps for the
                                 backward; or SD_MODEL_NONE */
};

/* --- Who hands data to whom: a layer used what another made */

struct sd_model_edge {
    uint32_t from, to; /* places in `layers` */
};

/* --- Facts and notes about the whole */

struct sd_model_fact {
    uint32_t key; /* source ("torch 2.13.0", "onnx, opset 20"), path, device, mode
                     (train, eval), grad, ran_on (meta, real tensors), because,
                     peak_bytes, batch, activation_bytes_at_2 (kept with
                     twice that batch), input (one for each:
                     "x=1,3,224,224:float32"), cpu
                     (the processor that times were taken on) */
    uint32_t value;
};

struct sd_model {
    struct sd_arena arena;
    struct sd_intern strings;
    struct sd_model_layer *layers; /* owned, as the arrays below; [0] is the model */
    size_t n_layers, cap_layers;
    struct sd_model_tensor *tensors;
    size_t n_tensors, cap_tensors;
    struct sd_model_op *ops;
    size_t n_ops, cap_ops;
    struct sd_model_edge *edges; /* each pair once, in the order of first use */
    size_t n_edges, cap_edges;
    struct sd_model_fact *facts;
    size_t n_facts, cap_facts;
    uint32_t *notes; /* sentences for the user */
    size_t n_notes, cap_notes;
    struct sd_table layer_by_name;
    struct sd_table edge_known;
    struct sd_table shapes; /* hash to the address of its axes, behind their number */
    uint32_t n_called;      /* layers that were called */
};

/* 0 or SD_ENOMEM; released equals fresh memory, and may be released again. */
int sd_model_init(struct sd_model *m);
void sd_model_release(struct sd_model *m);

/* --- Builders */

int sd_model_string(struct sd_model *m, const char *p, size_t n, uint32_t *id);
int sd_model_word(struct sd_model *m, const char *s, uint32_t *id); /* ends with a 0 */

/* A new layer, last.  *layer is its place.  Its name must be its own: one that is known
 * is not made again, *layer is then that one, and `type`, if it had none, is taken
 * over. */
int sd_model_layer(struct sd_model *m, const char *name, size_t n, const char *type,
                   uint32_t parent, uint32_t *layer);
/* The layer "a.b.c", with "a" and "a.b" made, without a type, where they are missing;
 * "" is the model. */
int sd_model_layer_at(struct sd_model *m, const char *path, size_t n, uint32_t *layer);
uint32_t sd_model_find_layer(const struct sd_model *m, const char *name,
                             size_t n); /* or UINT32_MAX */
void sd_model_set_type(struct sd_model *m, uint32_t layer, uint32_t type);
int sd_model_layer_attrs(struct sd_model *m, uint32_t layer,
                         const struct sd_attr *attrs, size_t n);
/* One call of it began and ended. */
int sd_model_called(struct sd_model *m, uint32_t layer, const struct sd_operand *in,
                    size_t n_in, const struct sd_operand *out, size_t n_out);
/* The same in two steps, for who learns of the results only when later layers have
 * begun: the order of layers is that of their beginnings. */
void sd_model_entered(struct sd_model *m, uint32_t layer);

int sd_model_tensor(struct sd_model *m, const struct sd_model_tensor *t);
/* n_in, n_out and n_attrs of *op are taken from the arguments, as wide as they come;
 * n_calls 0 means 1.  A call equal to the one before it is counted there. */
int sd_model_op(struct sd_model *m, const struct sd_model_op *op,
                const struct sd_operand *in, size_t n_in, const struct sd_operand *out,
                size_t n_out, const struct sd_attr *attrs, size_t n_attrs);
int sd_model_edge(struct sd_model *m, uint32_t from, uint32_t to);
int sd_model_fact(struct sd_model *m, const char *key, const char *value);
int sd_model_note(struct sd_model *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Attributes to hand to the builders; what they point at is borrowed until then. */
static inline struct sd_attr sd_attr_int(uint32_t name, int64_t v)
{
    return (struct sd_attr){ .name = name, .kind = SD_ATTR_INT, .number = v };
}
static inline struct sd_attr sd_attr_real(uint32_t name, double v)
{
    return (struct sd_attr){ .name = name, .kind = SD_ATTR_FLOAT, .real = v };
}
static inline struct sd_attr sd_attr_text(uint32_t name, uint32_t text)
{
    return (struct sd_attr){ .name = name, .kind = SD_ATTR_TEXT, .text = text };
}
static inline struct sd_attr sd_attr_ints(uint32_t name, const int64_t *v, uint32_t n)
{
    return (struct sd_attr){ .name = name, .kind = SD_ATTR_INTS, .numbers = v, .n = n };
}

/* --- Questions */

const char *sd_model_text(const struct sd_model *m, uint32_t id); /* never NULL */
const char *sd_model_fact_of(const struct sd_model *m, const char *key); /* or NULL */
/* The attribute of this name, or NULL. */
const struct sd_attr *sd_attr_find(const struct sd_model *m,
                                   const struct sd_attr *attrs, size_t n,
                                   const char *name);
/* The ith number of it: of an INT whatever i is (kernel_size=3 is 3 on every axis), of
 * INTS the ith, or the only one; else `otherwise`. */
int64_t sd_attr_number(const struct sd_attr *a, size_t i, int64_t otherwise);
int64_t sd_model_op_number(const struct sd_model *m, const struct sd_model_op *op,
                           const char *name, size_t i, int64_t otherwise);
int64_t sd_model_layer_number(const struct sd_model *m, uint32_t layer,
                              const char *name, size_t i, int64_t otherwise);

/* All of these stop at INT64_MAX, as shapes.h does. */
int64_t sd_operand_elements(const struct sd_operand *o); /* 0 of NONE and SCALAR */
int64_t sd_operand_bytes(const struct sd_operand *o);
int64_t sd_model_tensor_bytes(const struct sd_model_tensor *t);

/* --- Bytes: a versioned form of all of it, for captures (docs/format.md). */

#define SD_MODEL_MAGIC "sdmodel\n" /* its first bytes */

void sd_model_write(const struct sd_model *m,
                    struct sd_buf *to); /* goes bad, as bufs do */
/* Trusts nothing.  *m is fresh memory; on failure it is released. */
int sd_model_read(struct sd_model *m, const void *p, size_t n);
#endif
