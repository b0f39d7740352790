/* SPDX-License-Identifier: MIT */
#include "collect/calls/names.h"

#include <string.h>
#include <unistd.h>

#include "collect/session.h"
#include "collect/shared/code_place.h"
#include "collect/shared/source_name.h"
#include "collect/shared/uncounted.h"
#include "cpython/compat.h"

/* --- C functions ----------------------------------------------------------------- */

/* The name of the module that a function says it is of: mostly a string. */
static PyObject *module_name(PyObject *module)
{
    if (!module)
        return NULL;
    if (PyUnicode_Check(module))
        return Py_NewRef(module);
    return PyModule_Check(module) ? PyModule_GetNameObject(module) : NULL;
}

static PyObject *name_of_function(PyCFunctionObject *f)
{
    PyObject *module = module_name(f->m_module), *name;

    if (!module)
        PyErr_Clear();
    if (module && PyUnicode_CompareWithASCIIString(module, "builtins") != 0)
        name = PyUnicode_FromFormat("<%U.%s>", module, f->m_ml->ml_name);
    else
        name = PyUnicode_FromFormat("<%s>", f->m_ml->ml_name);
    Py_XDECREF(module);
    return name;
}

/* Whose repr is the interpreter's own. */
static bool is_plain_descriptor(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);

    return type == &PyMethodDescr_Type || type == &PyClassMethodDescr_Type ||
           type == &PyWrapperDescr_Type || type == &PyCFunction_Type ||
           type == &PyFunction_Type;
}

/* PyObject_Repr would run the handlers of signals that wait, in the midst of a call of
 * ours: the program may then clear or stop the profiler that asks. */
static PyObject *repr_of(PyObject *o) { return Py_TYPE(o)->tp_repr(o); }

/* cProfile writes a method as its type's attribute is written. */
static PyObject *name_of_method(PyCFunctionObject *f)
{
    PyObject *name = PyUnicode_FromString(f->m_ml->ml_name);
    PyObject *found = name ? _PyType_Lookup(Py_TYPE(f->m_self), name) : NULL,
             *text = NULL;

    Py_XDECREF(name);
    if (found && is_plain_descriptor(found)) {
        Py_INCREF(found);
        text = repr_of(found);
        Py_DECREF(found);
    }
    if (text)
        return text;
    PyErr_Clear();
    if (f->m_module && PyUnicode_Check(f->m_module))
        return PyUnicode_FromFormat("<built-in method %U.%s>", f->m_module,
                                    f->m_ml->ml_name);
    return PyUnicode_FromFormat("<built-in method %s>", f->m_ml->ml_name);
}

/* `what` is a builtin function or method, or the descriptor of a method. */
static PyObject *name_of_c(PyObject *what)
{
    if (!PyCFunction_Check(what))
        return repr_of(what);
    return ((PyCFunctionObject *)what)->m_self
               ? name_of_method((PyCFunctionObject *)what)
               : name_of_function((PyCFunctionObject *)what);
}

/* --- Threads --------------------------------------------------------------------- */

/* threading's object of this thread, borrowed; NULL before there is one. */
static PyObject *thread_object(uint64_t ident)
{
    PyObject *active = sd_found_in("threading", "_active");
    PyObject *key = PyLong_FromUnsignedLongLong(ident), *found = NULL;

    if (active && key && PyDict_CheckExact(active))
        found = PyDict_GetItem(active, key);
    Py_XDECREF(key);
    return found;
}

/* A new reference, or NULL; no code of the program's runs. */
static PyObject *thread_name(uint64_t ident)
{
    PyObject *thread = thread_object(ident), *key, *name = NULL;

    if (!thread)
        return NULL;
    key = PyUnicode_FromString("_name");
    if (key && !_PyType_Lookup(Py_TYPE(thread), key))
        name = PyObject_GenericGetAttr(thread, key);
    Py_XDECREF(key);
    return name;
}

/* A thread gets its name a few calls after its start, so it is asked for whenever a
 * function is new until it is there. */
static void name_thread(struct sd_call_tree *t)
{
    PyObject *name, *bytes;

    if (t->is_named)
        return;
    name = t->tid == (uint32_t)getpid() ? PyUnicode_FromString("MainThread")
                                        : thread_name(t->ident);
    bytes = name && PyUnicode_Check(name)
                ? PyUnicode_AsEncodedString(name, "utf-8", "surrogatepass")
                : NULL;
    if (bytes) {
        t->is_named = true;
        sd_call_tree_root(t)->track = sd_session_define_in_table(
            t->table, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    }
    Py_XDECREF(bytes);
    Py_XDECREF(name);
    PyErr_Clear();
}

/* --- Definitions ----------------------------------------------------------------- */

/* Text of any kind, as UTF-8: what is no character goes as the bytes it stands for. */
static uint32_t define_text(struct sd_call_tree *t, PyObject *text)
{
    uint64_t id = 0;
    PyObject *bytes;

    if (!text || !PyUnicode_Check(text))
        return 0;
    if (sd_table_get(&t->strings, (uint64_t)(uintptr_t)text, &id))
        return (uint32_t)id;
    bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    if (bytes)
        id = sd_cells_define_string(t->table, PyBytes_AS_STRING(bytes),
                                    (size_t)PyBytes_GET_SIZE(bytes));
    Py_XDECREF(bytes);
    PyErr_Clear();
    return (uint32_t)id;
}

/* Names and files of code objects are kept alive by them: their address will do. */
static uint32_t define_kept(struct sd_call_tree *t, PyObject *text)
{
    uint32_t id = define_text(t, text);

    if (id)
        sd_table_put(&t->strings, (uint64_t)(uintptr_t)text, id);
    return id;
}

static uint32_t define_file(struct sd_call_tree *t, PyObject *name)
{
    const char *typed = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    char path[PATH_MAX];
    uint64_t id;

    PyErr_Clear();
    if (!typed || sd_table_get(&t->strings, (uint64_t)(uintptr_t)name, &id) ||
        !sd_source_name_whole(typed, path))
        return define_kept(t, name);
    id = sd_cells_define_string(t->table, path, strlen(path));
    if (id)
        sd_table_put(&t->strings, (uint64_t)(uintptr_t)name, id);
    return (uint32_t)id;
}

static uint32_t define_code(struct sd_call_tree *t, PyCodeObject *code, uint64_t twin)
{
    uint32_t name = define_kept(t, code->co_name);
    uint32_t label = define_kept(t, sd_compat_code_qualname(code));
    uint32_t file = define_file(t, code->co_filename);

    return name ? sd_cells_define_function(
                      t->table, (enum sd_site_flags)(twin * SD_SITE_TWIN), name, label,
                      file, (uint32_t)code->co_firstlineno)
                : 0;
}

static uint32_t define_c(struct sd_call_tree *t, PyObject *name, uint64_t twin)
{
    uint32_t id = define_text(t, name);

    return id ? sd_cells_define_function(
                    t->table,
                    (enum sd_site_flags)(SD_SITE_NATIVE | twin * SD_SITE_TWIN), id, 0,
                    0, 0)
              : 0;
}

/* `known` is a code object, or the name of a C function: class methods of two types
 * have one name.  Two that are alike by their hash alone are told apart though they
 * need not be. */
static void tell_apart(struct sd_calls_names *names, uint64_t key, PyObject *known)
{
    uint64_t alike =
        key & 1 ? sd_code_place_of_name(known) : sd_code_place((PyCodeObject *)known);
    uint64_t n = 0;

    sd_table_get(&names->n_alike, alike, &n);
    if (n > 0)
        sd_table_put(&names->twins, key, n < SD_TWINS_MAX ? n : SD_TWINS_MAX);
    sd_table_put(&names->n_alike, alike, n + 1);
}

PyObject *sd_calls_hold(struct sd_calls_names *names, uint64_t key, const void *what)
{
    PyObject *known = sd_calls_function(names, key);

    if (known)
        return known;
    known = key & 1 ? name_of_c((PyObject *)what) : Py_NewRef((PyObject *)what);
    if (known && sd_table_put(&names->known, key, (uint64_t)(uintptr_t)known) < 0)
        Py_CLEAR(known);
    PyErr_Clear();
    if (known)
        tell_apart(names, key, known);
    return known;
}

static void put_sizes(struct sd_call_tree *t, uint32_t site,
                      const struct sd_signature *s)
{
    for (uint32_t i = 0; i < s->n_sizes; i++) {
        const struct sd_signature_size *z = &s->sizes[i];
        struct sd_cells_size size = {
            .site = site,
            .name = define_kept(t, sd_signature_parameter(s, z->argument)),
            .argument = z->argument,
            .kind = z->kind,
            .n_dims = z->n_dims,
            .dims = z->dims,
        };

        if (size.name)
            sd_cells_put_size(t->table, &size);
    }
}

/* All that is known of it is written before its first call is counted. */
static uint32_t define_signature(struct sd_call_tree *t, const struct sd_signature *s)
{
    uint32_t function = sd_call_tree_site(t, (uintptr_t)s->code, s->code);
    uint32_t name = define_kept(t, s->code->co_name);
    uint32_t file = define_file(t, s->code->co_filename);
    uint32_t label = sd_cells_define_string(t->table, s->text, s->n_text);
    uint32_t site = 0;

    if (function && name && label)
        site = sd_cells_define_signature(t->table, name, label, file,
                                         (uint32_t)s->code->co_firstlineno, function);
    if (site)
        put_sizes(t, site, s);
    return site;
}

static uint32_t define_function(struct sd_calls_names *names, struct sd_call_tree *t,
                                uint64_t key, const void *what)
{
    const struct sd_signature *signature = sd_signature_of_key(key);
    PyObject *function;
    uint64_t twin = 0;

    if (signature)
        return define_signature(t, signature);
    function = sd_calls_hold(names, key, what);
    if (!function)
        return 0;
    sd_table_get(&names->twins, key, &twin);
    return key & 1 ? define_c(t, function, twin)
                   : define_code(t, (PyCodeObject *)function, twin);
}

uint32_t sd_calls_define(void *names, struct sd_call_tree *t, uint64_t key,
                         const void *what)
{
    struct sd_pending_exception raised = sd_pending_exception_take();
    uint32_t site;

    sd_uncounted_begin();
    name_thread(t);
    site = define_function(names, t, key, what);
    sd_uncounted_end();
    sd_pending_exception_give_back(raised);
    return site;
}

PyObject *sd_calls_function(const struct sd_calls_names *names, uint64_t key)
{
    uint64_t found;

    return sd_table_get(&names->known, sd_function_key(key), &found)
               ? (PyObject *)(uintptr_t)found
               : NULL;
}

/* Code objects and names are nobody's way back: the collector does not follow them. */
int sd_calls_names_traverse(const struct sd_calls_names *names, visitproc visit,
                            void *arg)
{
    return names->signatures ? sd_signatures_traverse(names->signatures, visit, arg)
                             : 0;
}

void sd_calls_names_release(struct sd_calls_names *names)
{
    struct sd_table known = names->known;
    struct sd_signatures *signatures = names->signatures;
    uint64_t key, value;
    size_t at = 0;

    sd_table_release(&names->n_alike);
    sd_table_release(&names->twins);
    /* Dropping a code object may run anything: the table is not ours by then. */
    memset(&names->known, 0, sizeof names->known);
    names->signatures = NULL;
    sd_signatures_free(signatures);
    while (sd_table_next(&known, &at, &key, &value))
        Py_DECREF((PyObject *)(uintptr_t)value);
    sd_table_release(&known);
}
