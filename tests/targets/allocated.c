/* SPDX-License-Identifier: MIT */
/* allocated: allocates by every function there is, in amounts that
 * tests/targets/allocated.py knows.
 *
 * A case takes no arguments and gives nothing back, so that a call of it from Python
 * allocates nothing itself. Most make seven blocks and free three of them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { N = 7, FREED = 3, PAGE = 4096 };

/* Where the compiler cannot see what becomes of a block. */
void *volatile last;

#define CASE(name, make, release)                                                      \
    void case_##name(void)                                                             \
    {                                                                                  \
        for (int i = 0; i < N; i++) {                                                  \
            last = (make);                                                             \
            if (i < FREED)                                                             \
                release(last);                                                         \
        }                                                                              \
    }

/* --- The malloc family */

static void *by_posix_memalign(size_t alignment, size_t n)
{
    void *p = NULL;

    return posix_memalign(&p, alignment, n) == 0 ? p : NULL;
}

CASE(malloc, malloc(10007), free)
CASE(calloc, calloc(3, 3343), free)
CASE(realloc, realloc(NULL, 10009), free)
CASE(reallocarray, reallocarray(NULL, 5, 2003), free)
CASE(posix_memalign, by_posix_memalign(64, 10037), free)
CASE(aligned_alloc, aligned_alloc(64, 10039), free)
CASE(memalign, memalign(256, 10061), free)
CASE(valloc, valloc(10067), free)
CASE(pvalloc, pvalloc(10069), free)

/* A block that moves, one that fails to, and one that ends so. */
void case_moves(void)
{
    void *volatile p = malloc(101), *volatile q = malloc(103),
                   *volatile r = malloc(107);

    last = realloc(p, 20011);
    if (!realloc(q, PTRDIFF_MAX))
        last = q;
    last = realloc(r, 0); /* with some allocators a block */
    free(last);
}

void case_temporaries(void)
{
    for (int i = 0; i < 5; i++) {
        last = malloc(1009); /* freed at once */
        free(last);
    }
    for (int i = 0; i < 3; i++) {
        void *volatile p = malloc(1013), *volatile q = malloc(1019);

        free(q);
        free(p); /* one other came in between */
    }
    {
        void *volatile p = malloc(1021), *volatile q = malloc(1031),
                       *volatile r = malloc(1033);

        free(p); /* two others */
        free(r);
        free(q);
    }
}

/* --- operator new and delete */

void *op_new(size_t n) __asm__("_Znwm");
void *op_new_array(size_t n) __asm__("_Znam");
void *op_new_nothrow(size_t n, const void *tag) __asm__("_ZnwmRKSt9nothrow_t");
void *op_new_aligned(size_t n, size_t alignment) __asm__("_ZnwmSt11align_val_t");
void op_delete(void *p) __asm__("_ZdlPv");
void op_delete_array(void *p) __asm__("_ZdaPv");
void op_delete_aligned(void *p, size_t alignment) __asm__("_ZdlPvSt11align_val_t");

static void delete_aligned(void *p) { op_delete_aligned(p, 64); }

CASE(new, op_new(10079), op_delete)
CASE(new_array, op_new_array(10091), op_delete_array)
CASE(new_nothrow, op_new_nothrow(10093, ""), op_delete)
CASE(new_aligned, op_new_aligned(64 * 157, 64), delete_aligned)

/* --- Mappings: of these sizes, 11 pages have a byte of them */

enum { MAPPED = 10 * PAGE + 1 };

static char *map(size_t n, int protection)
{
    return last = mmap(NULL, n, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void case_mmap(void)
{
    char *p;

    map(MAPPED, PROT_READ | PROT_WRITE);
    munmap(map(MAPPED, PROT_READ | PROT_WRITE), MAPPED);
    munmap(map(MAPPED, PROT_READ | PROT_WRITE), PAGE);             /* its beginning */
    munmap(map(MAPPED, PROT_READ | PROT_WRITE) + 10 * PAGE, PAGE); /* its end */
    munmap(map(MAPPED, PROT_READ | PROT_WRITE) + 4 * PAGE, 2 * PAGE); /* its middle */
    p = map(MAPPED, PROT_READ | PROT_WRITE); /* its middle, and then the rest */
    munmap(p + 4 * PAGE, 2 * PAGE);
    munmap(p, 4 * PAGE);
    munmap(p + 6 * PAGE, 5 * PAGE);
    p = map(MAPPED, PROT_READ | PROT_WRITE); /* all of it, in two parts */
    munmap(p + 4 * PAGE, 7 * PAGE);
    munmap(p, 4 * PAGE);
}

void case_mremap(void)
{
    char *p;

    mremap(map(MAPPED, PROT_READ | PROT_WRITE), MAPPED, 20 * PAGE + 1, MREMAP_MAYMOVE);
    mremap(map(MAPPED, PROT_READ | PROT_WRITE), MAPPED, 5 * PAGE + 1, 0);
    if (mremap(map(MAPPED, PROT_READ | PROT_WRITE), MAPPED, (size_t)1 << 60,
               MREMAP_MAYMOVE) != MAP_FAILED)
        abort();
    p = mremap(map(MAPPED, PROT_READ | PROT_WRITE), MAPPED, 30 * PAGE + 1,
               MREMAP_MAYMOVE);
    munmap(p, 30 * PAGE + 1);
    p = map(MAPPED, PROT_READ | PROT_WRITE);
    mmap(p, MAPPED, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
         0); /* in its place */
}

void case_no_heap(void)
{
    int fd = memfd_create("allocated", 0);

    map(MAPPED, PROT_NONE);
    if (ftruncate(fd, MAPPED) == 0)
        last = mmap(NULL, MAPPED, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
}

/* --- PyMem, as the interpreter has it */

void *PyMem_RawMalloc(size_t), *PyMem_RawCalloc(size_t, size_t),
    *PyMem_RawRealloc(void *, size_t);
void *PyMem_Malloc(size_t), *PyMem_Calloc(size_t, size_t),
    *PyMem_Realloc(void *, size_t);
void *PyObject_Malloc(size_t), *PyObject_Calloc(size_t, size_t),
    *PyObject_Realloc(void *, size_t);
void PyMem_RawFree(void *), PyMem_Free(void *), PyObject_Free(void *);

CASE(raw, PyMem_RawMalloc(211), PyMem_RawFree)
CASE(raw_calloc, PyMem_RawCalloc(3, 73), PyMem_RawFree)
CASE(mem, PyMem_Malloc(223), PyMem_Free)
CASE(mem_calloc, PyMem_Calloc(3, 79), PyMem_Free)
CASE(object, PyObject_Malloc(227), PyObject_Free)
CASE(object_calloc, PyObject_Calloc(3, 83), PyObject_Free)
CASE(object_large, PyObject_Malloc(10103), PyObject_Free)

/* Up to 512 bytes pymalloc has them, above malloc. */
void case_across_512(void)
{
    last = PyObject_Malloc(499);
    last = PyObject_Realloc(last, 521);
    last = PyObject_Realloc(last, 509);
    last = PyObject_Realloc(last, 1031);
    last = PyMem_Malloc(503);
    last = PyMem_Realloc(last, 541);
    last = PyMem_Realloc(last, 491);
    last = PyMem_RawMalloc(487);
    last = PyMem_RawRealloc(last, 547);
    PyMem_RawFree(last);
}

/* --- What functions of Python call */

void case_leaf(void) { last = malloc(1039); }

/* Sizes that grow by one. */
void case_next(void)
{
    static size_t n = 5003;

    last = malloc(n++);
}

/* Many of one size, of which every other one is freed. */
static size_t many_size, many_n;

void set_many(size_t size, size_t n)
{
    many_size = size;
    many_n = n;
}

void case_many(void)
{
    for (size_t i = 0; i < many_n; i++) {
        last = malloc(many_size);
        if (i % 2)
            free(last);
    }
}

/* --- The peak */

static void *volatile hills[2];

void case_hill(void) { hills[0] = malloc(40000003); }
void case_top(void) { hills[1] = malloc(30000001); }
void case_down(void)
{
    free(hills[0]);
    free(hills[1]);
}
void case_lower_hill(void)
{
    last = malloc(60000011);
    free(last);
}

/* --- Threads that run no Python */

static void *work(void *of)
{
    last = malloc(10111);
    last = PyMem_RawMalloc(10133);
    return of;
}

void case_native_threads(void)
{
    pthread_t threads[3];

    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

/* Blocks from one thread to another, which frees them: through a few places, so that
 * both run at once. */
enum { HANDED = 20000, PLACES = 512 };
static _Atomic(void *) places[PLACES];

void case_produce(void)
{
    for (int i = 0; i < HANDED; i++) {
        void *p = i % 2 ? malloc(211) : PyMem_RawMalloc(211), *empty = NULL;

        while (!atomic_compare_exchange_weak(&places[i % PLACES], &empty, p)) {
            empty = NULL;
            sched_yield();
        }
    }
}

void case_consume(void)
{
    for (int i = 0; i < HANDED; i++) {
        void *p;

        while (!(p = atomic_exchange(&places[i % PLACES], NULL)))
            sched_yield();
        if (i % 2)
            free(p);
        else
            PyMem_RawFree(p);
    }
}

static void *produce(void *of)
{
    case_produce();
    return of;
}

void case_hand_over(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, produce, NULL);
    case_consume();
    pthread_join(thread, NULL);
}

/* --- Libraries that are opened late: copies of this one */

static char late_path[4096];

void set_late(const char *path) { strncpy(late_path, path, sizeof late_path - 1); }

static void open_late(const char *path, int flags)
{
    void *library = dlopen(path, RTLD_NOW | flags);
    void (*call)(void) = library ? (void (*)(void))dlsym(library, "case_leaf") : NULL;

    if (!call)
        abort();
    call();
}

void case_open_late(void) { open_late(late_path, 0); }
void case_open_late_deep(void) { open_late(late_path, RTLD_DEEPBIND); }
/* It is beside this one, and only this one's RUNPATH says so. */
void case_open_late_beside(void) { open_late("beside.so", 0); }

/* --- Counted in a page that outlives the program */

static _Atomic uint64_t *page;

/* After each of them. */
static void count(_Atomic uint64_t *word)
{
    atomic_store_explicit(word, *word + 1, memory_order_release);
}

void set_page(void *p) { page = p; }

/* Until the page says stop: blocks come, and later go; thread `i` counts them in the
 * words i and 16 + i. */
void churn(int i)
{
    enum { HELD = 500 };
    void *held[HELD] = { 0 };
    uint32_t random = 12345u + (uint32_t)i, n = 0;

    while (!page[257]) {
        unsigned at = (random = random * 1664525 + 1013904223) >> 8 & 0xffff;

        if (held[at % HELD]) {
            if (at % HELD % 2)
                free(held[at % HELD]);
            else
                PyMem_RawFree(held[at % HELD]);
            count(&page[16 + i]);
        }
        held[at % HELD] =
            at % HELD % 2 ? malloc(1 + at % 700) : PyMem_RawMalloc(1 + at % 700);
        count(&page[i]);
        if (++n % 64 == 0)
            sched_yield();
    }
}

/* --- A fork */

static void *volatile inherited;

void case_inherit(void) { inherited = malloc(10139); }
void case_free_inherited(void) { free(inherited); }
