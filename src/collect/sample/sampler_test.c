/* SPDX-License-Identifier: MIT */
/* The sampler on a real Python, the first python3 on the PATH; without one that can be
 * read these tests are skipped.  Every version has its turn in tests/. */
#include "collect/sample/sampler.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "collect/captured_test.h"
#include "collect/collector.h"
#include "collect/sample/collector.h"
#include "collect/sample/metrics.h"
#include "capture/capture.h"
#include "capture/writer.h"

extern const struct sd_collector sd_collector_sample;

static const char *const program = "import threading, os\n"
                                   "threading.Thread(target=threading.Event().wait, "
                                   "daemon=True, name='waits').start()\n"
                                   "def busy():\n"
                                   "    n = 0\n"
                                   "    os.write(1, b'x')\n"
                                   "    while 1: n += 1\n"
                                   "busy()\n";

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* Runs until it is ended; skips the test where that is not to be had. */
static pid_t start(void)
{
    struct sd_sampler_options o = { 0 };
    struct sd_sampler *s = NULL;
    int ready[2], rc;
    pid_t pid;
    char x;

    CHECK(pipe(ready) == 0);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ready[1], 1);
        close(ready[0]);
        close(ready[1]);
        execlp("python3", "python3", "-S", "-c", program, (char *)NULL);
        _exit(1);
    }
    close(ready[1]);
    rc = read(ready[0], &x, 1) == 1
             ? sd_sampler_open(&s, pid, &o, SD_SAMPLER_NEEDS_PYTHON)
             : SD_EABSENT;
    close(ready[0]);
    if (rc < 0) {
        end(pid);
        skip();
    }
    sd_sampler_free(s, NULL);
    return pid;
}

struct heard {
    size_t n, n_busy, n_waits;
};

static void hear(void *of, const struct sd_thread_sample *t)
{
    struct heard *h = of;
    struct sd_sample_frame f;
    size_t i;

    h->n++;
    for (i = 0; i < t->n_frames; i++) {
        sd_sample_frame(t, i, &f);
        h->n_busy += strcmp(f.name, "busy") == 0 && (f.line == 5 || f.line == 6);
    }
    h->n_waits += strcmp(t->name, "waits") == 0 && (t->flags & SD_SAMPLE_IDLE) != 0;
}

/* Some time between them: a thread that has just begun needs it to get anywhere. */
static int take_round(struct sd_sampler *s, const struct sd_listener *ear)
{
    usleep(1000);
    return sd_sampler_round(s, ear);
}

static bool adds_up(const struct sd_sample_counts *n)
{
    return n->looks == n->samples + n->lost + n->empty + n->skipped + n->ended;
}

TEST(sampler_tells_each_thread_once_a_round_and_counts_every_look)
{
    static const enum sd_consistency all[] = { SD_CONSISTENCY_AUTO,
                                               SD_CONSISTENCY_FOLLOW,
                                               SD_CONSISTENCY_PAUSE,
                                               SD_CONSISTENCY_NONE };
    pid_t pid = start();
    struct sd_sampler *s;
    size_t i, k;

    for (i = 0; i < sizeof all / sizeof *all; i++) {
        struct sd_sampler_options o = { .consistency = all[i] };
        struct heard h = { 0 };
        struct sd_listener ear = { .sample = hear, .of = &h };
        const struct sd_sample_counts *n;

        CHECK(sd_sampler_open(&s, pid, &o, SD_SAMPLER_NEEDS_PYTHON) == 0);
        for (k = 0; k < 50; k++)
            CHECK(take_round(s, &ear) == 0);
        n = sd_sampler_counts(s);
        CHECK(n->rounds == 50 && n->looks == 100 && adds_up(n));
        CHECK(h.n == n->samples && n->samples + n->lost == 100);
        CHECK(h.n_busy > 25 && h.n_waits > 25); /* some may be lost under load */
        CHECK(n->paused == 0 || all[i] == SD_CONSISTENCY_PAUSE);
        sd_sampler_free(s, &ear);
    }
    end(pid);
}

TEST(sampler_in_gil_mode_tells_the_holder_alone)
{
    struct sd_sampler_options o = { .mode = SD_MODE_GIL };
    struct heard h = { 0 };
    struct sd_listener ear = { .sample = hear, .of = &h };
    pid_t pid = start();
    struct sd_sampler *s;
    int k;

    CHECK(sd_sampler_open(&s, pid, &o, SD_SAMPLER_NEEDS_PYTHON) == 0);
    for (k = 0; k < 50; k++)
        CHECK(take_round(s, &ear) == 0);
    CHECK(h.n_waits == 0 && h.n_busy > 25 && adds_up(sd_sampler_counts(s)));
    CHECK(sd_sampler_counts(s)->skipped >= 50);
    sd_sampler_free(s, &ear);
    end(pid);
}

TEST(sampler_of_a_process_that_ends_says_so_and_tells_nothing_more)
{
    struct sd_sampler_options o = { 0 };
    struct heard h = { 0 };
    struct sd_listener ear = { .sample = hear, .of = &h };
    pid_t pid = start();
    struct sd_sampler *s;
    size_t before;

    CHECK(sd_sampler_open(&s, pid, &o, SD_SAMPLER_NEEDS_PYTHON) == 0);
    CHECK(sd_sampler_round(s, &ear) == 0);
    before = h.n;
    end(pid);
    CHECK(sd_sampler_round(s, &ear) == SD_EGONE && h.n == before);
    CHECK(adds_up(sd_sampler_counts(s)));
    sd_sampler_free(s, &ear);
}

TEST(sampler_does_not_wait_for_a_zombie)
{
    struct sd_sampler_options o = { 0 };
    struct sd_sampler *s;
    siginfo_t info;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
    CHECK(sd_sampler_open(&s, pid, &o, SD_SAMPLER_WAITS) == 0);
    CHECK(sd_sampler_round(s, NULL) == SD_EGONE);
    sd_sampler_free(s, NULL);
    CHECK(waitpid(pid, NULL, 0) == pid);
}

TEST(sampler_survives_every_failing_allocation)
{
    pid_t pid = start();
    struct sd_sampler_options o = { 0 };

    EACH_FAILURE(nth)
    {
        struct heard h = { 0 };
        struct sd_listener ear = { .sample = hear, .of = &h };
        struct sd_sampler *s = NULL;
        int rc = sd_sampler_open(&s, pid, &o, SD_SAMPLER_WAITS), k;

        CHECK(rc == 0 || (rc == SD_ENOMEM && s == NULL));
        for (k = 0; rc == 0 && k < 2; k++)
            CHECK(sd_sampler_round(s, &ear) == 0);
        CHECK(rc < 0 || adds_up(sd_sampler_counts(s)));
        sd_sampler_free(s, &ear);
    }
    end(pid);
}

static struct sd_option_value defaults[SD_SAMPLE_WITH_NATIVE + 1] = {
    [SD_SAMPLE_RATE] = { .number = 1000, .is_given = true },
    [SD_SAMPLE_WITH_IDLE] = { .number = 1 },
    [SD_SAMPLE_WITH_CHILDREN] = { .number = 1 },
};

TEST(sample_as_a_collector_writes_what_it_counts)
{
    const struct sd_capture_options raw = { .zstd_level = 0 };
    struct sd_capture_counts counts;
    struct sd_sample_result result;
    struct sd_capture *capture;
    struct sd_writer *writer;
    struct sd_collect how;
    struct captured *c;
    pid_t pid = start();
    char path[96];
    void *sampling;
    int64_t sum = 0;
    size_t i;

    strcpy(path, captured_path());
    CHECK(sd_capture_create(path, &raw, &capture) == 0);
    CHECK(sd_writer_join(sd_capture_live_dir(capture), &writer) == 0);
    how = (struct sd_collect){ .writer = writer, .root = pid, .options = defaults };
    CHECK(sd_collector_sample.start(&how, &sampling) == 0);
    usleep(400000);
    sd_sample_finish(sampling, &result);
    sd_collector_sample.stop(sampling);
    sd_writer_leave(writer);
    CHECK(sd_capture_finish(capture, 0, &counts) == 0);
    c = captured_read(path);
    for (i = 0; i < c->n; i++)
        sum += captured_value(&c->events[i], "samples");
    CHECK(c->is_whole && result.unwritten == 0 && adds_up(&result.counts));
    CHECK(sum == (int64_t)result.counts.samples && sum > 5);
    CHECK(strstr(c->metas, "sample.asked_per_s=1000"));
    captured_free(c);
    captured_clean();
    end(pid);
}

TEST(sample_refuses_no_rate_and_takes_any_other)
{
    struct sd_option_value values[SD_SAMPLE_WITH_NATIVE + 1];
    const struct sd_collector_about *about = sd_collector_sample.about;

    memcpy(values, defaults, sizeof values);
    values[SD_SAMPLE_RATE].number = 0;
    CHECK(about->check(values) == SD_EUSAGE);
    values[SD_SAMPLE_RATE].number = 1000000000000u;
    CHECK(about->check(values) == 0);
}
