/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_SECTIONS_PY_SECTION_H
#define SD_EXT_SECTIONS_PY_SECTION_H
/* py_section: the context manager that profiler("name") gives; its interval is in the
 * Profiler's store.
 *
 * Nothing here raises once a section is open: without memory the interval is counted
 * as lost and the user's block runs as if the Profiler were not there. */
#include "ext/sections/py_nest.h"
#include "ext/sections/py_profiler.h"

struct sd_py_section {                             /* a section, open or not */
    PyObject_HEAD struct sd_py_profiler *profiler; /* owned; NULL on the free list */
    PyObject *name;                                /* owned: exact str */
    struct sd_py_section
        *around;             /* owned: the section open when this one began, or NULL */
    struct sd_py_nest *nest; /* owned while open: where it stands */
    struct sd_py_section
        *again; /* owned: entered again and not left yet (newest first) */
    const struct sd_py_section *first; /* of a section in an `again` list: whose */
    const struct sd_path_step *step;   /* NULL until it has begun */
    struct sd_section core;
    uint32_t row; /* in the store, or SD_STORE_NONE */
    uint8_t kind, unit;
    bool is_open;
    bool is_aside; /* one around it has ended: open, but around nothing new */
};

/* Does what begins now begin inside it? */
static inline bool sd_py_section_is_around(const struct sd_py_section *s)
{
    return s->is_open && !s->is_aside;
}

/* profiler(name, memory_unit=None, time_kind=None) */
PyObject *sd_py_section_call(PyObject *profiler, PyObject *const *args, size_t nargsf,
                             PyObject *kwnames);
/* Not open yet.  `name` is a str.  NULL with an exception set. */
struct sd_py_section *sd_py_section_new(struct sd_py_profiler *p, PyObject *name);
void sd_py_section_free(PyObject *free); /* one that waits on the free list */
void sd_py_section_begin(struct sd_py_section *s);
void sd_py_section_end(struct sd_py_section *s,
                       bool raised); /* an ended one is left alone */

PyObject *sd_each_new(struct sd_py_profiler *p, PyObject *iterable, PyObject *name,
                      PyObject *itr_name);
#endif
