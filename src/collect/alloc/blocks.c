/* SPDX-License-Identifier: MIT */
#include "collect/alloc/blocks.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/ranges.h"
#include "capture/cells.h"
#include "collect/alloc/recorder.h"
#include "collect/alloc/stacks.h"
#include "collect/alloc/traces.h"
#include "collect/peak.h"
#include "process/usage.h"

enum {
    FIRST_SLOTS = 1 << 12,
    SUM_BITS = 26, /* of a block's number of its sum; the size is above */
};
#define LARGEST ((UINT64_C(1) << (64 - SUM_BITS)) - 1)
#define SUM(value) ((value) & ((UINT64_C(1) << SUM_BITS) - 1))
/* Beside the sum of a mapping: what is left above a hole, and no block of its own. */
#define REST (UINT64_C(1) << SUM_BITS)
/* Of what was freed last: it was a mapping. */
#define IS_RANGE (UINT64_C(1) << (SUM_BITS + 1))

_Static_assert((FIRST_SLOTS & (FIRST_SLOTS - 1)) == 0, "slots are found by a mask");
_Static_assert(SUM_BITS + 1 < 64, "IS_RANGE is a bit above that of REST");

struct slot {
    uint64_t address; /* 0: empty */
    uint64_t size_sum;
};

static struct {
    _Atomic bool is_locked;
    struct sd_cells *cells; /* of sums; beside the stacks */
    struct sd_alloc_sum_root *root;
    struct slot *slots; /* mapped */
    size_t n, n_slots;
    struct sd_ranges mapped; /* blocks that are mappings, or larger than LARGEST */
    uint32_t *sums;          /* mapped; by stack: its cell of sums, 0: none */
    size_t n_sums;
    uint32_t tick;
} blocks;

static void unlock(void)
{
    atomic_store_explicit(&blocks.is_locked, false, memory_order_release);
}

/* No one waits for long: what is done under it is some hundred instructions.  False:
 * the recording has ended, and nothing is locked. */
static bool lock(void)
{
    bool has_begun;

    while (atomic_exchange_explicit(&blocks.is_locked, true, memory_order_acquire))
        sched_yield();
    has_begun = blocks.cells != NULL;
    if (!has_begun)
        unlock();
    return has_begun;
}

static void *map(size_t bytes)
{
    void *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* --- Live blocks ----------------------------------------------------------------- */

static size_t home(uint64_t address)
{
    return (address >> 3) * 0x9E3779B97F4A7C15u >> 20 & (blocks.n_slots - 1);
}

static size_t next(size_t i) { return (i + 1) & (blocks.n_slots - 1); }

static void put(uint64_t address, uint64_t size_sum)
{
    size_t i = home(address);

    sd_assert_slow(address != 0 && blocks.n < blocks.n_slots); /* or this has no end */
    while (blocks.slots[i].address)
        i = next(i);
    blocks.slots[i] = (struct slot){ address, size_sum };
    blocks.n++;
}

static bool make_room(void)
{
    struct slot *was = blocks.slots;
    size_t n_was = blocks.n_slots, n = n_was ? 2 * n_was : FIRST_SLOTS;

    if (blocks.n < n_was - n_was / 4)
        return true;
    blocks.slots = map(n * sizeof *was);
    if (!blocks.slots) {
        blocks.slots = was;
        return blocks.n + 1 < n_was;
    }
    blocks.n_slots = n;
    blocks.n = 0;
    for (size_t i = 0; i < n_was; i++)
        if (was[i].address)
            put(was[i].address, was[i].size_sum);
    if (was)
        munmap(was, n_was * sizeof *was);
    return true;
}

/* Takes the block out; false: it is not known. */
static bool take(uint64_t address, uint64_t *size_sum)
{
    size_t i = home(address), gap;

    while (blocks.slots[i].address != address) {
        if (!blocks.slots[i].address)
            return false;
        i = next(i);
    }
    *size_sum = blocks.slots[i].size_sum;
    gap = i;
    for (i = next(i); blocks.slots[i].address; i = next(i)) {
        size_t wants = home(blocks.slots[i].address);

        if (((i - wants) & (blocks.n_slots - 1)) < ((i - gap) & (blocks.n_slots - 1)))
            continue;
        blocks.slots[gap] = blocks.slots[i];
        gap = i;
    }
    blocks.slots[gap].address = 0;
    sd_assert(blocks.n > 0);
    blocks.n--;
    return true;
}

/* --- Sums ------------------------------------------------------------------------ */

static struct sd_alloc_sum_cell *cell_at(uint64_t i)
{
    return sd_cells_at(blocks.cells, (uint32_t)i);
}

static bool grow_sums(uint32_t stack)
{
    size_t n = blocks.n_sums ? blocks.n_sums : 1024;
    void *p;

    if (stack < blocks.n_sums)
        return true;
    while (n <= stack)
        n *= 2;
    p = blocks.sums ? mremap(blocks.sums, blocks.n_sums * sizeof *blocks.sums,
                             n * sizeof *blocks.sums, MREMAP_MAYMOVE)
                    : map(n * sizeof *blocks.sums);
    if (!p || p == MAP_FAILED)
        return false;
    blocks.sums = p;
    blocks.n_sums = n;
    return true;
}

/* The number of the stack's cell; 0: there is no room. */
static uint32_t sum_of(uint32_t stack)
{
    struct sd_alloc_sum_cell fresh = { .stack = stack };
    uint32_t i;

    if (!grow_sums(stack))
        return 0;
    if (blocks.sums[stack])
        return blocks.sums[stack];
    sd_alloc_stacks_lock();
    i = sd_cells_add(blocks.cells, &fresh);
    sd_alloc_stacks_unlock();
    if (i == SD_NO_CELL || i >= 1u << SUM_BITS)
        return 0;
    blocks.sums[stack] = i;
    return i;
}

/* What was live at the last peak is noted when it changes for the first time after. */
static struct sd_alloc_sum_cell *touch(uint64_t i)
{
    struct sd_alloc_sum_cell *c = cell_at(i);

    if (c->epoch != blocks.root->epoch) {
        c->peak_count = c->live_count;
        c->peak_bytes = c->live_bytes;
        c->epoch = blocks.root->epoch;
    }
    return c;
}

static bool is_heap(enum sd_allocator by)
{
    return by != SD_BY_FILE && by != SD_BY_RESERVED;
}

/* `heap`: what of it counts for the process. */
static void live_more(struct sd_alloc_sum_cell *c, int64_t count, int64_t bytes,
                      int64_t heap)
{
    struct sd_alloc_sum_root *r = blocks.root;

    c->live_count += (uint64_t)count;
    c->live_bytes += (uint64_t)bytes;
    r->live_bytes += (uint64_t)heap;
    if (r->live_bytes > r->peak_bytes) {
        r->peak_bytes = r->live_bytes;
        r->epoch++;
    }
}

/* Sums of file mappings and reserved ones do not say by what they are: the stacks do.
 */
static bool is_heap_sum(uint64_t i)
{
    const struct sd_alloc_stack_cell *s =
        sd_cells_at(sd_alloc_stacks_cells(), cell_at(i)->stack);

    return is_heap((enum sd_allocator)(s->flags & SD_ALLOC_ALLOCATOR));
}

static void live_less(uint64_t i, uint64_t count, uint64_t bytes)
{
    live_more(touch(i), -(int64_t)count, -(int64_t)bytes,
              is_heap_sum(i) ? -(int64_t)bytes : 0);
}

/* Every 10 ms: when the peak was, and what is resident. */
static void look_at_time(void)
{
    static uint64_t was_peak;
    struct sd_usage usage;
    uint32_t tick = atomic_load_explicit(sd_alloc_recorder.tick, memory_order_relaxed);

    if (__builtin_expect(tick == blocks.tick, 1))
        return;
    blocks.tick = tick;
    if (blocks.root->peak_bytes != was_peak)
        blocks.root->peak_ns = sd_clock_ns();
    was_peak = blocks.root->peak_bytes;
    if (sd_usage_read(sd_peak_usage_reader(), SD_USAGE_MEMORY, &usage) == 0 &&
        usage.rss_bytes > (int64_t)blocks.root->peak_rss) {
        blocks.root->peak_rss = (uint64_t)usage.rss_bytes;
        blocks.root->rss_live_bytes = blocks.root->live_bytes;
    }
}

/* --- Mappings -------------------------------------------------------------------- */

struct hole {
    uint64_t from, to;
    uint64_t above_to, value; /* of what is left of one mapping above it; 0: none is */
    bool is_hit;
};

/* A block is gone with all of its first part. */
static void lose_range(void *of, const struct sd_range *was, uint64_t bytes)
{
    bool is_whole = bytes == was->to - was->from && !(was->value & REST);
    struct hole *hole = of;

    live_less(SUM(was->value), is_whole, bytes);
    hole->is_hit = true;
    if (was->from < hole->from && hole->to < was->to) {
        hole->above_to = was->to;
        hole->value = was->value;
    }
}

/* False: nothing was there. */
static bool unmap(uint64_t address, uint64_t size)
{
    struct hole hole = { .from = address, .to = address + size };

    if (hole.to < address)
        hole.to = UINT64_MAX;
    sd_ranges_cut(&blocks.mapped, address, hole.to - address, lose_range, &hole);
    if (hole.above_to && !(hole.value & REST)) {
        sd_ranges_cut(&blocks.mapped, hole.to, hole.above_to - hole.to, NULL, NULL);
        sd_ranges_add(&blocks.mapped, hole.to, hole.above_to - hole.to,
                      hole.value | REST);
    }
    return hole.is_hit;
}

/* --- */

static void add(uint64_t address, uint64_t size, uint32_t sum, enum sd_allocator by)
{
    struct sd_alloc_sum_cell *c = touch(sum);
    uint64_t was;

    if (sd_allocator_maps(by) || size > LARGEST) {
        blocks.root->overlaps += unmap(address, size);
        sd_ranges_add(&blocks.mapped, address, size, sum);
        c = touch(sum);
    } else {
        if (take(address, &was)) { /* its free was not seen */
            blocks.root->overlaps++;
            live_less(SUM(was), 1, was >> SUM_BITS);
            c = touch(sum);
        }
        put(address, size << SUM_BITS | sum);
    }
    live_more(c, 1, (int64_t)size, is_heap(by) ? (int64_t)size : 0);
}

void sd_blocks_add(struct sd_alloc_thread *t, const void *p, size_t size,
                   uint32_t stack, enum sd_allocator by)
{
    uint32_t sum,
        tick = atomic_load_explicit(sd_alloc_recorder.tick, memory_order_relaxed);

    if (__builtin_expect(tick != t->tick, 0)) {
        t->tick = tick;
        t->wants |= SD_WANTS_LOOK;
    }
    if (!lock())
        return;
    look_at_time();
    sum = stack ? sum_of(stack) : 0;
    if (sum && make_room()) {
        struct sd_alloc_sum_cell *c = touch(sum);

        c->count++;
        c->bytes += size;
        add((uint64_t)(uintptr_t)p, size, sum, by);
    } else {
        sd_cells_lose(blocks.cells, 1);
    }
    unlock();
}

/* False: the block is not known. */
static bool remove_block(struct sd_alloc_thread *t, uint64_t address)
{
    const struct sd_range *range;
    uint64_t was = 0;

    if (blocks.n_slots && take(address, &was)) {
        t->ended = SUM(was);
        t->ended_bytes = was >> SUM_BITS;
        live_less(SUM(was), 1, was >> SUM_BITS);
    } else if ((range = sd_ranges_find(&blocks.mapped, address))) {
        t->ended = range->value | IS_RANGE;
        t->ended_bytes = range->to - range->from;
        unmap(address, t->ended_bytes);
    } else {
        return false;
    }
    return true;
}

void sd_blocks_remove(struct sd_alloc_thread *t, const void *p)
{
    t->ended = t->ended_bytes = 0;
    if (!lock())
        return;
    if (!remove_block(t, (uint64_t)(uintptr_t)p))
        blocks.root->unknown_frees++;
    unlock();
}

void sd_blocks_drop(struct sd_alloc_thread *t, const void *p)
{
    uint64_t ended = t->ended, ended_bytes = t->ended_bytes;

    if (!lock())
        return;
    remove_block(t, (uint64_t)(uintptr_t)p);
    unlock();
    t->ended = ended;
    t->ended_bytes = ended_bytes;
}

/* Takes back what sd_blocks_remove did. */
static void live_again(uint64_t address, uint64_t was, uint64_t size)
{
    bool is_heap_again = is_heap_sum(SUM(was));

    if (was & IS_RANGE)
        sd_ranges_add(&blocks.mapped, address, size, was & ~IS_RANGE);
    else if (make_room())
        put(address, size << SUM_BITS | SUM(was));
    else
        return;
    live_more(touch(SUM(was)), !(was & REST), (int64_t)size,
              is_heap_again ? (int64_t)size : 0);
}

void sd_blocks_undo(struct sd_alloc_thread *t, const void *p)
{
    if (!lock())
        return;
    if (t->ended)
        live_again((uint64_t)(uintptr_t)p, t->ended, t->ended_bytes);
    else
        blocks.root->unknown_frees--;
    unlock();
}

void sd_blocks_unmap(const void *p, size_t size)
{
    if (!lock())
        return;
    unmap((uint64_t)(uintptr_t)p, size);
    unlock();
}

/* As sd_alloc_stacks_begin: what a parent had is left as it is. */
int sd_blocks_begin(void)
{
    static const struct sd_alloc_sum_root root = { .epoch = 1 };
    struct sd_cells *cells;
    int rc = sd_cells_beside(sd_alloc_stacks_cells(), SD_CELLS_ALLOC_SUMS, sizeof root,
                             &cells);

    if (rc < 0)
        return rc;
    memset(&blocks, 0, sizeof blocks);
    blocks.cells = cells;
    if (sd_cells_add(cells, &root) == SD_NO_CELL || !make_room())
        return sd_cells_refused(cells);
    blocks.root = sd_cells_at(cells, 0);
    return 0;
}

/* The cells go with the table of stacks. */
void sd_blocks_end(void)
{
    if (!lock())
        return;
    if (blocks.slots)
        munmap(blocks.slots, blocks.n_slots * sizeof *blocks.slots);
    if (blocks.sums)
        munmap(blocks.sums, blocks.n_sums * sizeof *blocks.sums);
    sd_ranges_release(&blocks.mapped);
    blocks.cells = NULL;
    blocks.root = NULL;
    blocks.slots = NULL;
    blocks.sums = NULL;
    blocks.n = blocks.n_slots = blocks.n_sums = 0;
    unlock();
}

/* --- What lives now */

bool sd_blocks_lock(void) { return lock(); }
void sd_blocks_unlock(void) { unlock(); }

void sd_blocks_figures(uint64_t *live_bytes, uint64_t *peak_bytes, uint64_t *own_bytes)
{
    if (!lock())
        return;
    *live_bytes = blocks.root->live_bytes;
    *peak_bytes = blocks.root->peak_bytes;
    *own_bytes = blocks.n * sizeof *blocks.slots + blocks.n_sums * sizeof *blocks.sums +
                 sd_cells_n(blocks.cells) * sizeof(struct sd_alloc_sum_cell);
    unlock();
}

void sd_blocks_reset_peak(void)
{
    if (!lock())
        return;
    blocks.root->peak_bytes = blocks.root->live_bytes;
    blocks.root->epoch++;
    unlock();
}

void sd_blocks_clear(void)
{
    if (!lock())
        return;
    madvise(blocks.slots, blocks.n_slots * sizeof *blocks.slots, MADV_DONTNEED);
    blocks.n = 0;
    sd_ranges_release(&blocks.mapped);
    for (uint32_t i = 1; i < sd_cells_n(blocks.cells); i++)
        touch(i)->live_count = touch(i)->live_bytes = 0;
    blocks.root->live_bytes = blocks.root->peak_bytes = 0;
    blocks.root->epoch++;
    unlock();
}

static struct sd_trace trace_of(uint64_t address, uint64_t size, uint64_t sum)
{
    return (struct sd_trace){ address, size, cell_at(SUM(sum))->stack };
}

size_t sd_blocks_copy(struct sd_trace *to, size_t room)
{
    size_t n, at = 0;

    if (!lock())
        return 0;
    n = blocks.n + blocks.mapped.n;
    for (size_t i = 0; n <= room && i < blocks.n_slots; i++)
        if (blocks.slots[i].address)
            to[at++] =
                trace_of(blocks.slots[i].address, blocks.slots[i].size_sum >> SUM_BITS,
                         blocks.slots[i].size_sum);
    for (size_t i = 0; n <= room && i < blocks.mapped.n; i++) {
        const struct sd_range *r = &blocks.mapped.at[i];

        to[at++] = trace_of(r->from, r->to - r->from, r->value);
    }
    unlock();
    return n;
}

bool sd_blocks_find(uint64_t address, struct sd_trace *out)
{
    const struct sd_range *range;
    bool is_there = false;
    size_t i;

    if (!lock())
        return false;
    for (i = home(address); blocks.slots[i].address; i = next(i))
        if (blocks.slots[i].address == address) {
            uint64_t value = blocks.slots[i].size_sum;

            *out = trace_of(address, value >> SUM_BITS, value);
            is_there = true;
            break;
        }
    range = is_there ? NULL : sd_ranges_find(&blocks.mapped, address);
    if (range)
        *out = trace_of(address, range->to - range->from, range->value);
    unlock();
    return is_there || range;
}
