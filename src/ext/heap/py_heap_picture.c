/* SPDX-License-Identifier: MIT */
#include "analyse/heap/heap_picture.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/out.h"
#include "ext/heap/py_heap.h"
#include "report/svg/graph.h"

/* The numbers of the addresses in a tuple that are in the snapshot; NULL with an
 * exception. */
static uint32_t *numbers_of(const struct sd_py_heap *h, PyObject *addresses,
                            uint32_t *n)
{
    uint32_t *numbers =
        sd_alloc(((size_t)PyTuple_GET_SIZE(addresses) + 1) * sizeof *numbers);

    *n = 0;
    if (!numbers) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(addresses); i++) {
        uint32_t number = sd_py_heap_number(h, PyTuple_GET_ITEM(addresses, i));

        if (number == SD_HEAP_NONE)
            PyErr_Clear();
        else
            numbers[(*n)++] = number;
    }
    return numbers;
}

static PyObject *draw(struct sd_py_heap *h,
                      const struct sd_heap_picture_request *request, bool is_svg)
{
    struct sd_graph_look look = sd_graph_look_default();
    struct sd_arena arena = { NULL, 0 };
    struct sd_view_graph view;
    PyObject *picture = NULL;
    struct sd_out out;
    int rc = sd_heap_picture_make(&h->reach, request, &arena, &view);

    if (rc < 0) {
        sd_ext_raise(rc);
    } else {
        sd_out_to_memory(&out);
        rc = is_svg ? sd_report_graph(&out, &view, &look)
                    : sd_report_dot(&out, &view, &look);
        picture = sd_ext_bytes(&out, rc);
    }
    sd_arena_release(&arena);
    return picture;
}

PyObject *sd_ext_heap_picture(PyObject *module, PyObject *args)
{
    struct sd_heap_picture_request request = { .n = 0 };
    PyObject *snapshot, *objects, *hidden, *picture = NULL;
    uint32_t *asked = NULL, *left_out = NULL;
    int is_backwards, is_svg;
    struct sd_py_heap *h;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO!O!pIIp", &snapshot, &PyTuple_Type, &objects,
                          &PyTuple_Type, &hidden, &is_backwards, &request.depth,
                          &request.too_many, &is_svg))
        return NULL;
    h = sd_py_heap_of(snapshot);
    if (!h || !sd_py_heap_reach(h))
        return NULL;
    asked = numbers_of(h, objects, &request.n);
    left_out = asked ? numbers_of(h, hidden, &request.n_hidden) : NULL;
    request.objects = asked;
    request.hidden = left_out;
    request.is_backwards = is_backwards;
    if (left_out)
        picture = draw(h, &request, is_svg);
    sd_free(asked);
    sd_free(left_out);
    return picture;
}
