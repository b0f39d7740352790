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
 * (`int(lengths.max())`), and they are small.  Where it meets a twin it gets one, too;
 * and where it is written to without data, its values are not what they should be. */
#include "base/table.h"
#include "collect/model/torch.h"

struct sd_twin {
    PyObject *original,
        *twin;    /* owned; twin is NULL of what the run made, until used */
    bool is_made; /* by this run */
    bool is_own;  /* and its values are true */
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
/* What stands for an input: models read whole numbers that they are given (masks,
 * lengths), so those are a copy, as if the run had made it, where they are few. */
PyObject *sd_twins_of_input(struct sd_twins *t, PyObject *tensor);
enum { SD_TWINS_READABLE = 1 << 20 };
bool sd_twins_is_made(const struct sd_twins *t, PyObject *tensor);
bool sd_twins_is_own(const struct sd_twins *t, PyObject *tensor);
/* This run made it, and it is real.  0, or -1 with an exception. */
int sd_twins_own(struct sd_twins *t, PyObject *tensor);
/* Lets go of those that the run made and that nobody else holds any more: where memory
 * is followed they would be alive until the end. */
void sd_twins_forget(struct sd_twins *t);
/* The run writes to this one without data: its values, and those of all that it made on
 * the same data, are not to be used any more. */
void sd_twins_disown(struct sd_twins *t, PyObject *tensor);
/* The same with every tensor in it replaced by its twin: lists, tuples and dicts are
 * opened, to a depth that no program reaches, and copied when something in them
 * changes. `of` gives one its twin.  A new reference. */
typedef PyObject *sd_twins_way(struct sd_twins *t, PyObject *tensor);
PyObject *sd_twins_within(struct sd_twins *t, PyObject *o, sd_twins_way *of, int depth);
enum { SD_TWINS_DEPTH = 8 };
#endif
