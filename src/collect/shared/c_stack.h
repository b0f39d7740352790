/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SHARED_C_STACK_H
#define SD_COLLECT_SHARED_C_STACK_H
/* c_stack: says how much of this thread's C stack is left.
 *
 * A hook on the evaluation of frames makes Python's recursion go through the C stack
 * where it did not (3.11), and a program may recurse deeper than that goes.  Whoever
 * has such a hook asks here, and steps aside in time. */
#include <stdbool.h>
#include <stdint.h>

enum { SD_C_STACK_LEFT = 256 * 1024 };

/* Addresses below this one have little stack left; not yet known: every one has. */
extern _Thread_local __attribute__((tls_model("initial-exec")))
uintptr_t sd_c_stack_low;
bool sd_c_stack_is_short_now(uintptr_t here); /* the slow part */

/* hot: is there less than SD_C_STACK_LEFT (a quarter, of a small stack) left? */
static inline bool sd_c_stack_is_short(void)
{
    uintptr_t here;

    __asm__("mov %%rsp, %0" : "=r"(here));
    return __builtin_expect(here < sd_c_stack_low, 0) && sd_c_stack_is_short_now(here);
}
#endif
