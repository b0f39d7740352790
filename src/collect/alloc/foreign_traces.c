/* SPDX-License-Identifier: MIT */
#include "collect/alloc/foreign_traces.h"

#include <stdatomic.h>
#include <stddef.h>

#include "capture/alloc/alloc_cell.h"
#include "collect/alloc/got_slots.h"
#include "collect/alloc/recorder.h"

enum {
    FIRST_BY = 24, /* above all allocators that captures know */
    MOST_DOMAINS = SD_ALLOCATORS - FIRST_BY,
};
#define ALLOCATOR(id, value, name, layer)                                              \
    _Static_assert(value < FIRST_BY, "domains stand above allocators");
#include "capture/alloc/allocators.def"
#undef ALLOCATOR

typedef int track_function(unsigned domain, uintptr_t address, size_t size);
typedef int untrack_function(unsigned domain, uintptr_t address);

/* Each is its domain plus one once it is known; 0 is free. */
static _Atomic uint64_t domains[MOST_DOMAINS];
static struct sd_got_slots slots;
static struct sd_originals originals;

/* 0: there are too many domains. */
static uint32_t by_of(unsigned domain)
{
    for (uint32_t i = 0; i < MOST_DOMAINS; i++) {
        uint64_t was = 0;

        if (atomic_compare_exchange_strong(&domains[i], &was, domain + UINT64_C(1)) ||
            was == domain + UINT64_C(1))
            return FIRST_BY + i;
    }
    return 0;
}

unsigned sd_foreign_traces_domain(uint32_t by)
{
    return by < FIRST_BY ? 0 : (unsigned)(atomic_load(&domains[by - FIRST_BY]) - 1);
}

static const void *block_of(unsigned domain, uintptr_t address)
{
    return (const void *)(domain ? address | 1 : address);
}

static track_function hook_track;
static untrack_function hook_untrack;

static struct sd_hook hooks[] = {
    { "PyTraceMalloc_Track", (void *)hook_track, SD_HOOK_HEAP, SD_HOOK_ANY, NULL,
      NULL },
    { "PyTraceMalloc_Untrack", (void *)hook_untrack, SD_HOOK_HEAP, SD_HOOK_ANY, NULL,
      NULL },
};
enum { N_HOOKS = sizeof hooks / sizeof *hooks };

/* Any thread, with the interpreter's lock or without.  CPython's own is told, too: it
 * may trace besides. */
static int hook_track(unsigned domain, uintptr_t address, size_t size)
{
    int rc = ((track_function *)hooks[0].original)(domain, address, size);
    uint32_t by = domain ? by_of(domain) : SD_BY_OBJECT;
    struct sd_alloc_thread *t = by ? sd_alloc_enter() : NULL;

    if (!t)
        return rc;
    sd_alloc_began(t, block_of(domain, address), size, (enum sd_allocator)by);
    sd_alloc_leave(t);
    return 0;
}

static int hook_untrack(unsigned domain, uintptr_t address)
{
    int rc = ((untrack_function *)hooks[1].original)(domain, address);
    struct sd_alloc_thread *t = sd_alloc_enter();

    if (!t)
        return rc;
    sd_alloc_ends(t, block_of(domain, address));
    sd_alloc_leave(t);
    return 0;
}

void sd_foreign_traces_start(void)
{
    if (!hooks[0].original && sd_originals_find(&originals, hooks, N_HOOKS) < 0)
        return;
    if (hooks[0].original && hooks[1].original)
        sd_got_slots_start(&slots, &originals, hooks, N_HOOKS);
}

void sd_foreign_traces_stop(void)
{
    if (slots.hooks)
        sd_got_slots_stop(&slots);
}

void sd_foreign_traces_update(void)
{
    if (slots.hooks)
        sd_got_slots_update(&slots);
}

void sd_foreign_traces_before_fork(void) { sd_got_slots_before_fork(&slots); }

void sd_foreign_traces_after_fork(bool is_child)
{
    sd_got_slots_after_fork(&slots, is_child);
}
