/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_STACKS_H
#define SD_ALLOC_STACKS_H
/* stacks: numbers the stacks of this process, in its table
 * (capture/alloc/alloc_cell.h).
 *
 * A stack is a node: its parent, and a place in a code object.  Known nodes are found
 * without a lock, by any thread; a new one is added under the lock.
 *
 * A place is an address in a code object that lives.  When a code object is freed, its
 * nodes are taken out of the index, so that another one at the same address gets nodes
 * of its own. */
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/alloc/alloc_cell.h"

struct sd_writer;

/* What a code object is called. */
struct sd_alloc_code_name {
    char name[PATH_MAX], qualname[PATH_MAX], file[PATH_MAX];
    size_t name_n, qualname_n, file_n; /* bytes; 0: it has none */
    uint32_t line;                     /* its first */
};

/* What a node is known by. */
struct sd_alloc_key {
    uint64_t place;  /* what identifies code and instruction; low numbers are none */
    uint32_t parent; /* node; 0: none */
    uint32_t by;     /* enum sd_allocator; 0: the stack goes on */
};

/* What a new node is: its code object (NULL: no Python), and the line there. */
struct sd_alloc_frame {
    const void *code;
    uint32_t line;
    uint32_t flags;  /* beside `by` (enum sd_alloc_stack_flags) */
    uint32_t native; /* number of a native function (code_places.h); 0: it is none */
};

/* The allocator is kept with the parent, so that two comparisons tell a slot. */
enum { SD_ALLOC_PARENT_BITS = 27 };
static inline uint32_t sd_alloc_below(const struct sd_alloc_key *k)
{
    return k->parent | k->by << SD_ALLOC_PARENT_BITS;
}

struct sd_alloc_slot {   /* of the index; written once, `id` last */
    uint64_t place;      /* 0: its code object is gone */
    uint32_t below;      /* sd_alloc_below */
    _Atomic uint32_t id; /* 0: empty */
};

struct sd_alloc_index {
    uint64_t mask;
    struct sd_alloc_slot slots[];
};

enum { SD_CODE_BITS = 1 << 16 };

/* What is read without the lock; stacks.c writes it. */
struct sd_alloc_stacks {
    _Atomic(struct sd_alloc_index *) index;
    _Atomic uint32_t n_deaths; /* of code objects: what is remembered of a walk holds
                                  until it changes */
    uint64_t code_bits[SD_CODE_BITS / 64]; /* may there be a code object here? */
};
extern struct sd_alloc_stacks sd_alloc_stacks;

static inline uint64_t sd_alloc_hash(uint64_t place, uint32_t below)
{
    uint64_t h = place * 0x9E3779B97F4A7C15u ^ below * 0xD6E8FEB86659FD93u;

    return h ^ h >> 32;
}

/* hot: the node of this key, or 0. */
static inline uint32_t sd_alloc_find(const struct sd_alloc_stacks *s,
                                     const struct sd_alloc_key *k)
{
    const struct sd_alloc_index *ix =
        atomic_load_explicit(&s->index, memory_order_acquire);
    uint32_t below = sd_alloc_below(k);

    for (uint64_t at = sd_alloc_hash(k->place, below);; at++) {
        const struct sd_alloc_slot *slot = &ix->slots[at & ix->mask];
        uint32_t id = atomic_load_explicit(&slot->id, memory_order_acquire);

        if (id == 0 || (slot->place == k->place && slot->below == below))
            return id;
    }
}

/* Adds it unless it is there by now; 0: there is no room. */
uint32_t sd_alloc_add(const struct sd_alloc_key *k, const struct sd_alloc_frame *f);
/* The node of what allocates outside of all code, in a thread that was created by this
 * stack; likewise. */
uint32_t sd_alloc_no_frame(uint32_t creator, enum sd_allocator by);

/* hot: may the object at p be a code object that is known? */
static inline bool sd_alloc_may_be_code(const struct sd_alloc_stacks *s, const void *p)
{
    uint64_t bit = ((uint64_t)(uintptr_t)p >> 4) * 0x9E3779B97F4A7C15u >> 48;

    return s->code_bits[bit / 64] >> bit % 64 & 1;
}
/* The object at p is about to be freed. */
void sd_alloc_code_dies(const void *p);

/* Begins, in a table of this writer, or with NULL in memory; in the child of a fork
 * once more.  0 or < 0. */
int sd_alloc_stacks_begin(struct sd_writer *w);
/* The table ends, and all memory behind it but the index, into which a thread may be
 * looking: the next table begins with it. */
void sd_alloc_stacks_end(void);
/* In the child of a fork, before anything else: what the parent had is left alone. */
void sd_alloc_stacks_forget(void);
/* The table's stream, to be named in logs. */
uint64_t sd_alloc_stacks_table(void);
/* Runs `f` while no node is added, for what uses the same table. */
void sd_alloc_stacks_lock(void);
void sd_alloc_stacks_unlock(void);
struct sd_cells *sd_alloc_stacks_cells(void);
/* What all of it takes. */
uint64_t sd_alloc_stacks_bytes(void);
#endif
