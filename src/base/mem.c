/* SPDX-License-Identifier: MIT */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"

/* The only state is the tests' request to see an allocation fail.  While there is none
 * an allocation pays one relaxed load of a word that nobody writes. */
static _Atomic bool is_watched;
static _Atomic size_t n_asked, fail_nth;
static _Atomic bool fails_after;

static bool must_fail(void)
{
    size_t nth;

    if (__builtin_expect(!atomic_load_explicit(&is_watched, memory_order_relaxed), 1))
        return false;
    nth = atomic_fetch_add(&n_asked, 1) + 1;
    return nth == atomic_load(&fail_nth) ||
           (nth > atomic_load(&fail_nth) && atomic_load(&fails_after));
}

/* malloc(0) may be NULL without being out of memory, so nothing of 0 bytes is asked. */
static size_t at_least_one(size_t n) { return n ? n : 1; }

void *sd_alloc(size_t n) { return must_fail() ? NULL : malloc(at_least_one(n)); }

void *sd_zalloc(size_t n) { return must_fail() ? NULL : calloc(1, at_least_one(n)); }

void *sd_regrow(void *p, size_t n)
{
    return must_fail() ? NULL : realloc(p, at_least_one(n));
}

void sd_free(void *p) { free(p); }

char *sd_strdup(const char *s) { return sd_strndup(s, strlen(s)); }

char *sd_strndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *copy = sd_alloc(len + 1);

    if (copy) {
        memcpy(copy, s, len);
        copy[len] = 0;
    }
    return copy;
}

/* Small enough that nothing is wasted on the many arrays that stay small; TINY makes
 * even those grow. */
#ifdef SD_TINY
enum { FIRST_BYTES = 1 };
#else
enum { FIRST_BYTES = 64 };
#endif

static size_t first_cap(size_t size)
{
    return size < FIRST_BYTES ? FIRST_BYTES / size : 1;
}

void *sd_grow_array(void *p, size_t *cap, size_t need, size_t size)
{
    size_t wanted = *cap ? *cap : first_cap(size);
    size_t bytes;

    sd_assert(size > 0);
    if (p && need <= *cap)
        return p;
    while (wanted < need) {
        if (__builtin_mul_overflow(wanted, 2, &wanted))
            return NULL;
    }
    sd_assert(wanted >= need);
    if (__builtin_mul_overflow(wanted, size, &bytes))
        return NULL;
    p = sd_regrow(p, bytes);
    if (p)
        *cap = wanted;
    return p;
}

bool sd_mem_is_refused(void) { return must_fail(); }

int sd_no_memory(void) { return sd_fail(SD_ENOMEM, "out of memory"); }

size_t sd_mem_fail_at(size_t nth, bool and_after)
{
    size_t asked;

    atomic_store(&is_watched, false);
    asked = atomic_exchange(&n_asked, 0);
    atomic_store(&fail_nth, nth);
    atomic_store(&fails_after, and_after);
    atomic_store(&is_watched, nth != 0);
    return asked;
}
