/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_EXT_H
#define SD_EXT_EXT_H
/* ext: what one instance of the module `_sonde` owns.
 *
 * A process may hold several (one per sub-interpreter; the bootstrap's and the
 * program's own import): each has its own types and its own nesting, and all share the
 * one session underneath (collect/session.h), hence one writer and one memory mark.
 *
 * The types reach their instance through a capsule in their dictionary, because an
 * object may outlive the module: the module owns the Python objects below and drops
 * them when it goes, the types own this struct. */
#include <stdbool.h>
#include <stdint.h>

#include "cpython/compat.h"
#include "ext/sections/columns.h"

struct sd_out;
struct sd_py_profiler;

enum sd_view_kind { /* what p["x"] and its parts are */
                    SD_VIEW_INTERVAL,
                    SD_VIEW_MEMORY,
                    SD_VIEW_TIME,
                    SD_VIEW_IO,
                    SD_VIEW_NETWORK,
                    SD_N_VIEWS,
};

enum { SD_FREE_SECTIONS = 32 };

enum sd_asyncio_name { /* what py_nest.c asks the running loop's task by */
                       SD_ASYNCIO_MODULE,
                       SD_ASYNCIO_RUNNING_LOOP,
                       SD_ASYNCIO_CURRENT_TASK,
                       SD_ASYNCIO_CURRENT_TASKS,
                       SD_N_ASYNCIO,
};

struct sd_ext {
    bool is_cleared; /* the module is gone: keep nothing for later */
    /* Dropped with the module: */
#define TYPE(field, spec, name) PyTypeObject *field;
#define TYPE_INSIDE(field, spec) PyTypeObject *field;
#include "ext/types.def"
#undef TYPE
#undef TYPE_INSIDE
    PyTypeObject *views[SD_N_VIEWS];
    PyTypeObject *entry, *subentry, *signature; /* of calls (profile.h) */
    PyObject *quiet_one;                        /* what a disabled Profiler hands out */
    PyObject *members; /* tuple: the words as enum members; NULL until used */
    PyObject *plain;   /* the Profiler behind section(): keeps nothing */
    PyObject *free[SD_FREE_SECTIONS]; /* ended sections, to be used again */
    int n_free;
    /* Dropped with the last type: */
    PyObject *current; /* ContextVar: a struct sd_py_nest */
    PyObject *scopes;  /* ContextVar: what py_scope.c marks contexts with */
    bool scopes_watch_forks;
    uint64_t n_tasks;                /* asyncio tasks met so far */
    PyObject *words[SD_N_WORDS];     /* "bytes", "wall", ... */
    PyObject *asyncio[SD_N_ASYNCIO]; /* the names below, made once */
};

/* The instance that made this type or a base of it; borrowed.  NULL with an exception
 * set. */
struct sd_ext *sd_ext_of(PyTypeObject *type);

struct sd_ext *sd_ext_of_module(PyObject *module);

/* True, with an exception set, once the module is gone: nothing new can be made. */
bool sd_ext_is_gone(struct sd_ext *ext);

/* Raises what a code of the core means, in the core's own sentence.  Returns NULL. */
PyObject *sd_ext_raise(int rc);
/* What a function of the core that returned `rc` has written to memory, which is
 * released here; or what the code means, raised. */
PyObject *sd_ext_bytes(struct sd_out *out, int rc);
PyObject *sd_ext_text(struct sd_out *out, int rc);

/* sonde.<module>.<name>(...): the adapters written in Python, imported at their first
 * use.  A new reference. */
PyObject *sd_ext_adapter(const char *module, const char *name, PyObject *arg);
#endif
