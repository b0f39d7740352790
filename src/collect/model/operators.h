/* SPDX-License-Identifier: MIT */
#ifndef SD_MODEL_OPERATORS_H
#define SD_MODEL_OPERATORS_H
/* operators: remembers what each operator of torch is, and how a call of it is written
 * into a model.  One per overload; asked of torch once per run. */
#include "base/table.h"
#include "collect/model/rules/dtype_checks.h"
#include "collect/model/rules/rules.h"
#include "collect/model/schema.h"
#include "collect/model/torch.h"
#include "profile/model/model.h"

/* Operands that grow, with their shapes beside them. */
struct sd_operands {
    struct sd_operand *all; /* owned; dims.d is an offset until sd_operands_finish */
    size_t n, cap;
    int64_t *dims; /* owned */
    size_t n_dims, cap_dims;
};

void sd_operands_clear(struct sd_operands *o); /* keeps the memory */
void sd_operands_release(struct sd_operands *o);
int sd_operands_add(struct sd_operands *o, struct sd_operand one); /* 0 or SD_ENOMEM */
void sd_operands_finish(struct sd_operands *o);
/* Every tensor in it: containers are opened.  0, or -1 with an exception. */
int sd_operands_find(struct sd_operands *o, const struct sd_torch *t, PyObject *in,
                     int depth);

enum sd_operator_source { SD_GIVEN_NONE, SD_GIVEN_BY_SHAPES, SD_GIVEN_BY_ARGUMENTS };

struct sd_operator {
    PyObject *func; /* owned: keeps the address */
    PyObject *call; /* owned: the same without its way through Python */
    char *text;     /* owned: what `schema` points into */
    struct sd_schema schema;
    uint32_t name; /* in the model's strings, as arg_names */
    uint32_t arg_names[SD_SCHEMA_ARGS_MAX];
    sd_rule *rule;                /* or NULL */
    sd_doubt *doubt;              /* or NULL */
    const struct sd_taker *taker; /* or NULL */
    PyObject *given; /* owned: a rule for its cost, the user's or torch's; or NULL */
    enum sd_operator_source given_as;
    bool is_composite;    /* made of others: to be taken apart */
    bool is_of_functions; /* torch.cond, flex_attention: it takes functions, and runs
                             them; it has no schema */
    bool is_detach;  /* a tensor by another name: autograd calls it for itself, more
                        or less often by who looks on */
    bool is_lift;    /* a tensor that Python made from numbers comes in here */
    bool is_packed;  /* its weights are packed into an object of their own */
    bool is_product; /* our table counts it, from shapes */
    int read_arg; /* the place of whole numbers that it reads also without data; or -1
                   */
    int device_arg, dtype_arg; /* the places of these arguments; -1: it has none */
};

struct sd_operators {
    struct sd_operator **all; /* owned; each by itself, so that they stay in place */
    size_t n, cap;
    struct sd_table by_func;
    PyObject *plain_type; /* owned: torch._ops.OpOverload */
    PyObject *registry;   /* owned: torch's own table of costs, if it is loaded */
};

/* What is asked of others, once for each operator. */
struct sd_operator_asks {
    PyObject *rules; /* borrowed: a dict of the user's, or NULL */
    bool (*is_known)(const char *name);
    bool (*is_product)(const char *name);
};

/* The operator, borrowed; NULL with an exception. */
struct sd_operator *sd_operators_find(struct sd_operators *o, struct sd_model *m,
                                      PyObject *func,
                                      const struct sd_operator_asks *asks);
void sd_operators_release(struct sd_operators *o);

/* The arguments in the order of the schema, borrowed; NULL: left out.  `values` has
 * room for SD_SCHEMA_ARGS_MAX. */
void sd_operator_values(const struct sd_operator *op, PyObject *args, PyObject *kwargs,
                        PyObject **values);
#endif
