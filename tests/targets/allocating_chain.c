/* SPDX-License-Identifier: MIT */
/* allocating_chain: chain_a calls chain_b calls chain_c, which allocates.  ALLOCA and
 * ALIGNED give chain_b a frame that another register than rsp leads to; PROGRAM makes a
 * program of it. */
#include <alloca.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *kept[4096];
static int n_kept;

#ifdef HIDDEN /* without a symbol for others to link to */
#define INNER static
#else
#define INNER
#endif
#define USED(p) __asm__ volatile("" ::"r"(p) : "memory")

INNER __attribute__((noinline)) void chain_c(size_t n)
{
    void *p = malloc(n);

    kept[n_kept++ % 4096] = p;
    USED(p);
}

INNER __attribute__((noinline)) void chain_b(size_t n)
{
#if defined(ALLOCA)
    char *room = alloca(n % 100 + 16);

    memset(room, 1, 16);
    USED(room);
#elif defined(ALIGNED)
    _Alignas(64) char room[128];

    memset(room, 1, sizeof room);
    USED(room);
#endif
    chain_c(n);
    USED(n);
}

__attribute__((noinline)) void chain_a(size_t n)
{
    chain_b(n);
    USED(n);
}

typedef void called_back(void);

__attribute__((noinline)) void chain_call(called_back *f)
{
    f();
    USED(f);
}

static void *in_thread(void *n)
{
    chain_a((size_t)n);
    return NULL;
}

__attribute__((noinline)) void chain_thread(size_t n)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, in_thread, (void *)n) == 0)
        pthread_join(thread, NULL);
}

#ifdef PROGRAM
int main(int argc, char **argv)
{
    for (int i = 0; i < 7; i++)
        chain_a(10007);
    if (argc > 1)
        chain_thread(30011);
    (void)argv;
    return 0;
}
#endif
