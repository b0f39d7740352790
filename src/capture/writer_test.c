/* SPDX-License-Identifier: MIT */
/* Logs, slots, threads, fork, and a program that does not behave. */
#include "capture/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "capture/capture_testing.h"
#include "capture/pool.h"

/* One capture with this process as owner and producer. */
static void begin(struct sd_scratch *s)
{
    sd_scratch_make(s);
    CHECK(sd_scratch_create(s, NULL) == 0);
    CHECK(sd_scratch_join(s) == 0);
}

static void end(struct sd_scratch *s, struct sd_test_counts *seen)
{
    sd_writer_leave(s->writer);
    CHECK(sd_capture_finish(s->capture, 0, &s->counts) == 0);
    CHECK(sd_scratch_read(s, seen) == 0);
    sd_scratch_remove(s);
}

static uint64_t sum_to(uint64_t n) { return n * (n + 1) / 2; }

static int reap(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

TEST(log_spills_what_nobody_fetches)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    const uint64_t n = 100000; /* a dozen halves */

    begin(&s);
    for (uint64_t i = 1; i <= n; i++)
        CHECK(sd_scratch_event(sd_writer_log(s.writer), i));
    end(&s, &seen);
    CHECK(seen.events == n && seen.sum == sum_to(n));
    CHECK(seen.names_wrong == 0 && seen.out_of_order == 0 && !seen.complaint[0]);
}

TEST(log_is_readable_while_it_is_written)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    const uint64_t n = 30000;

    begin(&s);
    CHECK(sd_capture_start(s.capture) == 0);
    for (uint64_t i = 1; i <= n; i++) {
        CHECK(sd_scratch_event(sd_writer_log(s.writer), i));
        if (i % 1000 == 0) {
            CHECK(sd_scratch_read(&s, &seen) == 0);
            CHECK(seen.events == i && seen.sum == sum_to(i));
            CHECK(seen.health.is_running && !seen.complaint[0]);
        }
    }
    end(&s, &seen);
    CHECK(seen.events == n && !seen.health.is_running);
}

/* The first of the stores that end a run is done, and the process is killed, or read
 * from, just then. */
TEST(a_run_that_is_being_ended_is_no_damage)
{
    struct sd_rec_calls *run;
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct sd_log *l;
    uint16_t len;

    begin(&s);
    l = sd_writer_take_log(s.writer, SD_LOSSES_NUMBERED);
    CHECK(l && sd_log_room(l, 4096));
    run = sd_log_begin_run(l, SD_REC_CALLS, sizeof *run, 800, 1);
    run->table = run->base = run->number = 1;
    run->pad = 0;
    sd_log_commit(l, 0, 1);
    run->units[0] = sd_record_call_short(SD_CALL_SHORT_BEGINS, 1);
    len = run->head.len;
    run->head.len = sizeof *run + 8;
    CHECK(sd_scratch_read(&s, &seen) == 0);
    CHECK(seen.health.bad_bytes == 0 && !seen.complaint[0]);
    run->head.len = len;
    sd_log_end_run(l, run, sizeof *run, sizeof run->units[0], 1, 2);
    sd_writer_give_log(s.writer, l);
    end(&s, &seen);
    CHECK(seen.health.bad_bytes == 0);
}

TEST(log_gives_no_room_inside_an_event)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct sd_log *l;

    begin(&s);
    l = sd_writer_log(s.writer);
    CHECK(sd_log_room(l, 64));
    CHECK(!sd_log_room(l, 64)); /* as a signal handler would ask */
    sd_log_commit(l, 0, 0);
    CHECK(sd_scratch_event(l, 1));
    end(&s, &seen);
    CHECK(seen.events == 1 && seen.health.lost_events == 1);
    CHECK(strstr(seen.complaint, "1 events were dropped"));
}

TEST(log_refuses_what_no_half_can_hold_and_counts_it)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct sd_log *l;

    begin(&s);
    l = sd_writer_log(s.writer);
    CHECK(!sd_log_room(l, SD_BIG_HALF + 8));
    CHECK(sd_scratch_event(l, 1));
    end(&s, &seen);
    CHECK(seen.events == 1 && seen.health.lost_events == 1);
}

/* More names than a chunk can remember begin the next chunk. */
TEST(log_defines_any_number_of_names)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct sd_log *l;

    begin(&s);
    l = sd_writer_log(s.writer);
    for (uint64_t key = 1; key <= 20000; key++) {
        CHECK(sd_log_room(l, SD_ROOM_STRING(4)));
        CHECK(sd_log_known(l, key * 8) == 0);
        CHECK(sd_log_define_string(l, key * 8, "name", 4) != 0);
        CHECK(sd_log_known(l, key * 8) != 0);
        sd_log_commit(l, 0, 0);
    }
    CHECK(l->seq == 20000 / SD_LOG_KEYS_FULL + 1);
    end(&s, &seen);
    CHECK(!seen.complaint[0]);
}

TEST(log_writes_notes_facts_and_shapes)
{
    static const struct sd_metric_about metrics[] = {
        { "rss", SD_UNIT_BYTES, SD_ADDS_LEVEL, "resident memory" },
        { "cpu", SD_UNIT_NANOSECONDS, SD_ADDS_COUNTER, "time on a processor" },
        { "extra", SD_UNIT_COUNT, SD_ADDS_SUM, NULL },
        { 0 },
    };
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct sd_log *l;
    uint32_t id;

    begin(&s);
    l = sd_writer_log(s.writer);
    sd_log_note(l, SD_NOTE_WARNING, "a sentence");
    sd_log_meta(l, "key", "");
    sd_log_meta(l, "", "");
    CHECK(sd_log_room(l, SD_ROOM_SHAPE));
    id = sd_log_define_shape(l, 42, metrics, 5);
    CHECK(id != 0 && sd_log_known(l, 42) == id);
    CHECK(l->at <= SD_ROOM_SHAPE);
    sd_log_commit(l, 0, 0);
    end(&s, &seen);
    CHECK(seen.notes == 1 && seen.metas == 5);
}

static void *log_one(void *writer)
{
    return sd_scratch_event(sd_writer_log(writer), 1) ? writer : NULL;
}

TEST(threads_give_their_slots_back)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct sd_pool *pool;
    void *done;

    begin(&s);
    for (int i = 0; i < 300; i++) {
        pthread_t t;

        CHECK(pthread_create(&t, NULL, log_one, s.writer) == 0);
        CHECK(pthread_join(t, &done) == 0 && done);
    }
    pool = sd_writer_pool(s.writer);
    CHECK(pool->outs->head->n_slots == 1 && pool->n_taken == 0);
    end(&s, &seen);
    CHECK(seen.events == 300 && seen.names_wrong == 0);
}

TEST(pool_goes_on_in_small_slots_and_then_in_another_file)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct sd_pool *pool;
    const uint32_t n = SD_MAX_SLOTS + 3;

    begin(&s);
    pool = sd_writer_pool(s.writer);
    for (uint32_t i = 0; i < n; i++) {
        struct sd_log *l = sd_pool_take(pool);

        CHECK(l);
        CHECK(l->half_bytes ==
              (i % SD_MAX_SLOTS < SD_BIG_SLOTS ? SD_BIG_HALF : SD_SMALL_HALF));
        CHECK(sd_scratch_event(l, i + 1));
        pool->n_taken--; /* no thread has it */
    }
    CHECK(pool->outs != pool->first && pool->outs->number == 1);
    end(&s, &seen);
    CHECK(seen.events == n && seen.sum == sum_to(n) && !seen.complaint[0]);
}

/* Small halves fill and pass like the big ones. */
TEST(small_slots_lose_nothing)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct sd_pool *pool;
    struct sd_log *l = NULL;

    begin(&s);
    CHECK(sd_capture_start(s.capture) == 0);
    pool = sd_writer_pool(s.writer);
    for (uint32_t i = 0; i <= SD_BIG_SLOTS; i++) {
        l = sd_pool_take(pool);
        pool->n_taken--;
    }
    CHECK(l->half_bytes == SD_SMALL_HALF);
    for (uint64_t i = 1; i <= 50000; i++)
        CHECK(sd_scratch_event(l, i));
    end(&s, &seen);
    CHECK(seen.events == 50000 && seen.out_of_order == 0 && !seen.complaint[0]);
}

TEST(two_writers_of_one_process_share_a_capture)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct sd_writer *other;

    begin(&s);
    CHECK(sd_writer_join(s.live, &other) == 0);
    for (uint64_t i = 1; i <= 1000; i++)
        CHECK(sd_scratch_event(sd_writer_log(i % 2 ? s.writer : other), i));
    sd_writer_leave(other);
    end(&s, &seen);
    CHECK(seen.events == 1000 && seen.sum == sum_to(1000));
    CHECK(seen.out_of_order == 0);
}

TEST(writer_that_left_gives_no_log_and_is_used_again)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct sd_writer *first;

    begin(&s);
    first = s.writer;
    CHECK(sd_scratch_event(sd_writer_log(first), 1));
    sd_writer_leave(first);
    CHECK(sd_writer_log(first) == NULL);
    CHECK(sd_scratch_join(&s) == 0);
    CHECK(s.writer == first);
    CHECK(sd_scratch_event(sd_writer_log(first), 2));
    end(&s, &seen);
    CHECK(seen.events == 2);
}

struct hammer {
    struct sd_writer *writer;
    bool is_slow; /* leaves some of the machine to others */
    _Atomic uint32_t stop;
    _Atomic uint64_t done;
};

static void *hammer(void *arg)
{
    struct hammer *h = arg;
    uint64_t n = 0;

    while (!atomic_load(&h->stop)) {
        n += sd_scratch_event(sd_writer_log(h->writer), n + 1);
        if (h->is_slow && n % 200 == 0)
            usleep(1000);
    }
    atomic_fetch_add(&h->done, n);
    return NULL;
}

/* Threads that are in the middle of events when the process leaves and finishes. */
TEST(leaving_under_threads_that_write_loses_no_commit)
{
    for (int round = 0; round < 20; round++) {
        struct sd_scratch s;
        struct sd_test_counts seen;
        struct hammer h = { 0 };
        pthread_t t[4];

        begin(&s);
        h.writer = s.writer;
        for (int i = 0; i < 4; i++)
            CHECK(pthread_create(&t[i], NULL, hammer, &h) == 0);
        usleep(3000);
        sd_writer_leave(s.writer);
        CHECK(sd_capture_finish(s.capture, 0, &s.counts) == 0);
        atomic_store(&h.stop, 1);
        for (int i = 0; i < 4; i++)
            pthread_join(t[i], NULL);
        CHECK(sd_scratch_read(&s, &seen) == 0);
        CHECK(seen.events == atomic_load(&h.done));
        CHECK(seen.health.lost_events == 0 && seen.names_wrong == 0);
        sd_scratch_remove(&s);
    }
}

/* A child of fork that nobody told writes nothing, into nobody's file. */
TEST(forked_child_is_silent_until_told)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    pid_t pid;

    begin(&s);
    CHECK(sd_scratch_event(sd_writer_log(s.writer), 1));
    pid = fork();
    if (pid == 0) {
        struct sd_log *cached_before = sd_writer_log(s.writer);

        _exit(cached_before ? 1 : 0);
    }
    CHECK(reap(pid) == 0);
    pid = fork();
    if (pid == 0) {
        bool is_written;

        sd_writer_after_fork(s.writer);
        is_written = sd_scratch_event(sd_writer_log(s.writer), 2);
        _exit(is_written ? 0 : 1); /* without leaving: it is found all the same */
    }
    CHECK(reap(pid) == 0);
    CHECK(sd_scratch_event(sd_writer_log(s.writer), 3));
    CHECK(sd_capture_n_joined(s.capture) == 1);
    end(&s, &seen);
    CHECK(seen.events == 3 && seen.sum == 6 && !seen.complaint[0]);
}

static void change_salt(const struct sd_scratch *s)
{
    char path[128];
    struct sd_bell bell;
    int fd;

    snprintf(path, sizeof path, "%s/capture", s->live);
    fd = open(path, O_RDWR);
    CHECK(fd >= 0 && pread(fd, &bell, sizeof bell, 0) == sizeof bell);
    bell.salt ^= 1;
    bell.crc = sd_bell_sum(&bell);
    CHECK(pwrite(fd, &bell, sizeof bell, 0) == sizeof bell);
    close(fd);
}

/* The run has ended, and the next one has a capture of the same name. */
TEST(forked_child_does_not_join_the_capture_of_another_run)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    pid_t pid;

    begin(&s);
    CHECK(sd_scratch_event(sd_writer_log(s.writer), 1));
    change_salt(&s);
    pid = fork();
    if (pid == 0) {
        sd_writer_after_fork(s.writer);
        _exit(sd_writer_log(s.writer) ? 1 : 0);
    }
    CHECK(reap(pid) == 0);
    change_salt(&s);
    end(&s, &seen);
    CHECK(seen.events == 1);
}

/* A server that forks and then gives up its rights cannot make a file in our folder. */
TEST(forked_child_without_rights_has_its_losses_counted)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    pid_t pid;

    if (geteuid() != 0)
        skip();
    begin(&s);
    CHECK(sd_scratch_event(sd_writer_log(s.writer), 1));
    pid = fork();
    if (pid == 0) {
        bool is_written = false;

        if (setresuid(65534, 65534, 65534) < 0)
            _exit(2);
        sd_writer_after_fork(s.writer);
        for (uint64_t i = 2; i <= 6; i++)
            is_written |= sd_scratch_event(sd_writer_log(s.writer), i);
        _exit(is_written ? 1 : 0);
    }
    CHECK(reap(pid) == 0);
    end(&s, &seen);
    CHECK(seen.events == 1 && seen.health.lost_events == 5);
    CHECK(strstr(seen.complaint, "5 events were dropped"));
}

TEST(log_in_hand_gives_no_room_in_a_forked_child)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct sd_log *l;
    pid_t pid;

    begin(&s);
    l = sd_writer_log(s.writer);
    CHECK(sd_scratch_event(l, 1));
    pid = fork();
    if (pid == 0)
        _exit(sd_log_room(l, 64) || sd_log_room(l, SD_BIG_HALF + 8));
    CHECK(reap(pid) == 0);
    end(&s, &seen);
    CHECK(seen.events == 1 && seen.health.lost_events == 0);
}

/* 1,000 forks while eight threads write: neither side loses or gains an event. */
TEST(forks_under_threads_that_write_mix_nothing_up)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct hammer h = { 0 };
    pthread_t t[8];
    const int forks = 1000;

    begin(&s);
    CHECK(sd_capture_start(s.capture) == 0);
    h.writer = s.writer;
    h.is_slow = true;
    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&t[i], NULL, hammer, &h) == 0);
    for (int i = 0; i < forks; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            bool is_written = true;

            if (i % 2) {
                sd_writer_after_fork(s.writer);
                is_written = sd_scratch_event(sd_writer_log(s.writer), 1);
            } else {
                is_written = sd_writer_log(s.writer) == NULL;
            }
            _exit(is_written ? 0 : 1);
        }
        CHECK(pid > 0 && reap(pid) == 0);
    }
    atomic_store(&h.stop, 1);
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
    end(&s, &seen);
    CHECK(seen.events == atomic_load(&h.done) + (uint64_t)forks / 2);
    CHECK(seen.names_wrong == 0 && !seen.complaint[0]);
}

/* closerange(3, ...), then files of the program under our numbers. */
TEST(closed_descriptors_are_not_written_to)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct stat st;
    char path[128];
    int fds[80];
    const uint64_t n = 40000;

    begin(&s);
    for (uint64_t i = 1; i <= n / 2; i++) /* opens .chunks too */
        CHECK(sd_scratch_event(sd_writer_log(s.writer), i));
    close_range(3, ~0u, 0);
    snprintf(path, sizeof path, "%s/theirs", s.dir);
    for (int i = 0; i < 80; i++)
        fds[i] = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);
    CHECK(chdir("/") == 0);
    for (uint64_t i = n / 2 + 1; i <= n; i++)
        CHECK(sd_scratch_event(sd_writer_log(s.writer), i));
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, &s.counts) == 0);
    CHECK(fstat(fds[0], &st) == 0 && st.st_size == 0);
    for (int i = 0; i < 80; i++)
        CHECK(close(fds[i]) == 0);
    unlink(path);
    CHECK(sd_scratch_read(&s, &seen) == 0);
    CHECK(seen.events == n && !seen.complaint[0]);
    sd_scratch_remove(&s);
}

TEST(files_are_for_their_owner_only)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct stat st;

    begin(&s);
    CHECK(stat(s.path, &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(stat(s.live, &st) == 0 && (st.st_mode & 0777) == 0700);
    CHECK(stat(sd_writer_pool(s.writer)->outs->file.path, &st) == 0 &&
          (st.st_mode & 0777) == 0600);
    end(&s, &seen);
}

TEST(joining_what_is_no_capture_fails_with_a_sentence)
{
    struct sd_writer *w;

    CHECK(sd_writer_join("/nowhere/x.sonde.live", &w) == SD_EABSENT);
    CHECK(w == NULL && strstr(sd_fail_text(), "cannot join a capture"));
}

/* On a file system without shared mappings all goes through write(2). */
TEST(capture_works_without_shared_mapping_and_says_so)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    const uint64_t n = 20000;
    pid_t pid;

    sd_live_forbid_mapping(true);
    begin(&s);
    CHECK(sd_capture_start(s.capture) == 0);
    for (uint64_t i = 1; i <= n; i++)
        CHECK(sd_scratch_event(sd_writer_log(s.writer), i));
    pid = fork(); /* killed: keeps all but the last 64 KiB or 100 ms */
    if (pid == 0) {
        sd_writer_after_fork(s.writer);
        for (uint64_t i = 1; i <= 10000; i++)
            sd_scratch_event(sd_writer_log(s.writer), n + i);
        raise(SIGKILL);
    }
    reap(pid);
    end(&s, &seen);
    sd_live_forbid_mapping(false);
    CHECK(seen.events <= n + 10000);
    CHECK(seen.events >= n + 10000 - 64 * 1024 / sizeof(struct sd_rec_open));
    CHECK(seen.names_wrong == 0 && seen.health.missing_chunks == 0);
}

static bool mount_small(const char *dir, const char *size)
{
    char options[64];

    snprintf(options, sizeof options, "size=%s", size);
    return mount("tmpfs", dir, "tmpfs", 0, options) == 0;
}

/* A disk that fills up: what fits is whole, what does not is counted, and nobody
 * crashes. */
static void fill_disk(const char *size, bool has_thread)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    const uint64_t n = 300000;
    uint64_t refused = 0, dropped;

    sd_scratch_make(&s);
    if (!mount_small(s.dir, size)) {
        rmdir(s.dir);
        skip();
    }
    if (sd_scratch_create(&s, NULL) == 0) {
        if (sd_scratch_join(&s) == 0) {
            if (has_thread)
                CHECK(sd_capture_start(s.capture) == 0);
            for (uint64_t i = 1; i <= n; i++)
                refused += !sd_scratch_event(sd_writer_log(s.writer), i);
            sd_writer_leave(s.writer);
        }
        sd_capture_finish(s.capture, 3, &s.counts);
        CHECK(sd_scratch_read(&s, &seen) == 0);
        CHECK(seen.names_wrong == 0 && seen.out_of_order == 0);
        dropped = seen.health.lost_events;
        CHECK(seen.events + dropped == n || s.writer == NULL);
        CHECK(refused <= dropped);
        CHECK(seen.health.status == 3);
        CHECK(dropped == 0 || strstr(seen.complaint, "were dropped"));
    }
    CHECK(umount(s.dir) == 0);
    rmdir(s.dir);
}

TEST(full_disk_of_32_kib_harms_nobody) { fill_disk("32k", false); }
TEST(full_disk_of_600_kib_harms_nobody) { fill_disk("600k", true); }
TEST(full_disk_of_1_mib_keeps_what_fits) { fill_disk("1m", false); }
TEST(full_disk_of_4_mib_keeps_what_fits) { fill_disk("4m", true); }

/* Slots of 516 KiB each are reserved in steps: on a disk that has place for none of
 * them whole, every log keeps its first events. */
TEST(small_disk_keeps_the_first_events_of_many_logs)
{
    enum { LOGS = 16, EACH = 20 };
    struct sd_log *logs[LOGS];
    struct sd_scratch s;
    struct sd_pool *pool;
    struct sd_test_counts seen;

    sd_scratch_make(&s);
    if (!mount_small(s.dir, "512k")) {
        rmdir(s.dir);
        skip();
    }
    CHECK(sd_scratch_create(&s, NULL) == 0 && sd_scratch_join(&s) == 0);
    pool = sd_writer_pool(s.writer);
    for (int i = 0; i < LOGS; i++) {
        logs[i] = sd_pool_take(pool);
        for (uint64_t k = 1; k <= EACH; k++)
            CHECK(sd_scratch_event(logs[i], k));
    }
    for (int i = 0; i < LOGS; i++)
        sd_pool_give_back(pool, logs[i]);
    sd_writer_leave(s.writer);
    sd_capture_finish(s.capture, 0, &s.counts);
    CHECK(sd_scratch_read(&s, &seen) == 0);
    CHECK(seen.events == LOGS * EACH && seen.names_wrong == 0);
    CHECK(seen.health.lost_events == 0);
    CHECK(umount(s.dir) == 0);
    rmdir(s.dir);
}

/* What the file takes on disk follows what is in it. */
TEST(slot_takes_place_as_it_fills)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    struct stat st;
    uint64_t i, n = 3000;

    begin(&s);
    CHECK(sd_scratch_event(sd_writer_log(s.writer), 1));
    CHECK(stat(sd_writer_pool(s.writer)->outs->file.path, &st) == 0);
    CHECK(st.st_blocks * 512 <= 32 * 1024); /* two pages of words, a first step */
    for (i = 2; i <= n; i++)
        CHECK(sd_scratch_event(sd_writer_log(s.writer), i));
    CHECK(stat(sd_writer_pool(s.writer)->outs->file.path, &st) == 0);
    CHECK(st.st_blocks * 512 >= (off_t)(n * sizeof(struct sd_rec_open)));
    CHECK(st.st_blocks * 512 <= 256 * 1024);
    end(&s, &seen);
    CHECK(seen.events == n && seen.health.lost_events == 0);
}

static volatile sig_atomic_t n_xfsz;
static void count_xfsz(int signal)
{
    (void)signal;
    n_xfsz++;
}

/* What is lost where files may be far larger has another reason. */
TEST(a_far_file_size_limit_is_not_met)
{
    struct rlimit was, far = { 1 << 30, RLIM_INFINITY };
    struct sd_scratch s;

    getrlimit(RLIMIT_FSIZE, &was);
    far.rlim_max = was.rlim_max;
    begin(&s);
    CHECK(setrlimit(RLIMIT_FSIZE, &far) == 0);
    CHECK(sd_scratch_event(sd_writer_log(s.writer), 1));
    sd_writer_leave(s.writer);
    CHECK(sd_capture_finish(s.capture, 0, &s.counts) == 0);
    CHECK(setrlimit(RLIMIT_FSIZE, &was) == 0);
    CHECK(!s.counts.is_at_limit);
    sd_scratch_remove(&s);
}

TEST(file_size_limit_raises_no_signal)
{
    struct rlimit was, small = { 2 << 20, RLIM_INFINITY };
    struct sd_scratch s;
    struct sd_test_counts seen;
    const uint64_t n = 300000;

    getrlimit(RLIMIT_FSIZE, &was);
    small.rlim_max = was.rlim_max;
    signal(SIGXFSZ, count_xfsz);
    begin(&s);
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    for (uint64_t i = 1; i <= n; i++)
        sd_scratch_event(sd_writer_log(s.writer), i);
    sd_writer_leave(s.writer);
    sd_capture_finish(s.capture, 0, &s.counts);
    CHECK(setrlimit(RLIMIT_FSIZE, &was) == 0);
    signal(SIGXFSZ, SIG_DFL);
    CHECK(n_xfsz == 0);
    CHECK(sd_scratch_read(&s, &seen) == 0);
    CHECK(seen.events + seen.health.lost_events == n);
    CHECK(seen.health.lost_events > 0 && s.counts.is_at_limit);
    sd_scratch_remove(&s);
}

/* Every allocation of the whole way fails once, and from there on. */
static bool run_with_failure(size_t nth, bool and_after)
{
    struct sd_scratch s;
    struct sd_test_counts seen;
    size_t asked;

    sd_scratch_make(&s);
    sd_mem_fail_at(nth, and_after);
    if (sd_scratch_create(&s, NULL) == 0) {
        sd_capture_meta(s.capture, "key", "value");
        if (sd_scratch_join(&s) == 0) {
            for (uint64_t i = 1; i <= 20000; i++)
                sd_scratch_event(sd_writer_log(s.writer), i);
            sd_writer_leave(s.writer);
        }
        sd_capture_finish(s.capture, 0, &s.counts);
        sd_scratch_read(&s, &seen);
    }
    asked = sd_mem_fail_at(0, false);
    if (sd_scratch_read(&s, &seen) == 0 && seen.events) {
        CHECK(seen.names_wrong == 0);
        CHECK(seen.events + seen.health.lost_events == 20000);
    }
    sd_scratch_remove(&s);
    return asked >= nth;
}

TEST(no_failed_allocation_harms_a_capture)
{
    size_t n = 1;

    while (run_with_failure(n, false) && n < 500)
        n++;
    CHECK(n > 10 && n < 500);
    for (n = 1; run_with_failure(n, true) && n < 500; n++)
        ;
    CHECK(n < 500);
}
