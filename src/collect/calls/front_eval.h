/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_FRONT_EVAL_H
#define SD_CALLS_FRONT_EVAL_H
/* front_eval: traces calls of CPython 3.8 to 3.11 through the eval-frame function.
 *
 * The interpreter calls one function for every frame that it evaluates (PEP 523), in
 * all threads, also in those that were running before.  Before 3.11 it does so anyway;
 * 3.11 evaluates a Python function called by another in the same C frame, but not while
 * there is such a hook.
 *
 * There is one place for it in an interpreter, and TorchDynamo uses it too.  So:
 *   - it is put in once, calling what was there before, and never again while another
 *     one stands above it, which would call it in turn for ever;
 *   - it is taken out only while it is the topmost; else it passes calls on;
 *   - one who takes it away (restoring what was there before both) is noticed at the
 *     next return of a function that is followed, or at the stop; what was missed is
 *     told as not traced.
 *
 * On 3.11 recursion goes through the C stack while there is a hook, and a program may
 * recurse deeper than that goes.  When little of the stack is left the hook is lifted
 * until that frame returns: all of it runs, untraced, as without us. */
#include <stdbool.h>
#include <stdint.h>

enum sd_eval_request {
    SD_EVAL_OFF,    /* passes calls on, or is gone */
    SD_EVAL_CALLS,  /* follows calls */
    SD_EVAL_THREADS /* only sees to it that each thread has the profile function */
};

/* In the current interpreter; SD_EEXISTS when another one is being followed. */
int sd_front_eval_set(enum sd_eval_request request);
/* Tells of calls that another hook has kept from ours until now. */
void sd_front_eval_tell(void);

/* Who calls what stands on this frame of the interpreter's, or NULL: the frame itself,
 * unless nobody has been told of it yet (front.h). */
uintptr_t sd_front_caller(const void *below);
#endif
