/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_ONNX_ONNX_PARTS_H
#define SD_FORMATS_ONNX_ONNX_PARTS_H
/* onnx_parts: what the files of the ONNX reader share.
 *
 *     onnx_proto   the messages of the file: nodes, attributes, tensors
 *     onnx_shapes  the shape that an operator gives (onnx_ops.def), with
 *                  onnx_products, onnx_windows, onnx_moves and onnx_fused
 *     onnx_fold    the elements that it gives, where they are known
 *     onnx_values  names, weights
 *     onnx_inputs  the shapes that the file and the user tell
 *     onnx_bodies  functions, If, Loop and Scan
 *     onnx_layers  whose operator it is
 *     onnx_roles   which weights are parameters (onnx_roles.def)
 *     onnx_emit    operators and weights into the model
 *     onnx         the walk over the graph that uses them
 *
 * Texts are borrowed from the file.  Values live in the reader's arena, which dies with
 * the reading. */
#include "base/arena.h"
#include "base/cursor.h"
#include "base/intern.h"
#include "base/table.h"
#include "formats/protobuf_in.h"
#include "formats/weights/model_files.h"

enum {
    SD_ONNX_FOLD_MAX = 1024, /* elements of a tensor that is computed along */
    SD_ONNX_DEPTH_MAX = 16,  /* functions and bodies in each other */
    SD_ONNX_MISSED_MAX = 8,  /* notes about unknown shapes */
};
#define SD_ONNX_AXIS_MAX SD_MODEL_AXIS_MAX /* longer ones are damage */

struct sd_onnx_text {
    const char *p;
    size_t n;
};

static inline struct sd_onnx_text sd_onnx_text(struct sd_cursor c)
{
    return (struct sd_onnx_text){ (const char *)c.at, sd_cursor_left(&c) };
}
bool sd_onnx_text_is(struct sd_onnx_text t, const char *s);

/* --- Values */

struct sd_onnx_elements { /* of a small tensor */
    uint32_t n;
    bool is_real;
    union {
        int64_t *whole;
        double *real;
    };
};

struct sd_onnx_sequence { /* of parts of one tensor, along an axis */
    const struct sd_onnx_value *whole;
    const struct sd_onnx_elements *lengths; /* NULL: `each`, and of the last the rest */
    int64_t each, n;
    uint32_t axis;
    bool drops_axis; /* parts are of length 1, and lack the axis */
};

struct sd_onnx_value {
    struct sd_onnx_text name;
    const int64_t *dims;
    uint32_t n_dims;
    bool has_dims; /* all of them are known */
    bool is_unfit; /* dims are what the file fixes, and its inputs do not fit it */
    bool is_told;  /* unknown, and a note says why */
    uint8_t dtype; /* enum sd_dtype */
    bool is_weight;
    bool is_constant;     /* of a node of its own: a weight, if it is used as one */
    bool is_placed;       /* of a weight: a layer has it */
    bool is_external;     /* its elements are in another file */
    char role;            /* what it is used as: a letter of onnx_roles.def, or 0 */
    uint8_t packed_dtype; /* of `unpacked` */
    uint32_t layer;       /* whose operator made it */
    const uint8_t *at;    /* of a weight or constant: where it stands in the file */
    struct sd_onnx_value *from; /* the weight or constant whose elements these are, in
                                   another shape or type; NULL: none */
    const int64_t *unpacked;    /* two axes: what is stored with several elements in a
                                   byte; NULL: nothing is */
    int64_t stored_bytes; /* of a weight, where its type and shape do not tell them;
                             0: they do */
    const struct sd_onnx_elements *elements; /* NULL: not known */
    const struct sd_onnx_sequence *sequence; /* it is one, and no tensor; NULL: it is
                                                none, or its parts are not known */
    const struct sd_onnx_value *needs; /* for want of whose elements it is unknown */
    struct sd_onnx_text untold; /* the operator that left its shape unknown, of which
                                   nothing is said unless somebody uses it */
    struct sd_onnx_value *next_weight; /* in the order of the file */
};

/* --- Messages */

struct sd_onnx_call;

struct sd_onnx_node {
    struct sd_cursor body;
    struct sd_onnx_text name, op, domain, overload;
    struct sd_onnx_text scopes, classes; /* what torch wrote of its modules */
    struct sd_onnx_text *in, *out;
    uint32_t n_in, n_out;
    const struct sd_onnx_call *call; /* NULL: not in a function */
};

struct sd_onnx_call { /* of a function: what its attributes are */
    const struct sd_onnx_node *node;
    struct sd_cursor *defaults; /* attributes that the function itself gives */
    size_t n_defaults;
    size_t *work_left; /* sd_onnx.inside_left */
};

struct sd_onnx_attr {
    struct sd_cursor body; /* lists are read from it */
    struct sd_onnx_text name, refers_to;
    int64_t number;
    double real;
    struct sd_onnx_text text;
    struct sd_cursor tensor, graph;
    bool has_number, has_real, has_text, has_tensor, has_graph;
    bool has_list, has_reals; /* a list of whole numbers, or of others */
};

struct sd_onnx_tensor {
    struct sd_cursor body;
    struct sd_onnx_text name;
    int64_t dims[SD_MODEL_DIMS_MAX];
    uint32_t n_dims;
    uint8_t dtype;
    int64_t type; /* its number in the file, for types that are not known */
    struct sd_cursor raw;
    uint64_t n_numbers; /* in fields of numbers, which it has instead of raw bytes; of
                           long lists at most so many */
    bool has_raw, is_external;
};

int sd_onnx_damaged(const char *what);
int sd_onnx_node_read(struct sd_cursor c, const struct sd_onnx_call *call,
                      struct sd_arena *arena, struct sd_onnx_node *node);
/* The attributes of a node one after the other; *at begins as node->body. */
bool sd_onnx_attr_next(const struct sd_onnx_node *node, struct sd_cursor *at,
                       struct sd_onnx_attr *a);
bool sd_onnx_attr_find(const struct sd_onnx_node *node, const char *name,
                       struct sd_onnx_attr *a);
int64_t sd_onnx_int(const struct sd_onnx_node *node, const char *name,
                    int64_t otherwise);
bool sd_onnx_word(const struct sd_onnx_node *node, const char *name,
                  struct sd_onnx_text *text);
/* How many numbers the list has, of which `max` are in `to`; 0: there is none. */
uint32_t sd_onnx_ints(const struct sd_onnx_node *node, const char *name, int64_t *to,
                      uint32_t max);
uint32_t sd_onnx_attr_ints(const struct sd_onnx_attr *a, int64_t *to, uint32_t max);
uint32_t sd_onnx_attr_reals(const struct sd_onnx_attr *a, double *to, uint32_t max);
int sd_onnx_tensor_read(struct sd_cursor c, struct sd_onnx_tensor *t);
/* A sparse one: its values, which have its name, and the shape of what they stand for.
 */
struct sd_onnx_sparse {
    struct sd_onnx_tensor values;
    int64_t dims[SD_MODEL_DIMS_MAX];
    uint32_t n_dims;
};
int sd_onnx_sparse_read(struct sd_cursor c, struct sd_onnx_sparse *s);

/* --- The work on one node */

struct sd_onnx_run { /* operators of one layer, one after the other */
    uint32_t layer;
    size_t first, last; /* in the model's */
};

struct sd_onnx {
    struct sd_model *m;
    const struct sd_model_request *request;
    struct sd_arena arena;
    struct sd_intern names;   /* of values and symbolic axes */
    struct sd_table symbols;  /* id of a name to the length of that axis */
    struct sd_buf unsized;    /* names of axes that nobody gave, for the note */
    struct sd_intern callees; /* domain, name and overload of functions, by number */
    struct sd_cursor *functions;
    size_t cap_functions;
    struct sd_onnx_value *weights, **last_weight;
    struct sd_table stored;   /* weights by their places in the file: a body that is
                                 walked   again has the same */
    struct sd_table first_op; /* layer to the id of the name of its first operator */
    struct sd_onnx_run *runs;
    size_t n_runs, cap_runs;
    int64_t opset;      /* of the standard operators */
    size_t fold_left;   /* elements that may still be computed */
    size_t inside_left; /* bytes of functions and bodies that may still be walked: each
                           may be called many times */
    size_t parts_left;  /* operators and values that may still be made */
    unsigned n_missed;  /* notes that say what is not known */
    unsigned n_untyped; /* weights of a type that is not known; the first is named */
    unsigned n_quiet;   /* bodies that are walked for their weights alone */
    bool is_reshaped;   /* other inputs than the file's: its own shapes are not true */
    bool has_bodies;    /* a note says how If, Loop and Scan are counted */
};

enum {
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_INFO = 13,
    GRAPH_SPARSE = 15
};

/* Names that can be seen: those of the graph, and of a body also those around it. */
struct sd_onnx_scope {
    const struct sd_onnx_scope *up;
    struct sd_table values; /* id of a name to the address of its value */
    struct sd_table infos;  /* id of a name to where the file tells its shape */
    const struct sd_onnx_call *call; /* NULL: not in a function */
    int depth;
};

struct sd_onnx_step {
    struct sd_onnx *x;
    const struct sd_onnx_node *node;
    const struct sd_onnx_value **in; /* NULL: left out */
    uint32_t n_in;
    struct sd_onnx_value **out; /* fresh ones; dtype is that of the first input */
    uint32_t n_out;
};

/* Is there an input `i` whose shape is known? */
const struct sd_onnx_value *sd_onnx_shaped(const struct sd_onnx_step *s, uint32_t i);
/* Whole numbers that input `i` is known to have; else NULL, and what is to blame is
 * kept in the outputs. */
const struct sd_onnx_elements *sd_onnx_wholes(const struct sd_onnx_step *s, uint32_t i);
/* The outputs are unknown for want of the elements of `v`. */
void sd_onnx_blame(const struct sd_onnx_step *s, const struct sd_onnx_value *v);
/* Gives output `i` its shape.  One that no tensor has leaves it unknown. */
int sd_onnx_give(const struct sd_onnx_step *s, uint32_t i, const int64_t *dims,
                 uint32_t n);
/* The file fixes this shape for the output, and it cannot be: that is kept for the
 * note.
 */
int sd_onnx_misfit(const struct sd_onnx_step *s, const int64_t *dims, uint32_t n);
/* These inputs do not fit each other, or not with this attribute (NULL: none): the
 * outputs stay unknown, whatever the file says of them, and a note tells it. */
int sd_onnx_unfit(const struct sd_onnx_step *s, const struct sd_onnx_value *a,
                  const struct sd_onnx_value *b, const char *attribute);
/* Gives output `i` the shape of this one; NULL leaves it unknown. */
int sd_onnx_give_like(const struct sd_onnx_step *s, uint32_t i,
                      const struct sd_onnx_value *v);
/* A list of numbers from an attribute, as operators had it once, or from an input. */
struct sd_onnx_list {
    int64_t v[SD_MODEL_DIMS_MAX];
    uint32_t n;
    bool is_there, is_known;
};
struct sd_onnx_list sd_onnx_list(const struct sd_onnx_step *s, const char *attribute,
                                 uint32_t input);
/* Which of n axes a Shape with `start` and `end` takes. */
void sd_onnx_axes_taken(const struct sd_onnx_step *s, int64_t n, int64_t *from,
                        int64_t *to);
/* Puts `v` behind what has these axes, along one of them; false: it does not fit. */
bool sd_onnx_join(int64_t *dims, uint32_t n, uint32_t axis,
                  const struct sd_onnx_value *v);
/* How many elements start:end:step takes of `length`, -1: it is none; *start is then
 * where it begins. */
int64_t sd_onnx_slice(int64_t length, int64_t *start, int64_t end, int64_t step);
/* Of has_dims. */
static inline struct sd_dims sd_onnx_dims(const struct sd_onnx_value *v)
{
    return (struct sd_dims){ v->dims, v->n_dims };
}
static inline int64_t sd_onnx_count(const struct sd_onnx_value *v) /* elements */
{
    return sd_dims_elements(sd_onnx_dims(v));
}

/* Room for n elements in the arena, or NULL: too many, or no memory (*rc). */
struct sd_onnx_elements *sd_onnx_elements(struct sd_onnx *x, int64_t n, bool is_real,
                                          int *rc);
/* The elements of a tensor of the file, if it is small and they are there. */
int sd_onnx_tensor_elements(struct sd_onnx *x, const struct sd_onnx_tensor *t,
                            const struct sd_onnx_elements **out);
/* The type of a weight, and its bytes where that does not tell them. */
int sd_onnx_take_type(struct sd_onnx *x, const struct sd_onnx_tensor *t,
                      struct sd_onnx_value *v);

typedef int (*sd_onnx_rule)(const struct sd_onnx_step *s);
/* The rules of the operator, NULL where it has none; false: it is not known. */
bool sd_onnx_rules(const struct sd_onnx_node *node, sd_onnx_rule *shape,
                   sd_onnx_rule *fold);

/* The rules: how the shape follows, and how the elements. */
#define ONNX_OP(name, shape, fold)                                                     \
    int sd_onnx_shape_##shape(const struct sd_onnx_step *s);                           \
    int sd_onnx_fold_##fold(const struct sd_onnx_step *s);
#define MS_OP ONNX_OP
#include "formats/onnx/onnx_ops.def"
#undef ONNX_OP
#undef MS_OP

/* onnx_values.c: names and what they stand for. */
int sd_onnx_name(struct sd_onnx *x, struct sd_onnx_text name, uint32_t *id);
struct sd_onnx_value *sd_onnx_look_up(const struct sd_onnx *x,
                                      const struct sd_onnx_scope *scope,
                                      struct sd_onnx_text name); /* or NULL */
int sd_onnx_bind(struct sd_onnx *x, struct sd_onnx_scope *scope,
                 struct sd_onnx_text name, const struct sd_onnx_value *v);
int sd_onnx_count_part(struct sd_onnx *x); /* takes one of parts_left */
int sd_onnx_make(struct sd_onnx *x, struct sd_onnx_text name,
                 struct sd_onnx_value **out);
int sd_onnx_set_dims(struct sd_onnx *x, struct sd_onnx_value *v, const int64_t *dims,
                     uint32_t n);
void sd_onnx_leave(struct sd_onnx_scope *scope);
/* The weights, and the shapes that the file tells, of a graph. */
int sd_onnx_weights(struct sd_onnx *x, struct sd_cursor graph,
                    struct sd_onnx_scope *scope);
int sd_onnx_infos(struct sd_onnx *x, struct sd_cursor graph,
                  struct sd_onnx_scope *scope);

/* onnx_inputs.c */
int sd_onnx_inputs(struct sd_onnx *x, struct sd_cursor graph,
                   struct sd_onnx_scope *scope);
/* Outputs that the rule left unknown: the file's own word, or a note. */
int sd_onnx_settle(const struct sd_onnx_step *s, const struct sd_onnx_scope *scope,
                   bool has_rule);

/* One more weight of the model, unless it is there already. */
int sd_onnx_keep_weight(struct sd_onnx *x, struct sd_onnx_value *v);

/* onnx_roles.c */
bool sd_onnx_is_parameter(const struct sd_onnx_value *v); /* of a weight */
/* Input `i` of an operator of this layer is `v`: if that is a weight or constant, or
 * comes of one, it learns what it is. */
int sd_onnx_take_role(struct sd_onnx *x, const struct sd_onnx_node *node, uint32_t i,
                      struct sd_onnx_value *v, uint32_t layer);
/* What moves a weight or changes its type: the result is known to come of it. */
void sd_onnx_follow(const struct sd_onnx_step *s);

/* onnx_emit.c: into the model. */
int sd_onnx_add_op(const struct sd_onnx_step *s, struct sd_arena *scratch);
int sd_onnx_tensors(struct sd_onnx *x);
/* The call of the model itself: what the graph takes and gives. */
int sd_onnx_call_model(struct sd_onnx *x, struct sd_cursor graph,
                       const struct sd_onnx_scope *scope);
int sd_onnx_add_calls(struct sd_onnx *x);

/* onnx.c: the nodes of a graph, or of a function, by the number of their field. */
int sd_onnx_run(struct sd_onnx *x, struct sd_cursor graph, uint32_t field,
                struct sd_onnx_scope *scope);
/* Takes so many bytes of what may be walked in functions and bodies. */
int sd_onnx_charge(struct sd_onnx *x, size_t bytes);

/* onnx_bodies.c: nodes that hold nodes. */
int sd_onnx_run_if(const struct sd_onnx_step *s, struct sd_onnx_scope *outer);
int sd_onnx_run_rounds(const struct sd_onnx_step *s, struct sd_onnx_scope *outer,
                       bool is_loop);
int sd_onnx_refuse_scan(const struct sd_onnx_step *s); /* of the form it had first */
int sd_onnx_keep_function(struct sd_onnx *x, struct sd_cursor function);
int sd_onnx_find_function(struct sd_onnx *x, const struct sd_onnx_node *node,
                          const struct sd_cursor **function);
int sd_onnx_run_function(const struct sd_onnx_step *s,
                         const struct sd_onnx_scope *outer, struct sd_cursor function);

/* onnx_layers.c: the layer of a node, made where it is missing. */
int sd_onnx_layer(struct sd_onnx *x, const struct sd_onnx_node *node, uint32_t *layer);
/* After all: types and ends of the layers. */
int sd_onnx_finish_layers(struct sd_onnx *x);
#endif
