/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_COMPAT_HEAP_H
#define SD_CPYTHON_COMPAT_HEAP_H
/* compat_heap: the objects of the interpreter that we run in, as memory: those that its
 * collector tracks, counts of references, attributes that stand beside an object, and
 * the variables of functions that run.
 *
 * Nothing here makes an object, counts a reference or runs code of the program.  All of
 * it wants the interpreter's lock.  Include this file before any other, like
 * compat_frame.h. */
#include "cpython/compat_walk.h"

#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#endif
#include <internal/pycore_object.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_dict.h>
#endif
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX < 0x03090000
#include <internal/pycore_pymem.h>
#include <internal/pycore_pystate.h>
#endif

/* --- What is tracked */

#if PY_VERSION_HEX >= 0x030e0000
struct sd_compat_heap_tracked {
    void (*each)(PyObject *o, void *of);
    void *of;
};

static inline int sd_compat_heap_each(PyObject *o, void *arg)
{
    const struct sd_compat_heap_tracked *t = arg;

    t->each(o, t->of);
    return 1;
}
#endif

/* Calls `each` for every object that the collector tracks, frozen ones too, which 3.12
 * and 3.13 leave out when they are asked. */
static inline void sd_compat_heap_visit(void (*each)(PyObject *o, void *of), void *of)
{
#if PY_VERSION_HEX >= 0x030e0000
    struct sd_compat_heap_tracked t = { each, of };

    PyUnstable_GC_VisitObjects(sd_compat_heap_each, &t);
#else
#if PY_VERSION_HEX >= 0x03090000
    struct _gc_runtime_state *gc = &PyInterpreterState_Get()->gc;
#else
    struct _gc_runtime_state *gc = &_PyRuntime.gc;
#endif
    for (int i = 0; i <= NUM_GENERATIONS; i++) {
        PyGC_Head *list = i < NUM_GENERATIONS ? &gc->generations[i].head
                                              : &gc->permanent_generation.head;

        for (PyGC_Head *at = _PyGCHead_NEXT(list); at != list; at = _PyGCHead_NEXT(at))
            each((PyObject *)(at + 1), of);
    }
#endif
}

/* --- One object */

/* How many references there are to it; UINT32_MAX: it lives for ever. */
static inline uint32_t sd_compat_heap_count(PyObject *o)
{
#if PY_VERSION_HEX >= 0x030c0000
    if (_Py_IsImmortal(o))
        return UINT32_MAX;
#endif
    return (size_t)Py_REFCNT(o) < UINT32_MAX ? (uint32_t)Py_REFCNT(o) : UINT32_MAX - 1;
}

static inline bool sd_compat_heap_is_gc(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);

    return (type->tp_flags & Py_TPFLAGS_HAVE_GC) &&
           (!type->tp_is_gc || type->tp_is_gc(o));
}

/* What sys.getsizeof adds to the answer of __sizeof__: what stands in front. */
static inline size_t sd_compat_heap_bytes_in_front(PyObject *o)
{
#if PY_VERSION_HEX >= 0x030d0000
    bool is_gc = sd_compat_heap_is_gc(o);

    return (is_gc ? sizeof(PyGC_Head) : 0) +
           ((Py_TYPE(o)->tp_flags & Py_TPFLAGS_PREHEADER) ? 2 * sizeof(void *) : 0);
#elif PY_VERSION_HEX >= 0x030b0000
    return _PyType_PreHeaderSize(Py_TYPE(o));
#else
    return sd_compat_heap_is_gc(o) ? sizeof(PyGC_Head) : 0;
#endif
}

/* How many digits an int has; 0 is answered otherwise by each version. */
static inline size_t sd_compat_heap_digits(PyObject *o)
{
#if PY_VERSION_HEX >= 0x030c0000
    return ((PyLongObject *)o)->long_value.lv_tag >> 3;
#else
    Py_ssize_t n = ((PyVarObject *)o)->ob_size;

    return (size_t)(n < 0 ? -n : n);
#endif
}

static inline size_t sd_compat_heap_digits_at(void)
{
#if PY_VERSION_HEX >= 0x030c0000
    return offsetof(PyLongObject, long_value.ob_digit);
#else
    return offsetof(PyLongObject, ob_digit);
#endif
}

/* What __sizeof__ of a str of plain ASCII says; 0: it is no such str, or holds more. */
static inline size_t sd_compat_heap_ascii_size(PyObject *o)
{
    const PyASCIIObject *str = (const PyASCIIObject *)o;

    if (!str->state.compact || !str->state.ascii)
        return 0;
#if PY_VERSION_HEX < 0x030c0000
    if (!str->state.ready || str->wstr)
        return 0;
#endif
    return sizeof *str + (size_t)str->length + 1;
}

static inline size_t sd_compat_heap_dict_size(PyObject *dict)
{
    return (size_t)_PyDict_SizeOf((PyDictObject *)dict);
}

/* What the type or a base of it has under this name, borrowed. */
static inline PyObject *sd_compat_heap_type_has(PyTypeObject *type, PyObject *name)
{
    return _PyType_Lookup(type, name);
}

/* The type's own dict, borrowed; NULL: none.  From 3.12 on that of a type of C is the
 * interpreter's. */
static inline PyObject *sd_compat_heap_type_dict(PyTypeObject *type)
{
    return type->tp_dict;
}

static inline PyObject *sd_compat_heap_type_module(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x03090000
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
               ? ((PyHeapTypeObject *)type)->ht_module
               : NULL;
#else
    (void)type;
    return NULL;
#endif
}

/* Is this type's dict of attributes at a place that the interpreter manages? */
static inline bool sd_compat_heap_is_managed(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030b0000
    return (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0;
#else
    (void)type;
    return false;
#endif
}

/* The dict of attributes of an object, borrowed; NULL: it has none (yet). */
static inline PyObject *sd_compat_heap_dict_of(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);
    PyObject **place;

#if PY_VERSION_HEX >= 0x030d0000
    if (sd_compat_heap_is_managed(type))
        return (PyObject *)_PyObject_ManagedDictPointer(o)->dict;
#elif PY_VERSION_HEX >= 0x030c0000
    if (sd_compat_heap_is_managed(type)) {
        PyDictOrValues there = *_PyObject_DictOrValuesPointer(o);

        return _PyDictOrValues_IsValues(there) ? NULL : _PyDictOrValues_GetDict(there);
    }
#elif PY_VERSION_HEX >= 0x030b0000
    if (sd_compat_heap_is_managed(type))
        return *_PyObject_ManagedDictPointer(o);
#endif
    if (!type->tp_dictoffset)
        return NULL;
    place = _PyObject_GetDictPtr(o);
    return place ? *place : NULL;
}

/* Attributes that stand beside or in the object, without a dict. */
struct sd_compat_heap_values {
    PyObject **values; /* NULL: there are none */
    PyObject **names;  /* of value i: names[i * stride] */
    size_t n, stride;
    size_t held_bytes; /* of memory that no size counts */
};

static inline struct sd_compat_heap_values sd_compat_heap_values_of(PyObject *o)
{
    struct sd_compat_heap_values v = { NULL, NULL, 0, 0, 0 };
#if PY_VERSION_HEX >= 0x030b0000
    PyTypeObject *type = Py_TYPE(o);
    PyDictValues *values = NULL;
    PyDictKeysObject *keys;

    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !sd_compat_heap_is_managed(type))
        return v;
    keys = ((PyHeapTypeObject *)type)->ht_cached_keys;
    if (!keys || keys->dk_kind == DICT_KEYS_GENERAL)
        return v;
#if PY_VERSION_HEX >= 0x030d0000
    if ((type->tp_flags & Py_TPFLAGS_INLINE_VALUES) && _PyObject_InlineValues(o)->valid)
        values = _PyObject_InlineValues(o);
#elif PY_VERSION_HEX >= 0x030c0000
    if (_PyDictOrValues_IsValues(*_PyObject_DictOrValuesPointer(o)))
        values = _PyDictOrValues_GetValues(*_PyObject_DictOrValuesPointer(o));
#else
    values = *_PyObject_ValuesPointer(o);
#endif
    if (!values)
        return v;
    v.values = values->values;
    v.n = (size_t)keys->dk_nentries;
    v.names = &DK_UNICODE_ENTRIES(keys)->me_key;
    v.stride = sizeof(PyDictUnicodeEntry) / sizeof(PyObject *);
#if PY_VERSION_HEX < 0x030d0000
    v.held_bytes = ((uint8_t *)values)[-1] +
                   (size_t)(keys->dk_nentries + keys->dk_usable) * sizeof(PyObject *);
#endif
#else
    (void)o;
#endif
    return v;
}

/* --- Functions that run, and those that wait */

/* The frame that this object of the program stands for or holds; NULL: none.  It is a
 * frame, or a generator or coroutine that has not ended. */
static inline sd_walked *sd_compat_heap_frame_of(PyObject *o)
{
#if PY_VERSION_HEX >= 0x030b0000
    if (PyFrame_Check(o))
        return ((PyFrameObject *)o)->f_frame;
    if ((PyGen_CheckExact(o) || PyCoro_CheckExact(o) || PyAsyncGen_CheckExact(o)) &&
        ((PyGenObject *)o)->gi_frame_state < FRAME_CLEARED) {
#if PY_VERSION_HEX >= 0x030e0000
        return &((PyGenObject *)o)->gi_iframe;
#else
        return (sd_walked *)((PyGenObject *)o)->gi_iframe;
#endif
    }
    return NULL;
#else
    return PyFrame_Check(o) ? (PyFrameObject *)o : NULL;
#endif
}

/* Is there a function in it?  Not in one that is cleared or has not begun. */
static inline bool sd_compat_heap_is_readable(sd_walked *f)
{
    PyCodeObject *code = sd_walk_code(f);

    if (!code || !PyCode_Check(code))
        return false;
#if PY_VERSION_HEX >= 0x030b0000
    return f->owner == FRAME_OWNED_BY_GENERATOR || !_PyFrame_IsIncomplete(f);
#else
    return true;
#endif
}

static inline size_t sd_compat_heap_n_locals(const sd_walked *f)
{
    const PyCodeObject *code = sd_walk_code(f);

#if PY_VERSION_HEX >= 0x030b0000
    return (size_t)code->co_nlocalsplus;
#else
    return (size_t)(code->co_nlocals + PyTuple_GET_SIZE(code->co_cellvars) +
                    PyTuple_GET_SIZE(code->co_freevars));
#endif
}

/* Words for what is being worked out.  From 3.11 on a frame that has called a function
 * of Python says how many there are, and from 3.14 on every frame that has called one;
 * otherwise it is all that there may be, and some may be of long ago. */
static inline size_t sd_compat_heap_n_stack(const sd_walked *f)
{
    size_t most = (size_t)sd_walk_code(f)->co_stacksize;
#if PY_VERSION_HEX >= 0x030e0000
    size_t n = f->stackpointer ? (size_t)(f->stackpointer - f->localsplus) : SIZE_MAX;
#elif PY_VERSION_HEX >= 0x030b0000
    size_t n = f->stacktop >= 0 ? (size_t)f->stacktop : SIZE_MAX;
#else
    size_t n = SIZE_MAX;
#endif
    size_t n_locals = sd_compat_heap_n_locals(f);

    return n >= n_locals && n - n_locals <= most ? n - n_locals : most;
}

/* The word of local variable `i`, or of what comes behind them; it is only compared. */
static inline PyObject *sd_compat_heap_local(const sd_walked *f, size_t i)
{
#if PY_VERSION_HEX >= 0x030e0000
    return (PyObject *)(f->localsplus[i].bits & ~(uintptr_t)3);
#elif PY_VERSION_HEX >= 0x030b0000
    return f->localsplus[i];
#else
    return f->f_localsplus[i];
#endif
}

/* The name of local variable `i`, borrowed. */
static inline PyObject *sd_compat_heap_local_name(const sd_walked *f, size_t i)
{
    const PyCodeObject *code = sd_walk_code(f);

#if PY_VERSION_HEX >= 0x030b0000
    return PyTuple_GET_ITEM(code->co_localsplusnames, (Py_ssize_t)i);
#else
    Py_ssize_t at = (Py_ssize_t)i;

    if (at < code->co_nlocals)
        return PyTuple_GET_ITEM(code->co_varnames, at);
    at -= code->co_nlocals;
    if (at < PyTuple_GET_SIZE(code->co_cellvars))
        return PyTuple_GET_ITEM(code->co_cellvars, at);
    return PyTuple_GET_ITEM(code->co_freevars,
                            at - PyTuple_GET_SIZE(code->co_cellvars));
#endif
}

/* Other objects that the frame holds: its function, its dict of locals. */
static inline PyObject *sd_compat_heap_frame_function(const sd_walked *f)
{
#if PY_VERSION_HEX >= 0x030e0000
    return (PyObject *)(f->f_funcobj.bits & ~(uintptr_t)3);
#elif PY_VERSION_HEX >= 0x030c0000
    return f->f_funcobj;
#elif PY_VERSION_HEX >= 0x030b0000
    return (PyObject *)f->f_func;
#else
    return (PyObject *)f; /* the frame is an object itself, which has all the rest */
#endif
}

static inline PyObject *sd_compat_heap_frame_locals(const sd_walked *f)
{
    return f->f_locals;
}

/* The function's names of variables that its cells hold, borrowed; may be NULL. */
static inline PyObject *sd_compat_heap_free_names(PyCodeObject *code, size_t *from)
{
#if PY_VERSION_HEX >= 0x030b0000
    *from = (size_t)(code->co_nlocalsplus - code->co_nfreevars);
    return code->co_localsplusnames;
#else
    *from = 0;
    return code->co_freevars;
#endif
}

/* The names of a function's parameters, as far as they have a place. */
static inline PyObject *sd_compat_heap_parameter_names(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030b0000
    return code->co_localsplusnames;
#else
    return code->co_varnames;
#endif
}

/* The newest frame of a thread that does not run now; NULL: none. */
static inline sd_walked *sd_compat_heap_top(PyThreadState *ts)
{
#if PY_VERSION_HEX >= 0x030d0000
    return ts->current_frame;
#elif PY_VERSION_HEX >= 0x030b0000
    return ts->cframe ? ts->cframe->current_frame : NULL;
#else
    return ts->frame;
#endif
}

static inline bool sd_compat_heap_is_main_thread(PyThreadState *ts)
{
    return ts->thread_id == _PyRuntime.main_thread;
}

/* --- The interpreter's own words, which are only compared */

static inline size_t sd_compat_heap_interpreter_words(void)
{
    return sizeof(PyInterpreterState) / sizeof(void *);
}

static inline size_t sd_compat_heap_thread_words(void)
{
    return sizeof(PyThreadState) / sizeof(void *);
}

/* Do these structs lie in memory as the headers say? */
static inline bool sd_compat_heap_is_known(void)
{
    return _PyRuntime.interpreters.main == PyInterpreterState_Main();
}

static inline uint32_t sd_compat_heap_other_interpreters(void)
{
    PyInterpreterState *own = sd_compat_interpreter();
    uint32_t n = 0;

    for (PyInterpreterState *i = PyInterpreterState_Head(); i;
         i = PyInterpreterState_Next(i))
        n += i != own;
    return n;
}
#endif
