/* SPDX-License-Identifier: MIT */
#include "cli/cut_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/test.h"

enum { PAGE = 4096 };

/* A file of three pages of 'x'; its name is gone, its number of bytes can change. */
static int three_pages(char path[32])
{
    char page[PAGE];
    int fd, i;

    strcpy(path, "/tmp/sonde-cut-XXXXXX");
    fd = mkstemp(path);
    CHECK(fd >= 0);
    memset(page, 'x', sizeof page);
    for (i = 0; i < 3; i++)
        CHECK(sd_write_all(fd, page, sizeof page) == 0);
    return fd;
}

TEST(cut_file_that_is_read_has_zeros_where_it_ended)
{
    struct sigaction before;
    struct sd_map map;
    char path[32];
    int fd = three_pages(path);

    CHECK(sigaction(SIGBUS, NULL, &before) == 0);
    sd_cut_file_watch();
    CHECK(sd_map_file(&map, path) == 0 && map.n == 3 * PAGE);
    CHECK(ftruncate(fd, PAGE + 10) == 0);
    CHECK(map.p[0] == 'x' && map.p[PAGE + 9] == 'x');
    CHECK(map.p[PAGE + 10] == 0 && map.p[3 * PAGE - 1] == 0);
    sd_map_release(&map);
    CHECK(sigaction(SIGBUS, &before, NULL) == 0);
    close(fd);
    unlink(path);
}

/* A file that is written to is no such file: what is lost there is an error. */
static void lose_what_is_written(int fd)
{
    const struct rlimit none = { 0, 0 };
    volatile char *p;

    setrlimit(RLIMIT_CORE, &none);
    signal(SIGBUS, SIG_DFL);
    sd_cut_file_watch();
    p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED || ftruncate(fd, PAGE) < 0)
        _exit(2);
    p[2 * PAGE] = 'y';
    _exit(0);
}

TEST(cut_file_that_is_written_is_a_fault_as_ever)
{
    char path[32];
    int status, fd = three_pages(path);
    pid_t pid = fork();

    if (pid == 0)
        lose_what_is_written(fd);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    close(fd);
    unlink(path);
}
