/* SPDX-License-Identifier: MIT */
#ifndef SD_MODEL_TORCH_H
#define SD_MODEL_TORCH_H
/* torch: finds once per run what the collector needs of torch: its types, the calls
 * that make tensors, and the shapes of tensors.
 *
 * Shapes are read from memory where the layout is known (values/tensors.h), because an
 * attribute of a tensor costs a microsecond of Python, and a model asks for thousands;
 * else by attributes. */
#include <stdbool.h>
#include <stdint.h>

#include "cpython/compat.h"
#include "profile/model/model.h"

enum { SD_TORCH_DTYPES = 64, SD_TORCH_STRANGE = SD_TORCH_DTYPES - 1 };

enum { /* torch's numbers of dtypes */
       SD_TORCH_UINT8 = 0,
       SD_TORCH_INT32 = 3,
       SD_TORCH_INT64 = 4,
       SD_TORCH_FLOAT16 = 5,
       SD_TORCH_FLOAT32 = 6,
       SD_TORCH_FLOAT64 = 7,
       SD_TORCH_BOOL = 11,
       SD_TORCH_BFLOAT16 = 15,
};

struct sd_torch {
    /* All owned; NULL where this torch has none. */
    PyObject *tensor_base, *tensor, *parameter;      /* types */
    PyObject *module;                                /* the type of all modules */
    PyObject *generator;                             /* the type of random states */
    PyObject *empty, *empty_strided, *make_subclass; /* functions */
    PyObject *device_word, *dtype_word, *meta, *cpu; /* two words and two devices */
    PyObject *node_now, *sequence_now;               /* of autograd */
    PyObject *is_autocast;                           /* of a device, by its name */
    PyObject *no_functions; /* a context in which __torch_function__ of nobody runs */
    PyObject *no_dispatch;  /* __torch_dispatch__ of classes without one of their own */
    PyObject *dtypes[SD_TORCH_DTYPES];  /* by torch's own number */
    PyObject *on_meta[SD_TORCH_DTYPES]; /* {dtype=..., device=meta} */
    uint8_t dtype_of[SD_TORCH_DTYPES];  /* enum sd_dtype */
};

/* A tensor as it is now. */
struct sd_tensor_shape {
    unsigned n;
    uint8_t number; /* of its dtype; SD_TORCH_STRANGE: one that has none here */
    bool is_meta;   /* it has no data */
    bool is_nested; /* it has no shape of its own, but parts: sd_torch_parts */
    bool is_sparse; /* most of its elements are not there, and cost nothing */
    int64_t dims[SD_MODEL_DIMS_MAX];
};

static inline struct sd_dims sd_torch_shape_dims(const struct sd_tensor_shape *s)
{
    return (struct sd_dims){ s->dims, s->n };
}

/* 0, or -1 with an exception: torch is not there, or lacks something. */
int sd_torch_init(struct sd_torch *t);
void sd_torch_release(struct sd_torch *t);

/* hot: by its type. */
static inline bool sd_torch_is_tensor(const struct sd_torch *t, PyObject *o)
{
    return (PyObject *)Py_TYPE(o) == t->tensor ||
           (PyObject *)Py_TYPE(o) == t->parameter ||
           PyType_IsSubtype(Py_TYPE(o), (PyTypeObject *)t->tensor_base);
}

/* Whole numbers or truth values? */
static inline bool sd_torch_is_whole(unsigned dtype)
{
    return dtype <= SD_TORCH_INT64 || dtype == SD_TORCH_BOOL;
}

/* While it is open, what we ask of tensors is C's alone: no mode and no class of the
 * program's hears of it, and so no handler of a signal runs in between, whose exception
 * we might take for an answer of torch's.  NULL, without an exception: this torch has
 * no such thing. */
PyObject *sd_torch_hush(const struct sd_torch *t);
/* Ends it; an exception that is set stays. */
void sd_torch_unhush(PyObject *hushed);

/* 0, or -1 with an exception. */
int sd_torch_shape(const struct sd_torch *t, PyObject *tensor,
                   struct sd_tensor_shape *out);
/* Calls `each` with the shape of each part of a nested tensor; `of` is what
 * sd_torch_shape said of it. */
int sd_torch_parts(PyObject *tensor, struct sd_tensor_shape of,
                   int (*each)(const struct sd_tensor_shape *part, void *arg),
                   void *arg);
int sd_torch_strides(PyObject *tensor, const struct sd_tensor_shape *of,
                     int64_t *strides);
/* Without gaps, in the order of its axes. */
bool sd_torch_is_contiguous(const struct sd_tensor_shape *s, const int64_t *strides);

/* A new tensor without data; strides NULL: contiguous.  A new reference or NULL with an
 * exception. */
PyObject *sd_torch_make(struct sd_torch *t, uint8_t number, unsigned n,
                        const int64_t *dims, const int64_t *strides);
/* The same, contiguous, in a storage that has room for this many elements, or as many
 * as it needs itself if that is more. */
PyObject *sd_torch_make_in(struct sd_torch *t, uint8_t number, unsigned n,
                           const int64_t *dims, int64_t room);
/* A tensor without data that is otherwise as this one: shape, strides, dtype, class,
 * attributes, requires_grad. */
PyObject *sd_torch_twin(struct sd_torch *t, PyObject *tensor);

/* As an operand of the model; its dims are those of `s`, which must outlive it. */
struct sd_operand sd_torch_operand(const struct sd_torch *t,
                                   const struct sd_tensor_shape *s);

/* The storage that a tensor lies in: a new reference; NULL without an exception: it is
 * of a kind that has none. */
PyObject *sd_storage_of(PyObject *tensor);
/* Where a storage itself is, because its objects of Python come and go; 0: torch does
 * not tell. */
uint64_t sd_storage_at(PyObject *storage);
#endif
