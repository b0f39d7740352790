/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_NATIVE_H
#define SD_COLLECT_SAMPLE_NATIVE_H
/* native: takes the native functions of a sampled thread and puts them between its
 * Python functions.
 *
 * A thread that runs is stopped (pause.h) for as long as it takes to copy its
 * registers, its stack and its Python frames: some tens of microseconds.  It goes on,
 * and the copy is unwound (process/native/unwind.h).  A thread that waits in the kernel
 * is not stopped: the kernel tells where its stack is, and that it did not run
 * meanwhile. Only where that does not suffice is it stopped too.
 *
 * Merging goes by CPython's evaluator: each call of it on the C stack stands for the
 * Python functions it runs.  Up to 3.10 that is one; later ones stay in it when Python
 * calls Python, and mark the frames that C has called (sd_shot_frame.is_entry).  From
 * 3.12 on the mark lies in the evaluator's own part of the C stack and so tells which
 * call it is, also where a stripped file has lost its name.  Before, its name tells.
 *
 * Nothing here fails a sample.  What could not be unwound or placed shows as a frame of
 * its own, inside of which all functions are certain, and outside of which only Python
 * functions are shown. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/sample/pause.h"
#include "collect/sample/shot.h"
#include "collect/shared/native_roles.h"
#include "process/native/unwind.h"

/* Where outer native functions are missing, and where it is not known between which
 * Python functions they belong. */
extern const struct sd_symbol sd_native_stopped, sd_native_unplaced;

struct sd_native_stack {          /* of one thread; all zero is a fresh one */
    struct sd_shot_frame *frames; /* owned; Python and native, innermost first */
    size_t n, cap;
    bool is_marked;     /* one of the two frames above is in it */
    uint64_t top;       /* end of the thread's stack, once known */
    size_t limit_bytes; /* most that is copied; grows with the stack; 0: the first */
};
void sd_native_stack_release(struct sd_native_stack *s);

struct sd_native {                /* of one process; all zero is a fresh one */
    struct sd_unwinder *unwinder; /* owned; NULL before the first use */
    uint8_t *copy;                /* owned */
    size_t cap;
    struct sd_stack_copy of;       /* what is in it */
    struct sd_unwind_files *files; /* borrowed; shared by all processes */
    bool cannot;                   /* there is no unwinder: every stack is marked */
};
void sd_native_release(struct sd_native *n);

/* --- Taking: the thread stands still */

/* Copies registers and stack of a thread that is stopped in our name; false: cannot. */
bool sd_native_copy(struct sd_native *n, struct sd_native_stack *s,
                    const struct sd_remote *r, pid_t tid);

/* Of a thread that waits in the kernel, before and after it is copied: whether it has
 * stood still in between. */
struct sd_native_wait {
    char schedstat[96], syscall[192];
};
bool sd_native_wait_look(struct sd_native_wait *w, pid_t pid, pid_t tid);
bool sd_native_wait_is_same(const struct sd_native_wait *w, pid_t pid, pid_t tid);
bool sd_native_copy_waiting(struct sd_native *n, struct sd_native_stack *s,
                            const struct sd_remote *r, const struct sd_native_wait *w);

/* --- After it */

/* Unwinds the copy and merges it with the Python frames.  False when more of the stack
 * must be copied, or all registers: take it again.  is_inner: outside of these Python
 * functions there may be those of another interpreter.  is_last: do with what there is.
 */
bool sd_native_finish(struct sd_native *n, struct sd_native_stack *s,
                      const struct sd_remote *r, const struct sd_shot *shot,
                      bool is_inner, uint64_t now_ns, bool is_last);
/* Without a copy: the Python frames, marked. */
void sd_native_give_up(struct sd_native_stack *s, const struct sd_shot *shot);

/* --- Parts, for tests */

/* Innermost first, all of them.  -1 without memory. */
int sd_native_merge(struct sd_native_stack *s, const struct sd_unwound *natives,
                    size_t n_natives, enum sd_unwind_end end,
                    const struct sd_shot_frame *python, size_t n_python, bool is_cut,
                    bool is_inner);
#endif
