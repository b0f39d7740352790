/* SPDX-License-Identifier: MIT */
#include "collect/alloc/native/code_places.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "collect/alloc/native/code_objects.h"
#include "collect/alloc/native/symbol_names.h"
#include "collect/shared/native_roles.h"

enum {
    FIRST_SLOTS = 1 << 12,
    CHUNK = 1 << 10,      /* functions that stand together and never move */
    CHUNKS_MAX = 1 << 10, /* a million of functions */
    TEXT_PIECE = 1 << 18,
};

struct function {
    uint64_t start; /* where it begins in this process */
    uint32_t next;  /* of those with the same hash */
    uint8_t role;
    struct sd_native_function is;
};

_Atomic(struct sd_code_places *) sd_code_places;

/* Read and written under the lock, but for chunks that are complete. */
static struct {
    _Atomic bool is_locked;
    size_t n_places;
    uint64_t n_unloaded; /* as the list of objects counted */
    struct function *chunks[CHUNKS_MAX];
    _Atomic uint32_t n; /* of functions, with 0, which is none */
    uint32_t buckets[1 << 12];
    char *text, *text_end; /* what is left of a piece for names */
} code;

static void lock(void)
{
    while (atomic_exchange_explicit(&code.is_locked, true, memory_order_acquire))
        sched_yield();
}

static void unlock(void)
{
    atomic_store_explicit(&code.is_locked, false, memory_order_release);
}

void sd_code_places_after_fork(void) { unlock(); }

static void *map(size_t bytes)
{
    void *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* --- Functions */

static const char *keep_text(const char *text, size_t n)
{
    char *at;

    if ((size_t)(code.text_end - code.text) < n) {
        code.text = map(TEXT_PIECE);
        code.text_end = code.text ? code.text + TEXT_PIECE : NULL;
        if (!code.text)
            return NULL;
    }
    at = code.text;
    memcpy(at, text, n);
    code.text += n;
    return at;
}

static struct function *function_at(uint32_t number)
{
    return &code.chunks[number / CHUNK][number % CHUNK];
}

/* A place for one more; 0: there is none. */
static uint32_t new_function(void)
{
    uint32_t n = atomic_load(&code.n);

    if (n / CHUNK >= CHUNKS_MAX)
        return 0;
    if (!code.chunks[n / CHUNK])
        code.chunks[n / CHUNK] = map(CHUNK * sizeof(struct function));
    return code.chunks[n / CHUNK] ? n : 0;
}

static uint32_t add_function(uint64_t start, uint8_t role, const char *name, size_t n,
                             const char *file, size_t file_n)
{
    uint32_t number = new_function();
    uint32_t *bucket = &code.buckets[start * 0x9E3779B97F4A7C15u >> 52];
    struct function *f;

    if (!number)
        return 0;
    f = function_at(number);
    *f = (struct function){ .start = start, .next = *bucket, .role = role };
    f->is.name = keep_text(name, n);
    f->is.file = keep_text(file, file_n);
    if (!f->is.name || !f->is.file)
        return 0;
    f->is.name_n = (uint32_t)n;
    f->is.file_n = (uint32_t)file_n;
    *bucket = number;
    atomic_store_explicit(&code.n, number + 1, memory_order_release);
    return number;
}

/* The first ones stand for functions that are not known. */
static bool begin(void)
{
    static const char *const names[] = { "", "[unwinding stopped]",
                                         "[native frames not placed]",
                                         "[unknown code]" };

    if (atomic_load(&code.n) > 0)
        return true;
    code.chunks[0] = map(CHUNK * sizeof(struct function));
    if (!code.chunks[0])
        return false;
    atomic_store(&code.n, 1);
    for (uint64_t i = 1; i < sizeof names / sizeof names[0]; i++)
        if (add_function(i, SD_NATIVE_PLAIN, names[i], strlen(names[i]), "", 0) != i)
            return false;
    return true;
}

struct sd_native_function sd_native_function(uint32_t number)
{
    sd_assert(number < atomic_load(&code.n));
    return function_at(number)->is;
}

static uint32_t known_function(uint64_t start)
{
    uint32_t number = code.buckets[start * 0x9E3779B97F4A7C15u >> 52];

    while (number && function_at(number)->start != start)
        number = function_at(number)->next;
    return number;
}

/* As its programmer wrote it, without parameters; the C++ library must be there. */
static size_t write_out(char name[SD_SYMBOL_NAME], size_t n)
{
    struct sd_cxx_names cxx = sd_code_objects_cxx();
    char *whole;
    size_t depth = 0, end = 0;
    int status = -1;

    if (!cxx.write_out || n < 2 || memcmp(name, "_Z", 2) != 0 || n == SD_SYMBOL_NAME)
        return n;
    name[n] = '\0';
    whole = cxx.write_out(name, NULL, NULL, &status);
    if (!whole || status != 0)
        return n;
    for (; whole[end] && end < SD_SYMBOL_NAME - 1; end++) {
        depth += whole[end] == '<';
        depth -= whole[end] == '>' && depth > 0;
        if (whole[end] == '(' && depth == 0 && end > 0 &&
            strncmp(whole + end, "(anonymous", 10) != 0)
            break;
    }
    memcpy(name, whole, end);
    cxx.give_back(whole);
    return end;
}

static size_t nameless(const struct sd_code_object *o, uintptr_t at, const char *file,
                       size_t file_n, char name[SD_SYMBOL_NAME])
{
    const char *slash = memrchr(file, '/', file_n);
    const char *base = slash ? slash + 1 : file;

    return (size_t)snprintf(name, SD_SYMBOL_NAME, "%.*s+0x%lx",
                            (int)(file_n - (size_t)(base - file)), base,
                            at - o->loaded.base);
}

static uint32_t name_function(const struct sd_code_object *o, uintptr_t at,
                              bool may_call, uint8_t *role)
{
    char name[SD_SYMBOL_NAME + 1], file[PATH_MAX];
    size_t n = sd_symbol_name(o, at, name);
    size_t file_n = sd_symbol_file(o, file, sizeof file);

    if (n && n < SD_SYMBOL_NAME) {
        name[n] = '\0';
        if (*role != SD_ROLE_OURS)
            *role = (uint8_t)sd_native_judge(name);
        if (may_call)
            n = write_out(name, n);
    } else if (n == 0) {
        *role = *role == SD_ROLE_OURS ? *role : SD_ROLE_NAMELESS;
        n = nameless(o, at, file, file_n, name);
    }
    return add_function(at, *role, name, n, file, file_n);
}

/* --- Places */

static struct sd_code_places *new_places(uint64_t n)
{
    struct sd_code_places *all = map(sizeof *all + n * sizeof(struct sd_code_place));

    if (all)
        all->mask = n - 1;
    return all;
}

static struct sd_code_place *free_slot(struct sd_code_places *all, uint64_t at)
{
    uint64_t hash = at * 0x9E3779B97F4A7C15u >> 20;

    while (
        atomic_load_explicit(&all->slots[hash & all->mask].key, memory_order_relaxed))
        hash++;
    return &all->slots[hash & all->mask];
}

static struct sd_code_place *put(struct sd_code_places *all, uint64_t key,
                                 const struct sd_code_place *place)
{
    struct sd_code_place *to = free_slot(all, key);

    to->rule = place->rule;
    to->function = place->function;
    to->role = place->role;
    atomic_store_explicit(&to->key, key, memory_order_release);
    code.n_places++;
    return to;
}

/* The old table stays: a thread may be looking into it. */
static struct sd_code_places *make_room(void)
{
    struct sd_code_places *all = atomic_load(&sd_code_places), *larger;
    uint64_t n = all ? all->mask + 1 : FIRST_SLOTS / 2;

    if (all && 2 * code.n_places < n)
        return all;
    larger = new_places(2 * n);
    if (!larger)
        return NULL;
    code.n_places = 0;
    for (uint64_t i = 0; all && i < n; i++) {
        uint64_t key = atomic_load_explicit(&all->slots[i].key, memory_order_relaxed);

        if (key)
            put(larger, key, &all->slots[i]);
    }
    atomic_store_explicit(&sd_code_places, larger, memory_order_release);
    return larger;
}

static const struct sd_code_place *known_place(uintptr_t at)
{
    const struct sd_code_places *all = atomic_load(&sd_code_places);
    uint64_t hash = at * 0x9E3779B97F4A7C15u >> 20;

    for (; all; hash++) {
        const struct sd_code_place *p = &all->slots[hash & all->mask];
        uint64_t key = atomic_load_explicit(&p->key, memory_order_relaxed);

        if (key == at)
            return p;
        if (key == 0)
            break;
    }
    return NULL;
}

static const struct sd_code_place *add(const struct sd_code_object *o, uintptr_t at,
                                       bool may_call)
{
    const struct sd_code_place *known = known_place(at);
    struct sd_code_place place = { .function = SD_FUNCTION_UNKNOWN };
    struct sd_code_places *all;
    uintptr_t start;

    if (known || !begin())
        return known;
    if (o && o->is_ours)
        place.role = SD_ROLE_OURS;
    if (o) {
        sd_call_frames_find(&o->loaded, o->table, at, &place.rule);
        start = place.rule.start ? place.rule.start : at;
        place.function = known_function(start);
        if (place.function)
            place.role = function_at(place.function)->role;
        else
            place.function = name_function(o, start, may_call, &place.role);
    }
    all = place.function ? make_room() : NULL;
    return all ? put(all, at, &place) : NULL;
}

/* The object is looked for first: who waits for the linker holds no lock of ours. */
const struct sd_code_place *sd_code_place_add(uintptr_t at, bool may_call)
{
    int saved = errno;
    const struct sd_code_object *o = sd_code_object_at(at);
    const struct sd_code_place *place;

    lock();
    place = add(o, at, may_call);
    unlock();
    errno = saved;
    return place;
}

/* Where something was unloaded, addresses may mean something else: all is looked up
 * again.  Functions keep their numbers and are no longer found. */
void sd_code_places_update(void)
{
    uint64_t n;

    sd_code_objects_update();
    n = sd_code_objects_unloaded();
    lock();
    if (n != code.n_unloaded && atomic_load(&sd_code_places)) {
        struct sd_code_places *all = new_places(FIRST_SLOTS);

        if (all) {
            memset(code.buckets, 0, sizeof code.buckets);
            code.n_places = 0;
            atomic_store_explicit(&sd_code_places, all, memory_order_release);
            code.n_unloaded = n;
        }
    }
    unlock();
}
