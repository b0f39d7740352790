/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_CALL_CELL_H
#define SD_CAPTURE_CALL_CELL_H
/* call_cell: the layout of a node of a calling-context tree, one function called along
 * one path, in a table (cells.h) of the kind SD_CELLS_CALLS.
 *
 * One table per thread and session.  Cell 0 is the root; parents stand before their
 * children.  A table may be read at any moment, also after a death: whatever is counted
 * is counted in place.  What is open at that moment has its calls counted and its last
 * activation's time not yet added.
 *
 * Sites are functions in the table's definitions; a C function has the flag
 * SD_SITE_NATIVE, no file and the name that cProfile gives it (`<built-in method
 * builtins.len>`).
 *
 * A tree has a limit.  Calls along paths that found no cell of their own are counted by
 * caller and callee (pair_cell.h), and the cell of the last function that is in the
 * tree has a child for all of them, whose site has the flag SD_SITE_BEYOND: so the
 * time of every function above is complete.  (Older captures have a site named
 * "[other]" there, and no pairs.)
 *
 * Ticks are those of the CLOCK records among the definitions: one pair when the table
 * is made, more while it grows, one when the session ends.  Time-stamp counters are the
 * same in all processes of a machine: a reader with a single pair takes the pairs of
 * the capture's other tables too. */
#include <stddef.h>
#include <stdint.h>

enum { SD_CELLS_CALLS = 1 }; /* the kind of such tables */
#define SD_CALLS_BEYOND "[beyond the tree]"

/* The second half, which every call touches, lies in one cache line: cells begin 32
 * bytes behind the start of a page. */
struct sd_call_cell {
    uint32_t parent; /* index of the caller's cell */
    uint32_t site;
    uint64_t resumes; /* calls that went on with a generator or coroutine; the others
                         (calls - resumes) are starts */
    uint64_t cpu_ns;  /* of the thread, inclusive; 0 where it is not measured */
    uint64_t awaited; /* ticks that coroutines and asynchronous generators were
                         suspended, booked at their resume: ticks + awaited is what
                         passed from their start to their end */
    uint64_t calls;   /* starts and resumes, counted when entered */
    uint64_t ticks;   /* inclusive, of all finished activations */
    /* Of the writer's process, and nothing to a reader: */
    uint64_t key; /* the code object, or the PyMethodDef + 1 */
    int32_t
        last_child; /* the child called last, and the sibling that was called after */
    int32_t next;   /* this one last time: distances in cells, in memory */
};
_Static_assert(sizeof(struct sd_call_cell) == 64, "on disk");

enum sd_call_root_flags {
    SD_CALLS_TIMED = 1, /* a timeline should also have every call */
};

/* Cell 0: what belongs to the whole tree.  Costs are of one call and return, in ticks x
 * 1024, calibrated in this process; 0 where they are not known (a user's own timer).
 * `inside` falls between the two clock reads of the call itself, and so into its own
 * ticks; `outside` into those of its caller.  They are written when the tree is made,
 * and once more when the session ends. */
struct sd_call_root {
    uint32_t resyncs; /* how often the calls known and the frames found disagreed */
    uint32_t track;   /* the thread, among the table's definitions */
    uint32_t folded; /* 0; in older captures: calls that were booked on an outer call of
                        the same function, because the tree was full */
    uint16_t python_plain, c_plain; /* ticks of a call of an empty function that is not
                                       traced; 0: not known */
    uint64_t untraced; /* ticks in which the tracing was interrupted by others */
    uint64_t traced;   /* ticks that the session followed the thread, up to its last
                          stop; 0 after a death */
    uint32_t python_inside, python_outside;
    uint32_t c_inside, c_outside; /* of C functions */
    uint32_t error; /* of these costs, in 1024ths of them; 0: not known, and while calls
                       are followed: with `lost` it is no function's key then */
    uint32_t lost;  /* calls that are in no cell, because there was no room for one;
                       UINT32_MAX: or more */
    int32_t last_child; /* as above */
    uint32_t flags;     /* enum sd_call_root_flags */
};
_Static_assert(sizeof(struct sd_call_root) == 64, "on disk");

/* A cell whose site is beyond the tree: all calls along paths that left the tree here
 * with a call of a Python function, or of a C function (SD_SITE_NATIVE). */
struct sd_beyond_cell {
    uint32_t parent, site;
    uint64_t zero;
    uint64_t cpu_ns;      /* inclusive, as ticks */
    uint64_t first_calls; /* that left the tree here; the others were made by them */
    uint64_t calls;       /* all of them */
    uint64_t ticks;       /* inclusive, of the first calls */
    uint64_t key;         /* the writer's */
    uint64_t c_calls;     /* of all calls, those of C functions */
};
_Static_assert(sizeof(struct sd_beyond_cell) == sizeof(struct sd_call_cell) &&
                   offsetof(struct sd_beyond_cell, cpu_ns) ==
                       offsetof(struct sd_call_cell, cpu_ns) &&
                   offsetof(struct sd_beyond_cell, calls) ==
                       offsetof(struct sd_call_cell, calls) &&
                   offsetof(struct sd_beyond_cell, key) ==
                       offsetof(struct sd_call_cell, key),
               "one table holds both");
#endif
