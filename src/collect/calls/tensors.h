/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_TENSORS_H
#define SD_CALLS_TENSORS_H
/* tensors: dtype, shape and device of torch's tensors, read from memory.
 *
 * Asking a tensor (`t.shape`, even in C) can run Python: of subclasses with
 * __torch_function__, of modes.  Its layout is nobody's promise, so it is found out: a
 * few small tensors whose sizes, dtypes and devices are known are made once, and where
 * these numbers are in all of them, there they are.  If that cannot be seen beyond
 * doubt (another layout, a mode that would hear of the making, no way to look at memory
 * with care), tensors have their type alone. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "capture/record.h"
#include "cpython/compat.h"

enum sd_tensors_state { SD_TENSORS_NEW, SD_TENSORS_KNOWN, SD_TENSORS_REFUSED };

struct sd_tensors { /* all zero is a fresh one */
    enum sd_tensors_state state;
    unsigned n_tries;
    /* Bytes from the start of the object, and of what it points to there. */
    uint32_t impl;
    uint32_t dims; /* their number stands in the 8 bytes before */
    uint32_t numel, dtype, device;
    uint64_t vtable; /* with which an implementation begins.  Others (of nested tensors,
                        sparse ones, wrappers) may keep their sizes elsewhere */
};

struct sd_tensor {
    unsigned n_dims;
    const int64_t *dims; /* borrowed */
    uint16_t dtype;
    uint8_t device, device_index; /* index 255: none */
};

/* hot: false: not known.  `o` is a tensor, by its type. */
bool sd_tensor_read(struct sd_tensors *t, PyObject *o, struct sd_tensor *out);
void sd_tensor_put_dtype(const struct sd_tensor *t, struct sd_buf *to);
void sd_tensor_put_device(const struct sd_tensor *t, struct sd_buf *to);
#endif
