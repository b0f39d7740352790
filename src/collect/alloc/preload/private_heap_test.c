/* SPDX-License-Identifier: MIT */
#include "collect/alloc/preload/private_heap.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"

enum { BLOCKS = 200, ROUNDS = 2000 };

TEST(private_heap_gives_blocks_that_do_not_meet)
{
    unsigned char *blocks[BLOCKS];
    size_t sizes[BLOCKS];

    for (size_t i = 0; i < BLOCKS; i++) {
        sizes[i] = (i * 2027) % 300000 + 1;
        blocks[i] = __wrap_malloc(sizes[i]);
        CHECK(blocks[i] && (uintptr_t)blocks[i] % 16 == 0);
        memset(blocks[i], (int)i, sizes[i]);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        CHECK(blocks[i][0] == (unsigned char)i);
        CHECK(blocks[i][sizes[i] - 1] == (unsigned char)i);
        blocks[i] = __wrap_realloc(blocks[i], 2 * sizes[i]);
        CHECK(blocks[i] && blocks[i][sizes[i] - 1] == (unsigned char)i);
        __wrap_free(blocks[i]);
    }
    __wrap_free(NULL);
}

TEST(private_heap_clears_and_refuses)
{
    unsigned char *p = __wrap_malloc(1000);

    memset(p, 255, 1000);
    __wrap_free(p);
    p = __wrap_calloc(10, 100);
    for (size_t i = 0; i < 1000; i++)
        CHECK(p[i] == 0);
    __wrap_free(p);
    CHECK(__wrap_malloc(SIZE_MAX) == NULL);
    CHECK(__wrap_calloc(SIZE_MAX / 2, 3) == NULL);
    p = __wrap_malloc(5);
    CHECK(__wrap_realloc(p, SIZE_MAX) == NULL);
    __wrap_free(p);
}

static void *churn(void *unused)
{
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t *p = __wrap_malloc(sizeof *p * (1 + i % 50));

        *p = i;
        if (*p != i)
            return p;
        __wrap_free(p);
    }
    return unused;
}

TEST(private_heap_serves_threads_and_the_children_they_fork)
{
    pthread_t threads[3];
    void *wrong;
    int status;

    CHECK(sd_private_heap_watch_forks() == 0);
    for (size_t i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, churn, NULL) == 0);
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(churn(NULL) != NULL);
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
    for (size_t i = 0; i < 3; i++)
        CHECK(pthread_join(threads[i], &wrong) == 0 && !wrong);
}
