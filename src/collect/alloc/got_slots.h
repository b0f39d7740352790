/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_GOT_SLOTS_H
#define SD_ALLOC_GOT_SLOTS_H
/* got_slots: the words of loaded objects through which they call functions of each
 * other (the GOT, and tables of pointers that the dynamic linker fills in), changed so
 * that calls of some functions go to ours, and changed back.
 *
 * A slot is changed only if it holds the original, or is not bound yet: it may have
 * been bound to another function of that name, or be a variable that the program has
 * set since.  Pages that are read-only after relocation are so again afterwards.
 *
 * The dynamic linker and our own object keep their slots.  All work is done in a
 * callback of dl_iterate_phdr: no object is unloaded meanwhile. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/alloc/originals.h"

struct sd_patched_object; /* an object whose slots have been looked at */

struct sd_got_slots {            /* all zero is none */
    const struct sd_hook *hooks; /* borrowed */
    size_t n_hooks;
    uint64_t letters; /* with which their names begin: a set */
    struct sd_originals originals;
    struct sd_patched_object *objects; /* owned; in the linker's order, mostly */
    size_t n_objects, cap_objects;
    uint64_t n_loaded, n_unloaded; /* as the linker counted when all was done */
    uint64_t pass;                 /* the number of the last walk */
    bool is_settled;               /* every object was complete then */
    _Atomic bool has_deep_binding; /* an object has been opened with RTLD_DEEPBIND */
    _Atomic int32_t busy_pid;      /* process in which a thread walks; 0: none */
    _Atomic uintptr_t held_by;     /* over a fork, by this thread; 0: by none */
    bool is_forked;                /* this is the child of a fork, which ... */
    _Atomic bool has_opened;       /* ... has opened an object itself */
};

struct sd_got_counts {
    uint64_t n_objects; /* with a changed slot */
    uint64_t n_changed;
    uint64_t n_left;    /* bound to something else, or to what nobody can know yet */
    uint64_t n_refused; /* that could not be written */
};

/* Changes the slots of all objects.  The hooks are borrowed until the end. */
int sd_got_slots_start(struct sd_got_slots *s, const struct sd_originals *originals,
                       const struct sd_hook *hooks, size_t n);
/* Does the same for objects that were loaded since; costs little when there are none.
 * Any thread, not in a signal handler. */
void sd_got_slots_update(struct sd_got_slots *s);
/* An object is about to be opened; with RTLD_DEEPBIND. */
void sd_got_slots_expect(struct sd_got_slots *s, bool has_deep_binding);
/* A fork: no thread of ours is in the linker meanwhile, as its lock over the list of
 * objects would stay locked in the child.  Another thread may be: so the child looks at
 * objects only when it has opened one itself, for which it needed that lock, too. */
void sd_got_slots_before_fork(struct sd_got_slots *s);
void sd_got_slots_after_fork(struct sd_got_slots *s, bool is_child);
/* Gives each slot back what it held, unless it was changed again since.  Where another
 * thread of a parent was in the linker all stay as they are, for the next start. */
void sd_got_slots_stop(struct sd_got_slots *s);
struct sd_got_counts sd_got_slots_count(const struct sd_got_slots *s);
#endif
