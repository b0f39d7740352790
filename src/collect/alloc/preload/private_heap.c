/* SPDX-License-Identifier: MIT */
#include "collect/alloc/preload/private_heap.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum {
    HEAD = 16,       /* keeps blocks aligned */
    LEAST_BITS = 5,  /* of a block with its head */
    MOST_BITS = 17,  /* larger ones are mappings of their own */
    PIECE = 1 << 18, /* that small blocks are cut from */
};

struct head {
    size_t bytes;      /* with the head */
    struct head *next; /* of those that are free */
};
_Static_assert(sizeof(struct head) == HEAD, "what stands before each block");

static struct {
    _Atomic bool is_locked;
    struct head *idle[MOST_BITS + 1]; /* by the bits of their size */
    char *at, *end;                   /* what is left of the piece at hand */
} heap;

static void lock(void)
{
    while (atomic_exchange_explicit(&heap.is_locked, true, memory_order_acquire))
        sched_yield();
}

static void unlock(void)
{
    atomic_store_explicit(&heap.is_locked, false, memory_order_release);
}

/* Nobody is in the middle of a change when a process is copied. */
int sd_private_heap_watch_forks(void) { return pthread_atfork(lock, unlock, unlock); }

static void *map(size_t bytes)
{
    void *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static unsigned bits_of(size_t bytes)
{
    unsigned bits = 64 - (unsigned)__builtin_clzl(bytes - 1);

    return bits < LEAST_BITS ? LEAST_BITS : bits;
}

static struct head *cut(unsigned bits)
{
    size_t bytes = (size_t)1 << bits;
    struct head *h;

    if ((size_t)(heap.end - heap.at) < bytes) {
        char *piece = map(PIECE);

        if (!piece)
            return NULL;
        heap.at = piece;
        heap.end = piece + PIECE;
    }
    h = (struct head *)(void *)heap.at;
    heap.at += bytes;
    h->bytes = bytes;
    return h;
}

static struct head *take(unsigned bits)
{
    struct head *h;

    lock();
    h = heap.idle[bits];
    if (h)
        heap.idle[bits] = h->next;
    else
        h = cut(bits);
    unlock();
    return h;
}

static struct head *take_mapping(size_t bytes)
{
    struct head *h = map(bytes);

    if (h)
        h->bytes = bytes;
    return h;
}

static struct head *head_of(void *p)
{
    return (struct head *)(void *)((char *)p - HEAD);
}

void *__wrap_malloc(size_t n)
{
    struct head *h = NULL;

    if (n < SIZE_MAX / 2)
        h = n + HEAD <= (size_t)1 << MOST_BITS ? take(bits_of(n + HEAD))
                                               : take_mapping(n + HEAD);
    if (!h)
        errno = ENOMEM;
    return h ? (char *)h + HEAD : NULL;
}

void *__wrap_calloc(size_t n, size_t each)
{
    size_t bytes;
    void *p = __builtin_mul_overflow(n, each, &bytes) ? NULL : __wrap_malloc(bytes);

    return p ? memset(p, 0, bytes) : NULL;
}

void __wrap_free(void *p)
{
    struct head *h = p ? head_of(p) : NULL;
    unsigned bits;

    if (!h)
        return;
    if (h->bytes > (size_t)1 << MOST_BITS) {
        munmap(h, h->bytes);
        return;
    }
    bits = bits_of(h->bytes);
    lock();
    h->next = heap.idle[bits];
    heap.idle[bits] = h;
    unlock();
}

void *__wrap_realloc(void *p, size_t n)
{
    size_t had = p ? head_of(p)->bytes - HEAD : 0;
    void *grown;

    if (p && n <= had)
        return p;
    grown = __wrap_malloc(n);
    if (grown && p) {
        memcpy(grown, p, had);
        __wrap_free(p);
    }
    return grown;
}
