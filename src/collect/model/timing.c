/* SPDX-License-Identifier: MIT */
/* timing: the borders between layers in a backward.
 *
 * Hooks of modules for the backward cannot be used: they refuse modules that work in
 * place, as the ReLU of every ResNet does.  A node of the graph can have a hook of its
 * own, which is called before it runs.  The node that made a layer's result opens that
 * layer's backward; the node that made what the layer was given closes it, and is of
 * the layer around. */
#include "cpython/compat.h"

#include "collect/model/run.h"

static PyObject *partial(PyObject *self, uint32_t layer)
{
    PyObject *module = PyImport_ImportModule("functools"), *made = NULL;
    PyObject *mark = PyObject_GetAttrString(self, "mark");

    if (module && mark)
        made = PyObject_CallMethod(module, "partial", "OI", mark, layer);
    Py_XDECREF(module);
    Py_XDECREF(mark);
    return made;
}

/* The first that asks for a node has it: the innermost layer leaves first. */
static int mark_node(struct sd_run *r, PyObject *node, uint32_t layer)
{
    PyObject *hook, *handle = NULL;
    int is_marked;

    if (!r->marked && !(r->marked = PySet_New(NULL)))
        return -1;
    is_marked = PySet_Contains(r->marked, node);
    if (is_marked != 0)
        return is_marked < 0 ? -1 : 0;
    hook = partial(r->self, layer);
    if (hook)
        handle = PyObject_CallMethod(node, "register_prehook", "O", hook);
    Py_XDECREF(hook);
    Py_XDECREF(handle);
    return handle ? PySet_Add(r->marked, node) : -1;
}

static int mark_tensor(struct sd_run *r, PyObject *tensor, uint32_t layer)
{
    PyObject *node = PyObject_GetAttrString(tensor, "grad_fn");
    int rc = node && node != Py_None ? mark_node(r, node, layer) : 0;

    Py_XDECREF(node);
    if (rc < 0 || PyErr_Occurred())
        PyErr_Clear(); /* a node without hooks: its time is its neighbour's */
    return 0;
}

int sd_run_mark_nodes(struct sd_run *r, PyObject *in, uint32_t layer)
{
    if (sd_torch_is_tensor(&r->torch, in))
        return mark_tensor(r, in, layer);
    if (!PyTuple_Check(in) && !PyList_Check(in))
        return 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(in); i++)
        if (sd_run_mark_nodes(r, PySequence_Fast_GET_ITEM(in, i), layer) < 0)
            return -1;
    return 0;
}
