/* SPDX-License-Identifier: MIT */
#include "ext/lines/decorate.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "capture/log.h"
#include "collect/lines/collector.h"
#include "collect/lines/lines.h"
#include "collect/lines/line_memory.h"
#include "collect/session.h"

/* Decorators stand on decorators: deeper ones are left out. */
enum { WRAPPED_MOST = 64 };

enum { TOLD_MOST = 160 }; /* bytes of what an exception says that are noted */

struct search {
    PyObject *codes; /* list: what was found */
    PyObject *seen;  /* set of addresses: what wraps itself is looked at once */
};

static int add_codes(struct search *s, PyObject *o, int depth);

/* Of objects whose types are known, so that no code of the program's is run. */
static int add_attribute(struct search *s, PyObject *o, const char *name, int depth)
{
    PyObject *inner = PyObject_GetAttrString(o, name);
    int rc = inner ? add_codes(s, inner, depth + 1) : 0;

    if (!inner)
        PyErr_Clear();
    Py_XDECREF(inner);
    return rc;
}

/* Its own code, and that of the function it wraps, if functools.wraps says so. */
static int add_function(struct search *s, PyObject *function, int depth)
{
    PyObject *dict = ((PyFunctionObject *)function)->func_dict;
    PyObject *wrapped = dict ? sd_compat_dict_get(dict, "__wrapped__") : NULL;
    int rc = PyList_Append(s->codes, PyFunction_GET_CODE(function));

    return rc == 0 && wrapped ? add_codes(s, wrapped, depth + 1) : rc;
}

static PyObject *qualname_of(PyObject *type)
{
    return ((PyTypeObject *)type)->tp_flags & Py_TPFLAGS_HEAPTYPE
               ? ((PyHeapTypeObject *)type)->ht_qualname
               : NULL;
}

/* Is it a class that stands in the other, by its name "Outer.Inner"? */
static bool is_inner(PyObject *o, PyObject *type)
{
    PyObject *inner = qualname_of(o), *outer = qualname_of(type);
    Py_ssize_t n = inner && outer ? PyUnicode_GET_LENGTH(outer) : 0;

    return n > 0 && PyUnicode_GET_LENGTH(inner) > n &&
           PyUnicode_READ_CHAR(inner, n) == '.' &&
           PyUnicode_Tailmatch(inner, outer, 0, n, -1) == 1;
}

/* Functions of a class, and of those that stand in it; what it only refers to is not
 * its own.  The interpreter's own classes may have no dictionary here, and no function
 * of Python. */
static int add_class(struct search *s, PyObject *type, int depth)
{
    PyObject *dict = ((PyTypeObject *)type)->tp_dict;
    PyObject *values = dict ? PyDict_Values(dict) : PyList_New(0);
    int rc = values ? 0 : -1;

    for (Py_ssize_t i = 0; rc == 0 && i < PyList_GET_SIZE(values); i++) {
        PyObject *value = PyList_GET_ITEM(values, i);

        if (!PyType_Check(value) || is_inner(value, type))
            rc = add_codes(s, value, depth + 1);
    }
    Py_XDECREF(values);
    return rc;
}

/* Where other things keep their functions.  They are known by their very types: a class
 * of the program may have the same name, and would be asked for its attributes. */
static const struct {
    PyTypeObject *type;   /* NULL: functools has it ... */
    const char *in_tools; /* ... under this name */
    const char *names[3];
} holders[] = {
    { &PyProperty_Type, NULL, { "fget", "fset", "fdel" } },
    { &PyClassMethod_Type, NULL, { "__func__" } },
    { &PyStaticMethod_Type, NULL, { "__func__" } },
    { &PyMethod_Type, NULL, { "__func__" } },
    { NULL, "partial", { "func" } },
    { NULL, "partialmethod", { "func" } },
    { NULL, "cached_property", { "func" } },
    { NULL, "singledispatchmethod", { "func" } },
    { NULL, "_lru_cache_wrapper", { "__wrapped__" } },
};

static bool is_held_by(PyObject *o, size_t holder)
{
    if (holders[holder].type)
        return Py_TYPE(o) == holders[holder].type;
    return (PyObject *)Py_TYPE(o) == sd_found_in("functools", holders[holder].in_tools);
}

static int add_held(struct search *s, PyObject *o, int depth)
{
    int rc = 0;

    for (size_t i = 0; i < sizeof holders / sizeof holders[0]; i++) {
        if (!is_held_by(o, i))
            continue;
        for (int k = 0; k < 3 && holders[i].names[k] && rc == 0; k++)
            rc = add_attribute(s, o, holders[i].names[k], depth);
    }
    return rc;
}

/* 1 the first time, then 0. */
static int is_new(struct search *s, PyObject *o)
{
    PyObject *address = PyLong_FromVoidPtr(o);
    int rc = address ? PySet_Contains(s->seen, address) : -1;

    if (rc == 0)
        rc = PySet_Add(s->seen, address) < 0 ? -1 : 1;
    else if (rc == 1)
        rc = 0;
    Py_XDECREF(address);
    return rc;
}

static int add_codes(struct search *s, PyObject *o, int depth)
{
    int rc = depth > WRAPPED_MOST ? 0 : is_new(s, o);

    if (rc <= 0)
        return rc;
    if (PyCode_Check(o))
        return PyList_Append(s->codes, o);
    if (PyFunction_Check(o))
        return add_function(s, o, depth);
    if (PyType_Check(o))
        return add_class(s, o, depth);
    return add_held(s, o, depth);
}

PyObject *sd_decorate_codes_of(PyObject *module, PyObject *o)
{
    struct search s = { PyList_New(0), PySet_New(NULL) };

    (void)module;
    if (!s.seen || (s.codes && add_codes(&s, o, 0) < 0))
        Py_CLEAR(s.codes);
    Py_XDECREF(s.seen);
    return s.codes;
}

/* Tables show it, whether it ever runs or not. */
static void choose(PyCodeObject *code)
{
    int rc = sd_lines_choose(code);
    struct sd_line_session *s = sd_lines_captured();
    struct sd_line_page *p = rc >= 0 && s ? sd_line_session_page(s, code) : NULL;

    if (p)
        sd_line_page_mention(p);
}

/* profile(function): chosen for the capture, and the same as before. */
PyObject *sd_decorate_profile(PyObject *module, PyObject *o)
{
    PyObject *codes = sd_lines_captured() ? sd_decorate_codes_of(module, o) : NULL;

    for (Py_ssize_t i = 0; codes && i < PyList_GET_SIZE(codes); i++)
        choose((PyCodeObject *)PyList_GET_ITEM(codes, i));
    Py_XDECREF(codes);
    PyErr_Clear(); /* what cannot be counted is called all the same */
    return Py_NewRef(o);
}

/* A Ctrl-C, and whoever quits the debugger. */
static bool is_programs_own(void)
{
    PyObject *quits = sd_found_in("bdb", "BdbQuit");

    return PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) ||
           (quits && PyErr_ExceptionMatches(quits));
}

/* What went wrong is not the program's fault, and is noted.  Its str() is the program's
 * code, in which a Ctrl-C may come: that stands then. */
static void note_failure(struct sd_log *log)
{
    struct sd_pending_exception raised = sd_pending_exception_take();
    PyObject *why = PyObject_Str(raised.value ? raised.value : raised.type);
    const char *told = why ? PyUnicode_AsUTF8(why) : NULL;
    char text[256];
    size_t n;

    told = told ? told : "";
    n = strnlen(told, TOLD_MOST + 1);
    n = n > TOLD_MOST ? sd_text_whole(told, TOLD_MOST) : n;
    snprintf(text, sizeof text,
             "what --debug-above asks for could not be done in process %d: %.*s",
             (int)getpid(), (int)n, told);
    sd_log_note(log, SD_NOTE_REFUSAL, text);
    Py_XDECREF(why);
    sd_pending_exception_drop(raised);
}

/* True: what stands is for the program. */
static bool settle_failure(void)
{
    struct sd_log *log = sd_session_log();

    if (!is_programs_own() && log)
        note_failure(log);
    if (PyErr_Occurred() && is_programs_own())
        return true;
    PyErr_Clear();
    return false;
}

/* From a line of the program. */
static void do_above(const struct sd_lines_alarm *p)
{
    struct sd_pending_exception raised = sd_pending_exception_take();
    const struct sd_line_target *by = (const struct sd_line_target *)p->by;
    PyObject *code = by ? (PyObject *)by->code : Py_None;
    PyObject *what = Py_BuildValue("(LKzOIi)", (long long)p->rss_bytes,
                                   (unsigned long long)p->limit_bytes, p->then, code,
                                   p->line, p->is_elsewhere);
    PyObject *done = what ? sd_ext_adapter("_lines", "above", what) : NULL;

    Py_XDECREF(what);
    sd_line_alarm_raised = !done && settle_failure();
    Py_XDECREF(done);
    if (sd_line_alarm_raised)
        sd_pending_exception_drop(raised);
    else
        sd_pending_exception_give_back(raised);
}

void sd_decorate_watch_limit(void)
{
    if (sd_lines_captured())
        sd_lines_above(do_above);
}
