/* SPDX-License-Identifier: MIT */
#include "collect/shared/c_stack.h"

#include <pthread.h>
#include <stddef.h>

_Thread_local __attribute__((tls_model("initial-exec"))) uintptr_t sd_c_stack_low =
    UINTPTR_MAX;

static void find_stack(void)
{
    pthread_attr_t attr;
    void *low;
    size_t n;

    sd_c_stack_low = 0;
    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return;
    if (pthread_attr_getstack(&attr, &low, &n) == 0)
        sd_c_stack_low =
            (uintptr_t)low + (n / 4 < SD_C_STACK_LEFT ? n / 4 : SD_C_STACK_LEFT);
    pthread_attr_destroy(&attr);
}

/* A stack that lies elsewhere (coroutines of C libraries) is not judged. */
bool sd_c_stack_is_short_now(uintptr_t here)
{
    if (sd_c_stack_low == UINTPTR_MAX)
        find_stack();
    return here < sd_c_stack_low && sd_c_stack_low - here <= SD_C_STACK_LEFT;
}
