/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_COMPAT_H
#define SD_CPYTHON_COMPAT_H
/* compat: gives CPython 3.8 to 3.15 one set of names.
 *
 * With compat_eval.h, compat_frame.h, compat_args.h and compat_state.c, which do the
 * same for live frames, it alone compares PY_VERSION_HEX.  Each difference is one macro
 * or one small function here, named after what is wanted, so that the extension reads
 * the same for every version.  Where a newer CPython has the call, its name is used. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <stdbool.h>

#if PY_VERSION_HEX < 0x03080000
#error "Sonde's extension needs CPython 3.8 or later"
#endif
#if PY_VERSION_HEX >= 0x03100000
#error "Sonde's extension supports CPython 3.8 to 3.15"
#endif
#ifdef Py_GIL_DISABLED
#error "Sonde's extension does not support free-threaded builds of CPython yet"
#endif

/* 3.8's PyMODINIT_FUNC says nothing of visibility, and we hide everything. */
#define SD_PYINIT __attribute__((visibility("default"))) PyMODINIT_FUNC

/* From 3.12 on the interpreter tells tools of calls (sys.monitoring); before, a hook on
 * the evaluation of frames (PEP 523) or the profile function does. */
#define SD_HAS_MONITORING (PY_VERSION_HEX >= 0x030c0000)
/* From 3.14 on cProfile raises what sys.monitoring says of an id that is taken; before,
 * a sentence of its own. */
#define SD_CPROFILE_NAMES_TOOL (PY_VERSION_HEX >= 0x030e0000)
/* From 3.15 on a tool can be told of exceptions in chosen code objects alone. */
#define SD_HAS_LOCAL_EXCEPTIONS (PY_VERSION_HEX >= 0x030f0000)

/* Instances of types made from a spec own a reference to their type.  Visiting it
 * crashes subclasses before 3.9 (bpo-40217); there it is simply not collected. */
#if PY_VERSION_HEX >= 0x03090000
#define SD_VISIT_TYPE(self) Py_VISIT(Py_TYPE(self))
#else
#define SD_VISIT_TYPE(self) ((void)(self))
#endif

/* Vectorcall and weak references on types made from a spec: 3.9 reads the offsets from
 * members of these names; 3.8 must be told by hand, once the type is there. */
#if PY_VERSION_HEX >= 0x03090000
#define SD_TPFLAGS_VECTORCALL Py_TPFLAGS_HAVE_VECTORCALL
#define SD_OFFSET_MEMBERS(call, weakrefs)                                              \
    { "__vectorcalloffset__", T_PYSSIZET, (call), READONLY, NULL },                    \
        { "__weaklistoffset__", T_PYSSIZET, (weakrefs), READONLY, NULL },
#else
#define SD_TPFLAGS_VECTORCALL _Py_TPFLAGS_HAVE_VECTORCALL
#define SD_OFFSET_MEMBERS(call, weakrefs)
#endif

static inline void sd_compat_type_offsets(PyTypeObject *type, Py_ssize_t call,
                                          Py_ssize_t weakrefs)
{
#if PY_VERSION_HEX >= 0x03090000
    (void)type, (void)call, (void)weakrefs;
#else
    type->tp_vectorcall_offset = call;
    type->tp_weaklistoffset = weakrefs;
#endif
}

#if PY_VERSION_HEX < 0x030a0000
static inline PyObject *Py_NewRef(PyObject *o)
{
    Py_INCREF(o);
    return o;
}

static inline PyObject *Py_XNewRef(PyObject *o)
{
    Py_XINCREF(o);
    return o;
}

/* Takes no reference, whatever happens: PyModule_AddObject takes one on success only.
 */
static inline int PyModule_AddObjectRef(PyObject *module, const char *name, PyObject *o)
{
    Py_XINCREF(o);
    if (o && PyModule_AddObject(module, name, o) == 0)
        return 0;
    Py_XDECREF(o);
    return -1;
}
#endif

/* A free object of a type with garbage collection is one again.  Heap types count
 * their instances, and an object that waits on a free list still counts. */
static inline void sd_compat_revive(PyObject *o) { _Py_NewReference(o); }

/* The exception that is set, put aside while our own bookkeeping runs in a destructor
 * or behind a user's back. */
struct sd_pending_exception {
    PyObject *type, *value, *traceback;
};

static inline struct sd_pending_exception sd_pending_exception_take(void)
{
    struct sd_pending_exception r = { NULL, NULL, NULL };

#if PY_VERSION_HEX >= 0x030c0000
    r.value = PyErr_GetRaisedException();
#else
    PyErr_Fetch(&r.type, &r.value, &r.traceback);
#endif
    return r;
}

static inline void sd_pending_exception_give_back(struct sd_pending_exception r)
{
#if PY_VERSION_HEX >= 0x030c0000
    PyErr_SetRaisedException(r.value);
#else
    PyErr_Restore(r.type, r.value, r.traceback);
#endif
}

/* Another was raised meanwhile. */
static inline void sd_pending_exception_drop(struct sd_pending_exception r)
{
    Py_XDECREF(r.type);
    Py_XDECREF(r.value);
    Py_XDECREF(r.traceback);
}

/* The context that runs, borrowed; NULL before anything has set a variable.  The public
 * calls only give copies of it; this field has been the same since 3.7. */
static inline PyObject *sd_compat_context_now(void)
{
    return PyThreadState_Get()->context;
}

/* Is this what a weak reference leads to?  A dead one leads to nothing. */
static inline bool sd_compat_weakref_is(PyObject *ref, PyObject *o)
{
#if PY_VERSION_HEX >= 0x030d0000
    PyObject *found = NULL;
    bool is = PyWeakref_GetRef(ref, &found) == 1 && found == o;

    Py_XDECREF(found);
    return is;
#else
    return o && PyWeakref_GET_OBJECT(ref) == o;
#endif
}

/* A function's qualified name, borrowed; NULL before 3.11, which does not keep it. */
static inline PyObject *sd_compat_code_qualname(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030b0000
    return code->co_qualname;
#else
    (void)code;
    return NULL;
#endif
}

/* Are comprehensions code objects of their own?  Up to 3.11; later they are part of
 * the function in which they stand (PEP 709). */
static inline bool sd_compat_code_has_comprehensions(void)
{
    return PY_VERSION_HEX < 0x030c0000;
}

/* A place of ours on every code object of this interpreter, for a pointer that nobody
 * frees; -1 when all are taken. */
static inline Py_ssize_t sd_compat_code_extra_index(void)
{
#if PY_VERSION_HEX >= 0x030c0000
    return PyUnstable_Eval_RequestCodeExtraIndex(NULL);
#else
    return _PyEval_RequestCodeExtraIndex(NULL);
#endif
}

static inline int sd_compat_code_set_extra(PyCodeObject *code, Py_ssize_t index,
                                           void *extra)
{
#if PY_VERSION_HEX >= 0x030c0000
    return PyUnstable_Code_SetExtra((PyObject *)code, index, extra);
#else
    return _PyCode_SetExtra((PyObject *)code, index, extra);
#endif
}

/* hot: what stands in that place.  The call that asks for it is slower than the rest of
 * a look; these two words have been the same since 3.6. */
static inline void *sd_compat_code_extra(const PyCodeObject *code, Py_ssize_t index)
{
    const struct {
        Py_ssize_t n;
        void *extras[1];
    } *all = code->co_extra;

    return all && index >= 0 && index < all->n ? all->extras[index] : NULL;
}

/* The interpreter that this thread runs. */
static inline PyInterpreterState *sd_compat_interpreter(void)
{
#if PY_VERSION_HEX >= 0x03090000
    return PyInterpreterState_Get();
#else
    return _PyInterpreterState_Get();
#endif
}

/* The number of a thread's state, and of this one's; no other one of the interpreter
 * ever has it.  The field is older than the call that asks for it. */
static inline uint64_t sd_compat_number_of_thread_state(const PyThreadState *ts)
{
    return ts->id;
}

static inline uint64_t sd_compat_thread_state_number(void)
{
    return sd_compat_number_of_thread_state(PyThreadState_Get());
}

/* Has this interpreter not ended? */
static inline bool sd_compat_interpreter_lives(const PyInterpreterState *interp)
{
    PyInterpreterState *at = PyInterpreterState_Head();

    while (at && at != interp)
        at = PyInterpreterState_Next(at);
    return at != NULL;
}

/* Is Python ending?  Its modules go then, while finalizers still run. */
static inline bool sd_compat_python_ends(void)
{
#if PY_VERSION_HEX >= 0x030d0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

/* What a dict has under this name, borrowed; NULL: nothing, or memory is short.  From
 * 3.13 on PyDict_GetItemString would print on the program's stderr in that case. */
static inline PyObject *sd_compat_dict_get(PyObject *dict, const char *name)
{
#if PY_VERSION_HEX >= 0x030d0000
    PyObject *found = NULL;

    if (PyDict_GetItemStringRef(dict, name, &found) < 0)
        PyErr_Clear();
    Py_XDECREF(found); /* the dict has it */
    return found;
#else
    return PyDict_GetItemString(dict, name);
#endif
}

/* What sys has under this name, borrowed; NULL: nothing, or memory is short.
 * PySys_GetObject, too, would print then; 3.15 has another call. */
static inline PyObject *sd_compat_sys_get(const char *name)
{
#if PY_VERSION_HEX >= 0x030f0000
    PyObject *found = NULL;

    if (PySys_GetOptionalAttrString(name, &found) < 0)
        PyErr_Clear();
    Py_XDECREF(found); /* sys has it */
    return found;
#else
    return PySys_GetObject(name);
#endif
}

/* The loaded modules by their names, borrowed; NULL: there are none any more.
 *
 * PyImport_GetModuleDict ends the process where there are none, and the last finalizers
 * of an interpreter, be it the only one or not, run after its modules went: a generator
 * that is closed then is followed like any other call. */
static inline PyObject *sd_compat_modules(void)
{
    PyObject *modules = sd_compat_python_ends() ? NULL : sd_compat_sys_get("modules");

    return modules && PyDict_CheckExact(modules) ? modules : NULL;
}

/* What the module has under this name, if that is loaded and a plain module; borrowed.
 * Runs no code of the module's. */
static inline PyObject *sd_found_in(const char *module, const char *name)
{
    PyObject *modules = sd_compat_modules();
    PyObject *m = modules ? sd_compat_dict_get(modules, module) : NULL;

    return m && PyModule_Check(m) ? sd_compat_dict_get(PyModule_GetDict(m), name)
                                  : NULL;
}
#endif
