/* SPDX-License-Identifier: MIT */
#include "process/memory_watch.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"

enum { MB = 1 << 20, SIZE = 64 * MB };

static char *touched(void)
{
    char *p =
        mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(p != MAP_FAILED);
    memset(p, 1, SIZE);
    return p;
}

/* The last reading is made when it is stopped, so none has to be waited for. */
TEST(a_memory_watch_sees_what_is_held_at_its_ends)
{
    struct sd_memory_request request = { .every_ns = 1000000 };
    struct sd_memory_watch *w;
    const struct sd_memory_reading *r;
    size_t n, n_read;
    char *p;

    CHECK(sd_memory_watch_start(&request, &w) == 0);
    p = touched();
    sd_memory_watch_stop(w);
    sd_memory_watch_stop(w);
    r = sd_memory_watch_readings(w, &n, &n_read);
    CHECK(n == n_read && n >= 3);
    CHECK(r[n - 1].bytes - r[0].bytes > SIZE - 8 * MB);
    CHECK(r[n - 1].real_ns >= r[0].real_ns);
    sd_memory_watch_free(w);
    munmap(p, SIZE);
}

TEST(a_memory_watch_keeps_the_most_alone)
{
    struct sd_memory_request request = { .every_ns = 1000000, .has_most = true };
    struct sd_memory_watch *w;
    const struct sd_memory_reading *r;
    size_t n, n_read;
    char *p = touched();

    CHECK(sd_memory_watch_start(&request, &w) == 0);
    munmap(p, SIZE);
    sd_memory_watch_stop(w);
    r = sd_memory_watch_readings(w, &n, &n_read);
    CHECK(n == 1 && n_read >= 3 && r[0].bytes >= SIZE);
    sd_memory_watch_free(w);
}

TEST(memory_of_a_tree_has_that_of_children)
{
    int to[2], from[2], status;
    char c;
    pid_t pid;

    CHECK(pipe(to) == 0 && pipe(from) == 0);
    pid = fork();
    if (pid == 0) {
        dup2(to[0], 0);
        close(to[1]);
        touched();
        if (write(from[1], "x", 1) == 1 && read(0, &c, 1) >= 0)
            _exit(0);
        _exit(1);
    }
    CHECK(read(from[0], &c, 1) == 1);
    CHECK(sd_memory_of(pid, SD_MEMORY_RSS) >= SIZE);
    CHECK(sd_memory_of_tree(0, SD_MEMORY_RSS) - sd_memory_of(0, SD_MEMORY_RSS) >= SIZE);
    if (sd_memory_of(pid, SD_MEMORY_USS) >= 0) /* not every kernel tells */
        CHECK(sd_memory_of(pid, SD_MEMORY_USS) >= SIZE);
    close(to[1]);
    close(to[0]);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    close(from[0]);
    close(from[1]);
    CHECK(sd_memory_of(pid, SD_MEMORY_RSS) == -1);
}
