/* SPDX-License-Identifier: MIT */
#ifndef SD_MODEL_MODEL_PASS_H
#define SD_MODEL_MODEL_PASS_H
/* model_pass: follows one pass of a torch model: which operators ran, on which shapes,
 * in which layer.
 *
 * Every operator that torch dispatches is told to sd_pass_dispatch, below autograd, so
 * that functional calls, custom functions and gradients are all seen.  Layers are told
 * by hooks for all modules (enter, leave), which need nothing on the model itself.
 *
 * On twins (twins.h) nothing is computed: the outputs come from our own rules (rules.h)
 * or from torch's functions for tensors without data.  Otherwise operators run as they
 * would without us.
 *
 * Operators of a backward belong to the layer whose forward made the node of the graph
 * that runs: nodes are numbered in the order in which they were made, so the numbers at
 * the borders of layers say whose they are. */
#include <stdbool.h>
#include <stdint.h>

#include "collect/model/module_state.h"
#include "collect/model/operators.h"
#include "collect/model/times.h"
#include "collect/model/torch.h"
#include "collect/model/twins.h"
#include "profile/model/model.h"

struct sd_open_layer {
    PyObject *module; /* borrowed: compared, and never looked into */
    uint32_t layer;
    struct sd_operands in; /* owned: what it was called with */
};

/* From this number of a node on, they are of that layer. */
struct sd_border {
    int64_t sequence;
    uint32_t layer;
};

/* Names of which the first few are told, and how many there are. */
enum { SD_FIRST_NAMES = 3 };
struct sd_first_names {
    char names[SD_FIRST_NAMES][64];
    size_t n;
};

struct sd_storage {
    PyObject *watch; /* owned: a weak reference to it; NULL: it is gone */
    uint64_t at;     /* where torch has it */
    int64_t bytes;
};

struct sd_storages { /* model_memory.c: what is alive, when it is asked for */
    struct sd_storage *all;
    size_t n, cap;
    struct sd_table by_watch; /* address of the weak reference: place in `all` */
    struct sd_table alive;    /* `at`: 1 */
    struct sd_table weights;  /* the same of the model's */
    struct sd_table given;    /* of what is no memory of this run's, but may be kept for
                                 the backward: inputs, second selves */
    struct sd_table saved;    /* those that are kept for the backward: the layer */
    int64_t live_bytes, peak_bytes;
};

struct sd_pass_request {
    bool on_twins;    /* else on the model's own tensors */
    PyObject *device; /* borrowed: the name of the one that the model is on, whatever it
                         runs on now; or NULL */
    bool is_on_cpu;   /* it is the processor, or none: then it counts as that */
    bool is_blank;    /* the model has no data of its own */
    bool keeps_numbers; /* whole numbers that are asked for have values */
    bool has_memory;    /* follow what is alive */
    bool has_backward;  /* note whose nodes of the graph are whose */
    bool is_timing;     /* only times of layers: nothing is dispatched to us */
    bool is_stamped;    /* by the device's own clock: `self` is told of each border, and
                           has their times when the pass is over */
    bool is_open;       /* modules that are met become layers; none is known before */
    PyObject *rules;    /* borrowed: a dict of the user's, or NULL */
    bool is_lent; /* code of the caller's runs: what it does is its own affair, and
                     its backward begins when it likes */
    bool (*is_known)(const char *name);   /* has the table of costs a rule for it? */
    bool (*is_product)(const char *name); /* is that rule more than "costs nothing"? */
};

struct sd_pass {
    struct sd_model *model; /* borrowed */
    PyObject *self;         /* borrowed: the mode of torch that we are the body of */
    unsigned long thread;   /* that began it, in which the model runs */
    struct sd_pass_request request;
    struct sd_torch torch;
    struct sd_operators operators;
    struct sd_twins twins;
    struct sd_keep keep;
    struct sd_table layer_of; /* address of a module: its layer */
    struct sd_table ignored;  /* the same of modules that the model does not hold: 1 */
    PyObject *modules;        /* owned list: keeps those addresses; the root first */
    struct sd_first_names made;      /* layers that the forward made */
    struct sd_first_names replaced;  /* the same, in the place of others */
    struct sd_first_names unheld;    /* types of modules that ran and are nobody's */
    struct sd_first_names elsewhere; /* layers that ran in other threads */
    struct sd_first_names
        untimed; /* layers that ran when they were counted, not when timed */
    struct sd_first_names refused; /* operators that were, without data */
    int64_t n_numbers;             /* elements that have values for that */
    int64_t computed_bytes;        /* of what was computed of those */
    struct sd_table weights; /* addresses of tensors of the model, as they run: 1 */
    struct sd_table makers;  /* addresses of tensors that operators made: the layer */
    struct sd_open_layer *open;
    size_t n_open, cap_open;
    struct sd_border *borders;
    size_t n_borders, cap_borders;
    struct sd_operands in, out;  /* scratch */
    bool has_sparse, has_nested; /* among `in` */
    bool is_uncast;              /* layers ran that autocast would give other types */
    struct sd_table tensors;     /* addresses of tensors that layers hold: 1 */
    PyObject *data;              /* owned set: where their data is, and how it lies */
    struct sd_storages storages;
    struct sd_layer_times times; /* when timing */
    uint32_t *stamped; /* owned: layers at whose borders the device was told */
    size_t n_stamped, cap_stamped;
    PyObject *marks;         /* owned dict: nodes that have a border, its handle */
    bool is_ours;            /* what is called now is no work of the model's */
    bool is_forward_over;    /* what is let go now was kept until its end */
    bool is_backward;        /* now */
    uint32_t backward_layer; /* of the operator before, in the backward */
    uint32_t failed_in;      /* the innermost layer that an exception left */
    bool has_failed;
};

/* A call of an operator as it is made: both are owned, kwargs may be NULL. */
struct sd_pass_call {
    PyObject *args, *kwargs;
};

/* Walks the module and notes its layers and tensors in `model`, which is fresh, or,
 * when timing, has them already.  On failure (-1, with an exception) sd_pass_end puts
 * everything back all the same. */
int sd_pass_begin(struct sd_pass *r, PyObject *self, struct sd_model *model,
                  PyObject *module, const struct sd_pass_request *request);
/* Puts back what was changed and is fresh again.  Leaves the exception that is set. */
void sd_pass_end(struct sd_pass *r);

void sd_pass_tell(struct sd_first_names *t, const char *name);

/* What a code of the core means becomes an exception, unless one is set: 0 or -1. */
int sd_pass_raise(int rc);

/* What __torch_dispatch__ is to do. */
PyObject *sd_pass_dispatch(struct sd_pass *r, PyObject *func, PyObject *types,
                           PyObject *args, PyObject *kwargs);
/* hooks.c: what torch tells of modules.  0, or -1 with an exception. */
int sd_pass_enter(struct sd_pass *r, PyObject *module, PyObject *args);
int sd_pass_leave(struct sd_pass *r, PyObject *module, PyObject *kwargs,
                  PyObject *result); /* kwargs NULL: not told */
/* Does autocast give tensors other types now?  Which ones depends on their device, and
 * without data they keep their own: products are the same, what is kept is not.  0, or
 * -1 with an exception: memory is followed. */
int sd_pass_look_at_casts(struct sd_pass *r);
/* The innermost layer that is open. */
uint32_t sd_pass_layer_now(struct sd_pass *r);
/* Is an operator that runs now one of a backward?  Code of the caller's says so by the
 * node of the graph that runs. */
bool sd_pass_is_in_backward(struct sd_pass *r);
/* In a backward the node that runs says whose it is.  Gradients are added up by nodes
 * without a number of their own: they belong to what ran before. */
uint32_t sd_pass_layer_in_backward(struct sd_pass *r);
/* Whose forward made the node of this number. */
uint32_t sd_pass_layer_of_node(const struct sd_pass *r, int64_t sequence);
/* An exception comes from this layer, unless it is known to come from another. */
void sd_pass_failed(struct sd_pass *r, uint32_t layer);

/* operator_record.c: writes a call into the model.  0, or -1 with an exception. */
int sd_pass_record(struct sd_pass *r, const struct sd_operator *op,
                   const struct sd_pass_call *c, PyObject *result);
/* The whole numbers of a list or tuple, with PyLong_AsLongLong's exception where one is
 * too large.  False: it is none, has other things in it, or more than `most`. */
bool sd_pass_numbers(PyObject *v, int64_t *numbers, int most, uint32_t *n);

/* meta_call.c: makes the call without data; what stands in it for tensors with data is
 * left in `c`.  A new reference, or NULL with an exception. */
PyObject *sd_pass_on_twins(struct sd_pass *r, const struct sd_operator *op,
                           struct sd_pass_call *c);

/* module_layers.c: the modules, their attributes and tensors. */
int sd_pass_walk(struct sd_pass *r, PyObject *module);

/* new_modules.c: the same for one that runs and was not there before: a forward made
 * it. Where the model holds it now it becomes a layer under its name, until the end of
 * the run. */
int sd_pass_walk_made(struct sd_pass *r, PyObject *module, PyObject *args);
/* The same for one that was met on the way, below a layer named after its type. */
int sd_pass_walk_met(struct sd_pass *r, PyObject *module);

/* timing.c: borders of the backward, which nodes of the graph tell. */
int sd_pass_mark_nodes(struct sd_pass *r, PyObject *in, uint32_t layer);
/* Takes them away: the graph may be another's, and goes on without them. */
void sd_pass_take_marks(struct sd_pass *r);
/* A pass begins, comes to a border, ends.  0, or -1 with an exception. */
int sd_pass_times_begin(struct sd_pass *r);
int sd_pass_times_border(struct sd_pass *r, uint32_t layer);
int sd_pass_times_end(struct sd_pass *r, bool is_backward);

/* model_memory.c */
int sd_pass_watch_outputs(struct sd_pass *r, PyObject *result);
int sd_pass_weight(struct sd_pass *r,
                   PyObject *tensor); /* its storage is the model's */
bool sd_pass_is_weight(struct sd_pass *r, PyObject *tensor);
/* The storage of each tensor in it was there before, or stands for one that was. */
int sd_pass_given(struct sd_pass *r, PyObject *o, int depth);
int sd_pass_saved(struct sd_pass *r, PyObject *tensor); /* autograd keeps it */
void sd_pass_freed(struct sd_pass *r, PyObject *watch); /* a storage is gone */
void sd_storages_release(struct sd_storages *s);
#endif
