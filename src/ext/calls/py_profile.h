/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_CALLS_PY_PROFILE_H
#define SD_EXT_CALLS_PY_PROFILE_H
/* py_profile: `_sonde.Profile`, every call counted and timed as cProfile.Profile does;
 * and
 * `_sonde.LsprofProfiler`, the same with the manners of _lsprof.Profiler (one at a
 * time, under the tool id of profilers), for sonde.compat. */
#include "ext/ext.h"

#include "collect/calls/names.h"
#include "collect/calls/sessions.h"

struct sd_calls;
struct sd_node;

enum sd_profile_switch { /* what the constructor and enable() switch on */
                         SD_PROFILE_SUBCALLS = 1,
                         SD_PROFILE_BUILTINS = 2,
                         SD_PROFILE_SIGNATURES = 4,
};

struct sd_py_profile {
    PyObject_HEAD struct sd_calls_session *session; /* owned; NULL until __init__ */
    struct sd_calls_names names;
    PyObject *timer;   /* a callable, or NULL: ticks; owned */
    PyObject *stats;   /* what snapshot_stats made, or NULL; owned */
    double timeunit;   /* seconds of one unit of the timer's integers; 0: seconds */
    unsigned switches; /* enum sd_profile_switch */
    uint32_t n_nodes;  /* paths kept apart in each thread; 0: as many as usual */
    bool follows_all;  /* every thread */
    bool has_cpu;      /* CPU time, too */
    bool has_timeline; /* when each call was, too */
    bool is_raw;       /* times as measured, the cost of tracing in them */
    bool is_enabled;
    unsigned n_starting; /* calls of enable() under way, which use the session */
    unsigned n_in_timer; /* threads in the user's clock: nothing may be changed under
                            it */
    bool has_manners;    /* those of cProfile */
    bool is_cprofile;    /* is known as that just now */
};

/* Makes profiler_entry and profiler_subentry.  -1 with an exception. */
int sd_py_profile_make_entries(struct sd_ext *ext);
/* Gives _lsprof.Profiler the private methods that CPython's has; -1 with an exception.
 */
int sd_lsprof_add_callbacks(PyTypeObject *type);

/* --- py_profile_stats.c: the numbers of a Profile as Python objects */

struct sd_profile_look { /* how they are wanted */
    long thread;         /* only of this one of threads(); -1: all together */
    bool is_cpu;         /* of the CPU clock */
    bool has_bias;       /* subtract this for each event, whatever comes of it */
    double bias;         /* in units of the timer */
};

/* A list of profiler_entry; NULL with an exception. */
PyObject *sd_py_profile_getstats(struct sd_py_profile *p,
                                 const struct sd_profile_look *look);
/* pstats' dictionary. */
PyObject *sd_py_profile_as_stats(struct sd_py_profile *p);
/* Seconds in which calls were kept from it, of all its threads; calls that found no
 * place of their own. */
double sd_py_profile_untraced(const struct sd_py_profile *p);
uint64_t sd_py_profile_folded(const struct sd_py_profile *p);
uint64_t
sd_py_profile_lost(const struct sd_py_profile *p); /* that are counted nowhere */
/* A capture of it, as bytes. */
PyObject *sd_py_profile_as_capture(struct sd_py_profile *p, const char *command);
/* [(ident, tid, seconds followed, CPU seconds)] */
PyObject *sd_py_profile_threads(struct sd_py_profile *p);
#endif
