/* SPDX-License-Identifier: MIT */
#ifndef SD_MODEL_MODULE_LAYERS_H
#define SD_MODEL_MODULE_LAYERS_H
/* module_layers: turns a module and those in it into layers of the model, with their
 * descriptions and tensors.
 *
 * There is one walk, whoever finds the module: sd_pass_walk before anything runs, and
 * new_modules.c for those that are not known when they run. */
#include "collect/model/model_pass.h"

enum {
    SD_WALK_DEEPEST = 1500, /* modules in modules; from SD_MODEL_DEPTH_MAX on they are
                               shown beside each other */
    SD_WALK_PATH_BYTES = 4096,
    SD_WALK_KEEP_DEPTH = 8, /* lists in lists of a module */
};

struct sd_walk { /* all zero but `run` is a fresh one */
    struct sd_pass *run;
    char path[SD_WALK_PATH_BYTES]; /* of the module that is visited */
    size_t n_path;
    size_t n_left_out; /* too deep, or with names that are too long */
    int depth;
    bool is_made; /* by the forward: what is lazy in it may have no shapes yet */
    bool stands_for_another; /* in its place: that one's tensors are counted */
};

/* The module at w->path, and those in it.  One that is known is passed over: in two
 * places it is one layer, under its first name.  0, or -1 with an exception. */
int sd_module_visit(struct sd_walk *w, PyObject *module, uint32_t parent);

/* Its modules by their names: a new reference, or NULL with an exception. */
PyObject *sd_module_children(PyObject *module);
/* The same of its own parameters. */
PyObject *sd_module_parameters(PyObject *module);
/* The name of its class.  It lives as long as *holder, which is the caller's, or NULL.
 */
const char *sd_module_type(PyObject *module, PyObject **holder);
/* One of a lazy class whose tensors have no shapes before it runs. */
bool sd_module_is_unsettled(PyObject *module);
#endif
