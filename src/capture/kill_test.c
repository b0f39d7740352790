/* SPDX-License-Identifier: MIT */
/* Death at any moment: SIGKILL of the producer, of the owner, of both.
 *
 * A producer process with two threads logs numbers and, after each commit, stores the
 * number in a page shared with the test.  After the kill the capture must hold, for
 * each thread, all numbers from 1 to that one without a gap, and at most one more.
 *
 * Each kind runs 50 times; SONDE_KILLS=1000 in the environment runs more. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/test.h"
#include "capture/capture_testing.h"

enum { THREADS = 2, MAX_US = 12000 };

struct shared { /* between the test and its processes */
    _Atomic uint64_t committed[THREADS];
    _Atomic uint32_t n_ready;
    _Atomic uint32_t must_end;
    uint32_t pause; /* turns of an empty loop after each event */
};

struct run {
    struct sd_scratch s;
    struct shared *shared;
    pid_t owner, producer;
};

struct thread_arg {
    struct run *run;
    uint64_t i;
};

static uint32_t next_random(void)
{
    static uint64_t state;

    if (!state)
        state = sd_clock_ns() | 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static void sleep_us(uint32_t us)
{
    struct timespec t = { us / 1000000, (long)(us % 1000000) * 1000 };

    nanosleep(&t, NULL);
}

static void *write_numbers(void *arg)
{
    struct thread_arg *a = arg;
    struct shared *shared = a->run->shared;
    struct sd_log *l = sd_writer_log(a->run->s.writer);

    atomic_fetch_add(&shared->n_ready, 1);
    for (uint64_t n = 1; l && !atomic_load(&shared->must_end); n++) {
        if (!sd_scratch_event(l, a->i << 40 | n))
            break;
        atomic_store_explicit(&shared->committed[a->i], n, memory_order_release);
        for (volatile uint32_t k = 0; k < shared->pause; k++)
            ;
    }
    return NULL;
}

static void produce(struct run *run)
{
    struct thread_arg args[THREADS];
    pthread_t threads[THREADS];

    if (sd_writer_join(run->s.live, &run->s.writer) < 0)
        _exit(2);
    for (uint64_t i = 0; i < THREADS; i++) {
        args[i] = (struct thread_arg){ run, i };
        if (pthread_create(&threads[i], NULL, write_numbers, &args[i]) != 0)
            _exit(3);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    sd_writer_leave(run->s.writer);
    _exit(0);
}

/* Owns the capture in a process of its own, until it is killed or told to end. */
static void own(struct run *run)
{
    int status = 0;

    if (sd_scratch_create(&run->s, NULL) < 0 || sd_capture_start(run->s.capture) < 0)
        _exit(2);
    atomic_fetch_add(&run->shared->n_ready, 1);
    while (!atomic_load(&run->shared->must_end))
        sleep_us(500);
    if (sd_capture_finish(run->s.capture, 0, NULL) < 0)
        status = 3;
    _exit(status);
}

static pid_t start(struct run *run, void (*what)(struct run *))
{
    pid_t pid = fork();

    if (pid == 0)
        what(run);
    CHECK(pid > 0);
    return pid;
}

static void wait_ready(struct run *run, uint32_t n)
{
    while (atomic_load(&run->shared->n_ready) < n)
        sleep_us(50);
}

static int reap(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

struct found {
    uint64_t last[THREADS];
    uint64_t wrong; /* gaps, repeats, wrong names */
};

static void check_record(struct found *f, struct sd_digits *digits,
                         const struct sd_record *r)
{
    const void *p = r;
    const struct sd_rec_open *e = p;
    struct sd_test_counts seen = { 0 };
    uint64_t thread, n, last = 0;

    sd_seen_record(&seen, digits, r, &last);
    f->wrong += seen.names_wrong;
    if (r->type != SD_REC_OPEN)
        return;
    thread = e->span >> 40;
    n = e->span & (((uint64_t)1 << 40) - 1);
    if (thread >= THREADS || n != f->last[thread] + 1)
        f->wrong++;
    else
        f->last[thread] = n;
}

/* Reads all of it and compares it with what the producer says it had committed. */
static void check_nothing_lost(struct run *run, uint64_t *n_events)
{
    static struct sd_digits digits;
    struct found f = { 0 };
    struct sd_reader *r;
    struct sd_chunk_view view;
    const struct sd_record *record;

    CHECK(sd_reader_open(run->s.path, &r) == 0);
    while (sd_reader_next(r, &view) == 1) {
        uint32_t at = 0;

        memset(&digits, 0, sizeof digits);
        while ((record = sd_chunk_view_next(&view, &at)))
            check_record(&f, &digits, record);
    }
    CHECK(f.wrong == 0);
    for (int i = 0; i < THREADS; i++) {
        uint64_t committed = atomic_load(&run->shared->committed[i]);

        CHECK(f.last[i] >= committed);
        CHECK(f.last[i] <= committed + 1);
        *n_events += committed;
    }
    CHECK(sd_reader_health(r)->lost_events == 0);
    CHECK(sd_reader_health(r)->missing_chunks == 0);
    sd_reader_free(r);
}

enum victim { PRODUCER = 1, OWNER = 2 };

static void one_kill(unsigned victims, struct run *run, uint64_t *n_events)
{
    unsigned order = next_random() & 1;

    sd_scratch_make(&run->s);
    memset(run->shared, 0, sizeof *run->shared);
    run->shared->pause = next_random() & 1 ? 0 : next_random() % 2000;
    run->owner = start(run, own);
    wait_ready(run, 1);
    run->producer = start(run, produce);
    if (next_random() & 3)
        wait_ready(run, 1 + THREADS);
    sleep_us(next_random() % MAX_US);
    if (victims == PRODUCER || (victims == (PRODUCER | OWNER) && order))
        kill(run->producer, SIGKILL);
    if (victims & OWNER)
        kill(run->owner, SIGKILL);
    if (victims & PRODUCER)
        kill(run->producer, SIGKILL);
    else
        sleep_us(next_random() % 3000); /* the producer goes on without its owner */
    atomic_store(&run->shared->must_end, 1);
    reap(run->producer);
    if (!(victims & OWNER))
        CHECK(reap(run->owner) == 0);
    else
        reap(run->owner);
    check_nothing_lost(run, n_events);
    sd_scratch_remove(&run->s);
}

static void many_kills(unsigned victims, const char *what)
{
    const char *request = getenv("SONDE_KILLS");
    int n = request ? atoi(request) : 50;
    struct run run = { 0 };
    uint64_t n_events = 0;

    run.shared =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(run.shared != MAP_FAILED);
    for (int i = 0; i < n; i++)
        one_kill(victims, &run, &n_events);
    if (request)
        fprintf(stderr, "# %d kills of %s: 0 of %lu committed events lost\n", n, what,
                n_events);
    munmap(run.shared, 4096);
}

TEST(capture_loses_nothing_when_the_producer_is_killed)
{
    many_kills(PRODUCER, "the producer");
}

TEST(capture_loses_nothing_when_its_owner_is_killed) { many_kills(OWNER, "the owner"); }

TEST(capture_loses_nothing_when_both_are_killed)
{
    many_kills(PRODUCER | OWNER, "both");
}
