/* SPDX-License-Identifier: MIT */
#include "collect/alloc/native/native_walk.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "collect/alloc/native/code_places.h"
#include "collect/alloc/recorder.h"
#include "collect/alloc/stacks.h"
#include "collect/shared/native_roles.h"

enum {
    MOST_FRAMES = 65535,
    FIRST_FRAMES = 256,
    PAGE = 4096,
    JUMP_MAX = 64 << 20, /* bytes of one function's frame */
};
#define NATIVE_PLACE (UINT64_C(1) << 63) /* no place in a language has this bit */

/* --- Memory */

static void *map(size_t bytes)
{
    void *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* Room for one more; NULL: there is none. */
static void *grow(void *array, uint32_t n, uint32_t *cap, size_t each)
{
    uint32_t want = *cap ? 2 * *cap : FIRST_FRAMES;
    void *p;

    if (__builtin_expect(n < *cap, 1))
        return array;
    p = array ? mremap(array, *cap * each, want * each, MREMAP_MAYMOVE)
              : map(want * each);
    if (!p || p == MAP_FAILED)
        return NULL;
    *cap = want;
    return p;
}

static void put_mixed(struct sd_mixed_stack *s, const struct sd_mixed_frame *f)
{
    struct sd_mixed_frames *to = &s->now;
    struct sd_mixed_frame *items =
        to->n < MOST_FRAMES ? grow(to->items, to->n, &to->cap, sizeof *items) : NULL;

    if (!items)
        return;
    to->items = items;
    items[to->n++] = *f;
}

void sd_mixed_put(struct sd_mixed_stack *s, uint64_t place, const void *frame)
{
    put_mixed(s, &(struct sd_mixed_frame){ place, frame, 0, 0 });
}

void sd_mixed_put_native(struct sd_mixed_stack *s, uint32_t function)
{
    put_mixed(s,
              &(struct sd_mixed_frame){ NATIVE_PLACE | function, NULL, function, 0 });
}

/* --- Reading the C stack */

/* The kernel reads a set of signals from there, and refuses what it is told to do with
 * it. */
static bool can_read(uintptr_t at)
{
    int saved = errno;
    bool can =
        syscall(SYS_rt_sigprocmask, ~0L, at, NULL, (size_t)8) == -1 && errno != EFAULT;

    errno = saved;
    return can;
}

/* A thread's stack stays, so each of its pages is asked for once. */
static bool is_readable(struct sd_mixed_stack *s, uintptr_t at)
{
    if (__builtin_expect(at - s->low < s->high - s->low, 1))
        return at + sizeof(uintptr_t) <= s->high;
    if (at < s->low || at - s->high > JUMP_MAX)
        return false;
    while (s->high <= at) {
        if (!can_read(s->high))
            return false;
        s->high += PAGE;
    }
    return true;
}

/* Another stack than before (a coroutine's), or deeper in it. */
static void begin_at(struct sd_mixed_stack *s, uintptr_t sp)
{
    uintptr_t page = sp & -(uintptr_t)PAGE;

    if (sp - s->low < s->high - s->low)
        return;
    if (sp >= s->high || s->low - page > JUMP_MAX)
        s->high = page + PAGE;
    s->low = page;
}

static uintptr_t word_at(uintptr_t at) { return *(const uintptr_t *)at; }

/* --- Unwinding */

struct place {
    uintptr_t pc, sp, rbp;
};

/* Goes to the caller; false: that is not known.  The word below the caller's frame is
 * the return address. */
static bool step(struct sd_mixed_stack *s, const struct sd_frame_rule *r,
                 struct place *p)
{
    uintptr_t base = (r->base == SD_FRAME_RSP ? p->sp : p->rbp) +
                     (uintptr_t)(intptr_t)r->base_offset;
    uintptr_t saved;

    if (r->base == SD_FRAME_AT_RBP) {
        if (base % sizeof base || !is_readable(s, base))
            return false;
        base = word_at(base);
    }
    if (r->base == SD_FRAME_NONE || base <= p->sp || base % sizeof base ||
        !is_readable(s, base - sizeof base))
        return false;
    saved = (r->rbp == SD_RBP_AT_FRAME ? base : p->rbp) +
            (uintptr_t)(intptr_t)r->rbp_offset;
    if (r->rbp != SD_RBP_SAME) {
        if (saved % sizeof saved || !is_readable(s, saved))
            return false;
        p->rbp = word_at(saved);
    }
    p->pc = word_at(base - sizeof base);
    p->sp = base;
    return true;
}

static bool put_native(struct sd_mixed_stack *s, const struct sd_code_place *at,
                       uintptr_t sp)
{
    struct sd_native_frame *natives = grow(s->natives, s->n, &s->cap, sizeof *natives);

    if (!natives)
        return false;
    s->natives = natives;
    natives[s->n++] = (struct sd_native_frame){ sp, at->function, at->role };
    return true;
}

/* Return addresses stand behind the call, which may be the last of its function. */
static void unwind(struct sd_mixed_stack *s, struct place p, bool may_call)
{
    uintptr_t at = p.pc;

    s->n = 0;
    s->is_whole = false;
    while (s->n < MOST_FRAMES) {
        const struct sd_code_place *place = sd_code_place_at(at, may_call);

        if (!place || (place->role != SD_ROLE_OURS && !put_native(s, place, p.sp)))
            return;
        if (place->rule.base == SD_FRAME_OUTERMOST) {
            s->is_whole = true;
            return;
        }
        if (!step(s, &place->rule, &p))
            return;
        if (p.pc == 0) {
            s->is_whole = true;
            return;
        }
        at = p.pc - 1;
    }
}

static __attribute__((noinline)) void unwind_here(struct sd_mixed_stack *s,
                                                  bool may_call)
{
    struct place p = { 0 };

#if defined(__x86_64__)
    __asm__ volatile("lea 0f(%%rip), %0\n"
                     "0: mov %%rsp, %1\n"
                     "mov %%rbp, %2"
                     : "=&r"(p.pc), "=&r"(p.sp), "=&r"(p.rbp));
#endif
    begin_at(s, p.sp);
    unwind(s, p, may_call);
}

/* --- Nodes */

static uint32_t node_of(const struct sd_mixed_frame *f, uint32_t parent,
                        enum sd_allocator by, uint32_t flags)
{
    const struct sd_alloc_key key = { f->place, parent, by };
    uint32_t node = sd_alloc_find(&sd_alloc_stacks, &key);
    struct sd_alloc_frame frame = { .native = f->function, .flags = flags };

    if (__builtin_expect(node != 0, 1))
        return node;
    if (f->frame && !sd_alloc_language_now()->describe(f->frame, by, &frame))
        return sd_alloc_no_frame(0, by);
    return sd_alloc_add(&key, &frame);
}

static bool has_frames(const struct sd_mixed_frames *of)
{
    for (uint32_t i = 0; i < of->n; i++)
        if (of->items[i].frame)
            return true;
    return false;
}

/* How many of the outermost frames are those of the walk before.  The innermost had no
 * node that others stand on. */
static uint32_t n_same(const struct sd_mixed_stack *s)
{
    const struct sd_mixed_frame *a = s->now.items + s->now.n;
    const struct sd_mixed_frame *b = s->before.items + s->before.n;
    uint32_t most = s->now.n < s->before.n ? s->now.n : s->before.n, n = 0;

    while (n < most && a[-(int64_t)n - 1].place == b[-(int64_t)n - 1].place &&
           b[-(int64_t)n - 1].node)
        n++;
    return n;
}

/* The nodes of all frames but the innermost; *parent becomes the last of them. */
static bool name_frames(struct sd_mixed_stack *s, uint32_t base, uint32_t *parent)
{
    uint32_t n = s->now.n, same = n_same(s), flags = base ? SD_ALLOC_CREATOR : 0;

    same = same < n ? same : n - 1;
    for (uint32_t k = 0; k < same; k++)
        s->now.items[n - 1 - k].node = s->before.items[s->before.n - 1 - k].node;
    *parent = same ? s->now.items[n - same].node : base;
    for (uint32_t k = same; k + 1 < n; k++) {
        struct sd_mixed_frame *f = &s->now.items[n - 1 - k];

        f->node = node_of(f, *parent, SD_BY_NONE, k == 0 ? flags : 0);
        if (!f->node)
            return false;
        *parent = f->node;
    }
    return true;
}

static uint32_t find_node(struct sd_alloc_thread *t, struct sd_mixed_stack *s,
                          enum sd_allocator by)
{
    uint32_t n_deaths =
        atomic_load_explicit(&sd_alloc_stacks.n_deaths, memory_order_relaxed);
    uint32_t base = has_frames(&s->now) ? 0 : t->creator, parent;
    struct sd_mixed_frames was;
    uint32_t node;

    if (s->now.n == 0)
        return sd_alloc_no_frame(base, by);
    if (n_deaths != s->n_deaths || base != s->base)
        s->before.n = 0;
    s->n_deaths = n_deaths;
    s->base = base;
    if (!name_frames(s, base, &parent))
        return 0;
    node = node_of(&s->now.items[0], parent, by,
                   base && s->now.n == 1 ? SD_ALLOC_CREATOR : 0);
    s->now.items[0].node = by == SD_BY_NONE ? node : 0;
    was = s->before;
    s->before = s->now;
    s->now = was;
    return node;
}

/* Without a language all functions are shown. */
static void show_natives(struct sd_mixed_stack *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        sd_mixed_put_native(s, s->natives[i].function);
    if (!s->is_whole && s->n > 0)
        sd_mixed_put_native(s, SD_FUNCTION_STOPPED);
}

uint32_t sd_native_walk(struct sd_alloc_thread *t, enum sd_allocator by)
{
    const struct sd_alloc_language *l = sd_alloc_language_now();
    struct sd_mixed_stack *s = t->native;
    bool maps = sd_allocator_maps(by);

    if (__builtin_expect(!s, 0)) {
        t->native = s = map(sizeof *s);
        if (!s)
            return 0;
    }
    unwind_here(s, !maps);
    s->now.n = 0;
    if (!l || !l->merge(s))
        show_natives(s);
    return find_node(t, s, by);
}
