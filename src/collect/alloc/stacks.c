/* SPDX-License-Identifier: MIT */
#include "collect/alloc/stacks.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/table.h"
#include "capture/alloc/alloc_cell.h"
#include "capture/cells.h"
#include "collect/alloc/native/code_places.h"
#include "collect/alloc/recorder.h"

enum {
    FIRST_SLOTS = 1 << 12,
    MOST_NODES = (1 << SD_ALLOC_PARENT_BITS) - 1,
    NO_PLACE = 0,
    NO_FRAME = 1, /* as a place: outside all code */
};
_Static_assert(SD_ALLOCATORS <= 1 << (32 - SD_ALLOC_PARENT_BITS),
               "an allocator fits beside a parent");

struct node {
    uint64_t place; /* 0: its code object is gone */
    uint32_t below;
    uint32_t next; /* the node of the same code object before it, or 0 */
};

struct code {
    uint32_t site, last; /* its newest node */
};

struct sd_alloc_stacks sd_alloc_stacks;

/* All below is read and written under the lock alone. */
static struct {
    _Atomic bool is_locked;
    struct sd_cells *table;
    uint64_t stream;    /* of the table */
    struct node *nodes; /* mapped; the cell of the same number is in the table */
    size_t n, cap;
    size_t n_slots;        /* that are taken, those of nodes that are gone too */
    struct sd_table codes; /* address of a code object: place in the next, plus one */
    struct code *known;    /* mapped */
    size_t n_known, cap_known;
    struct sd_table strings;        /* hash of a text: its id in the table */
    struct sd_table natives;        /* number of a native function: its site */
    struct sd_alloc_code_name name; /* of the code object at hand */
} stacks;

/* --- The lock -------------------------------------------------------------------- */

/* Held for some hundred nanoseconds, rarely for a page of the table; no signal handler
 * and nothing of the program runs meanwhile. */
void sd_alloc_stacks_lock(void)
{
    while (atomic_exchange_explicit(&stacks.is_locked, true, memory_order_acquire))
        sched_yield();
}

void sd_alloc_stacks_unlock(void)
{
    atomic_store_explicit(&stacks.is_locked, false, memory_order_release);
}

uint64_t sd_alloc_stacks_table(void) { return stacks.stream; }

struct sd_cells *sd_alloc_stacks_cells(void) { return stacks.table; }

/* --- Memory that no allocator of the program knows of ---------------------------- */

static void *map(size_t bytes)
{
    void *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* Makes room for one more in a mapped array; NULL: there is none. */
static void *grow(void *array, size_t n, size_t *cap, size_t each)
{
    size_t want = *cap ? 2 * *cap : 4096;
    void *p;

    sd_assert(n <= *cap && (array || *cap == 0));
    if (n < *cap)
        return array;
    p = array ? mremap(array, *cap * each, want * each, MREMAP_MAYMOVE)
              : map(want * each);
    if (!p || p == MAP_FAILED)
        return NULL;
    *cap = want;
    return p;
}

/* --- The index ------------------------------------------------------------------- */

static struct sd_alloc_index *new_index(uint64_t n_slots)
{
    struct sd_alloc_index *ix = map(sizeof *ix + n_slots * sizeof ix->slots[0]);

    sd_assert((n_slots & (n_slots - 1)) == 0);
    if (ix)
        ix->mask = n_slots - 1;
    return ix;
}

static void put_slot(struct sd_alloc_index *ix, const struct node *node, uint32_t id)
{
    uint64_t at = sd_alloc_hash(node->place, node->below);

    sd_assert_slow(id != 0 && node->place != NO_PLACE); /* 0 is an empty slot */
    while (atomic_load_explicit(&ix->slots[at & ix->mask].id, memory_order_relaxed))
        at++;
    ix->slots[at & ix->mask].place = node->place;
    ix->slots[at & ix->mask].below = node->below;
    atomic_store_explicit(&ix->slots[at & ix->mask].id, id, memory_order_release);
}

/* The old one stays mapped: a thread may be looking into it.  All old ones together are
 * as large as the last. */
static bool make_room(void)
{
    struct sd_alloc_index *ix = atomic_load(&sd_alloc_stacks.index), *larger;
    size_t n = 0;

    if (ix && 2 * stacks.n_slots < ix->mask)
        return true;
    for (size_t i = 1; i < stacks.n; i++)
        n += stacks.nodes[i].place != NO_PLACE;
    larger = new_index(ix && 4 * n < ix->mask ? ix->mask + 1
                       : ix                   ? 2 * (ix->mask + 1)
                                              : FIRST_SLOTS);
    if (!larger)
        return false;
    for (uint32_t i = 1; i < stacks.n; i++)
        if (stacks.nodes[i].place != NO_PLACE)
            put_slot(larger, &stacks.nodes[i], i);
    stacks.n_slots = n;
    sd_assert(2 * n < larger->mask);
    atomic_store_explicit(&sd_alloc_stacks.index, larger, memory_order_release);
    return true;
}

/* --- Names ----------------------------------------------------------------------- */

static uint32_t define_text(const char *text, size_t n)
{
    uint64_t key = sd_hash(text, n, 0x616c6c6f63u), id;

    if (sd_table_get(&stacks.strings, key, &id))
        return (uint32_t)id;
    id = sd_cells_define_string(stacks.table, text, n);
    if (id)
        sd_table_put(&stacks.strings, key, id);
    return (uint32_t)id;
}

static uint32_t define_code(const void *code)
{
    const struct sd_alloc_language *l = sd_alloc_language_now();
    struct sd_alloc_code_name *n = &stacks.name;

    n->name_n = n->qualname_n = n->file_n = n->line = 0;
    if (l)
        l->name_code(code, n);
    return sd_cells_define_function(
        stacks.table, 0, n->name_n ? define_text(n->name, n->name_n) : 0,
        n->qualname_n ? define_text(n->qualname, n->qualname_n) : 0,
        n->file_n ? define_text(n->file, n->file_n) : 0, n->line);
}

/* --- Code objects ---------------------------------------------------------------- */

static void set_bit(const void *p)
{
    uint64_t bit = ((uint64_t)(uintptr_t)p >> 4) * 0x9E3779B97F4A7C15u >> 48;

    _Static_assert(SD_CODE_BITS == 1 << 16, "16 bits are left of the product");
    sd_alloc_stacks.code_bits[bit / 64] |= UINT64_C(1) << bit % 64;
}

/* The code object's; NULL: there is no room. */
static struct code *code_of(const void *p)
{
    uint64_t at = 0;
    struct code *known;

    if (sd_table_get(&stacks.codes, (uint64_t)(uintptr_t)p, &at))
        return &stacks.known[at - 1];
    sd_assert(at == 0 && stacks.n_known <= stacks.cap_known);
    known = grow(stacks.known, stacks.n_known, &stacks.cap_known, sizeof *known);
    if (!known)
        return NULL;
    stacks.known = known;
    if (sd_table_put(&stacks.codes, (uint64_t)(uintptr_t)p, stacks.n_known + 1) < 0)
        return NULL;
    set_bit(p);
    known[stacks.n_known] = (struct code){ define_code(p), 0 };
    return &known[stacks.n_known++];
}

/* Takes a node out of the index; its number stays its own. */
static void bury(struct node *node)
{
    struct sd_alloc_index *ix = atomic_load(&sd_alloc_stacks.index);
    uint64_t at = sd_alloc_hash(node->place, node->below);

    for (;; at++) {
        struct sd_alloc_slot *s = &ix->slots[at & ix->mask];

        if (atomic_load_explicit(&s->id, memory_order_relaxed) == 0)
            break;
        if (s->place == node->place && s->below == node->below) {
            s->place = NO_PLACE;
            break;
        }
    }
    node->place = NO_PLACE;
}

void sd_alloc_code_dies(const void *p)
{
    uint64_t at = 0;

    sd_alloc_stacks_lock();
    if (sd_table_get(&stacks.codes, (uint64_t)(uintptr_t)p, &at)) {
        sd_assert(at > 0 && at <= stacks.n_known);
        for (uint32_t i = stacks.known[at - 1].last; i; i = stacks.nodes[i].next)
            bury(&stacks.nodes[i]);
        sd_table_remove(&stacks.codes, (uint64_t)(uintptr_t)p);
        atomic_fetch_add(&sd_alloc_stacks.n_deaths, 1);
    }
    sd_alloc_stacks_unlock();
}

/* --- Nodes ----------------------------------------------------------------------- */

static uint32_t native_site(uint32_t number)
{
    struct sd_native_function f = sd_native_function(number);
    uint64_t site = 0;

    if (sd_table_get(&stacks.natives, number, &site))
        return (uint32_t)site;
    site = sd_cells_define_function(stacks.table, SD_SITE_NATIVE,
                                    define_text(f.name, f.name_n), 0,
                                    f.file_n ? define_text(f.file, f.file_n) : 0, 0);
    if (site)
        sd_table_put(&stacks.natives, number, site);
    return (uint32_t)site;
}

/* The cell comes first: a node without one would have another's number. */
static uint32_t add_node(const struct sd_alloc_key *k, const struct sd_alloc_frame *f,
                         struct code *code)
{
    struct sd_alloc_stack_cell cell = {
        .parent = k->parent,
        .site = code        ? code->site
                : f->native ? native_site(f->native)
                            : 0,
        .line = f->line,
        .flags = k->by | f->flags,
    };
    struct node *nodes = grow(stacks.nodes, stacks.n, &stacks.cap, sizeof *nodes);
    uint32_t id;

    if (!nodes)
        return 0;
    stacks.nodes = nodes;
    id = sd_cells_add(stacks.table, &cell);
    if (id == SD_NO_CELL)
        return 0;
    sd_assert(id == stacks.n && k->parent < id);
    nodes[stacks.n++] =
        (struct node){ k->place, sd_alloc_below(k), code ? code->last : 0 };
    if (code)
        code->last = id;
    return id;
}

static uint32_t add_locked(const struct sd_alloc_key *k, const struct sd_alloc_frame *f)
{
    struct code *code = NULL;
    uint32_t id = sd_alloc_find(&sd_alloc_stacks, k);

    if (id)
        return id;
    if (stacks.n >= MOST_NODES || !stacks.table || !sd_cells_is_ours(stacks.table))
        return 0;
    if (f->code && !(code = code_of(f->code)))
        return 0;
    if (!make_room())
        return 0;
    id = add_node(k, f, code);
    if (id) {
        put_slot(atomic_load(&sd_alloc_stacks.index), &stacks.nodes[id], id);
        stacks.n_slots++;
    }
    return id;
}

uint32_t sd_alloc_add(const struct sd_alloc_key *k, const struct sd_alloc_frame *f)
{
    uint32_t id;

    sd_assert(k->place != NO_PLACE);
    sd_alloc_stacks_lock();
    id = add_locked(k, f);
    sd_alloc_stacks_unlock();
    return id;
}

uint32_t sd_alloc_no_frame(uint32_t creator, enum sd_allocator by)
{
    const struct sd_alloc_key key = { NO_FRAME, creator, by };
    uint32_t node = sd_alloc_find(&sd_alloc_stacks, &key);
    struct sd_alloc_frame none = { .flags = creator ? SD_ALLOC_CREATOR : 0 };

    return node ? node : sd_alloc_add(&key, &none);
}

/* Another thread may have held the lock, and changed anything: it is all left as it is,
 * in pages that nobody touches again. */
void sd_alloc_stacks_forget(void)
{
    memset(&stacks, 0, sizeof stacks);
    memset(sd_alloc_stacks.code_bits, 0, sizeof sd_alloc_stacks.code_bits);
    atomic_store(&sd_alloc_stacks.index, NULL);
}

/* That of the table before, which has ended, is emptied.  Whoever still looks into it
 * finds nothing there, with a mask of 0, too. */
static struct sd_alloc_index *first_index(void)
{
    struct sd_alloc_index *ix = atomic_load(&sd_alloc_stacks.index);
    uint64_t mask = ix ? ix->mask : 0;

    if (!ix)
        return new_index(FIRST_SLOTS);
    if (madvise(ix, sizeof *ix + (mask + 1) * sizeof ix->slots[0], MADV_DONTNEED) != 0)
        return NULL;
    ix->mask = mask;
    return ix;
}

static int begin_locked(struct sd_cells *table)
{
    static const struct sd_alloc_stack_cell root;
    struct sd_alloc_index *ix = first_index();

    stacks.nodes = ix ? grow(NULL, 0, &stacks.cap, sizeof *stacks.nodes) : NULL;
    if (!stacks.nodes || sd_cells_add(table, &root) == SD_NO_CELL)
        return sd_cells_refused(table);
    stacks.table = table;
    stacks.stream = sd_cells_stream(table);
    stacks.n = 1;
    atomic_store(&sd_alloc_stacks.index, ix);
    atomic_fetch_add(&sd_alloc_stacks.n_deaths, 1);
    return 0;
}

int sd_alloc_stacks_begin(struct sd_writer *w)
{
    struct sd_cells *table = NULL;
    int rc = sd_cells_new(w, SD_CELLS_ALLOC_STACKS, sizeof(struct sd_alloc_stack_cell),
                          &table);

    if (rc < 0)
        return rc;
    sd_alloc_stacks_lock();
    rc = begin_locked(table);
    sd_alloc_stacks_unlock();
    return rc;
}

uint64_t sd_alloc_stacks_bytes(void)
{
    const struct sd_alloc_index *ix = atomic_load(&sd_alloc_stacks.index);
    uint64_t bytes = 0;

    sd_alloc_stacks_lock();
    if (stacks.table)
        bytes = (uint64_t)sd_cells_n_segments(stacks.table) * SD_SEGMENT +
                stacks.cap * sizeof *stacks.nodes +
                stacks.cap_known * sizeof *stacks.known +
                (ix->mask + 1) * sizeof ix->slots[0];
    sd_alloc_stacks_unlock();
    return bytes;
}

void sd_alloc_stacks_end(void)
{
    sd_alloc_stacks_lock();
    sd_cells_free(stacks.table);
    stacks.table = NULL;
    if (stacks.nodes)
        munmap(stacks.nodes, stacks.cap * sizeof *stacks.nodes);
    if (stacks.known)
        munmap(stacks.known, stacks.cap_known * sizeof *stacks.known);
    sd_table_release(&stacks.codes);
    sd_table_release(&stacks.strings);
    sd_table_release(&stacks.natives);
    stacks.nodes = NULL;
    stacks.known = NULL;
    stacks.n = stacks.cap = stacks.n_slots = stacks.n_known = stacks.cap_known = 0;
    memset(sd_alloc_stacks.code_bits, 0, sizeof sd_alloc_stacks.code_bits);
    sd_alloc_stacks_unlock();
}
