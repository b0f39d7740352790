/* SPDX-License-Identifier: MIT */
#include "base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

TEST(output_to_memory_is_kept_as_it_was_written)
{
    struct sd_out o;

    sd_out_to_memory(&o);
    sd_out_text(&o, "a");
    sd_out_printf(&o, "%d", 12);
    sd_out_write(&o, "xyz", 2);
    CHECK(sd_out_flush(&o) == 0);
    CHECK(strcmp(sd_buf_string(&o.pending), "a12xy") == 0);
    sd_out_release(&o);
}

/* Pieces below, at and beyond what is buffered, in one file. */
TEST(output_to_a_file_arrives_whole_and_in_order)
{
    static char piece[100000], back[sizeof piece];
    int fd = memfd_create("out", MFD_CLOEXEC);
    off_t size = 0;
    struct sd_out o;

    CHECK(fd >= 0);
    sd_out_to_fd(&o, fd);
    for (size_t n = 1; n <= sizeof piece; n = n * 3 + 1) {
        memset(piece, 'a' + (int)(n % 26), n);
        sd_out_write(&o, piece, n);
        sd_out_printf(&o, "%s", "|");
        size += (off_t)n + 1;
    }
    CHECK(sd_out_flush(&o) == 0 && lseek(fd, 0, SEEK_END) == size);
    size = 0;
    for (size_t n = 1; n <= sizeof piece; n = n * 3 + 1) {
        memset(piece, 'a' + (int)(n % 26), n);
        CHECK(pread(fd, back, n + 1, size) == (ssize_t)(n + 1));
        CHECK(memcmp(piece, back, n) == 0 && back[n] == '|');
        size += (off_t)n + 1;
    }
    sd_out_release(&o);
    close(fd);
}

TEST(nothing_is_written_before_it_is_due)
{
    int fd = memfd_create("out", MFD_CLOEXEC);
    struct sd_out o;

    sd_out_to_fd(&o, fd);
    sd_out_text(&o, "small");
    CHECK(lseek(fd, 0, SEEK_END) == 0);
    CHECK(sd_out_flush(&o) == 0 && lseek(fd, 0, SEEK_END) == 5);
    CHECK(sd_out_flush(&o) == 0 && lseek(fd, 0, SEEK_END) == 5);
    sd_out_release(&o);
    close(fd);
}

TEST(a_full_disk_is_told_once_at_the_end)
{
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct sd_out o;

    sd_out_to_fd(&o, fd);
    for (int i = 0; i < 100000; i++)
        sd_out_text(&o, "much of the same ");
    CHECK(o.err == ENOSPC && o.pending.n == 0);
    CHECK(sd_out_flush(&o) == SD_EFULL);
    CHECK(strcmp(sd_fail_text(), "cannot write the output: No space left on device") ==
          0);
    sd_out_release(&o);
    close(fd);
}

TEST(after_a_failure_nothing_more_is_written)
{
    int fd = memfd_create("out", MFD_CLOEXEC);
    struct sd_out o;

    sd_out_to_fd(&o, fd);
    sd_out_text(&o, "before");
    o.err = ENOSPC; /* the disk was full, and now it is not */
    sd_out_text(&o, "after");
    CHECK(sd_out_flush(&o) == SD_EFULL && sd_out_flush(&o) == SD_EFULL);
    CHECK(lseek(fd, 0, SEEK_END) == 0);
    sd_out_release(&o);
    close(fd);
}

TEST(a_reader_that_left_is_a_failure_and_no_signal)
{
    void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* as cli does */
    struct sd_out o;
    int ends[2];

    CHECK(pipe(ends) == 0);
    close(ends[0]);
    sd_out_to_fd(&o, ends[1]);
    sd_out_text(&o, "anyone?");
    CHECK(sd_out_flush(&o) == SD_EIO && o.err == EPIPE);
    sd_out_release(&o);
    close(ends[1]);
    signal(SIGPIPE, before);
}

TEST(a_non_blocking_pipe_still_gets_everything)
{
    static char much[200000], back[4096];
    struct sd_out o;
    int ends[2];
    pid_t child;
    size_t got = 0;
    ssize_t n;
    int status;

    CHECK(pipe(ends) == 0);
    child = fork();
    if (child == 0) {
        fcntl(ends[1], F_SETFL, O_NONBLOCK);
        sd_out_to_fd(&o, ends[1]);
        sd_out_write(&o, much, sizeof much);
        _exit(sd_out_flush(&o) < 0);
    }
    close(ends[1]);
    while ((n = read(ends[0], back, sizeof back)) > 0)
        got += (size_t)n;
    CHECK(got == sizeof much);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    close(ends[0]);
}

TEST(output_that_lost_something_for_lack_of_memory_says_so)
{
    EACH_FAILURE(nth)
    {
        int fd = memfd_create("out", MFD_CLOEXEC);
        struct sd_out o;
        int rc;

        sd_out_to_fd(&o, fd);
        for (int i = 0; i < 1000; i++)
            sd_out_printf(&o, "line %03d\n", i);
        rc = sd_out_flush(&o);
        CHECK(rc == 0 ? lseek(fd, 0, SEEK_END) == 9000 : rc == SD_ENOMEM);
        sd_out_release(&o);
        sd_out_to_memory(&o);
        sd_out_text(&o, "text");
        rc = sd_out_flush(&o);
        CHECK(rc == 0 ? o.pending.n == 4 : rc == SD_ENOMEM);
        sd_out_release(&o);
        close(fd);
    }
}

TEST(out_counts_without_keeping_and_stops_at_its_limit)
{
    enum { LIMIT = 200000 };
    struct sd_out o;
    char block[1000];

    memset(block, 'x', sizeof block);
    sd_out_to_count(&o, LIMIT);
    for (size_t i = 0; i < LIMIT / sizeof block; i++)
        sd_out_write(&o, block, sizeof block);
    CHECK(sd_out_counted(&o) == LIMIT);
    CHECK(sd_out_flush(&o) == 0);
    CHECK(sd_out_counted(&o) == LIMIT && o.pending.n == 0);
    sd_out_text(&o, "x");
    CHECK(sd_out_flush(&o) < 0 && o.err == EFBIG);
    sd_out_release(&o);
}
