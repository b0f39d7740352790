/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/values/tensors.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    N_KNOWN = 5,
    IMPL_BYTES = 320, /* more than it has; the last may be missing */
    INLINE_DIMS = 5,  /* more of them are elsewhere, behind a pointer */
    MOST_TRIES = 1000,
    FIRST_FIELD = 16, /* behind the header of every object: what it points to */
    LAST_FIELD = 32,
    FIRST_DIMS = 16, /* behind the vtable, and their number before them */
    META_DEVICE = 14,
};

enum state { STATE_NEW, STATE_KNOWN, STATE_REFUSED };

struct layout {
    /* Bytes from the start of the object, and of what it points to there. */
    uint32_t impl;
    uint32_t dims; /* their number stands in the 8 bytes before */
    uint32_t numel, dtype, device;
    bool has_strides; /* they stand behind the dimensions, in the same way */
    uint64_t vtable; /* with which an implementation begins.  Others (of nested tensors,
                        sparse ones, wrappers) may keep their sizes elsewhere */
};

/* With the interpreter's lock. */
static struct {
    enum state state;
    bool is_asked_for; /* a pending call is on its way */
    unsigned n_tries;
    struct layout layout; /* when it is known */
    PyObject *listener;   /* "__torch_dispatch__"; held for as long as the process */
} torch;

/* The tensors that are made. */
static const struct known {
    int n_dims, dims[6];
    int64_t numel;
    const char *dtype_name;
    uint16_t dtype;
    uint8_t device; /* 0: the processor's memory; META_DEVICE has none */
} known[N_KNOWN] = {
    { 3, { 3, 5, 7 }, 105, "float32", 6, 0 },
    { 2, { 2, 4 }, 8, "int64", 4, 0 },
    { 3, { 4, 2, 9 }, 72, "bool", 11, META_DEVICE },
    { 5, { 1, 2, 3, 1, 2 }, 12, "float64", 7, 0 },
    { 6, { 1, 2, 3, 1, 2, 3 }, 36, "int8", 1, 0 },
};

struct probe {
    PyObject *tensors[N_KNOWN]; /* owned */
    uint8_t impl[N_KNOWN][IMPL_BYTES];
};

/* --- Making them ------------------------------------------------------------------ */

/* Does nobody hear of what torch does?  Asked of torch's own C functions. */
static bool nobody_listens(void)
{
    static const char *const stacks[] = { "_len_torch_function_stack",
                                          "_len_torch_dispatch_stack" };

    for (int i = 0; i < 2; i++) {
        PyObject *count = sd_found_in("torch._C", stacks[i]), *n;
        bool is_empty;

        if (!count || !PyCFunction_Check(count))
            return false;
        n = PyObject_CallObject(count, NULL);
        is_empty = n && PyLong_CheckExact(n) && PyLong_AsLong(n) == 0;
        Py_XDECREF(n);
        if (!is_empty)
            return false;
    }
    return true;
}

static PyObject *make_tensor(PyObject *empty, const struct known *k)
{
    PyObject *dtype = sd_found_in("torch", k->dtype_name),
             *dims = PyTuple_New(k->n_dims);
    PyObject *args, *kwargs = NULL, *tensor = NULL;

    for (int i = 0; dims && i < k->n_dims; i++)
        PyTuple_SET_ITEM(dims, i, PyLong_FromLong(k->dims[i]));
    args = dims ? PyTuple_Pack(1, dims) : NULL;
    if (dtype)
        kwargs = Py_BuildValue("{s:O,s:s}", "dtype", dtype, "device",
                               k->device ? "meta" : "cpu");
    if (args && kwargs)
        tensor = PyObject_Call(empty, args, kwargs);
    Py_XDECREF(dims);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    return tensor;
}

static bool make_tensors(struct probe *p)
{
    PyObject *empty = sd_found_in("torch", "empty");

    if (!empty || !PyCFunction_Check(empty))
        return false;
    for (int i = 0; i < N_KNOWN; i++) {
        p->tensors[i] = make_tensor(empty, &known[i]);
        if (!p->tensors[i])
            return false;
    }
    return true;
}

/* --- Looking at them -------------------------------------------------------------- */

/* Memory that may not be there: the kernel tells, where a read of ours would fault. */
static bool look(uint64_t at, void *to, size_t n)
{
    struct iovec local = { to, n }, remote = { (void *)(uintptr_t)at, n };

    memset(to, 0, n);
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) > 0;
}

static uint64_t word_at(const void *p, size_t at)
{
    uint64_t word;

    memcpy(&word, (const uint8_t *)p + at, sizeof word);
    return word;
}

/* Are the dimensions of this one found there? */
static bool has_dims(const uint8_t *impl, size_t at, const struct known *k)
{
    int64_t dims[6];

    if (word_at(impl, at - 8) != (uint64_t)k->n_dims)
        return false;
    if (k->n_dims <= INLINE_DIMS)
        memcpy(dims, impl + at, (size_t)k->n_dims * sizeof *dims);
    else if (!look(word_at(impl, at), dims, (size_t)k->n_dims * sizeof *dims))
        return false;
    for (int i = 0; i < k->n_dims; i++)
        if (dims[i] != k->dims[i])
            return false;
    return true;
}

static bool all_have_dims(const struct probe *p, size_t at)
{
    for (int i = 0; i < N_KNOWN; i++)
        if (!has_dims(p->impl[i], at, &known[i]))
            return false;
    return true;
}

static bool find_dims(struct probe *p, struct layout *t)
{
    for (t->impl = FIRST_FIELD; t->impl <= LAST_FIELD; t->impl += 8) {
        bool is_there = true;

        for (int i = 0; i < N_KNOWN && is_there; i++)
            is_there = look(word_at(p->tensors[i], t->impl), p->impl[i], IMPL_BYTES);
        for (size_t at = FIRST_DIMS;
             is_there && at + INLINE_DIMS * sizeof(int64_t) < IMPL_BYTES; at += 8)
            if (all_have_dims(p, at)) {
                t->dims = (uint32_t)at;
                return true;
            }
    }
    return false;
}

static bool all_have_numel(const struct probe *p, size_t at)
{
    for (int i = 0; i < N_KNOWN; i++)
        if (word_at(p->impl[i], at) != (uint64_t)known[i].numel)
            return false;
    return true;
}

static bool all_have_dtype(const struct probe *p, size_t at)
{
    for (int i = 0; i < N_KNOWN; i++)
        if (memcmp(p->impl[i] + at, &known[i].dtype, sizeof known[i].dtype) != 0)
            return false;
    return true;
}

/* The kind of device, and behind it its number, of which these have none. */
static bool all_have_device(const struct probe *p, size_t at)
{
    for (int i = 0; i < N_KNOWN; i++)
        if (p->impl[i][at] != known[i].device || p->impl[i][at + 1] != 0xff)
            return false;
    return true;
}

/* The only place behind the dimensions where all have it; 0: none, or more than one. */
static uint32_t only_place(const struct probe *p, size_t from, size_t step,
                           bool (*all_have)(const struct probe *p, size_t at))
{
    uint32_t found = 0;

    for (size_t at = from; at + 8 <= IMPL_BYTES; at += step)
        if (all_have(p, at)) {
            if (found)
                return 0;
            found = (uint32_t)at;
        }
    return found;
}

/* The tensors that are made have no gaps: how far apart their elements are is known. */
static bool has_strides(const uint8_t *impl, size_t at, const struct known *k)
{
    int64_t strides[6], gap = 1;
    size_t bytes = (size_t)k->n_dims * sizeof *strides;

    if (k->n_dims <= INLINE_DIMS)
        memcpy(strides, impl + at + INLINE_DIMS * sizeof *strides, bytes);
    else if (!look(word_at(impl, at) + bytes, strides, bytes))
        return false;
    for (int i = k->n_dims; i-- > 0; gap *= k->dims[i])
        if (strides[i] != gap)
            return false;
    return true;
}

static bool all_have_strides(const struct probe *p, size_t at)
{
    for (int i = 0; i < N_KNOWN; i++)
        if (!has_strides(p->impl[i], at, &known[i]))
            return false;
    return true;
}

static bool find_places(struct probe *p, struct layout *t)
{
    if (!find_dims(p, t))
        return false;
    t->vtable = word_at(p->impl[0], 0);
    for (int i = 1; i < N_KNOWN; i++)
        if (word_at(p->impl[i], 0) != t->vtable)
            return false;
    t->numel = only_place(p, t->dims + INLINE_DIMS * 8, 8, all_have_numel);
    t->dtype = only_place(p, t->dims, 2, all_have_dtype);
    t->device = only_place(p, t->dims, 1, all_have_device);
    t->has_strides = all_have_strides(p, t->dims);
    return t->numel && t->dtype && t->device;
}

/* Is all of it there, and not in the middle of its import? */
static bool is_loaded(void)
{
    PyObject *spec = sd_found_in("torch", "__spec__"), *is_begun;
    bool is_ready;

    if (!spec || !sd_found_in("torch", "empty"))
        return false;
    is_begun = PyObject_GetAttrString(spec, "_initializing");
    is_ready = !is_begun || is_begun == Py_False;
    Py_XDECREF(is_begun);
    PyErr_Clear();
    return is_ready;
}

/* What is known is told last: until then nobody reads a tensor. */
static enum state find_layout(void)
{
    struct probe p = { .tensors = { NULL } };
    struct layout found;
    enum state state = STATE_REFUSED;

    if (!nobody_listens())
        return ++torch.n_tries < MOST_TRIES ? STATE_NEW : STATE_REFUSED;
    if (make_tensors(&p) && find_places(&p, &found)) {
        torch.layout = found;
        if (!torch.listener)
            torch.listener = PyUnicode_InternFromString("__torch_dispatch__");
        state = STATE_KNOWN;
    }
    for (int i = 0; i < N_KNOWN; i++)
        Py_XDECREF(p.tensors[i]);
    return state;
}

void sd_tensors_look(void)
{
    struct sd_pending_exception raised;
    enum state state;

    if (torch.state != STATE_NEW)
        return;
    raised = sd_pending_exception_take();
    if (is_loaded()) {
        state = find_layout();
        if (torch.state != STATE_KNOWN) /* by another thread, meanwhile */
            torch.state = state;
    }
    PyErr_Clear();
    sd_pending_exception_give_back(raised);
}

static int look_now(void *unused)
{
    (void)unused;
    torch.is_asked_for = false;
    sd_tensors_look();
    return 0;
}

/* The interpreter's queue may be full: the next one asks again. */
static void ask_for_it(void)
{
    if (!torch.is_asked_for)
        torch.is_asked_for = Py_AddPendingCall(look_now, NULL) == 0;
}

void sd_tensors_are_near(void)
{
    if (torch.state == STATE_NEW && !torch.is_asked_for &&
        sd_found_in("torch", "empty"))
        ask_for_it();
}

/* --- Reading ---------------------------------------------------------------------- */

/* In some versions a byte before the pointer says that it points to another pointer: of
 * a tensor that Python does not own, which is nobody's argument. */
static const uint8_t *impl_of(const struct layout *t, PyObject *o)
{
    if (t->impl > FIRST_FIELD && ((const uint8_t *)o)[t->impl - 8] != 0)
        return NULL;
    return (const uint8_t *)(uintptr_t)word_at(o, t->impl);
}

static bool is_consistent(const struct sd_tensor *t, int64_t numel)
{
    int64_t n = 1;

    for (unsigned i = 0; i < t->n_dims; i++)
        if (t->dims[i] < 0 || __builtin_mul_overflow(n, t->dims[i], &n))
            return false;
    return n == numel;
}

/* Those behind the pointer may be freed by a thread that resizes the tensor: torch does
 * that without the interpreter's lock.  So the kernel is asked. */
static bool read_dims(const struct layout *t, const uint8_t *impl,
                      struct sd_tensor *out)
{
    uint64_t n = word_at(impl, t->dims - 8);
    size_t bytes = (size_t)n * sizeof *out->dims;

    if (n > SD_DIMS_MAX)
        return false;
    out->n_dims = (unsigned)n;
    if (n > INLINE_DIMS)
        return look(word_at(impl, t->dims), out->dims, bytes);
    memcpy(out->dims, impl + t->dims, bytes);
    return true;
}

/* Those with symbolic sizes (as torch.compile traces them) keep these elsewhere, and
 * look as if they were empty.  They are of classes of their own; of these the empty
 * ones have their type alone. */
static bool may_be_symbolic(PyObject *o, const struct sd_tensor *t)
{
    const PyTypeObject *base = Py_TYPE(o)->tp_base;

    return t->n_dims == 1 && t->dims[0] == 0 && base &&
           base->tp_flags & Py_TPFLAGS_HEAPTYPE; /* that of torch.Tensor is torch's */
}

/* A class that hears of every operation, as FakeTensor does, stands for tensors that
 * are elsewhere and keeps their device to itself, while its own is "meta".  All others
 * have torch's own function there, or in early versions none. */
static bool has_device(PyObject *o, const struct sd_tensor *t)
{
    PyObject *listener;

    if (t->device != META_DEVICE)
        return true;
    if (!torch.listener)
        return false;
    listener = _PyType_Lookup(Py_TYPE(o), torch.listener);
    return !listener || PyCFunction_Check(listener);
}

bool sd_tensor_read(PyObject *o, struct sd_tensor *out)
{
    const struct layout *t = &torch.layout;
    const uint8_t *impl;

    if (__builtin_expect(torch.state != STATE_KNOWN, 0)) {
        if (torch.state == STATE_NEW)
            ask_for_it();
        return false;
    }
    impl = impl_of(t, o);
    if (!impl || word_at(impl, 0) != t->vtable || !read_dims(t, impl, out))
        return false;
    memcpy(&out->dtype, impl + t->dtype, sizeof out->dtype);
    out->device = impl[t->device];
    out->device_index = impl[t->device + 1];
    out->has_device = has_device(o, out);
    return is_consistent(out, (int64_t)word_at(impl, t->numel)) &&
           !may_be_symbolic(o, out);
}

bool sd_tensor_read_strides(PyObject *o, const struct sd_tensor *of, int64_t *strides)
{
    const struct layout *t = &torch.layout;
    const uint8_t *impl = torch.state == STATE_KNOWN ? impl_of(t, o) : NULL;
    size_t bytes = (size_t)of->n_dims * sizeof *strides;

    if (!impl || word_at(impl, 0) != t->vtable || !t->has_strides ||
        word_at(impl, t->dims - 8) != of->n_dims)
        return false;
    if (of->n_dims > INLINE_DIMS)
        return look(word_at(impl, t->dims) + bytes, strides, bytes);
    memcpy(strides, impl + t->dims + INLINE_DIMS * sizeof *strides, bytes);
    return true;
}

/* --- Text ------------------------------------------------------------------------- */

void sd_tensor_put_dtype(const struct sd_tensor *t, struct sd_buf *to)
{
    static const char *const names[] = {
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "complex32",
        "complex64",
        "complex128",
        "bool",
        "qint8",
        "quint8",
        "qint32",
        "bfloat16",
        "quint4x2",
        "quint2x4",
        "bits1x8",
        "bits2x4",
        "bits4x2",
        "bits8",
        "bits16",
        "float8_e5m2",
        "float8_e4m3fn",
        "float8_e5m2fnuz",
        "float8_e4m3fnuz",
        "uint16",
        "uint32",
        "uint64",
        "uint1",
        "uint2",
        "uint3",
        "uint4",
        "uint5",
        "uint6",
        "uint7",
        "int1",
        "int2",
        "int3",
        "int4",
        "int5",
        "int6",
        "int7",
        "float8_e8m0fnu",
        "float4_e2m1fn_x2",
    };

    if (t->dtype < sizeof names / sizeof *names)
        sd_buf_text(to, names[t->dtype]);
    else
        sd_buf_printf(to, "dtype%u", (unsigned)t->dtype);
}

void sd_tensor_put_device(const struct sd_tensor *t, struct sd_buf *to)
{
    static const char *const names[] = {
        "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
        "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
        "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone",
    };

    if (t->device < sizeof names / sizeof *names)
        sd_buf_text(to, names[t->device]);
    else
        sd_buf_printf(to, "device%u", (unsigned)t->device);
    if (t->device_index != UINT8_MAX)
        sd_buf_printf(to, ":%u", (unsigned)t->device_index);
}
