/* SPDX-License-Identifier: MIT */
/* The whole way: a log into a capture, and the reader out of it. */
#include "capture/capture.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/table.h"
#include "base/test.h"
#include "capture/owner.h"
#include "capture/pool.h"
#include "capture/source.h"
#include "capture/capture_testing.h"

TEST(capture_gives_back_what_was_logged)
{
    struct sd_scratch s;
    struct sd_test_counts seen;

    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0);
    CHECK(sd_scratch_join(&s) == 0);
    for (uint64_t i = 1; i <= 1000; i++)
        CHECK(sd_scratch_event(sd_writer_log(s.writer), i));
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, &s.counts) == 0);
    CHECK(s.counts.events == 1000 && s.counts.lost == 0);
    CHECK(access(s.live, F_OK) != 0);
    sd_scratch_read(&s, &seen);
    CHECK(seen.events == 1000 && seen.sum == 1000 * 1001 / 2);
    CHECK(seen.names_wrong == 0);
    CHECK(seen.complaint[0] == 0);
    CHECK(seen.health.is_ended && seen.health.status == 0 && !seen.health.has_live);
    sd_scratch_remove(&s);
}

TEST(capture_is_made_whole_or_not_at_all)
{
    struct sd_capture_options over = { .create = SD_CREATE_OVER };
    struct sd_scratch s;
    struct sd_capture *second;

    sd_scratch_make(&s);
    CHECK(sd_capture_create("/nowhere/x.sonde", NULL, &second) == SD_EABSENT);
    CHECK(second == NULL);
    CHECK(sd_scratch_create(&s, NULL) == 0);
    CHECK(sd_capture_create(s.path, NULL, &second) == SD_EEXISTS);
    /* Not even by force while it is being written. */
    CHECK(sd_capture_create(s.path, &over, &second) == SD_EEXISTS);
    CHECK(strstr(sd_fail_text(), "is being written by process"));
    CHECK(sd_capture_finish(s.capture, 0, NULL) == 0);
    CHECK(sd_capture_create(s.path, &over, &second) == 0);
    sd_capture_abandon(second);
    CHECK(access(s.path, F_OK) != 0 && access(s.live, F_OK) != 0);
    sd_scratch_remove(&s);
}

TEST(capture_does_not_overwrite_what_a_killed_owner_left)
{
    struct sd_capture_options over = { .create = SD_CREATE_OVER };
    struct sd_scratch s;
    pid_t pid;

    sd_scratch_make(&s);
    pid = fork();
    if (pid == 0) {
        sd_scratch_create(&s, NULL);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    unlink(s.path); /* the folder alone is a reason to ask */
    CHECK(sd_scratch_create(&s, NULL) == SD_EEXISTS);
    CHECK(strstr(sd_fail_text(), "x.sonde.live is left from an earlier capture"));
    CHECK(sd_scratch_create(&s, &over) == 0);
    CHECK(sd_capture_finish(s.capture, 0, NULL) == 0);
    sd_scratch_remove(&s);
}

/* Writes until it is told to end by the end of the pipe.  It has joined when this
 * returns: a file whose head is not written yet is that of a process that comes too
 * late. */
static pid_t start_orphan(struct sd_scratch *s, int go[2], uint64_t n)
{
    int joined[2];
    pid_t pid;
    char c;

    CHECK(pipe(joined) == 0);
    pid = fork();
    if (pid == 0) {
        close(go[1]);
        close(joined[0]);
        if (sd_writer_join(s->live, &s->writer) < 0)
            _exit(1);
        close(joined[1]);
        for (uint64_t i = 1; i <= n; i++)
            sd_scratch_event(sd_writer_log(s->writer), i);
        while (read(go[0], &c, 1) > 0)
            ;
        for (uint64_t i = n + 1; i <= 2 * n; i++)
            sd_scratch_event(sd_writer_log(s->writer), i);
        _exit(0);
    }
    close(joined[1]);
    CHECK(read(joined[0], &c, 1) == 0);
    close(joined[0]);
    return pid;
}

TEST(capture_leaves_the_folder_to_a_process_that_goes_on)
{
    const uint64_t n = 20000;
    struct sd_scratch s;
    struct sd_test_counts seen;
    uint64_t from;
    int go[2];
    pid_t pid;

    sd_scratch_make(&s);
    CHECK(pipe(go) == 0);
    CHECK(sd_scratch_create(&s, NULL) == 0);
    pid = start_orphan(&s, go, n);
    usleep(20000);
    from = sd_clock_ns();
    CHECK(sd_capture_finish(s.capture, 5, NULL) == 0);
    CHECK(sd_clock_ns() - from >= 200 * 1000 * 1000u); /* it was waited for */
    CHECK(access(s.live, F_OK) == 0);
    CHECK(sd_scratch_read(&s, &seen) == 0);
    CHECK(seen.health.is_ended && seen.health.is_running && seen.health.status == 5);
    close(go[1]);
    close(go[0]);
    waitpid(pid, NULL, 0);
    CHECK(sd_scratch_read(&s, &seen) == 0);
    CHECK(seen.events == 2 * n && seen.sum == n * (2 * n + 1));
    CHECK(seen.out_of_order == 0 && !seen.complaint[0] && seen.health.has_live);
    sd_scratch_remove(&s);
}

TEST(capture_awaits_no_process_that_has_left_its_session)
{
    for (int is_daemon = 0; is_daemon < 2; is_daemon++) {
        struct sd_scratch s;
        int ready[2], go[2];
        char c;
        pid_t pid;

        sd_scratch_make(&s);
        CHECK(pipe(ready) == 0 && pipe(go) == 0);
        CHECK(sd_scratch_create(&s, NULL) == 0);
        pid = fork();
        if (pid == 0) {
            close(ready[0]);
            close(go[1]);
            if (is_daemon)
                setsid();
            if (sd_writer_join(s.live, &s.writer) < 0)
                _exit(1);
            sd_scratch_event(sd_writer_log(s.writer), 1);
            close(ready[1]);
            _exit(read(go[0], &c, 1) == 0 ? 0 : 1);
        }
        close(ready[1]);
        CHECK(read(ready[0], &c, 1) == 0); /* it has joined */
        sd_seal_stop(s.capture);
        sd_seal_look(s.capture);
        CHECK(sd_seal_n_open(s.capture) == 1);
        CHECK(sd_seal_n_awaited(s.capture) == (is_daemon ? 0 : 1));
        close(go[1]);
        waitpid(pid, NULL, 0);
        CHECK(sd_capture_finish(s.capture, 0, NULL) == 0);
        close(ready[0]);
        close(go[0]);
        sd_scratch_remove(&s);
    }
}

TEST(capture_waits_for_a_process_that_is_about_to_end)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    int go[2];
    pid_t pid;

    sd_scratch_make(&s);
    CHECK(pipe(go) == 0);
    CHECK(sd_scratch_create(&s, NULL) == 0);
    pid = start_orphan(&s, go, 20); /* few: it has to end within the wait */
    close(go[1]);
    CHECK(sd_capture_finish(s.capture, 0, NULL) == 0);
    waitpid(pid, NULL, 0);
    close(go[0]);
    CHECK(access(s.live, F_OK) != 0);
    CHECK(sd_scratch_read(&s, &seen) == 0);
    CHECK(seen.events == 40 && !seen.complaint[0]);
    sd_scratch_remove(&s);
}

/* After a crash of the machine the word `committed` may be newer than the pages it
 * speaks of: zeros, or records of an earlier turn. */
TEST(reader_stops_at_stale_records_of_a_live_half_and_says_so)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct sd_log *l;

    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0 && sd_scratch_join(&s) == 0);
    l = sd_writer_log(s.writer);
    for (uint64_t i = 1; i <= 10; i++)
        CHECK(sd_scratch_event(l, i));
    memcpy(l->base + l->at, l->base + l->at - 32, 32);
    ((struct sd_record *)(void *)(l->base + l->at))->epoch--; /* of the turn before */
    atomic_store(&l->half->committed, l->at + 32);
    CHECK(sd_scratch_read(&s, &seen) == 0);
    CHECK(seen.events == 10 && seen.health.bad_bytes == 32);
    CHECK(strstr(seen.complaint, "damaged"));
    memset(l->base + l->at, 0, 32);
    CHECK(sd_scratch_read(&s, &seen) == 0);
    CHECK(seen.events == 10 && seen.health.bad_bytes == 32);
    atomic_store(&l->half->committed, l->at);
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, NULL) == 0);
    sd_scratch_remove(&s);
}

TEST(reader_leaves_the_live_folder_of_another_capture_alone)
{
    struct sd_scratch a, b;
    struct sd_test_counts seen;

    sd_scratch_make(&a);
    sd_scratch_make(&b);
    CHECK(sd_scratch_create(&a, NULL) == 0 && sd_scratch_join(&a) == 0);
    CHECK(sd_scratch_event(sd_writer_log(a.writer), 1));
    sd_writer_leave(a.writer);
    CHECK(sd_capture_finish(a.capture, 0, NULL) == 0);
    CHECK(sd_scratch_create(&b, NULL) == 0 && sd_scratch_join(&b) == 0);
    CHECK(sd_scratch_event(sd_writer_log(b.writer), 1));
    CHECK(rename(b.live, a.live) == 0);
    CHECK(sd_scratch_read(&a, &seen) == 0);
    CHECK(seen.events == 1 && !seen.health.has_live);
    CHECK(strstr(seen.complaint, "belongs to another capture"));
    CHECK(rename(a.live, b.live) == 0);
    sd_writer_leave(b.writer);
    CHECK(sd_capture_finish(b.capture, 0, NULL) == 0);
    sd_scratch_remove(&a);
    sd_scratch_remove(&b);
}

TEST(capture_knows_the_marks_and_bytes_of_a_process)
{
    struct sd_scratch s;
    uint64_t bytes_read, written;

    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0 && sd_scratch_join(&s) == 0);
    CHECK(sd_capture_n_joined(s.capture) == 0); /* none but this one */
    CHECK(sd_writer_owner_pid(s.writer) == (uint32_t)getpid());
    atomic_store(sd_writer_peak_bytes(s.writer), 12345);
    CHECK(sd_writer_own_io(s.writer, 77) == 0);
    for (uint64_t i = 1; i <= 20000; i++) /* more than two halves: some is written */
        CHECK(sd_scratch_event(sd_writer_log(s.writer), i));
    CHECK(sd_capture_peak_bytes(s.capture, (uint32_t)getpid()) == 12345);
    CHECK(sd_capture_peak_bytes(s.capture, 1) == 0);
    sd_capture_own_io(s.capture, (uint32_t)getpid(), &bytes_read, &written);
    CHECK(bytes_read == 77 && written > 200000 && written < 700000);
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, NULL) == 0);
    sd_scratch_remove(&s);
}

TEST(capture_counts_what_the_program_overwrote_in_a_full_half)
{
    static const char zeros[64];
    enum { EVENTS = 10000 }; /* more than one half */
    struct sd_capture_counts counts;
    struct sd_scratch s;
    struct sd_log *l;

    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0 && sd_scratch_join(&s) == 0);
    for (uint64_t i = 1; i <= EVENTS; i++)
        CHECK(sd_scratch_event(sd_writer_log(s.writer), i));
    l = sd_writer_log(s.writer);
    CHECK(l->half == &l->slot->halves[1]); /* the first was handed over */
    memcpy(l->halves[0] + 4096, zeros, sizeof zeros);
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, &counts) == 0);
    CHECK(counts.lost > 0 && counts.events + counts.lost == EVENTS);
    sd_scratch_remove(&s);
}

TEST(capture_cannot_be_finished_by_a_forked_child)
{
    struct sd_scratch s;
    int status;
    pid_t pid;

    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0);
    pid = fork();
    if (pid == 0) {
        int rc = sd_capture_finish(s.capture, 0, NULL);

        sd_capture_abandon(s.capture);
        _exit(rc == SD_EUSAGE ? 0 : 1);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(access(s.path, F_OK) == 0 && access(s.live, F_OK) == 0);
    CHECK(sd_capture_finish(s.capture, 0, NULL) == 0);
    sd_scratch_remove(&s);
}

/* A reader that opened in time finds every chunk, though the owner moves them all. */
TEST(reader_follows_chunks_that_are_sealed_while_it_reads)
{
    const uint64_t n = 50000;
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct sd_reader *r;

    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0 && sd_scratch_join(&s) == 0);
    for (uint64_t i = 1; i <= n; i++)
        CHECK(sd_scratch_event(sd_writer_log(s.writer), i));
    CHECK(sd_reader_open(s.path, &r) == 0);
    CHECK(sd_reader_health(r)->live_events == n);
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, NULL) == 0);
    CHECK(access(s.live, F_OK) != 0);
    sd_seen_fill(&seen, r);
    CHECK(seen.events == n && seen.sum == n * (n + 1) / 2 && seen.out_of_order == 0);
    CHECK(seen.health.bad_chunks == 0);
    sd_reader_free(r);
    sd_scratch_remove(&s);
}

/* Chunks of the file that stand behind a later one of their stream; *n: all of them
 * that are of a log. */
static int n_out_of_order(const char *path, int *n)
{
    struct sd_source source;
    struct sd_scan scan;
    struct sd_source_chunk found;
    struct sd_table last = { 0 };
    uint64_t before;
    int fd = open(path, O_RDONLY), bad = 0;

    *n = 0;
    sd_source_of_fd(&source, fd, 0, (uint64_t)lseek(fd, 0, SEEK_END));
    sd_scan_init(&scan, &source, 0, sizeof(struct sd_preamble));
    while (sd_scan_next(&scan, &found)) {
        if (found.head.type != SD_CHUNK_EVENTS)
            continue;
        bad +=
            sd_table_get(&last, found.head.stream, &before) && before > found.head.seq;
        sd_table_put(&last, found.head.stream, found.head.seq);
        ++*n;
    }
    sd_table_release(&last);
    sd_source_release(&source);
    return bad;
}

/* Nobody fetches: the first half waits while all that comes behind it is appended to
 * .chunks.  A file that is cut must have the first chunk before those. */
TEST(capture_has_the_chunks_of_a_stream_in_order)
{
    struct sd_scratch s;
    int n;

    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0 && sd_scratch_join(&s) == 0);
    for (uint64_t i = 1; i <= 50000; i++)
        CHECK(sd_scratch_event(sd_writer_log(s.writer), i));
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, NULL) == 0);
    CHECK(n_out_of_order(s.path, &n) == 0);
    CHECK(n >= 5);
    sd_scratch_remove(&s);
}

struct busy {
    struct sd_scratch *s;
    uint64_t n;
};

static void *write_events(void *busy)
{
    struct busy *b = busy;

    for (uint64_t i = 1; i <= b->n; i++)
        if (!sd_scratch_event(sd_writer_log(b->s->writer), i))
            return NULL;
    return b;
}

/* The owner fetches now and then: halves are sealed, and handed over again, while
 * others are appended to .chunks. */
TEST(capture_has_the_chunks_in_order_while_threads_write)
{
    enum { THREADS = 3 };
    struct sd_scratch s;
    struct busy busy = { &s, 100000 };
    pthread_t threads[THREADS];
    void *done;
    int n;

    sd_scratch_make(&s);
    CHECK(sd_scratch_create(&s, NULL) == 0 && sd_scratch_join(&s) == 0);
    CHECK(sd_capture_start(s.capture) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, write_events, &busy) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], &done) == 0 && done);
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, &s.counts) == 0);
    CHECK(s.counts.events == THREADS * busy.n && s.counts.lost == 0);
    CHECK(n_out_of_order(s.path, &n) == 0);
    CHECK(n >= THREADS * 10);
    sd_scratch_remove(&s);
}

/* Forty processes, and an owner with descriptors for a few of them. */
TEST(capture_seals_more_processes_than_it_has_descriptors)
{
    enum { PROCESSES = 40, EACH = 10000 };
    struct rlimit was, few = { 0 };
    struct sd_scratch s;
    struct sd_test_counts seen;
    pid_t pids[PROCESSES];
    int go[2], taken[128], n = 0;

    sd_scratch_make(&s);
    CHECK(pipe(go) == 0);
    CHECK(sd_scratch_create(&s, NULL) == 0);
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = start_orphan(&s, go, EACH);
    getrlimit(RLIMIT_NOFILE, &was);
    few.rlim_cur = 128;
    few.rlim_max = was.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    while (n < 128 && (taken[n] = dup(go[0])) >= 0)
        n++;
    for (int i = 0; i < 12 && n > 0; i++) /* a dozen are left */
        close(taken[--n]);
    CHECK(sd_capture_start(s.capture) == 0);
    while (sd_capture_n_joined(s.capture) < PROCESSES)
        usleep(1000);
    usleep(50000);
    close(go[1]);
    for (int i = 0; i < PROCESSES; i++)
        waitpid(pids[i], NULL, 0);
    CHECK(sd_capture_finish(s.capture, 0, &s.counts) == 0);
    while (n > 0)
        close(taken[--n]);
    close(go[0]);
    CHECK(setrlimit(RLIMIT_NOFILE, &was) == 0);
    CHECK(access(s.live, F_OK) != 0);
    CHECK(sd_scratch_read(&s, &seen) == 0);
    CHECK(seen.events == 2 * (uint64_t)PROCESSES * EACH);
    CHECK(!seen.complaint[0]);
    sd_scratch_remove(&s);
}
