/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/model/torch.h"

#include <string.h>

#include "base/buf.h"
#include "collect/values/tensors.h"

enum { META_DEVICE = 14 }; /* torch's number of it; never changes */

/* --- Finding it */

static PyObject *attribute(const char *module, const char *name)
{
    PyObject *m = PyImport_ImportModule(module);
    PyObject *found = m ? PyObject_GetAttrString(m, name) : NULL;

    Py_XDECREF(m);
    return found;
}

/* The same for what a torch may lack. */
static PyObject *attribute_or_null(const char *module, const char *name)
{
    PyObject *found = attribute(module, name);

    if (!found)
        PyErr_Clear();
    return found;
}

/* torch's numbers of dtypes never change: they stand in files of weights. */
static int find_dtypes(struct sd_torch *t)
{
    struct sd_buf text = { 0 };

    for (unsigned i = 0; i < SD_TORCH_STRANGE; i++) {
        struct sd_tensor of = { .dtype = (uint16_t)i };
        const char *name;

        sd_buf_clear(&text);
        sd_tensor_put_dtype(&of, &text);
        name = sd_buf_string(&text);
        t->dtypes[i] = Py_XNewRef(sd_found_in("torch", name));
        t->dtype_of[i] = (uint8_t)sd_dtype_named(name, strlen(name));
    }
    sd_buf_release(&text);
    return 0;
}

/* As an object of torch's, which it need not read as it would a word. */
static PyObject *device_of(const char *name)
{
    PyObject *type = attribute("torch", "device");
    PyObject *device = type ? PyObject_CallFunction(type, "s", name) : NULL;

    Py_XDECREF(type);
    return device;
}

int sd_torch_init(struct sd_torch *t)
{
    memset(t, 0, sizeof *t);
    t->tensor = attribute("torch", "Tensor");
    if (!t->tensor)
        return -1;
    sd_tensors_look();
    t->tensor_base = attribute("torch._C", "TensorBase");
    if (!t->tensor_base) { /* its name before 2.1 */
        PyErr_Clear();
        t->tensor_base = attribute("torch._C", "_TensorBase");
    }
    t->parameter = attribute("torch.nn", "Parameter");
    t->module = attribute("torch.nn", "Module");
    t->empty = attribute("torch", "empty");
    t->empty_strided = attribute("torch", "empty_strided");
    t->make_subclass = PyObject_GetAttrString(t->tensor, "_make_subclass");
    t->device_word = PyUnicode_InternFromString("device");
    t->dtype_word = PyUnicode_InternFromString("dtype");
    t->meta = device_of("meta");
    t->cpu = device_of("cpu");
    if (!t->tensor_base || !t->parameter || !t->module || !t->empty ||
        !t->empty_strided || !t->make_subclass || !t->device_word || !t->dtype_word ||
        !t->meta || !t->cpu)
        return -1;
    t->node_now = attribute_or_null("torch._C", "_current_autograd_node");
    t->sequence_now = attribute_or_null("torch.autograd", "_get_sequence_nr");
    t->is_autocast = attribute_or_null("torch", "is_autocast_enabled");
    t->no_functions = attribute_or_null("torch._C", "DisableTorchFunction");
    t->generator = attribute_or_null("torch", "Generator");
    t->no_dispatch = attribute_or_null("torch._C", "_disabled_torch_dispatch_impl");
    return find_dtypes(t);
}

void sd_torch_release(struct sd_torch *t)
{
    Py_CLEAR(t->tensor_base);
    Py_CLEAR(t->tensor);
    Py_CLEAR(t->parameter);
    Py_CLEAR(t->module);
    Py_CLEAR(t->generator);
    Py_CLEAR(t->empty);
    Py_CLEAR(t->empty_strided);
    Py_CLEAR(t->make_subclass);
    Py_CLEAR(t->device_word);
    Py_CLEAR(t->dtype_word);
    Py_CLEAR(t->meta);
    Py_CLEAR(t->cpu);
    Py_CLEAR(t->node_now);
    Py_CLEAR(t->sequence_now);
    Py_CLEAR(t->is_autocast);
    Py_CLEAR(t->no_functions);
    Py_CLEAR(t->no_dispatch);
    for (int i = 0; i < SD_TORCH_DTYPES; i++) {
        Py_CLEAR(t->dtypes[i]);
        Py_CLEAR(t->on_meta[i]);
    }
}

PyObject *sd_torch_hush(const struct sd_torch *t)
{
    PyObject *hushed =
        t->no_functions ? PyObject_CallObject(t->no_functions, NULL) : NULL;
    PyObject *entered = hushed ? PyObject_CallMethod(hushed, "__enter__", NULL) : NULL;

    if (!entered) {
        PyErr_Clear();
        Py_CLEAR(hushed);
    }
    Py_XDECREF(entered);
    return hushed;
}

void sd_torch_unhush(PyObject *hushed)
{
    struct sd_pending_exception raised = sd_pending_exception_take();
    PyObject *left = hushed ? PyObject_CallMethod(hushed, "__exit__", "OOO", Py_None,
                                                  Py_None, Py_None)
                            : NULL;

    Py_XDECREF(left);
    Py_XDECREF(hushed);
    sd_pending_exception_give_back(raised);
}

/* --- Reading a tensor */

static bool read_in_place(const struct sd_torch *t, PyObject *tensor,
                          struct sd_tensor_shape *out)
{
    struct sd_tensor seen;

    if (!sd_tensor_read(tensor, &seen))
        return false;
    if (seen.dtype >= SD_TORCH_STRANGE || !t->dtypes[seen.dtype])
        return false;
    out->n = seen.n_dims;
    out->number = (uint8_t)seen.dtype;
    out->is_meta = seen.device == META_DEVICE;
    out->is_nested = false;
    out->is_sparse = false; /* those are objects of a class of their own */
    memcpy(out->dims, seen.dims, seen.n_dims * sizeof *seen.dims);
    return true;
}

static int dims_of(PyObject *size, struct sd_tensor_shape *out)
{
    PyObject *list = PySequence_Fast(size, "the shape of a tensor must be a sequence");
    Py_ssize_t n = list ? PySequence_Fast_GET_SIZE(list) : -1;

    if (n > SD_MODEL_DIMS_MAX) {
        PyErr_SetString(PyExc_ValueError, "a tensor with more than 64 axes");
        n = -1;
    }
    out->n = n < 0 ? 0 : (unsigned)n;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *index = PyNumber_Index(PySequence_Fast_GET_ITEM(list, i));

        out->dims[i] = index ? PyLong_AsLongLong(index) : -1;
        Py_XDECREF(index);
        if (out->dims[i] < 0 && PyErr_Occurred())
            n = -1;
    }
    Py_XDECREF(list);
    return n < 0 ? -1 : 0;
}

static uint8_t number_of(const struct sd_torch *t, PyObject *dtype)
{
    for (unsigned i = 0; i < SD_TORCH_STRANGE; i++)
        if (t->dtypes[i] == dtype)
            return (uint8_t)i;
    return SD_TORCH_STRANGE;
}

static bool is_true(PyObject *o, const char *name)
{
    PyObject *value = PyObject_GetAttrString(o, name);
    bool is = value == Py_True;

    if (!value)
        PyErr_Clear();
    Py_XDECREF(value);
    return is;
}

/* Its layout is torch.sparse_coo, torch.sparse_csr, ... */
static bool is_sparse(PyObject *tensor)
{
    PyObject *layout = PyObject_GetAttrString(tensor, "layout");
    PyObject *text = layout ? PyObject_Str(layout) : NULL;
    const char *word = text ? PyUnicode_AsUTF8(text) : NULL;
    bool is = word && strncmp(word, "torch.sparse", 12) == 0;

    PyErr_Clear();
    Py_XDECREF(layout);
    Py_XDECREF(text);
    return is;
}

int sd_torch_shape(const struct sd_torch *t, PyObject *tensor,
                   struct sd_tensor_shape *out)
{
    PyObject *dtype, *size;
    int rc;

    if (read_in_place(t, tensor, out))
        return 0;
    memset(out, 0, offsetof(struct sd_tensor_shape, dims));
    dtype = PyObject_GetAttr(tensor, t->dtype_word);
    if (!dtype)
        return -1;
    out->number = number_of(t, dtype);
    Py_DECREF(dtype);
    out->is_meta = is_true(tensor, "is_meta");
    if (is_true(tensor, "is_nested")) {
        out->is_nested = true;
        return 0;
    }
    out->is_sparse = is_sparse(tensor);
    size = PyObject_GetAttrString(tensor, "shape");
    rc = size ? dims_of(size, out) : -1;
    Py_XDECREF(size);
    return rc;
}

int sd_torch_strides(PyObject *tensor, const struct sd_tensor_shape *of,
                     int64_t *strides)
{
    struct sd_tensor seen = { .n_dims = of->n };
    struct sd_tensor_shape read = { 0 };
    PyObject *list;
    int rc;

    if (sd_tensor_read_strides(tensor, &seen, strides))
        return 0;
    list = PyObject_CallMethod(tensor, "stride", NULL);
    rc = list ? dims_of(list, &read) : -1;
    Py_XDECREF(list);
    memcpy(strides, read.dims, read.n * sizeof *strides);
    return rc;
}

bool sd_torch_is_contiguous(const struct sd_tensor_shape *s, const int64_t *strides)
{
    int64_t gap = 1;

    for (unsigned i = s->n; i-- > 0;) {
        if (s->dims[i] == 0)
            return true;
        if (s->dims[i] != 1 && strides[i] != gap)
            return false;
        gap *= s->dims[i];
    }
    return true;
}

/* --- Making one */

static PyObject *tuple_of(const int64_t *numbers, unsigned n)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);

    for (unsigned i = 0; tuple && i < n; i++) {
        PyObject *one = PyLong_FromLongLong(numbers[i]);

        if (!one)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, one);
    }
    return tuple;
}

static PyObject *words_for(struct sd_torch *t, uint8_t number)
{
    if (!t->on_meta[number])
        t->on_meta[number] = Py_BuildValue("{O:O,O:O}", t->dtype_word,
                                           t->dtypes[number], t->device_word, t->meta);
    return t->on_meta[number];
}

PyObject *sd_torch_make(struct sd_torch *t, uint8_t number, unsigned n,
                        const int64_t *dims, const int64_t *strides)
{
    PyObject *words = words_for(t, number), *size = words ? tuple_of(dims, n) : NULL;
    PyObject *gaps = size && strides ? tuple_of(strides, n) : NULL;
    PyObject *args, *made = NULL;

    if (!size || (strides && !gaps)) {
        Py_XDECREF(size);
        return NULL;
    }
    args = gaps ? PyTuple_Pack(2, size, gaps) : PyTuple_Pack(1, size);
    if (args)
        made = PyObject_Call(gaps ? t->empty_strided : t->empty, args, words);
    Py_XDECREF(args);
    Py_XDECREF(gaps);
    Py_DECREF(size);
    return made;
}

/* A tensor that is made smaller keeps its storage. */
PyObject *sd_torch_make_in(struct sd_torch *t, uint8_t number, unsigned n,
                           const int64_t *dims, int64_t room)
{
    PyObject *whole = sd_torch_make(t, number, 1, &room, NULL);
    PyObject *size = whole ? tuple_of(dims, n) : NULL;
    PyObject *made = size ? PyObject_CallMethod(whole, "resize_", "(O)", size) : NULL;

    Py_XDECREF(size);
    Py_XDECREF(whole);
    return made;
}

static int copy_attributes(PyObject *to, PyObject *from)
{
    PyObject *source = PyObject_GetAttrString(from, "__dict__"), *target;
    int rc = 0;

    if (!source) {
        PyErr_Clear();
        return 0;
    }
    if (PyDict_Check(source) && PyDict_GET_SIZE(source) > 0) {
        target = PyObject_GetAttrString(to, "__dict__");
        rc = target ? PyDict_Update(target, source) : -1;
        Py_XDECREF(target);
    }
    Py_DECREF(source);
    return rc;
}

/* Its class stays, because models ask for it; and with it what was put on it. */
static PyObject *as_class_of(struct sd_torch *t, PyObject *data, PyObject *original)
{
    PyObject *wants = PyObject_GetAttrString(original, "requires_grad"), *twin;

    if (!wants)
        return NULL;
    twin = PyObject_CallFunctionObjArgs(t->make_subclass, (PyObject *)Py_TYPE(original),
                                        data, wants, NULL);
    Py_DECREF(wants);
    if (twin && copy_attributes(twin, original) < 0)
        Py_CLEAR(twin);
    return twin;
}

PyObject *sd_torch_twin(struct sd_torch *t, PyObject *tensor)
{
    struct sd_tensor_shape s;
    int64_t strides[SD_MODEL_DIMS_MAX];
    PyObject *data, *twin;

    if (sd_torch_shape(t, tensor, &s) < 0)
        return NULL;
    if (s.is_nested || s.is_sparse || s.number == SD_TORCH_STRANGE ||
        !t->dtypes[s.number]) {
        PyErr_Format(PyExc_NotImplementedError,
                     "a %stensor of type %.100s cannot stand without its data",
                     s.is_sparse ? "sparse " : "", Py_TYPE(tensor)->tp_name);
        return NULL;
    }
    if (sd_torch_strides(tensor, &s, strides) < 0)
        return NULL;
    data = sd_torch_make(t, s.number, s.n, s.dims, strides);
    twin = data ? as_class_of(t, data, tensor) : NULL;
    Py_XDECREF(data);
    return twin;
}

int sd_torch_parts(PyObject *tensor, struct sd_tensor_shape of,
                   int (*each)(const struct sd_tensor_shape *part, void *arg),
                   void *arg)
{
    PyObject *sizes = PyObject_CallMethod(tensor, "_nested_tensor_size", NULL);
    PyObject *rows = sizes ? PyObject_CallMethod(sizes, "tolist", NULL) : NULL;
    int rc = rows && PyList_Check(rows) ? 0 : -1;

    of.is_nested = false;
    for (Py_ssize_t i = 0; rc == 0 && i < PyList_GET_SIZE(rows); i++) {
        rc = dims_of(PyList_GET_ITEM(rows, i), &of);
        if (rc == 0)
            rc = each(&of, arg);
    }
    Py_XDECREF(sizes);
    Py_XDECREF(rows);
    return rc;
}

struct sd_operand sd_torch_operand(const struct sd_torch *t,
                                   const struct sd_tensor_shape *s)
{
    return (struct sd_operand){
        .dims = { s->dims, s->n },
        .dtype = t->dtype_of[s->number],
        .kind = SD_OPERAND_TENSOR,
    };
}

PyObject *sd_storage_of(PyObject *tensor)
{
    PyObject *storage = PyObject_CallMethod(tensor, "untyped_storage", NULL);

    if (!storage)
        PyErr_Clear();
    return storage;
}

uint64_t sd_storage_at(PyObject *storage)
{
    PyObject *told = PyObject_GetAttrString(storage, "_cdata");
    uint64_t at = told && PyLong_Check(told) ? PyLong_AsUnsignedLongLong(told) : 0;

    PyErr_Clear();
    Py_XDECREF(told);
    return at;
}
