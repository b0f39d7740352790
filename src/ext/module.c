/* SPDX-License-Identifier: MIT */
/* module: makes the extension module `_sonde`, its types and its functions. */
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/out.h"
#include "capture/capture.h"
#include "capture/log.h"
#include "collect/collector.h"
#include "collect/inside.h"
#include "collect/model/border.h"
#include "collect/own.h"
#include "collect/sections/section_block.h"
#include "collect/session.h"
#include "cpython/compat_jit.h"
#include "cpython/compat_state.h"
#include "ext/alloc/py_traces.h"
#include "ext/alloc/trace_file.h"
#include "ext/alloc/trace_stats.h"
#include "ext/calls/py_call_tables.h"
#include "ext/calls/plain_stats.h"
#include "ext/calls/py_profile.h"
#include "ext/lines/decorate.h"
#include "ext/lines/py_line_stats.h"
#include "ext/lines/py_lines.h"
#include "ext/lines/memory_lines.h"
#include "ext/lines/builtin_profile.h"
#include "ext/heap/py_heap.h"
#include "ext/py_inside.h"
#include "ext/py_memory.h"
#include "ext/py_mprof.h"
#include "ext/model/py_model.h"
#include "ext/record/recording_options.h"
#include "ext/step_wrapper.h"
#include "ext/time/time_serving.h"
#include "ext/sections/interval_values.h"
#include "ext/sections/py_interval.h"
#include "ext/sections/py_section.h"
#include "machine/machine_limits.h"
#include "machine/machine_memory.h"
#include "machine/machine_processor.h"
#include "process/usage.h"
#include "sonde.h"

static const char capsule_name[] = "sonde._sonde";
static const char capsule_key[] = "_ext";

struct state { /* what Python keeps with the module */
    struct sd_ext *ext;
    PyObject *capsule; /* owned: keeps `ext` */
};

/* --- ext.h */

struct sd_ext *sd_ext_of(PyTypeObject *type)
{
    PyObject *capsule = PyObject_GetAttrString((PyObject *)type, capsule_key);
    struct sd_ext *ext = capsule ? PyCapsule_GetPointer(capsule, capsule_name) : NULL;

    Py_XDECREF(capsule); /* the type holds it */
    return ext && sd_ext_is_gone(ext) ? NULL : ext;
}

bool sd_ext_is_gone(struct sd_ext *ext)
{
    if (ext->is_cleared)
        PyErr_SetString(PyExc_RuntimeError, "sonde has been unloaded");
    return ext->is_cleared;
}

struct sd_ext *sd_ext_of_module(PyObject *module)
{
    return ((struct state *)PyModule_GetState(module))->ext;
}

static PyTypeObject *make_type(PyObject *capsule, PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);

    if (type && PyObject_SetAttrString(type, capsule_key, capsule) < 0)
        Py_CLEAR(type);
    return (PyTypeObject *)type;
}

PyObject *sd_ext_raise(int rc)
{
    PyObject *type = PyExc_OSError;

    switch ((enum sd_err)rc) {
    case SD_ENOMEM:
        return PyErr_NoMemory();
    case SD_EUSAGE:
    case SD_EFORMAT:
        type = PyExc_ValueError;
        break;
    case SD_EEXISTS:
        type = PyExc_FileExistsError;
        break;
    case SD_EABSENT:
        type = PyExc_FileNotFoundError;
        break;
    case SD_EACCESS:
        type = PyExc_PermissionError;
        break;
    case SD_ELACKS:
        type = PyExc_ImportError;
        break;
    case SD_EIO:
    case SD_EFULL:
    case SD_EGONE:
    case SD_ETORN:
        break;
    }
    PyErr_SetString(type, sd_fail_text());
    return NULL;
}

/* Memory may have run out unnoticed by who wrote. */
static int end_of(const struct sd_out *out, int rc)
{
    return rc == 0 && out->pending.bad ? sd_no_memory() : rc;
}

PyObject *sd_ext_bytes(struct sd_out *out, int rc)
{
    PyObject *bytes = NULL;

    rc = end_of(out, rc);
    if (rc < 0)
        sd_ext_raise(rc);
    else
        bytes = PyBytes_FromStringAndSize((char *)out->pending.p,
                                          (Py_ssize_t)out->pending.n);
    sd_out_release(out);
    return bytes;
}

PyObject *sd_ext_text(struct sd_out *out, int rc)
{
    PyObject *text = NULL;

    rc = end_of(out, rc);
    if (rc < 0)
        sd_ext_raise(rc);
    else
        text = PyUnicode_DecodeUTF8((char *)out->pending.p, (Py_ssize_t)out->pending.n,
                                    "surrogateescape");
    sd_out_release(out);
    return text;
}

PyObject *sd_ext_adapter(const char *module, const char *name, PyObject *arg)
{
    PyObject *path = PyUnicode_FromFormat("sonde.%s", module);
    PyObject *imported = path ? PyImport_Import(path) : NULL;
    PyObject *function = imported ? PyObject_GetAttrString(imported, name) : NULL;
    PyObject *result =
        function ? PyObject_CallFunctionObjArgs(function, arg, NULL) : NULL;

    Py_XDECREF(path);
    Py_XDECREF(imported);
    Py_XDECREF(function);
    return result;
}

/* --- A capture of our own, and its end */

static void finish(int status, void *unused)
{
    (void)unused;
    sd_own_stop(status & 0xff);
}

/* Tables are finished before their capture is; a parent's capture is its own affair. */
static void stop_own_tables(void)
{
    if (!sd_own_is_here())
        return;
    sd_inside_stop();
}

/* atexit's.  A program that Control-C ended dies of the signal, past all of libc's own
 * handlers: its capture is finished here. */
static PyObject *module_at_exit(PyObject *module, PyObject *unused)
{
    PyObject *last = sd_compat_sys_get("last_type");

    (void)module;
    (void)unused;
    if (last && PyErr_GivenExceptionMatches(last, PyExc_KeyboardInterrupt)) {
        stop_own_tables();
        Py_BEGIN_ALLOW_THREADS sd_own_stop(-SIGINT);
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

/* on_exit, unlike atexit, is told the status, and comes when Python is gone: what the
 * program measures in its last moments is in the capture. */
static void finish_at_exit(PyObject *module)
{
    static _Atomic bool is_registered;
    PyObject *atexit, *ours, *done = NULL;

    if (!atomic_exchange(&is_registered, true))
        on_exit(finish, NULL);
    atexit = PyImport_ImportModule("atexit");
    ours = PyObject_GetAttrString(module, "_at_exit");
    if (atexit && ours)
        done = PyObject_CallMethod(atexit, "register", "O", ours);
    Py_XDECREF(done);
    Py_XDECREF(ours);
    Py_XDECREF(atexit);
    PyErr_Clear();
}

/* Under Yama (ptrace_scope 1) only ancestors may look into a process.  One that loses
 * them, when its parent ends and init takes it, would be out of the run's sight. */
static void let_owner_look(void)
{
    uint32_t owner = sd_session_owner_pid();

    if (owner && owner != (uint32_t)getpid())
        prctl(PR_SET_PTRACER, (unsigned long)owner, 0, 0, 0);
}

/* _let_look(pid): that process may look into this one from now on, too; -1: any may; 0:
 * as it was.  Where the kernel does not ask, nothing changes. */
static PyObject *module_let_look(PyObject *module, PyObject *pid)
{
    long who = PyLong_AsLong(pid);

    (void)module;
    if (who == -1 && PyErr_Occurred())
        return NULL;
    prctl(PR_SET_PTRACER, who < 0 ? PR_SET_PTRACER_ANY : (unsigned long)who, 0, 0, 0);
    if (who == 0)
        let_owner_look();
    Py_RETURN_NONE;
}

/* Times of code that was compiled do not compare with those of code that was not. */
static void note_jit(enum sd_jit_when when)
{
    struct sd_log *log = sd_jit_is_on(when) ? sd_session_log() : NULL;

    if (log)
        sd_log_note(log, SD_NOTE_INFO, "the JIT compiler of Python was on");
}

/* atexit's, where nobody could tell at the start. */
static PyObject *module_note_jit(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    note_jit(SD_JIT_RUNNING);
    Py_RETURN_NONE;
}

/* The interpreter turns its JIT compiler off before it calls C functions at its end, so
 * Python's atexit is the last to ask.  A program that has not imported that module
 * finds it as if nobody had; the one that was imported is kept, as it would take the
 * functions along. */
static void note_jit_at_end(PyObject *module)
{
    PyObject *modules = PyImport_GetModuleDict();
    bool was_there = sd_compat_dict_get(modules, "atexit") != NULL;
    PyObject *atexit = PyImport_ImportModule("atexit");
    PyObject *ours = atexit ? PyObject_GetAttrString(module, "_note_jit") : NULL;

    if (ours)
        Py_XDECREF(PyObject_CallMethod(atexit, "register", "O", ours));
    PyErr_Clear();
    if (atexit && !was_there)
        PyDict_DelItemString(modules, "atexit");
    else
        Py_XDECREF(atexit);
    Py_XDECREF(ours);
    PyErr_Clear();
}

/* Joins what the environment names: the capture of a run, or one of our own. */
static void join_from_env(PyObject *module)
{
    bool has_parent;

    sd_session_join_from_env();
    has_parent = sd_session_has_capture();
    if (has_parent)
        let_owner_look();
    sd_own_start_from_env();
    if (!has_parent && sd_session_has_capture())
        finish_at_exit(module);
    note_jit(SD_JIT_BEFORE_MAIN);
    if (sd_session_has_capture() && sd_jit_may_come())
        note_jit_at_end(module);
    sd_ext_start_inside();
    sd_decorate_watch_limit();
    sd_offer_profile();
}

/* --- Functions */

static PyObject *module_start(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = { "path", NULL };
    PyObject *path;
    int rc;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&:start", names,
                                     PyUnicode_FSConverter, &path))
        return NULL;
    Py_BEGIN_ALLOW_THREADS /* a file is made */
        rc = sd_own_start(PyBytes_AS_STRING(path));
    Py_END_ALLOW_THREADS Py_DECREF(path);
    if (rc < 0)
        return sd_ext_raise(rc);
    finish_at_exit(module);
    note_jit(SD_JIT_RUNNING);
    sd_ext_start_inside();
    Py_RETURN_NONE;
}

static PyObject *module_stop(PyObject *module, PyObject *unused)
{
    int rc;

    (void)module;
    (void)unused;
    stop_own_tables();
    Py_BEGIN_ALLOW_THREADS /* sealing compresses and may wait for the disk */
        rc = sd_own_stop(SD_STATUS_UNKNOWN);
    Py_END_ALLOW_THREADS if (rc < 0) return sd_ext_raise(rc);
    Py_RETURN_NONE;
}

static PyObject *module_is_recording(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(sd_session_has_capture());
}

/* section("name"): for the capture alone, or a recording.  The Profiler behind it is
 * made at its first use, when it is known what sections measure. */
static PyObject *module_section(PyObject *module, PyObject *const *args, Py_ssize_t n,
                                PyObject *kwnames)
{
    struct sd_ext *ext = sd_ext_of_module(module);
    unsigned measure = sd_section_measure_or(SD_MEASURE_ALL);

    if (!sd_section_is_wanted())
        return Py_NewRef(ext->quiet_one);
    if (ext->plain && ((struct sd_py_profiler *)ext->plain)->store.measure != measure)
        Py_CLEAR(ext->plain);
    if (!ext->plain)
        ext->plain = (PyObject *)sd_profiler_new(ext, measure, false);
    return ext->plain ? sd_py_section_call(ext->plain, args, (size_t)n, kwnames) : NULL;
}

static PyObject *module_join_from_env(PyObject *module, PyObject *unused)
{
    (void)unused;
    join_from_env(module);
    Py_RETURN_NONE;
}

/* (rss, vms) of this process now, in bytes: for the calls that open no section. */
static PyObject *module_memory(PyObject *module, PyObject *unused)
{
    struct sd_usage_reader reader;
    struct sd_usage usage;
    int rc;

    (void)module;
    (void)unused;
    sd_usage_init(&reader, 0);
    rc = sd_usage_read(&reader, SD_USAGE_MEMORY, &usage);
    sd_usage_release(&reader);
    if (rc < 0 || usage.rss_bytes < 0) {
        PyErr_SetString(PyExc_OSError, "the memory of this process cannot be read");
        return NULL;
    }
    return Py_BuildValue("LL", (long long)usage.rss_bytes, (long long)usage.vms_bytes);
}

/* Bytes that this process may still take: of the machine, and of its control groups. */
static PyObject *module_memory_free(PyObject *module, PyObject *unused)
{
    struct sd_machine_limits limits;
    struct sd_usage_reader reader;
    struct sd_usage usage = { .rss_bytes = 0 };

    (void)module;
    (void)unused;
    sd_machine_limits("", &limits);
    sd_usage_init(&reader, 0);
    if (sd_usage_read(&reader, SD_USAGE_MEMORY, &usage) < 0 || usage.rss_bytes < 0)
        usage.rss_bytes = 0;
    sd_usage_release(&reader);
    if (limits.memory > (uint64_t)usage.rss_bytes)
        limits.memory -= (uint64_t)usage.rss_bytes;
    return PyLong_FromUnsignedLongLong(sd_machine_memory_free("", &limits));
}

/* What this machine calls its processor; None: it does not say. */
static PyObject *module_processor(PyObject *module, PyObject *unused)
{
    char name[SD_MACHINE_TEXT];

    (void)module;
    (void)unused;
    if (!sd_machine_processor(name))
        Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(name, (Py_ssize_t)strlen(name), "replace");
}

/* graph_border(tensors, from, to): what a backward of them comes to (border.h). */
static PyObject *module_graph_border(PyObject *module, PyObject *args)
{
    PyObject *tensors;
    struct sd_graph_part of;

    (void)module;
    if (!PyArg_ParseTuple(args, "OKK", &tensors, &of.from, &of.to))
        return NULL;
    return sd_border_find(tensors, of);
}

static PyObject *options_about(const struct sd_option *options)
{
    PyObject *all = PyDict_New();

    for (; all && options && options->name; options++) {
        PyObject *meaning = PyUnicode_FromString(options->meaning);

        if (!meaning || PyDict_SetItemString(all, options->name, meaning) < 0)
            Py_CLEAR(all);
        Py_XDECREF(meaning);
    }
    return all;
}

static PyObject *metrics_about(const struct sd_metric_about *metrics)
{
    PyObject *all = PyDict_New();

    for (; all && metrics && metrics->name; metrics++) {
        PyObject *meaning =
            PyUnicode_FromString(metrics->meaning ? metrics->meaning : "");

        if (!meaning || PyDict_SetItemString(all, metrics->name, meaning) < 0)
            Py_CLEAR(all);
        Py_XDECREF(meaning);
    }
    return all;
}

static PyObject *one_about(const struct sd_collector_about *about)
{
    return Py_BuildValue("{szszszszsNsN}", "name", about->name, "summary",
                         about->summary, "cost", about->cost, "blind_to",
                         about->blind_to, "metrics", metrics_about(about->metrics),
                         "options", options_about(about->options));
}

static PyObject *module_about(PyObject *module, PyObject *unused)
{
    PyObject *all = PyList_New(0);

    (void)module;
    (void)unused;
    for (size_t i = 0; all && sd_abouts[i]; i++) {
        PyObject *one = one_about(sd_abouts[i]);

        if (!one || PyList_Append(all, one) < 0)
            Py_CLEAR(all);
        Py_XDECREF(one);
    }
    return all;
}

#define WITH_KEYWORDS(f) ((PyCFunction)(void (*)(void))(f))

static PyMethodDef module_methods[] = {
    { "start", WITH_KEYWORDS(module_start), METH_VARARGS | METH_KEYWORDS,
      "start(path)\n--\n\nRecords this process and its children into a new capture, "
      "until stop() or the\nend of the program.  Under `sonde run` this raises, "
      "because that records already." },
    { "stop", module_stop, METH_NOARGS,
      "stop()\n--\n\nFinishes the capture that start() made; does nothing without "
      "one." },
    { "is_recording", module_is_recording, METH_NOARGS,
      "is_recording()\n--\n\nReturns whether sections go into a capture now." },
    { "section", WITH_KEYWORDS(module_section), METH_FASTCALL | METH_KEYWORDS,
      "section(name, memory_unit=None, time_kind=None)\n--\n\nReturns a section for "
      "the capture alone: it keeps nothing in memory, and costs\nnext to nothing "
      "without a capture." },
    { "collectors", module_about, METH_NOARGS,
      "collectors()\n--\n\nLists every way of measuring: what it is, costs, and cannot "
      "see." },
    { "_join_from_env", module_join_from_env, METH_NOARGS, NULL },
    { "_at_exit", module_at_exit, METH_NOARGS, NULL },
    { "_note_jit", module_note_jit, METH_NOARGS, NULL },
    { "_let_look", module_let_look, METH_O, NULL },
    { "_memory", module_memory, METH_NOARGS, NULL },
    { "_interval", sd_interval_rebuild, METH_VARARGS, NULL },
    { "memory_text", sd_memory_lines_text, METH_VARARGS, NULL },
    { "memory_rows", sd_memory_lines_rows, METH_VARARGS, NULL },
    { "lines_capture", sd_py_lines_of_capture, METH_VARARGS, NULL },
    { "lines_want_memory", sd_py_lines_want_memory, METH_NOARGS, NULL },
    { "memory_free", module_memory_free, METH_NOARGS, NULL },
    { "processor", module_processor, METH_NOARGS, NULL },
    { "graph_border", module_graph_border, METH_VARARGS, NULL },
    { "count_modes", sd_ext_count_modes, METH_NOARGS, NULL },
    { "count_is_of_modules", sd_ext_count_is_of_modules, METH_O, NULL },
    { "codes_of", sd_decorate_codes_of, METH_O, NULL },
    { "option_kinds", sd_recording_kinds, METH_O, NULL },
    { "profile", sd_decorate_profile, METH_O,
      "profile(function)\n--\n\nChooses a function, or all of a class, whose lines are "
      "counted under `sonde lines`." },
    { "heap_changes", sd_ext_heap_changes, METH_O, NULL },
    { "heap_picture", sd_ext_heap_picture, METH_VARARGS, NULL },
    { "heap_tracked_of", sd_ext_heap_tracked_of, METH_O, NULL },
    { "heap_tracked_types", sd_ext_heap_tracked_types, METH_NOARGS, NULL },
    { "heap_snapshot", sd_ext_heap_snapshot, METH_VARARGS, NULL },
    { "memory_of", sd_py_memory_of_process, METH_VARARGS, NULL },
    { "memory_of_children", sd_py_memory_of_children, METH_VARARGS, NULL },
    { "memory_watch", sd_py_memory_watch, METH_VARARGS, NULL },
    { "memory_watched", sd_py_memory_watched, METH_O, NULL },
    { "mprof_watch", sd_py_mprof_watch, METH_VARARGS, NULL },
    { "mprof_file", sd_py_mprof_file, METH_VARARGS, NULL },
    { "mprof_peaks", sd_py_mprof_peaks, METH_VARARGS, NULL },
    { "line_text", sd_py_line_stats_text, METH_VARARGS, NULL },
    { "line_dumps", sd_py_line_stats_dumps, METH_VARARGS, NULL },
    { "line_loads", sd_py_line_stats_loads, METH_O, NULL },
    { "line_sum", sd_py_line_stats_add_up, METH_O, NULL },
    { "plain_stats", sd_plain_stats, METH_VARARGS, NULL },
    { "traces_start", sd_py_traces_start, METH_VARARGS, NULL },
    { "traces_stop", sd_py_traces_stop, METH_NOARGS, NULL },
    { "traces_are_on", sd_py_traces_are_on, METH_NOARGS, NULL },
    { "traces_limit", sd_py_traces_limit, METH_NOARGS, NULL },
    { "traces_memory", sd_py_traces_memory, METH_NOARGS, NULL },
    { "traces_own_memory", sd_py_traces_own_memory, METH_NOARGS, NULL },
    { "traces_reset_peak", sd_py_traces_reset_peak, METH_NOARGS, NULL },
    { "traces_clear", sd_py_traces_clear, METH_NOARGS, NULL },
    { "traces_all", sd_py_traces_all, METH_O, NULL },
    { "traces_of", sd_py_traces_of, METH_O, NULL },
    { "trace_groups", sd_trace_stats_groups, METH_VARARGS, NULL },
    { "trace_differences", sd_trace_stats_differences, METH_VARARGS, NULL },
    { "trace_sort", sd_trace_stats_sort, METH_O, NULL },
    { "trace_filter", sd_trace_stats_filter, METH_VARARGS, NULL },
    { "trace_load", sd_trace_file_load, METH_O, NULL },
    { "time_request", sd_time_serving_request, METH_O, NULL },
    { "time_refuse", sd_time_serving_refuse, METH_VARARGS, NULL },
    { "time_memory", sd_time_serving_memory, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

/* --- Making and unmaking an instance */

/* The last type or module is gone.  What is dropped only here leads to no type of
 * ours, so it closes no circle through the capsule. */
static void drop_ext(PyObject *capsule)
{
    struct sd_ext *ext = PyCapsule_GetPointer(capsule, capsule_name);

    for (int i = 0; i < SD_N_WORDS; i++)
        Py_CLEAR(ext->words[i]);
    for (int i = 0; i < SD_N_ASYNCIO; i++)
        Py_CLEAR(ext->asyncio[i]);
    Py_CLEAR(ext->current);
    Py_CLEAR(ext->scopes);
    sd_free(ext);
}

static int intern_all(const char *const *texts, PyObject **out, int n)
{
    for (int i = 0; i < n; i++) {
        out[i] = PyUnicode_InternFromString(texts[i]);
        if (!out[i])
            return -1;
    }
    return 0;
}

static int make_words(struct sd_ext *ext)
{
    static const char *const asyncio[SD_N_ASYNCIO] = {
        [SD_ASYNCIO_MODULE] = "_asyncio",
        [SD_ASYNCIO_RUNNING_LOOP] = "_get_running_loop",
        [SD_ASYNCIO_CURRENT_TASK] = "current_task",
        [SD_ASYNCIO_CURRENT_TASKS] = "_current_tasks",
    };

    if (intern_all(sd_words, ext->words, SD_N_WORDS) < 0)
        return -1;
    return intern_all(asyncio, ext->asyncio, SD_N_ASYNCIO);
}

#define TYPE(field, spec, name) extern PyType_Spec spec;
#define TYPE_INSIDE(field, spec) extern PyType_Spec spec;
#include "ext/types.def"
#undef TYPE
#undef TYPE_INSIDE

/* One that is made by others of ours alone: object's own constructor would leave it
 * empty. */
static PyTypeObject *make_type_inside(PyObject *capsule, PyType_Spec *spec)
{
    PyTypeObject *type = make_type(capsule, spec);

    if (type)
        type->tp_new = NULL;
    return type;
}

static int make_listed_types(struct sd_ext *ext, PyObject *capsule)
{
#define TYPE(field, spec, name)                                                        \
    if (!(ext->field = make_type(capsule, &spec)))                                     \
        return -1;
#define TYPE_INSIDE(field, spec)                                                       \
    if (!(ext->field = make_type_inside(capsule, &spec)))                              \
        return -1;
#include "ext/types.def"
#undef TYPE
#undef TYPE_INSIDE
    return 0;
}

static int make_types(struct sd_ext *ext, PyObject *capsule)
{
    if (make_listed_types(ext, capsule) < 0 || sd_py_profile_make_entries(ext) < 0 ||
        sd_lsprof_add_callbacks(ext->lsprof) < 0)
        return -1;
    for (int i = 0; i < SD_N_VIEWS; i++) {
        ext->views[i] = make_type(capsule, &sd_view_specs[i]);
        if (!ext->views[i])
            return -1;
    }
    sd_compat_type_offsets(ext->profiler, offsetof(struct sd_py_profiler, call),
                           offsetof(struct sd_py_profiler, weakrefs));
    ext->quiet_one = ext->quiet->tp_alloc(ext->quiet, 0);
    return ext->quiet_one ? 0 : -1;
}

static int make_variables(struct sd_ext *ext)
{
    ext->current = PyContextVar_New("sonde.section", NULL);
    ext->scopes = ext->current ? PyContextVar_New("sonde.scope", NULL) : NULL;
    return ext->scopes ? 0 : -1;
}

static int add_names(PyObject *module, struct sd_ext *ext)
{
    static const char *const views[] = { "Interval", "MemoryInterval", "TimeInterval",
                                         "IoInterval", "NetworkInterval" };

    for (int i = 0; i < SD_N_VIEWS; i++) {
        if (PyModule_AddObjectRef(module, views[i], (PyObject *)ext->views[i]) < 0)
            return -1;
    }
#define TYPE(field, spec, name)                                                        \
    if (PyModule_AddObjectRef(module, name, (PyObject *)ext->field) < 0)               \
        return -1;
#define TYPE_INSIDE(field, spec)
#include "ext/types.def"
#undef TYPE
#undef TYPE_INSIDE
    if (PyModule_AddObjectRef(module, "profiler_entry", (PyObject *)ext->entry) < 0 ||
        PyModule_AddObjectRef(module, "profiler_subentry", (PyObject *)ext->subentry) <
            0)
        return -1;
    return PyModule_AddStringConstant(module, "__version__", SONDE_VERSION);
}

static int make_ext(struct state *state)
{
    struct sd_ext *ext = sd_zalloc(sizeof *ext);

    if (!ext) {
        PyErr_NoMemory();
        return -1;
    }
    state->capsule = PyCapsule_New(ext, capsule_name, drop_ext);
    if (!state->capsule) {
        sd_free(ext);
        return -1;
    }
    state->ext = ext;
    return 0;
}

static int module_exec(PyObject *module)
{
    struct state *state = PyModule_GetState(module);

    sd_state_learn();
    if (make_ext(state) < 0 || make_words(state->ext) < 0 ||
        make_variables(state->ext) < 0 || make_types(state->ext, state->capsule) < 0 ||
        add_names(module, state->ext) < 0)
        return -1;
    sd_session_be_guest(sd_ext_stop_inside_soon);
    join_from_env(module);
    return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct state *state = PyModule_GetState(module);
    struct sd_ext *ext = state ? state->ext : NULL;

    if (!ext)
        return 0;
#define TYPE(field, spec, name) Py_VISIT(ext->field);
#define TYPE_INSIDE(field, spec) Py_VISIT(ext->field);
#include "ext/types.def"
#undef TYPE
#undef TYPE_INSIDE
    Py_VISIT(ext->entry);
    Py_VISIT(ext->subentry);
    Py_VISIT(ext->signature);
    for (int i = 0; i < SD_N_VIEWS; i++)
        Py_VISIT(ext->views[i]);
    Py_VISIT(ext->quiet_one);
    Py_VISIT(ext->members);
    Py_VISIT(ext->plain);
    return 0;
}

static int module_clear(PyObject *module)
{
    struct state *state = PyModule_GetState(module);
    struct sd_ext *ext = state ? state->ext : NULL;

    if (!ext)
        return 0;
    ext->is_cleared = true;
    while (ext->n_free > 0)
        sd_py_section_free(ext->free[--ext->n_free]);
    Py_CLEAR(ext->plain);
    Py_CLEAR(ext->members);
    Py_CLEAR(ext->quiet_one);
    for (int i = 0; i < SD_N_VIEWS; i++)
        Py_CLEAR(ext->views[i]);
#define TYPE(field, spec, name) Py_CLEAR(ext->field);
#define TYPE_INSIDE(field, spec) Py_CLEAR(ext->field);
#include "ext/types.def"
#undef TYPE
#undef TYPE_INSIDE
    Py_CLEAR(ext->entry);
    Py_CLEAR(ext->subentry);
    Py_CLEAR(ext->signature);
    return 0;
}

static void module_free(void *module)
{
    struct state *state = PyModule_GetState(module);

    if (!state)
        return;
    module_clear(module);
    state->ext = NULL;
    Py_CLEAR(state->capsule);
}

static PyModuleDef_Slot module_slots[] = {
    { Py_mod_exec, module_exec },
    { 0, NULL },
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "sonde._sonde",
    .m_doc = "The part of sonde that is written in C; import sonde instead.",
    .m_size = sizeof(struct state),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

SD_PYINIT PyInit__sonde(void);
SD_PYINIT PyInit__sonde(void) { return PyModuleDef_Init(&module_def); }
