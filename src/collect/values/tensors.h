/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_VALUES_TENSORS_H
#define SD_COLLECT_VALUES_TENSORS_H
/* tensors: reads dtype, shape and device of torch tensors from memory.
 *
 * Asking a tensor (`t.shape`, even in C) can run Python: of subclasses with
 * __torch_function__, of modes.  Its layout is nobody's promise, so it is found out: a
 * few small tensors whose sizes, dtypes and devices are known are made once, and where
 * these numbers are in all of them, there they are.  If that cannot be seen beyond
 * doubt (another layout, a mode that would hear of the making, no way to look at memory
 * with care), tensors have their type alone.
 *
 * To make a tensor gives the interpreter's lock away and may run anything, so it is
 * never done while a call is being told of: it is done when a session starts and torch
 * is there, or else by the interpreter, as a pending call of the main thread.  Tensors
 * that are met before have their type alone, too.  A process has one torch, so what is
 * known of it is the process's. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "capture/record.h"
#include "cpython/compat.h"

struct sd_tensor {
    unsigned n_dims;
    int64_t dims[SD_DIMS_MAX];
    uint16_t dtype;
    uint8_t device, device_index; /* index 255: none */
    bool has_device; /* false: its class may tell another, which only it knows */
};

/* Where a session starts: finds the layout out, if torch is there and it is not known.
 * May run anything; leaves no exception. */
void sd_tensors_look(void);
/* While a call is being told of: if torch is there, the layout will be looked for. */
void sd_tensors_are_near(void);

/* hot: false: not known.  `o` is a tensor, by its type.  No code of anybody's runs. */
bool sd_tensor_read(PyObject *o, struct sd_tensor *out);
/* The same for how many elements apart its neighbours are, for each of `of`'s axes. */
bool sd_tensor_read_strides(PyObject *o, const struct sd_tensor *of, int64_t *strides);
void sd_tensor_put_dtype(const struct sd_tensor *t, struct sd_buf *to);
void sd_tensor_put_device(const struct sd_tensor *t, struct sd_buf *to);
#endif
