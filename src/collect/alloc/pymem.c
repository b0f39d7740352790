/* SPDX-License-Identifier: MIT */
#include "cpython/compat.h"

#include "collect/alloc/pymem.h"

#include "base/assert.h"
#include "collect/alloc/alloc_link.h"

enum { N_DOMAINS = 3 };
static const PyMemAllocatorDomain domains[N_DOMAINS] = { PYMEM_DOMAIN_RAW,
                                                         PYMEM_DOMAIN_MEM,
                                                         PYMEM_DOMAIN_OBJ };

/* The allocators that were there.  A thread without the interpreter's lock may read a
 * domain's table while it changes: so its context stays as it was, and our functions
 * take theirs from here. */
static struct {
    PyMemAllocatorEx was[N_DOMAINS], ours[N_DOMAINS];
    struct others { /* hooks that were found over ours, or in their place */
        PyMemAllocatorEx are;
        bool have_ours; /* below them */
    } others[N_DOMAINS];
    bool is_there, records;
    bool is_below[N_DOMAINS]; /* another one's hooks were over ours when we stopped */
    /* Of the domain whose hooks are called to see whether they lead to ours. */
    const PyMemAllocatorEx *sought;
    bool is_found;
} pymem;

/* --- What every domain does ------------------------------------------------------ */

/* Inside of a hook blocks come and go uncounted, but while Python is asked. */
static inline void *began_inside(void *p)
{
    struct sd_alloc_thread *t = sd_linked_self();

    if (__builtin_expect(t && t->is_asking, 0))
        sd_alloc_link.asked_began(t, p);
    return p;
}

static inline void ends_inside(const void *p)
{
    struct sd_alloc_thread *t = sd_linked_self();

    if (__builtin_expect(t && t->is_asking, 0))
        sd_alloc_link.asked_ends(t, p);
    else if (sd_alloc_is_another(t, p))
        sd_alloc_link.drop(t, p);
}

static inline void find(const PyMemAllocatorEx *was)
{
    if (__builtin_expect(pymem.sought == was, 0))
        pymem.is_found = true;
}

/* Is it of a domain that is called with the interpreter's lock? */
static inline bool needs_lock(enum sd_allocator by)
{
    return sd_allocator_domain(by) != SD_BY_RAW;
}

static inline void *began(struct sd_alloc_thread *t, void *p, size_t size,
                          enum sd_allocator by)
{
    if (__builtin_expect(p != NULL, 1))
        sd_alloc_link.began(t, p, size, by);
    if (__builtin_expect(t->wants && needs_lock(by), 0))
        sd_alloc_link.ask(t);
    sd_alloc_leave(t);
    return p;
}

static inline void *domain_malloc(const PyMemAllocatorEx *was, size_t size,
                                  enum sd_allocator by)
{
    struct sd_alloc_thread *t = sd_linked_enter();

    void *p;

    if (__builtin_expect(!t, 0)) {
        find(was);
        return began_inside(was->malloc(was->ctx, size));
    }
    sd_alloc_pass(t, NULL);
    p = was->malloc(was->ctx, size);
    sd_alloc_passed(t);
    return began(t, p, size, by);
}

static inline void *domain_calloc(const PyMemAllocatorEx *was, size_t n, size_t each,
                                  enum sd_allocator by)
{
    struct sd_alloc_thread *t = sd_linked_enter();

    void *p;

    if (__builtin_expect(!t, 0))
        return began_inside(was->calloc(was->ctx, n, each));
    sd_alloc_pass(t, NULL);
    p = was->calloc(was->ctx, n, each);
    sd_alloc_passed(t);
    return began(t, p, n * each, by);
}

static inline void *domain_realloc(const PyMemAllocatorEx *was, void *old, size_t size,
                                   enum sd_allocator by)
{
    struct sd_alloc_thread *t = sd_linked_enter();
    void *p;

    if (__builtin_expect(!t, 0)) {
        if (old)
            ends_inside(old);
        return began_inside(was->realloc(was->ctx, old, size));
    }
    if (old)
        sd_alloc_link.ends(t, old);
    sd_alloc_pass(t, old);
    p = was->realloc(was->ctx, old, size);
    sd_alloc_passed(t);
    if (__builtin_expect(!p && old, 0))
        sd_alloc_link.undo(t, old);
    return began(t, p, size, by);
}

static inline void domain_free(const PyMemAllocatorEx *was, void *p)
{
    struct sd_alloc_thread *t = p ? sd_linked_enter() : NULL;

    if (__builtin_expect(t != NULL, 1)) {
        sd_alloc_link.ends(t, p);
        sd_alloc_pass(t, p);
        was->free(was->ctx, p);
        sd_alloc_passed(t);
        sd_alloc_leave(t);
    } else {
        ends_inside(p);
        was->free(was->ctx, p);
    }
}

static inline void note_code(const void *p)
{
    if (__builtin_expect(sd_alloc_may_be_code(sd_alloc_link.stacks, p), 0))
        sd_alloc_link.code_dies(p);
}

/* --- One set for each domain ----------------------------------------------------- */

#define DOMAIN(name, i, by)                                                            \
    static void *name##_malloc(void *ctx, size_t size)                                 \
    {                                                                                  \
        (void)ctx;                                                                     \
        return domain_malloc(&pymem.was[i], size, by);                                 \
    }                                                                                  \
    static void *name##_calloc(void *ctx, size_t n, size_t each)                       \
    {                                                                                  \
        (void)ctx;                                                                     \
        return domain_calloc(&pymem.was[i], n, each, by##_CALLOC);                     \
    }                                                                                  \
    static void *name##_realloc(void *ctx, void *old, size_t size)                     \
    {                                                                                  \
        (void)ctx;                                                                     \
        return domain_realloc(&pymem.was[i], old, size, by##_REALLOC);                 \
    }

DOMAIN(raw, 0, SD_BY_RAW)
DOMAIN(mem, 1, SD_BY_MEM)
DOMAIN(object, 2, SD_BY_OBJECT)
#undef DOMAIN

static void raw_free(void *ctx, void *p)
{
    (void)ctx;
    domain_free(&pymem.was[0], p);
}

static void mem_free(void *ctx, void *p)
{
    (void)ctx;
    domain_free(&pymem.was[1], p);
}

/* Code objects are freed here. */
static void object_free(void *ctx, void *p)
{
    (void)ctx;
    note_code(p);
    domain_free(&pymem.was[2], p);
}

/* Where PyMem is not recorded. */
static void object_free_plainly(void *ctx, void *p)
{
    (void)ctx;
    note_code(p);
    find(&pymem.was[2]);
    pymem.was[2].free(pymem.was[2].ctx, p);
}

/* --- */

static const PyMemAllocatorEx hooks[N_DOMAINS] = {
    { NULL, raw_malloc, raw_calloc, raw_realloc, raw_free },
    { NULL, mem_malloc, mem_calloc, mem_realloc, mem_free },
    { NULL, object_malloc, object_calloc, object_realloc, object_free },
};

/* What is the domain's allocator now?  Another one's may call ours below its own. */
static bool is_now(int i, const PyMemAllocatorEx *a)
{
    PyMemAllocatorEx now;

    PyMem_GetAllocator(domains[i], &now);
    return now.free == a->free && now.malloc == a->malloc;
}

static void hook(int i, bool records)
{
    PyMem_GetAllocator(domains[i], &pymem.was[i]);
    pymem.ours[i] = records ? hooks[i] : pymem.was[i];
    pymem.ours[i].ctx = pymem.was[i].ctx;
    if (!records && i == N_DOMAINS - 1)
        pymem.ours[i].free = object_free_plainly;
}

/* Ours may still be below another one's: they go on there. */
void sd_alloc_pymem_start(bool records)
{
    sd_assert(!pymem.is_there);
    for (int i = 0; i < N_DOMAINS; i++) {
        pymem.others[i] = (struct others){ 0 };
        pymem.is_below[i] = pymem.is_below[i] && !is_now(i, &pymem.was[i]);
        if (!pymem.is_below[i])
            hook(i, records);
    }
    pymem.is_there = true;
    pymem.records = records;
    for (int i = 0; i < N_DOMAINS; i++)
        if (!pymem.is_below[i])
            PyMem_SetAllocator(domains[i], &pymem.ours[i]);
}

/* Others' hooks are there now: are ours below them, or did they take them away?
 * Nothing is recorded meanwhile. */
static bool are_below(int i)
{
    PyMemAllocatorEx now;

    PyMem_GetAllocator(domains[i], &now);
    pymem.is_found = false;
    pymem.sought = &pymem.was[i];
    now.free(now.ctx, now.malloc(now.ctx, 1));
    pymem.sought = NULL;
    return pymem.is_found;
}

/* Where another one's hooks are over ours, ours stay below and pass everything on. */
void sd_alloc_pymem_stop(void)
{
    for (int i = 0; i < N_DOMAINS && pymem.is_there; i++) {
        bool is_ours = is_now(i, &pymem.ours[i]);

        pymem.is_below[i] = !is_ours && are_below(i);
        if (is_ours)
            PyMem_SetAllocator(domains[i], &pymem.was[i]);
    }
    pymem.is_there = false;
}

/* Another one's hooks: does what they allocate come from ours? */
static bool leads_to_ours(const struct sd_alloc_thread *t, const PyMemAllocatorEx *a)
{
    void *p = a->malloc(a->ctx, 1);
    bool does = p && sd_alloc_asked_has(t, p);

    a->free(a->ctx, p);
    return does;
}

bool sd_alloc_pymem_is_gone(const struct sd_alloc_thread *t)
{
    bool is_any = false;

    for (int i = 0; i < N_DOMAINS && pymem.is_there && pymem.records; i++) {
        struct others *o = &pymem.others[i];

        if (is_now(i, &pymem.ours[i]))
            continue;
        if (!o->are.malloc || !is_now(i, &o->are)) {
            PyMem_GetAllocator(domains[i], &o->are);
            o->have_ours = leads_to_ours(t, &o->are);
        }
        is_any |= !o->have_ours;
    }
    return is_any;
}
