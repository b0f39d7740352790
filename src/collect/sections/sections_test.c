/* SPDX-License-Identifier: MIT */
#include "collect/sections/sections.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "capture/capture.h"
#include "capture/log.h"
#include "collect/captured_test.h"
#include "collect/inside.h"
#include "collect/own.h"

#define MB (1 << 20)

static struct sd_section_name name_of(const struct sd_section_name *parent,
                                      const char *s)
{
    struct sd_section_name n;

    sd_section_name_init(&n, parent, s, (uint32_t)strlen(s));
    return n;
}

static void touch_and_drop(size_t n)
{
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(p != MAP_FAILED);
    memset(p, 1, n);
    munmap(p, n);
}

static void spin(uint64_t ns)
{
    uint64_t start = sd_clock_thread_cpu_ns();

    while (sd_clock_thread_cpu_ns() - start < ns)
        ;
}

/* --- Without a capture: the results are the caller's */

TEST(section_of_time_alone_reads_nothing_else)
{
    struct sd_section_name a = name_of(NULL, "a");
    struct sd_section s;

    sd_section_begin(&s, &a, SD_MEASURE_TIME, 0);
    usleep(2000);
    sd_section_end(&s, false);
    CHECK(s.end.wall_ns - s.start.wall_ns >= 2000000);
    CHECK(s.start.rss_bytes == -1 && s.end.written_bytes == -1 && s.peak_bytes == -1);
    CHECK(s.start.thread_cpu_ns == 0 && s.end.process_cpu_ns == 0);
    CHECK(s.span == 0);
}

TEST(section_tells_cpu_time_from_wall_time)
{
    struct sd_section_name a = name_of(NULL, "a");
    struct sd_section s;
    uint64_t cpu;

    sd_section_begin(
        &s, &a, SD_MEASURE_TIME | SD_MEASURE_THREAD_CPU | SD_MEASURE_PROCESS_CPU, 0);
    spin(200000000);
    usleep(100000);
    sd_section_end(&s, false);
    cpu = s.end.thread_cpu_ns - s.start.thread_cpu_ns;
    CHECK(cpu >= 200000000 && cpu <= 210000000);
    CHECK(s.end.process_cpu_ns - s.start.process_cpu_ns >= cpu);
    CHECK(s.end.wall_ns - s.start.wall_ns >= cpu + 100000000);
}

TEST(section_measures_memory_peak_and_bytes)
{
    struct sd_section_name a = name_of(NULL, "a");
    char path[] = "/tmp/sonde-test-XXXXXX";
    int fd = mkstemp(path);
    char block[4096] = { 0 };
    struct sd_section s;
    char *kept;

    unlink(path);
    sd_section_begin(&s, &a, SD_MEASURE_ALL, 0);
    touch_and_drop(100 * MB);
    kept =
        mmap(NULL, 30 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(kept, 1, 30 * MB);
    for (int i = 0; i < 1000; i++)
        CHECK(write(fd, block, sizeof block) == sizeof block);
    sd_section_end(&s, false);
    munmap(kept, 30 * MB);
    close(fd);
    CHECK(s.end.rss_bytes - s.start.rss_bytes >= 29 * MB);
    CHECK(s.end.rss_bytes - s.start.rss_bytes <= 33 * MB);
    CHECK(s.end.vms_bytes - s.start.vms_bytes == 30 * MB);
    CHECK(s.end.written_bytes - s.start.written_bytes == 4096000);
    CHECK(s.end.read_bytes - s.start.read_bytes == 0);
    CHECK(s.start.received_bytes >= 0 && s.end.sent_bytes >= s.start.sent_bytes);
    if (s.peak_bytes >= 0) {
        CHECK(s.peak_bytes - s.start.rss_bytes >= 99 * MB);
        CHECK(s.peak_bytes - s.start.rss_bytes <= 104 * MB);
    }
}

TEST(section_that_does_nothing_costs_nothing)
{
    struct sd_section_name a = name_of(NULL, "a");
    struct sd_section s;

    sd_section_begin(&s, &a, SD_MEASURE_ALL, 0);
    sd_section_end(&s, false);
    sd_section_begin(&s, &a, SD_MEASURE_ALL, 0);
    sd_section_end(&s, false);
    CHECK(s.end.read_bytes == s.start.read_bytes);
    CHECK(s.end.written_bytes == s.start.written_bytes);
    CHECK(s.end.rss_bytes == s.start.rss_bytes);
    CHECK(s.peak_bytes == -1 || s.peak_bytes >= s.start.rss_bytes);
}

static void *end_it(void *s)
{
    sd_section_end(s, false);
    return NULL;
}

TEST(section_ended_on_another_thread_has_no_cpu_time)
{
    struct sd_section_name a = name_of(NULL, "a");
    struct sd_section s;
    pthread_t thread;

    sd_section_begin(&s, &a, SD_MEASURE_TIME | SD_MEASURE_THREAD_CPU, 0);
    spin(10000000);
    CHECK(pthread_create(&thread, NULL, end_it, &s) == 0);
    pthread_join(thread, NULL);
    CHECK(s.is_moved);
    CHECK(s.end.thread_cpu_ns == s.start.thread_cpu_ns);
    CHECK(s.end.wall_ns - s.start.wall_ns >= 10000000);
}

/* --- Names */

TEST(section_names_of_different_paths_have_different_keys)
{
    struct sd_section_name a = name_of(NULL, "a"), b = name_of(NULL, "b");
    struct sd_section_name ab = name_of(&a, "b"), ba = name_of(&b, "a");
    struct sd_section_name flat = name_of(NULL, "a:b"), again = name_of(&a, "b");

    CHECK(ab.key != ba.key && ab.key != b.key && ab.key != flat.key);
    CHECK(ab.key == again.key && ab.depth == 2);
}

TEST(section_measure_words)
{
    unsigned measure = 0;

    CHECK(sd_section_measure_parse("time,memory", &measure) == 0);
    CHECK(measure == (SD_MEASURE_TIME | SD_MEASURE_MEMORY));
    CHECK(sd_section_measure_parse("cpu+peak", &measure) == 0);
    CHECK(measure == (SD_MEASURE_TIME | SD_MEASURE_THREAD_CPU | SD_MEASURE_PEAK));
    CHECK(sd_section_measure_parse("time,memroy", &measure) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "memroy"));
    CHECK(sd_section_measure_parse("", &measure) == SD_EUSAGE);
    CHECK(sd_section_measure_parse("time,", &measure) == SD_EUSAGE);
}

extern const struct sd_inside sd_inside_sections;

/* Starts sections as this text says, in a capture of its own. */
static void start_with(const char *with)
{
    static const struct sd_inside *const all[] = { &sd_inside_sections, NULL };

    setenv("SONDE_WITH", with, 1);
    CHECK(sd_own_start(captured_path()) == 0);
    sd_inside_start(all, NULL);
    unsetenv("SONDE_WITH");
}

static void stop_all(void)
{
    sd_inside_stop();
    CHECK(sd_own_stop(0) == 0);
    captured_clean();
}

TEST(section_measure_chosen_by_the_run)
{
    start_with("rss,sections:measure=time+peak;x=1,calls");
    CHECK(sd_section_measure_or(1) == (SD_MEASURE_TIME | SD_MEASURE_PEAK));
    stop_all();
    start_with("sections");
    CHECK(sd_section_measure_or(SD_MEASURE_IO) == SD_MEASURE_IO);
    stop_all();
    start_with("");
    CHECK(sd_section_measure_or(SD_MEASURE_IO) == SD_MEASURE_IO);
    stop_all();
}

/* --- With a capture */

static struct captured *stop(const char *path)
{
    CHECK(sd_own_stop(0) == 0);
    return captured_read(path);
}

TEST(section_lands_in_the_capture_with_its_path_track_and_values)
{
    struct sd_section_name outer = name_of(NULL, "outer");
    struct sd_section_name inner = name_of(&outer, "inner");
    const struct captured_event *e, *o;
    struct captured *c;
    struct sd_section a, b;
    const char *path;

    CHECK(sd_own_start(path = captured_path()) == 0);
    sd_section_begin(&a, &outer, SD_MEASURE_ALL | SD_MEASURE_THREAD_CPU, 0);
    sd_section_begin(&b, &inner, SD_MEASURE_TIME, 0);
    usleep(1000);
    sd_section_end(&b, true);
    sd_section_mark(&inner);
    sd_section_end(&a, false);
    c = stop(path);
    CHECK(captured_count(c, SD_REC_OPEN, NULL) == 2);
    CHECK(captured_count(c, SD_REC_SPAN, NULL) == 3);
    e = captured_find(c, SD_REC_SPAN, "outer:inner");
    o = captured_find(c, SD_REC_OPEN, "outer:inner");
    CHECK(e && o && e->span == o->span && e->from == o->from &&
          e->to >= e->from + 1000000);
    CHECK(e->flags == SD_SPAN_RAISED && e->n_values == 0);
    CHECK(e->track_kind == SD_TRACK_THREAD && e->process == (uint64_t)getpid());
    e = captured_find(c, SD_REC_SPAN, "outer");
    CHECK(e && e->from == a.start.wall_ns && e->to == a.end.wall_ns && e->flags == 0);
    CHECK(captured_value(e, "rss_before") == a.start.rss_bytes);
    CHECK(captured_value(e, "vms_after") == a.end.vms_bytes);
    CHECK(captured_value(e, "cpu") ==
          (int64_t)(a.end.thread_cpu_ns - a.start.thread_cpu_ns));
    CHECK(captured_value(e, "peak_rss") ==
          (a.peak_bytes < 0 ? SD_VALUE_NONE : a.peak_bytes));
    CHECK(captured_value(e, "written") == 0);
    CHECK(c->is_whole);
    captured_free(c);
    captured_clean();
}

TEST(section_does_not_count_what_the_capture_writes)
{
    struct sd_section_name outer = name_of(NULL, "outer");
    struct sd_section_name inner = name_of(&outer, "inner");
    struct sd_section a, b;

    CHECK(sd_own_start(captured_path()) == 0);
    sd_section_begin(&a, &outer, SD_MEASURE_IO, 0);
    for (int i = 0; i < 20000; i++) { /* more than fits: spilled by this process */
        sd_section_begin(&b, &inner, SD_MEASURE_TIME, 0);
        sd_section_end(&b, false);
    }
    sd_section_end(&a, false);
    CHECK(a.end.written_bytes == a.start.written_bytes);
    CHECK(sd_session_own_written() > 1000000);
    CHECK(sd_own_stop(0) == 0);
    captured_clean();
}

TEST(section_of_a_task_has_a_track_of_its_own)
{
    struct sd_section_name a = name_of(NULL, "a");
    const struct captured_event *e;
    struct captured *c;
    struct sd_section s;
    const char *path;

    CHECK(sd_own_start(path = captured_path()) == 0);
    sd_section_begin(&s, &a, SD_MEASURE_TIME, 42);
    sd_section_end(&s, false);
    c = stop(path);
    e = captured_find(c, SD_REC_SPAN, "a");
    CHECK(e && e->track_kind == SD_TRACK_TASK && e->number == 42);
    captured_free(c);
    captured_clean();
}

static void nest(const struct sd_section_name *parent, int depth)
{
    struct sd_section_name n = name_of(parent, depth % 2 ? "odd" : "even");
    struct sd_section s;

    sd_section_begin(&s, &n, SD_MEASURE_TIME, 0);
    if (depth > 1)
        nest(&n, depth - 1);
    sd_section_end(&s, false);
}

TEST(section_nested_deeper_than_can_be_named_is_recorded_all_the_same)
{
    struct captured *c;
    const char *path;

    CHECK(sd_own_start(path = captured_path()) == 0);
    nest(NULL, 1000);
    c = stop(path);
    CHECK(captured_count(c, SD_REC_SPAN, NULL) == 1000);
    CHECK(captured_count(c, SD_REC_SPAN, "even") == 1);
    CHECK(captured_count(c, SD_REC_SPAN, "even:odd") == 1);
    captured_free(c);
    captured_clean();
}

TEST(section_with_an_endless_name_is_cut_between_characters)
{
    struct sd_section_name n;
    const struct captured_event *e;
    struct captured *c;
    struct sd_section s;
    const char *path;
    char *name = malloc(300000);

    for (int i = 0; i < 300000; i += 3)
        memcpy(name + i, "€", 3);
    CHECK(sd_own_start(path = captured_path()) == 0);
    sd_section_name_init(&n, NULL, name, 300000);
    sd_section_begin(&s, &n, SD_MEASURE_TIME, 0);
    sd_section_end(&s, false);
    c = stop(path);
    e = captured_find(c, SD_REC_SPAN, NULL);
    CHECK(e && memcmp(e->path, "€€€", 9) == 0);
    free(name);
    captured_free(c);
    captured_clean();
}

/* --- Fork */

static void be_forked_child(struct sd_section *of_parent)
{
    struct sd_section_name n = name_of(of_parent->name, "in-child");
    struct sd_section s;

    sd_section_begin(&s, &n, SD_MEASURE_ALL, 0);
    sd_section_end(&s, false);
    sd_section_end(of_parent, false);
    sd_own_stop(0); /* not the owner: does nothing */
    _exit(of_parent->peak_bytes == -1 && sd_session_forks() > 0 ? 0 : 1);
}

TEST(section_open_at_a_fork_stays_the_parents)
{
    struct sd_section_name outer = name_of(NULL, "outer");
    const struct captured_event *e;
    struct captured *c;
    struct sd_section s;
    const char *path;
    int status;
    pid_t pid;

    CHECK(sd_own_start(path = captured_path()) == 0);
    sd_section_begin(&s, &outer, SD_MEASURE_ALL, 0);
    pid = fork();
    if (pid == 0)
        be_forked_child(&s);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    sd_section_end(&s, false);
    c = stop(path);
    CHECK(captured_count(c, SD_REC_SPAN, "outer") == 1);
    CHECK(captured_find(c, SD_REC_SPAN, "outer")->process == (uint64_t)getpid());
    e = captured_find(c, SD_REC_SPAN, "outer:in-child");
    CHECK(e && e->process == (uint64_t)pid && e->parent_process == (uint64_t)getpid());
    CHECK(captured_count(c, SD_REC_SPAN, NULL) == 2);
    captured_free(c);
    captured_clean();
}

static _Atomic bool must_stop;
static _Atomic uint64_t n_by_threads;

static void *make_sections(void *unused)
{
    struct sd_section_name n = name_of(NULL, "busy");
    struct sd_section s;

    (void)unused;
    while (!must_stop && n_by_threads < 8000) {
        sd_section_begin(&s, &n, SD_MEASURE_TIME, 0);
        sd_section_end(&s, false);
        n_by_threads++;
    }
    return NULL;
}

TEST(section_in_children_forked_beside_busy_threads_is_recorded)
{
    struct sd_section_name n = name_of(NULL, "child");
    pthread_t threads[8];
    struct captured *c;
    const char *path;

    must_stop = false;
    n_by_threads = 0;
    CHECK(sd_own_start(path = captured_path()) == 0);
    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, make_sections, NULL) == 0);
    for (int i = 0; i < 20; i++) {
        int status = 1;
        pid_t pid = fork();

        if (pid == 0) {
            struct sd_section s;

            alarm(20);
            sd_section_begin(&s, &n, SD_MEASURE_ALL, 0);
            sd_section_end(&s, false);
            _exit(0);
        }
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
    must_stop = true;
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    c = stop(path);
    CHECK(captured_count(c, SD_REC_SPAN, "child") == 20);
    CHECK(captured_count(c, SD_REC_SPAN, "busy") == n_by_threads);
    CHECK(c->is_whole);
    captured_free(c);
    captured_clean();
}

/* --- Hard times */

TEST(section_survives_a_program_that_closes_all_descriptors)
{
    struct sd_section_name n = name_of(NULL, "a");
    struct captured *c;
    const char *path;
    int status;
    pid_t pid;

    path = captured_path();
    pid = fork();
    if (pid == 0) {
        struct sd_section s;

        if (sd_own_start(path) < 0)
            _exit(1);
        for (int round = 0; round < 4; round++) {
            for (int i = 0; i < 50; i++) {
                sd_section_begin(&s, &n, SD_MEASURE_ALL, 0);
                sd_section_end(&s, false);
            }
            for (int fd = 3; fd < 1024; fd++)
                close(fd);
            if (s.end.rss_bytes <= 0 || s.end.written_bytes != s.start.written_bytes)
                _exit(2);
        }
        _exit(0); /* not finished: the live folder tells */
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    c = captured_read(path);
    CHECK(captured_count(c, SD_REC_SPAN, "a") == 200);
    captured_free(c);
    captured_clean();
}

TEST(section_without_memory_neither_crashes_nor_loses_its_results)
{
    struct sd_section_name n = name_of(NULL, "a");
    struct sd_section s;

    for (size_t nth = 1; nth < 40; nth++) {
        const char *path = captured_path();
        int rc;

        sd_mem_fail_at(nth, nth % 2);
        rc = sd_own_start(path);
        sd_section_begin(&s, &n, SD_MEASURE_ALL, 0);
        sd_section_end(&s, false);
        rc = rc < 0 ? rc : sd_own_stop(0);
        sd_mem_fail_at(0, false);
        CHECK(rc <= 0);
        CHECK(s.end.wall_ns >= s.start.wall_ns && s.end.rss_bytes > 0);
        sd_own_stop(0);
        captured_clean();
    }
}

TEST(section_after_a_broken_assert_is_not_written_and_the_capture_says_why)
{
    struct sd_section_name n = name_of(NULL, "a");
    struct captured *c;
    const char *path;
    int status;
    pid_t pid;

    path = captured_path();
    pid = fork();
    if (pid == 0) {
        struct sd_section s;

        sd_session_be_guest(NULL);
        if (sd_own_start(path) < 0)
            _exit(1);
        sd_section_begin(&s, &n, SD_MEASURE_TIME, 0);
        sd_section_end(&s, false);
        sd_assert_broken("x.c", 7, "one == two");
        sd_section_begin(&s, &n, SD_MEASURE_TIME, 0);
        sd_section_end(&s, false);
        _exit(sd_own_stop(0) < 0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    c = captured_read(path);
    CHECK(captured_count(c, SD_REC_SPAN, "a") == 1);
    CHECK(strstr(c->notes, "x.c:7: one == two"));
    captured_free(c);
    captured_clean();
}

TEST(section_after_an_assert_that_broke_within_an_event_tells_why)
{
    struct sd_section_name n = name_of(NULL, "a");
    struct captured *c;
    const char *path;
    int status;
    pid_t pid;

    path = captured_path();
    pid = fork();
    if (pid == 0) {
        struct sd_section s;
        struct sd_log *l;

        sd_session_be_guest(NULL);
        if (sd_own_start(path) < 0)
            _exit(1);
        l = sd_session_log();
        if (!l || !sd_log_room(l, 64))
            _exit(2);
        sd_assert_broken("x.c", 7, "one == two");
        sd_log_commit(l, 0, 0);
        sd_section_begin(&s, &n, SD_MEASURE_TIME, 0);
        sd_section_end(&s, false);
        _exit(sd_own_stop(0) < 0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    c = captured_read(path);
    CHECK(captured_count(c, SD_REC_SPAN, "a") == 0);
    CHECK(strstr(c->notes, "x.c:7: one == two"));
    captured_free(c);
    captured_clean();
}
