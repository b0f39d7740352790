/* SPDX-License-Identifier: MIT */
#include "collect/alloc/got_slots.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/table.h"
#include "collect/alloc/loaded.h"

#if defined(__x86_64__)
enum {
    CALL_SLOT = R_X86_64_JUMP_SLOT,
    DATA_SLOT = R_X86_64_GLOB_DAT,
    POINTER = R_X86_64_64
};
#elif defined(__aarch64__)
enum {
    CALL_SLOT = R_AARCH64_JUMP_SLOT,
    DATA_SLOT = R_AARCH64_GLOB_DAT,
    POINTER = R_AARCH64_ABS64
};
#else
enum { CALL_SLOT = 0, DATA_SLOT = 0, POINTER = 0 };
#endif

enum {
    WAITS_MAX =
        100000,     /* for another thread that walks, before it is left to do it all */
    LOOKS_MAX = 16, /* at an object that never seems to be complete */
};

struct slot {
    void **at;
    void *before; /* what it held */
    const struct sd_hook *hook;
    uint32_t type; /* of its relocation */
    bool is_unbound;
};

struct sd_patched_object {
    uintptr_t base; /* this, the program headers and the name tell objects apart */
    const Elf64_Phdr *segments;
    uint64_t name_hash;
    struct slot *slots; /* owned: those that were changed */
    size_t n, cap;
    uint64_t pass; /* the last walk that met it */
    uint32_t n_left, n_refused, n_looks;
    bool is_settled; /* it need not be looked at again */
};

/* --- What a slot holds ------------------------------------------------------------ */

/* Can this word be written?  The kernel tries, and changes nothing.  Where it cannot be
 * asked the answer is `otherwise`. */
static bool is_writable(const void *at, bool otherwise)
{
    uint32_t nobody = 0;
    int saved = errno;
    long rc = syscall(SYS_futex, &nobody, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, NULL,
                      at, FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0));
    bool is = rc >= 0 || (errno != EFAULT && otherwise);

    errno = saved;
    return is;
}

static bool has_relro(const struct sd_loaded *o)
{
    return o->relro_start < o->relro_end;
}

static bool is_in_relro(const struct sd_loaded *o, const void *at)
{
    return (uintptr_t)at - o->relro_start < o->relro_end - o->relro_start;
}

/* Has the linker relocated all of it?  Then what is to be read-only is. */
static bool is_complete(const struct sd_loaded *o)
{
    return !has_relro(o) || !is_writable((const void *)o->relro_start, false);
}

/* A slot for calls that leads into its own object's PLT: the first call will bind it.
 */
static bool is_unbound(const struct sd_loaded *o, const struct slot *slot,
                       const Elf64_Sym *s)
{
    uintptr_t held = (uintptr_t)slot->before;

    return slot->type == CALL_SLOT && sd_loaded_room(o, held, PF_X) &&
           (s->st_shndx == SHN_UNDEF || held != o->base + s->st_value);
}

/* By the first letters of a name: most of an object's many names are none of ours. */
static uint64_t letters(const char *name)
{
    return UINT64_C(1) << ((name[0] + 7 * name[1] + 13 * name[2]) & 63);
}

static const struct sd_hook *hook_of(const struct sd_got_slots *s,
                                     const struct sd_loaded *o, const Elf64_Sym *symbol)
{
    for (size_t i = 0; i < s->n_hooks; i++)
        if (sd_loaded_is_named(o, symbol, s->hooks[i].name))
            return s->hooks[i].original ? &s->hooks[i] : NULL;
    return NULL;
}

/* A place that the linker fills in with the address of one of these functions. */
static bool is_slot(const struct sd_got_slots *s, const struct sd_loaded *o,
                    const Elf64_Rela *r, struct slot *slot)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
    const Elf64_Sym *symbol;
    uintptr_t at = o->base + r->r_offset;

    if ((type != CALL_SLOT && type != DATA_SLOT && (type != POINTER || r->r_addend)) ||
        !ELF64_R_SYM(r->r_info))
        return false;
    symbol = sd_loaded_symbol(o, ELF64_R_SYM(r->r_info));
    slot->hook = symbol ? hook_of(s, o, symbol) : NULL;
    if (!slot->hook || at % sizeof(void *) ||
        sd_loaded_room(o, at, PF_R | PF_W) < sizeof(void *))
        return false;
    slot->at = (void **)at;
    slot->type = type;
    slot->before = __atomic_load_n(slot->at, __ATOMIC_RELAXED);
    slot->is_unbound = is_unbound(o, slot, symbol);
    return true;
}

/* --- The slots of one object ------------------------------------------------------ */

static bool keep(struct sd_patched_object *p, const struct slot *slot)
{
    struct slot *grown = sd_grow_array(p->slots, &p->cap, p->n + 1, sizeof *p->slots);

    if (!grown)
        return false;
    p->slots = grown;
    p->slots[p->n++] = *slot;
    return true;
}

/* The linker has not filled it in, or not yet: an address as in the file. */
static bool is_unrelocated(const struct sd_loaded *o, const struct slot *slot)
{
    return !slot->before ||
           (o->base && sd_loaded_room(o, o->base + (uintptr_t)slot->before, PF_X));
}

/* The slots of these functions. */
static void collect(const struct sd_got_slots *s, const struct sd_loaded *o,
                    const struct sd_relocations *r, struct sd_patched_object *to)
{
    struct slot slot;

    for (size_t i = 0; i < r->n; i++) {
        if (!is_slot(s, o, &r->at[i], &slot))
            continue;
        if (is_unrelocated(o, &slot))
            to->is_settled = false;
        else if (!keep(to, &slot))
            to->n_refused++;
    }
}

static bool holds_original(const struct slot *slot)
{
    return slot->before == slot->hook->original;
}

/* Is it bound elsewhere, by the linker?  Others than these are variables, too, which
 * the program may have set. */
static bool is_elsewhere(const struct sd_loaded *o, const struct slot *slot)
{
    return !holds_original(slot) && !slot->is_unbound &&
           slot->before != slot->hook->replacement &&
           slot->before != slot->hook->stand_in &&
           (slot->type != POINTER || is_in_relro(o, slot->at));
}

/* The groups (a bit each) of which this object has other functions.  Their blocks may
 * not meet, so none of these slots is changed. */
static unsigned groups_elsewhere(const struct sd_loaded *o,
                                 const struct sd_patched_object *p)
{
    unsigned groups = 0;

    for (size_t i = 0; i < p->n; i++)
        if (is_elsewhere(o, &p->slots[i]))
            groups |= 1U << p->slots[i].hook->group;
    return groups;
}

/* Is it known which function this slot leads, or will lead, to? */
static bool is_certain(const struct sd_got_slots *s, const struct slot *slot)
{
    return holds_original(slot) ||
           (slot->is_unbound &&
            !(s->originals.is_foreign && slot->hook->group == SD_HOOK_HEAP &&
              atomic_load(&s->has_deep_binding)));
}

static const struct slot *slot_at(const struct sd_patched_object *p, void *const *at)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->slots[i].at == at)
            return &p->slots[i];
    return NULL;
}

/* One that is ours already: what it held before is known from then. */
static void remember(struct slot *slot, const struct sd_patched_object *old)
{
    const struct slot *then = slot_at(old, slot->at);

    slot->before = then ? then->before : slot->hook->original;
}

/* Keeps those of the slots that are to be changed, or are already. */
static void choose(const struct sd_got_slots *s, const struct sd_loaded *o,
                   struct sd_patched_object *p, const struct sd_patched_object *old)
{
    unsigned elsewhere = groups_elsewhere(o, p);
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        struct slot *slot = &p->slots[i];

        if (slot->before == slot->hook->replacement)
            remember(slot, old);
        else if (!is_certain(s, slot) || elsewhere >> slot->hook->group & 1) {
            p->n_left += slot->before != slot->hook->stand_in;
            continue;
        }
        p->slots[n++] = *slot;
    }
    p->n = n;
}

/* Opens what is read-only after relocation, and returns whether it is to be closed. */
static bool open_relro(const struct sd_loaded *o, const struct sd_patched_object *p)
{
    bool is_needed = false;

    for (size_t i = 0; i < p->n && !is_needed; i++)
        is_needed = is_in_relro(o, p->slots[i].at);
    return is_needed && !is_writable((const void *)o->relro_start, false) &&
           mprotect((void *)o->relro_start, o->relro_end - o->relro_start,
                    PROT_READ | PROT_WRITE) == 0;
}

static void close_relro(const struct sd_loaded *o)
{
    mprotect((void *)o->relro_start, o->relro_end - o->relro_start, PROT_READ);
}

/* Stores `to` where `from` is.  False: the page cannot be written. */
static bool exchange(const struct sd_loaded *o, const struct slot *slot, void *from,
                     void *to)
{
    if (!is_writable(slot->at, !is_in_relro(o, slot->at)))
        return false;
    /* Whoever binds the slot meanwhile is newer. */
    __atomic_compare_exchange_n(slot->at, &from, to, false, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
    return true;
}

static void change(const struct sd_loaded *o, struct sd_patched_object *p)
{
    bool is_open = open_relro(o, p);
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++)
        if (exchange(o, &p->slots[i], p->slots[i].before,
                     p->slots[i].hook->replacement))
            p->slots[n++] = p->slots[i];
    p->n_refused += (uint32_t)(p->n - n);
    p->n = n;
    if (is_open)
        close_relro(o);
}

static void change_back(const struct sd_loaded *o, const struct sd_patched_object *p)
{
    bool is_open = open_relro(o, p);

    for (size_t i = 0; i < p->n; i++)
        exchange(o, &p->slots[i], p->slots[i].hook->replacement, p->slots[i].before);
    if (is_open)
        close_relro(o);
}

/* --- All objects ------------------------------------------------------------------ */

static uint64_t hash_of(const char *name) { return sd_hash(name, strlen(name), 0); }

static bool is_same(const struct sd_patched_object *p, const struct sd_loaded *o)
{
    return p->base == o->base && p->segments == o->segments &&
           p->name_hash == hash_of(o->name);
}

/* Its place, which is made if need be; NULL: no memory.  Objects come in the same order
 * each time, so the search begins behind the last one found. */
static struct sd_patched_object *place_of(struct sd_got_slots *s,
                                          const struct sd_loaded *o, size_t *next)
{
    struct sd_patched_object *grown;

    for (size_t i = 0; i < s->n_objects; i++) {
        size_t at = (*next + i) % s->n_objects;

        if (is_same(&s->objects[at], o)) {
            *next = at + 1;
            return &s->objects[at];
        }
    }
    grown = sd_grow_array(s->objects, &s->cap_objects, s->n_objects + 1, sizeof *grown);
    if (!grown)
        return NULL;
    s->objects = grown;
    grown[s->n_objects] = (struct sd_patched_object){ .base = o->base,
                                                      .segments = o->segments,
                                                      .name_hash = hash_of(o->name) };
    return &grown[s->n_objects++];
}

/* Does the object still have the change?  One that was closed and opened again at the
 * same address has not. */
static bool is_done(const struct sd_loaded *o, const struct sd_patched_object *p)
{
    return p->is_settled &&
           (p->n == 0 ||
            (sd_loaded_room(o, (uintptr_t)p->slots[0].at, PF_W) &&
             *(void *volatile *)p->slots[0].at == p->slots[0].hook->replacement));
}

static void patch(const struct sd_got_slots *s, const struct sd_loaded *o,
                  struct sd_patched_object *p)
{
    struct sd_patched_object old = *p;

    p->slots = NULL;
    p->n = p->cap = 0;
    p->n_left = p->n_refused = 0;
    p->is_settled = is_complete(o);
    collect(s, o, &o->of_calls, p);
    collect(s, o, &o->of_data, p);
    choose(s, o, p, &old);
    change(o, p);
    sd_free(old.slots);
    if (++p->n_looks >= LOOKS_MAX)
        p->is_settled = true;
}

/* Objects that stay as they are. */
static bool is_exempt(const struct sd_got_slots *s, const struct sd_loaded *o)
{
    const char *slash = strrchr(o->name, '/'), *name = slash ? slash + 1 : o->name;

    return sd_loaded_is_linker(o) ||
           sd_loaded_room(o, (uintptr_t)sd_got_slots_update, PF_X) ||
           (s->originals.allocator && o->base == s->originals.allocator) ||
           strncmp(name, "libsonde", 8) == 0 || strncmp(name, "_sonde.", 7) == 0;
}

struct walk {
    struct sd_got_slots *slots;
    size_t next; /* in objects */
    bool is_settled, is_first;
    uint64_t n_loaded, n_unloaded;
};

/* Has nothing been loaded or unloaded since all was done? */
static bool is_unchanged(struct walk *w, const struct dl_phdr_info *info)
{
    w->is_first = false;
    w->n_loaded = info->dlpi_adds;
    w->n_unloaded = info->dlpi_subs;
    return w->slots->is_settled && w->n_loaded == w->slots->n_loaded &&
           w->n_unloaded == w->slots->n_unloaded;
}

static void look_at(const struct sd_got_slots *s, struct sd_loaded *o,
                    struct sd_patched_object *p)
{
    if (is_exempt(s, o) || !sd_loaded_read(o))
        p->is_settled = true;
    else
        patch(s, o, p);
}

static int visit(struct dl_phdr_info *info, size_t bytes, void *to)
{
    struct walk *w = to;
    struct sd_got_slots *s = w->slots;
    struct sd_loaded o = sd_loaded_outline(info);
    struct sd_patched_object *p;

    (void)bytes;
    if (w->is_first && is_unchanged(w, info))
        return 1;
    p = place_of(s, &o, &w->next);
    if (p) {
        p->pass = s->pass;
        if (!is_done(&o, p))
            look_at(s, &o, p);
    }
    w->is_settled = w->is_settled && p && p->is_settled;
    return 0;
}

/* Forgets those that are no longer loaded. */
static void forget_unloaded(struct sd_got_slots *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_objects; i++)
        if (s->objects[i].pass == s->pass)
            s->objects[n++] = s->objects[i];
        else
            sd_free(s->objects[i].slots);
    s->n_objects = n;
}

/* One thread walks at a time.  It is not waited for without end: it could be waiting
 * for this thread, in the linker, or have been lost in a fork. */
static bool enter(struct sd_got_slots *s)
{
    int32_t me = getpid();

    for (int i = 0; i < WAITS_MAX; i++) {
        int32_t other = 0;

        if (atomic_compare_exchange_strong(&s->busy_pid, &other, me))
            return true;
        if (other != me)
            return false;
        sched_yield();
    }
    return false;
}

static void leave(struct sd_got_slots *s) { atomic_store(&s->busy_pid, 0); }

static bool may_look(const struct sd_got_slots *s)
{
    return !s->is_forked || atomic_load(&s->has_opened);
}

/* Threads may fork at the same time; in the child this one is the same. */
void sd_got_slots_before_fork(struct sd_got_slots *s)
{
    if (enter(s))
        atomic_store(&s->held_by, (uintptr_t)pthread_self());
}

void sd_got_slots_after_fork(struct sd_got_slots *s, bool is_child)
{
    if (is_child) {
        s->is_forked = true;
        atomic_store(&s->has_opened, false);
    }
    if (atomic_load(&s->held_by) != (uintptr_t)pthread_self())
        return;
    atomic_store(&s->held_by, 0);
    leave(s);
}

static void walk(struct sd_got_slots *s)
{
    struct walk w = { .slots = s, .is_settled = true, .is_first = true };

    s->pass++;
    if (dl_iterate_phdr(visit, &w) == 0) {
        s->n_loaded = w.n_loaded;
        s->n_unloaded = w.n_unloaded;
        s->is_settled = w.is_settled;
        forget_unloaded(s);
    }
}

int sd_got_slots_start(struct sd_got_slots *s, const struct sd_originals *originals,
                       const struct sd_hook *hooks, size_t n)
{
    if (s->n_hooks && !may_look(s))
        return 0;                                    /* they were left as they are */
    sd_assert(s->n_hooks == 0 || s->hooks == hooks); /* or the end could not be */
    if (!enter(s))
        return sd_fail(SD_EUSAGE,
                       "C's allocators cannot be recorded: this process was forked "
                       "while another thread was opening a library; start the process "
                       "with spawn instead of fork, or record with --layer py");
    s->hooks = hooks;
    s->n_hooks = n;
    s->letters = 0;
    for (size_t i = 0; i < n; i++)
        s->letters |= letters(hooks[i].name);
    s->originals = *originals;
    s->is_settled = false;
    walk(s);
    leave(s);
    return 0;
}

void sd_got_slots_update(struct sd_got_slots *s)
{
    int saved = errno;

    if (may_look(s) && enter(s)) {
        if (s->n_hooks)
            walk(s);
        leave(s);
    }
    errno = saved;
}

void sd_got_slots_expect(struct sd_got_slots *s, bool has_deep_binding)
{
    atomic_store(&s->has_opened, true);
    if (has_deep_binding)
        atomic_store(&s->has_deep_binding, true);
}

/* --- The end ---------------------------------------------------------------------- */

static int visit_back(struct dl_phdr_info *info, size_t bytes, void *to)
{
    struct walk *w = to;
    struct sd_got_slots *s = w->slots;
    struct sd_loaded o = sd_loaded_outline(info);

    (void)bytes;
    if (!sd_loaded_read(&o))
        return 0;
    for (size_t i = 0; i < s->n_objects; i++)
        if (is_same(&s->objects[i], &o))
            change_back(&o, &s->objects[i]);
    return 0;
}

void sd_got_slots_stop(struct sd_got_slots *s)
{
    struct walk w = { .slots = s };

    if (!may_look(s) || !enter(s))
        return;
    dl_iterate_phdr(visit_back, &w);
    for (size_t i = 0; i < s->n_objects; i++)
        sd_free(s->objects[i].slots);
    sd_free(s->objects);
    s->objects = NULL;
    s->n_objects = s->cap_objects = s->n_hooks = 0;
    leave(s);
}

struct sd_got_counts sd_got_slots_count(const struct sd_got_slots *s)
{
    struct sd_got_counts c = { 0 };

    for (size_t i = 0; i < s->n_objects; i++) {
        c.n_objects += s->objects[i].n > 0;
        c.n_changed += s->objects[i].n;
        c.n_left += s->objects[i].n_left;
        c.n_refused += s->objects[i].n_refused;
    }
    return c;
}
