/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_SECTIONS_PY_NEST_H
#define SD_EXT_SECTIONS_PY_NEST_H
/* py_nest: finds which sections are open around this point of the program.
 *
 * Nesting follows the context (contextvars), so that threads and asyncio tasks are kept
 * apart without knowing of each other, and a task begins inside the section that
 * created it.  Each context has a nest of its own, found through one ContextVar.  A new
 * task copies its maker's context, hence finds its maker's nest: it sees by the context
 * which a nest names that this one is not its own, and makes one that starts below the
 * section open there.  So the ContextVar is set once per context and never per section,
 * which would cost as much as all the rest of a section.
 *
 * A section may end in any order, in another thread or context than it began in: it is
 * marked as ended, and whoever meets an ended section on the way up passes through it.
 * Those that its own Profiler left open inside it (a generator that was not run to its
 * end) are set aside: measured to their own end, but passed through likewise.  Without
 * that, one forgotten section would stand in the names of all that come later. */
#include "ext/ext.h"

struct sd_py_section;

struct sd_py_nest {
    PyObject_HEAD PyObject *context; /* owned: a weak reference to whose it is */
    struct sd_py_section *innermost; /* borrowed, it leaves when it ends: the last one
                                  begun here and neither ended nor set aside, or NULL */
    struct sd_py_section
        *below;           /* owned: open where this context was copied from, or NULL */
    uintptr_t task;       /* the asyncio task last seen here, by its address */
    uint64_t task_number; /* its number: tasks are counted as they are met */
};

/* The nest of the running context, made at its first section.  A new reference; NULL
 * with an exception set. */
struct sd_py_nest *sd_nest_here(struct sd_ext *ext);
/* The innermost section that a new one begins inside; borrowed; NULL at the top. */
struct sd_py_section *sd_nest_innermost(const struct sd_py_nest *n);
void sd_nest_push(struct sd_py_nest *n, struct sd_py_section *s);
/* `s`, which began in this nest, has ended. */
void sd_nest_pop(struct sd_py_nest *n, const struct sd_py_section *s);

/* The number of the asyncio task that runs, or 0.  asyncio is never imported for this:
 * a program without it has no tasks.  Leaves no exception. */
uint64_t sd_nest_task(struct sd_ext *ext, struct sd_py_nest *n);
#endif
