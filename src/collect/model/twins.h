/* SPDX-License-Identifier: MIT */
#ifndef SD_MODEL_TWINS_H
#define SD_MODEL_TWINS_H
/* twins: tensors without data that stand for real ones, and real tensors that this run
 * made itself.
 *
 * On twins a forward needs neither time nor memory, and what it writes it writes
 * nowhere.  The same tensor always has the same twin, so that tied weights stay tied.
 *
 * A tensor that the run made itself on a real device (`torch.arange(3)` in forward)
 * stays real as long as it meets only others like it: models read their values
 * (`int(lengths.max())`), and they are small.  Where it meets a twin it gets one, too.
 */
#include "base/table.h"
#include "collect/model/torch.h"

struct sd_twin {
    PyObject *original,
        *twin;   /* owned; twin is NULL of what the run made, until used */
    bool is_own; /* this run made it */
};

struct sd_twins {
    struct sd_torch *torch; /* borrowed */
    struct sd_twin *all;    /* owned */
    size_t n, cap;
    struct sd_table by_original; /* address of the object: place in `all` */
};

void sd_twins_release(struct sd_twins *t);
/* The twin of this one, made if it is new; a new reference, or NULL with an exception.
 */
PyObject *sd_twins_of(struct sd_twins *t, PyObject *tensor);
bool sd_twins_is_own(const struct sd_twins *t, PyObject *tensor);
/* This run made it, and it is real.  0, or -1 with an exception. */
int sd_twins_own(struct sd_twins *t, PyObject *tensor);
/* The same with every tensor in it replaced by its twin: lists, tuples and dicts are
 * opened, to a depth that no program reaches, and copied when something in them
 * changes. A new reference. */
PyObject *sd_twins_within(struct sd_twins *t, PyObject *o, int depth);
enum { SD_TWINS_DEPTH = 8 };
#endif
