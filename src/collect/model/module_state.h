/* SPDX-License-Identifier: MIT */
#ifndef SD_MODEL_MODULE_STATE_H
#define SD_MODEL_MODULE_STATE_H
/* module_state: saves what a model's modules hold before a run and restores it
 * afterwards.
 *
 * A module that caches a tensor in its forward would keep one without data, and fail
 * when it is really used.  So the attributes of each module, those in __slots__ too,
 * and the lists, dicts, sets, deques and generators of random numbers among them, are
 * noted;
 * afterwards each has again what it had.  Modules that stand in such lists and dicts
 * without being registered are followed, too.  So are objects of other classes, but
 * they get back what they had only where they have other tensors than before: what else
 * happened to them is their own affair.  Tables of more than a million entries are left
 * alone.
 *
 * With twins, every tensor found on the way is replaced by its twin for the run. */
#include "collect/model/twins.h"

struct sd_saved_value {
    PyObject *container, *copy; /* owned: a dict, list, set or deque, and what it held;
                                   or a generator of random numbers, and its state */
    PyObject *owner;            /* owned: whose attributes they are; or NULL */
    bool is_generator;
    size_t
        object; /* the outermost object that is no module which it was found in; or 0 */
};

struct sd_saved_slot { /* an attribute that stands in the object, not in its dict */
    PyObject *module, *slot; /* owned: the object, and its class's descriptor */
    PyObject *value;         /* owned: what it held; NULL: nothing */
    size_t object;
};

struct sd_keep { /* all zero but for torch is a fresh one */
    struct sd_saved_value *all;
    size_t n, cap;
    struct sd_saved_slot *slots;
    size_t n_slots, cap_slots;
    struct sd_table by_container; /* its address, or an object's: 1 */
    const struct sd_torch *torch; /* borrowed */
    PyObject *modules;            /* owned list: those that were met, or NULL */
    size_t n_objects;
    size_t object; /* that is being walked, by its number; 0: none */
};

/* Notes this dict, list, set or deque and those in it.  `twins` NULL: replaces nothing.
 * 0, or -1 with an exception; what was noted until then can still be put back. */
int sd_keep_container(struct sd_keep *k, PyObject *container, struct sd_twins *twins,
                      int depth);
/* The same for a module, whose dict is `fields`: with what it has in slots.  Nothing of
 * its own code runs. */
int sd_keep_module(struct sd_keep *k, PyObject *module, PyObject *fields,
                   struct sd_twins *twins, int depth);
/* Notes what the modules hold that were met on the way, and those that they hold.  At
 * the end of the walk, because a registered one has a turn of its own before its
 * tensors are replaced. */
int sd_keep_modules(struct sd_keep *k, struct sd_twins *twins, int depth);
/* Puts everything back and is fresh again.  Leaves the exception that is set. */
void sd_keep_put_back(struct sd_keep *k);
#endif
