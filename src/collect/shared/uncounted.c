/* SPDX-License-Identifier: MIT */
#include "collect/shared/uncounted.h"

#include <stdatomic.h>
#include <stddef.h>

static _Atomic(sd_uncounted_hear *) hears;

static void say(bool begins)
{
    sd_uncounted_hear *hear = atomic_load_explicit(&hears, memory_order_relaxed);

    if (hear)
        hear(begins);
}

void sd_uncounted_tell(sd_uncounted_hear *hear) { atomic_store(&hears, hear); }
void sd_uncounted_begin(void) { say(true); }
void sd_uncounted_end(void) { say(false); }
