/* SPDX-License-Identifier: MIT */
#include "collect/alloc/natives.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/alloc/native/code_places.h"
#include "collect/alloc/recorder.h"
#include "collect/alloc/thread_starts.h"

enum {
#define NATIVE(id, symbol, group, rule) AT_##id,
#include "collect/alloc/natives.def"
#undef NATIVE
    N_NATIVES
};

static struct sd_hook hooks[N_NATIVES];
static struct sd_got_slots slots;
static struct sd_originals originals;

/* What the hook took the place of.  It stays known for ever, as hooks do. */
#define ORIGINAL(id) ((__typeof__(&hook_##id))hooks[AT_##id].original)

/* --- The malloc family ------------------------------------------------------------ */

/* hot: ends a hook that allocates: p is its result. */
static inline void *began(struct sd_alloc_thread *t, void *p, size_t n,
                          enum sd_allocator by)
{
    if (t) {
        if (p)
            sd_alloc_began(t, p, n, by);
        sd_alloc_leave(t);
    }
    return p;
}

/* hot: begins a hook that frees. */
static inline struct sd_alloc_thread *ends(const void *p)
{
    struct sd_alloc_thread *t = p ? sd_alloc_enter() : NULL;

    if (t)
        sd_alloc_ends(t, p);
    else if (sd_alloc_is_another(sd_alloc_self, p))
        sd_alloc_drop(sd_alloc_self, p);
    return t;
}

static inline void leave(struct sd_alloc_thread *t)
{
    if (t)
        sd_alloc_leave(t);
}

static void *hook_malloc(size_t n)
{
    struct sd_alloc_thread *t = sd_alloc_enter();

    return began(t, ORIGINAL(malloc)(n), n, SD_BY_MALLOC);
}

static void *hook_calloc(size_t count, size_t size)
{
    struct sd_alloc_thread *t = sd_alloc_enter();

    /* The product is right where there is a block. */
    return began(t, ORIGINAL(calloc)(count, size), count * size, SD_BY_CALLOC);
}

/* Ends a hook that moves a block: `p` had `n` bytes asked for it and became `moved`. */
static void *began_again(struct sd_alloc_thread *t, const void *p, void *moved,
                         size_t n, enum sd_allocator by)
{
    if (t && !moved && p && n)
        sd_alloc_undo(t,
                      p); /* there was no memory; with no bytes asked for it is freed */
    return began(t, moved, n, by);
}

static void *hook_realloc(void *p, size_t n)
{
    struct sd_alloc_thread *t = sd_alloc_enter();

    if (t && p)
        sd_alloc_ends(t, p);
    return began_again(t, p, ORIGINAL(realloc)(p, n), n, SD_BY_REALLOC);
}

static void *hook_reallocarray(void *p, size_t count, size_t size)
{
    struct sd_alloc_thread *t = sd_alloc_enter();
    size_t n;

    if (__builtin_mul_overflow(count, size, &n))
        n = SIZE_MAX;
    if (t && p)
        sd_alloc_ends(t, p);
    return began_again(t, p, ORIGINAL(reallocarray)(p, count, size), n,
                       SD_BY_REALLOCARRAY);
}

static int hook_posix_memalign(void **out, size_t alignment, size_t n)
{
    struct sd_alloc_thread *t = sd_alloc_enter();
    int rc = ORIGINAL(posix_memalign)(out, alignment, n);

    began(t, rc == 0 ? *out : NULL, n, SD_BY_POSIX_MEMALIGN);
    return rc;
}

static void *hook_aligned_alloc(size_t alignment, size_t n)
{
    struct sd_alloc_thread *t = sd_alloc_enter();

    return began(t, ORIGINAL(aligned_alloc)(alignment, n), n, SD_BY_ALIGNED_ALLOC);
}

static void *hook_memalign(size_t alignment, size_t n)
{
    struct sd_alloc_thread *t = sd_alloc_enter();

    return began(t, ORIGINAL(memalign)(alignment, n), n, SD_BY_MEMALIGN);
}

static void *hook_valloc(size_t n)
{
    struct sd_alloc_thread *t = sd_alloc_enter();

    return began(t, ORIGINAL(valloc)(n), n, SD_BY_VALLOC);
}

static void *hook_pvalloc(size_t n)
{
    struct sd_alloc_thread *t = sd_alloc_enter();

    return began(t, ORIGINAL(pvalloc)(n), n, SD_BY_PVALLOC);
}

static void hook_free(void *p)
{
    struct sd_alloc_thread *t = ends(p);

    ORIGINAL(free)(p);
    leave(t);
}

static void hook_cfree(void *p)
{
    struct sd_alloc_thread *t = ends(p);

    ORIGINAL(cfree)(p);
    leave(t);
}

static void hook_free_sized(void *p, size_t n)
{
    struct sd_alloc_thread *t = ends(p);

    ORIGINAL(free_sized)(p, n);
    leave(t);
}

static void hook_free_aligned_sized(void *p, size_t alignment, size_t n)
{
    struct sd_alloc_thread *t = ends(p);

    ORIGINAL(free_aligned_sized)(p, alignment, n);
    leave(t);
}

/* --- operator new and delete ------------------------------------------------------ */

/* An original may throw, or call a function of the program that wants to free memory:
 * so nothing is held meanwhile. */
static void *was_new(void *p, size_t n)
{
    struct sd_alloc_thread *t = p ? sd_alloc_enter() : NULL;

    return began(t, p, n, SD_BY_NEW);
}

/* Alignments and tags are handed on as they are: words. */
#define NEW_1(id)                                                                      \
    static void *hook_##id(size_t n) { return was_new(ORIGINAL(id)(n), n); }
#define NEW_2(id)                                                                      \
    static void *hook_##id(size_t n, uintptr_t a)                                      \
    {                                                                                  \
        return was_new(ORIGINAL(id)(n, a), n);                                         \
    }
#define NEW_3(id)                                                                      \
    static void *hook_##id(size_t n, uintptr_t a, uintptr_t b)                         \
    {                                                                                  \
        return was_new(ORIGINAL(id)(n, a, b), n);                                      \
    }
#define DELETE_1(id)                                                                   \
    static void hook_##id(void *p)                                                     \
    {                                                                                  \
        struct sd_alloc_thread *t = ends(p);                                           \
                                                                                       \
        ORIGINAL(id)(p);                                                               \
        leave(t);                                                                      \
    }
#define DELETE_2(id)                                                                   \
    static void hook_##id(void *p, uintptr_t a)                                        \
    {                                                                                  \
        struct sd_alloc_thread *t = ends(p);                                           \
                                                                                       \
        ORIGINAL(id)(p, a);                                                            \
        leave(t);                                                                      \
    }
#define DELETE_3(id)                                                                   \
    static void hook_##id(void *p, uintptr_t a, uintptr_t b)                           \
    {                                                                                  \
        struct sd_alloc_thread *t = ends(p);                                           \
                                                                                       \
        ORIGINAL(id)(p, a, b);                                                         \
        leave(t);                                                                      \
    }

NEW_1(new)
NEW_1(new_array)
NEW_2(new_nothrow)
NEW_2(new_array_nothrow)
NEW_2(new_aligned)
NEW_2(new_array_aligned)
NEW_3(new_aligned_nothrow)
NEW_3(new_array_aligned_nothrow)
DELETE_1(delete)
DELETE_1(delete_array)
DELETE_2(delete_sized)
DELETE_2(delete_array_sized)
DELETE_2(delete_nothrow)
DELETE_2(delete_array_nothrow)
DELETE_2(delete_aligned)
DELETE_2(delete_array_aligned)
DELETE_3(delete_aligned_nothrow)
DELETE_3(delete_array_aligned_nothrow)
DELETE_3(delete_sized_aligned)
DELETE_3(delete_array_sized_aligned)

/* --- Mappings --------------------------------------------------------------------- */

static enum sd_allocator mapping(int protection, int flags)
{
    if (!(flags & MAP_ANONYMOUS))
        return SD_BY_FILE;
    return protection == PROT_NONE ? SD_BY_RESERVED : SD_BY_MMAP;
}

/* What is mapped there is unmapped, whole pages of it; not what the kernel will
 * refuse. */
static void unmaps(struct sd_alloc_thread *t, void *at, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (n + page - 1) & -page;

    if (t && whole >= n && whole && (uintptr_t)at % page == 0)
        sd_alloc_unmap(t, at, whole);
}

static void *mapped(struct sd_alloc_thread *t, void *p, size_t n, enum sd_allocator by)
{
    began(t, p == MAP_FAILED ? NULL : p, n, by);
    return p;
}

/* In the place of what was mapped there: no other thread can get that meanwhile. */
static void *mapped_at(struct sd_alloc_thread *t, void *p, size_t n, bool is_fixed,
                       enum sd_allocator by)
{
    if (is_fixed && p != MAP_FAILED)
        unmaps(t, p, n);
    return mapped(t, p, n, by);
}

static void *hook_mmap(void *at, size_t n, int protection, int flags, int fd,
                       off_t from)
{
    struct sd_alloc_thread *t = sd_alloc_enter();
    void *p = ORIGINAL(mmap)(at, n, protection, flags, fd, from);

    return mapped_at(t, p, n, flags & MAP_FIXED, mapping(protection, flags));
}

/* Some allocators define the two apart. */
static void *hook_mmap64(void *at, size_t n, int protection, int flags, int fd,
                         off_t from)
{
    struct sd_alloc_thread *t = sd_alloc_enter();
    void *p = ORIGINAL(mmap64)(at, n, protection, flags, fd, from);

    return mapped_at(t, p, n, flags & MAP_FIXED, mapping(protection, flags));
}

static int hook_munmap(void *at, size_t n)
{
    struct sd_alloc_thread *t = sd_alloc_enter();
    int rc;

    unmaps(t, at, n);
    rc = ORIGINAL(munmap)(at, n);
    leave(t);
    return rc;
}

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* Only a mapping that is moved as a whole is followed.  With an old size of 0, or when
 * asked so, the old one stays. */
static void *hook_mremap(void *p, size_t old_n, size_t n, int flags, ...)
{
    struct sd_alloc_thread *t = sd_alloc_enter();
    bool ends_old = t && old_n && !(flags & MREMAP_DONTUNMAP);
    void *at = NULL, *moved;
    va_list more;

    if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
        va_start(more, flags);
        at = va_arg(more, void *);
        va_end(more);
    }
    if (ends_old)
        sd_alloc_ends(t, p);
    moved = ORIGINAL(mremap)(p, old_n, n, flags, at);
    if (ends_old && moved == MAP_FAILED)
        sd_alloc_undo(t, p);
    return mapped_at(t, moved, n, flags & MREMAP_FIXED, SD_BY_MREMAP);
}

/* --- Libraries and threads -------------------------------------------------------- */

/* A name without a slash is searched for where the caller's DT_RUNPATH says, and
 * $ORIGIN is the caller's folder. */
static bool depends_on_caller(const char *path)
{
    return !path || !strchr(path, '/') || strchr(path, '$');
}

/* Libraries may have been loaded and unloaded. */
static void update(void)
{
    sd_got_slots_update(&slots);
    if (sd_alloc_recorder.has_natives)
        sd_code_places_update();
}

/* A jump where it matters who calls: compilers make one of a call at the very end. */
static void *hook_dlopen(const char *path, int flags)
{
    void *handle;

    sd_got_slots_expect(&slots, flags & RTLD_DEEPBIND);
    if (depends_on_caller(path))
        return ORIGINAL(dlopen)(path, flags);
    handle = ORIGINAL(dlopen)(path, flags);
    update();
    return handle;
}

/* Who asks for one of the functions is to get ours, as if it were bound to it.  The
 * pseudo-handles search by their caller. */
static void *hook_dlsym(void *restrict handle, const char *restrict name)
{
    void *found;

    update();
    if (handle == RTLD_NEXT || handle == RTLD_DEFAULT)
        return ORIGINAL(dlsym)(handle, name);
    found = ORIGINAL(dlsym)(handle, name);
    for (size_t i = 0; found && i < slots.n_hooks; i++)
        if (found == hooks[i].original && strcmp(name, hooks[i].name) == 0)
            return hooks[i].replacement;
    return found;
}

static int hook_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                               void *(*run)(void *), void *argument)
{
    sd_got_slots_update(&slots);
    return sd_thread_starts_create(ORIGINAL(pthread_create), thread, attributes, run,
                                   argument);
}

/* --- Begin and end ---------------------------------------------------------------- */

static struct sd_hook hooks[N_NATIVES] = {
#define NATIVE(id, symbol, group, rule)                                                \
    [AT_##id] = {                                                                      \
        symbol, (void *)hook_##id, SD_HOOK_##group, SD_HOOK_##rule, NULL, NULL         \
    },
#include "collect/alloc/natives.def"
#undef NATIVE
};

int sd_alloc_natives_start(void)
{
    int rc = 0;

    if (!hooks[AT_malloc].original)
        rc = sd_originals_find(&originals, hooks, N_NATIVES);
    return rc < 0 ? rc : sd_got_slots_start(&slots, &originals, hooks, N_NATIVES);
}

void sd_alloc_natives_before_fork(void) { sd_got_slots_before_fork(&slots); }

void sd_alloc_natives_after_fork(bool is_child)
{
    sd_got_slots_after_fork(&slots, is_child);
}

void sd_alloc_natives_stop(void) { sd_got_slots_stop(&slots); }

void sd_alloc_natives_update(void) { sd_got_slots_update(&slots); }

void sd_alloc_natives_tell(struct sd_got_counts *out)
{
    *out = sd_got_slots_count(&slots);
}
