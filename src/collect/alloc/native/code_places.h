/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_CODE_PLACES_H
#define SD_ALLOC_CODE_PLACES_H
/* code_places: what is known of places in native code: how to get to the caller, and
 * which function it is.
 *
 * A place that is known is found without a lock; it is read from the object's tables
 * when it is first met, and its function is named then, too: a capture holds all names
 * at any moment.  After a fork all of it goes on in the child. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/alloc/native/call_frames.h"

struct sd_code_place {    /* written once, `key` last */
    _Atomic uint64_t key; /* the address; 0: empty */
    struct sd_frame_rule rule;
    uint32_t function; /* its number, from 1 on */
    uint8_t role;      /* enum sd_native_role, or ... */
};
enum {
    SD_ROLE_OURS = 100, /* ... this: Sonde's own ... */
    SD_ROLE_NAMELESS,   /* ... or this: a plain one whose name is not known */
};

struct sd_code_places {
    uint64_t mask;
    struct sd_code_place slots[];
};
extern _Atomic(struct sd_code_places *) sd_code_places;

/* Numbers of what stands for functions that are not known. */
enum sd_no_function {
    SD_FUNCTION_STOPPED = 1, /* outer ones are missing */
    SD_FUNCTION_UNPLACED,    /* it is not known where they belong */
    SD_FUNCTION_UNKNOWN,     /* an address outside of all objects */
};

/* may_call: the program's malloc may be called (names of C++ are written out). */
const struct sd_code_place *sd_code_place_add(uintptr_t at, bool may_call);

/* hot: of the instruction at this address; NULL: there is no memory. */
static inline const struct sd_code_place *sd_code_place_at(uintptr_t at, bool may_call)
{
    const struct sd_code_places *all =
        atomic_load_explicit(&sd_code_places, memory_order_acquire);
    uint64_t hash = at * 0x9E3779B97F4A7C15u >> 20;

    for (; all; hash++) {
        const struct sd_code_place *p = &all->slots[hash & all->mask];
        uint64_t key = atomic_load_explicit(&p->key, memory_order_acquire);

        if (key == at)
            return p;
        if (key == 0)
            break;
    }
    return sd_code_place_add(at, may_call);
}

struct sd_native_function {
    const char *name, *file; /* not ended by a 0; they stay */
    uint32_t name_n, file_n;
};
/* The function of this number. */
struct sd_native_function sd_native_function(uint32_t number);

/* Objects may have been loaded and unloaded. */
void sd_code_places_update(void);
/* In the child of a fork: another thread may have held the lock. */
void sd_code_places_after_fork(void);
#endif
