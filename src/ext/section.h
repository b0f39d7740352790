/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_SECTION_H
#define SD_EXT_SECTION_H
/* section: what profiler("name") gives, and how sections nest.
 *
 * Nesting follows the context (contextvars), so that threads and asyncio tasks are
 * kept apart without knowing of each other, and a task begins inside the section that
 * created it.  One ContextVar holds the innermost section; each remembers the one
 * around it.  A section may end in any order, in another thread or in another context
 * than it began in: it is then marked as ended, and whoever meets an ended section on
 * the way up passes through it.  No other repair is ever needed.
 *
 * Nothing here raises once a section is open: without memory the interval is counted
 * as lost and the user's block runs as if the Profiler were not there. */
#include "ext/profiler.h"

struct sd_open {                                /* a section, open or not */
    PyObject_HEAD struct sd_profiler *profiler; /* owned; NULL on the free list */
    PyObject *name;                             /* owned: exact str */
    struct sd_open *around; /* owned: the section open when this one began, or NULL */
    PyObject *token;        /* owned: puts the context back */
    struct sd_open *again;  /* owned: entered again while open (newest first) */
    const struct sd_open *first; /* of a section in an `again` list: whose */
    const struct sd_path_step *step;
    struct sd_section core;
    uint32_t row; /* in the store, or SD_STORE_NONE */
    uint8_t kind, unit;
    bool is_open;
};

extern PyType_Spec sd_section_spec, sd_quiet_spec, sd_each_spec;

/* profiler(name, memory_unit=None, time_kind=None) */
PyObject *sd_section_call(PyObject *profiler, PyObject *const *args, size_t nargsf,
                          PyObject *kwnames);
/* Not open yet.  `name` is a str.  NULL with an exception set. */
struct sd_open *sd_open_new(struct sd_profiler *p, PyObject *name);
void sd_open_free(PyObject *free); /* one that waits on the free list */
void sd_open_begin(struct sd_open *s);
void sd_open_end(struct sd_open *s, bool raised); /* an ended one is left alone */

PyObject *sd_each_new(struct sd_profiler *p, PyObject *iterable, PyObject *name,
                      PyObject *itr_name);
#endif
