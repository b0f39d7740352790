/* SPDX-License-Identifier: MIT */
#include "base/assert.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static _Atomic(sd_assert_handler *) handler_set;

/* The one place outside cli that prints and aborts: a program of ours whose own
 * reasoning is wrong must not go on to write files, and nobody above it can be
 * trusted to say so.  A guest sets its own handler first and never comes here. */
static void print_and_abort(const char *file, int line, const char *claim)
{
    fprintf(stderr, "%s:%d: sonde is mistaken: \"%s\" does not hold\n", file, line,
            claim);
    abort();
}

void sd_assert_set_handler(sd_assert_handler *handler)
{
    atomic_store(&handler_set, handler);
}

void sd_assert_broken(const char *file, int line, const char *claim)
{
    sd_assert_handler *handler = atomic_load(&handler_set);

    (handler ? handler : print_and_abort)(file, line, claim);
}
