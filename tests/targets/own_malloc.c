/* SPDX-License-Identifier: MIT */
/* own_malloc: a program that brings its own malloc, which maps memory while it holds
 * its lock: who calls malloc there waits for ever. */
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *malloc(size_t n)
{
    size_t *p;

    pthread_mutex_lock(&lock);
    p = mmap(NULL, n + 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_mutex_unlock(&lock);
    *p = n;
    return p + 2;
}

void free(void *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&lock);
    munmap((size_t *)p - 2, ((size_t *)p)[-2] + 16);
    pthread_mutex_unlock(&lock);
}

void *calloc(size_t n, size_t each) { return malloc(n * each); }

void *realloc(void *p, size_t n)
{
    void *q = malloc(n);
    size_t had = p ? ((size_t *)p)[-2] : 0;

    if (p)
        memcpy(q, p, had < n ? had : n);
    free(p);
    return q;
}

static void *run(void *unused)
{
    for (int i = 0; i < 100; i++)
        free(malloc(100001));
    return unused;
}

int main(void)
{
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return write(1, "done\n", 5) == 5 ? 0 : 1;
}
