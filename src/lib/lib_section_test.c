/* SPDX-License-Identifier: MIT */
#include "sonde.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "collect/captured_test.h"
#include "collect/peak.h"

static const char *start(void)
{
    const char *path = captured_path();

    CHECK(sonde_start(path) == 0);
    return path;
}

static struct captured *stop(const char *path)
{
    CHECK(sonde_stop() == 0);
    return captured_read(path);
}

TEST(lib_section_outside_of_a_capture_is_nothing)
{
    CHECK(sonde_section_begin("a", SONDE_ALL) == NULL);
    sonde_section_end(NULL);
    sonde_mark("m");
    CHECK(sonde_stop() == 0);
}

static void with_macro(void)
{
    SONDE_SECTION("macro");
    sonde_mark("here");
}

TEST(lib_sections_nest_by_thread)
{
    const char *path = start();
    sonde_section *a, *b;
    struct captured *c;

    a = sonde_section_begin("a", SONDE_TIME);
    b = sonde_section_begin("b", SONDE_TIME | SONDE_MEMORY);
    with_macro();
    sonde_section_end(b);
    sonde_section_end(a);
    with_macro();
    c = stop(path);
    CHECK(captured_count(c, SD_REC_SPAN, "a") == 1);
    CHECK(captured_count(c, SD_REC_SPAN, "a:b") == 1);
    CHECK(captured_count(c, SD_REC_SPAN, "a:b:macro") == 1);
    CHECK(captured_count(c, SD_REC_SPAN, "a:b:macro:here") == 1);
    CHECK(captured_count(c, SD_REC_SPAN, "macro") == 1);
    CHECK(captured_value(captured_find(c, SD_REC_SPAN, "a:b"), "rss_after") > 0);
    CHECK(c->is_whole);
    captured_free(c);
    captured_clean();
}

TEST(lib_ending_an_outer_section_ends_those_inside)
{
    const char *path = start();
    sonde_section *a = sonde_section_begin("a", SONDE_TIME);
    sonde_section *b = sonde_section_begin("b", SONDE_ALL);
    struct captured *c;

    sonde_section_begin("c", SONDE_ALL);
    sonde_section_end(a);
    sonde_section_end(b); /* has ended: nothing happens */
    b = sonde_section_begin("again", SONDE_TIME);
    sonde_section_end(b);
    c = stop(path);
    CHECK(captured_count(c, SD_REC_SPAN, "a:b:c") == 1);
    CHECK(captured_count(c, SD_REC_SPAN, "a:b") == 1);
    CHECK(captured_count(c, SD_REC_SPAN, "again") == 1);
    CHECK(captured_count(c, SD_REC_SPAN, NULL) == 4);
    captured_free(c);
    captured_clean();
}

TEST(lib_section_keeps_a_copy_of_its_name)
{
    const char *path = start();
    char name[300];
    sonde_section *s;
    struct captured *c;

    memset(name, 'x', 200);
    name[200] = 0;
    s = sonde_section_begin(name, SONDE_TIME);
    memset(name, 'y', 200);
    sonde_section_end(s);
    strcpy(name, "short");
    s = sonde_section_begin(name, SONDE_TIME);
    name[0] = 0;
    sonde_section_end(s);
    c = stop(path);
    CHECK(captured_count(c, SD_REC_SPAN, "short") == 1);
    memset(name, 'x', 200);
    CHECK(captured_count(c, SD_REC_SPAN, name) == 1);
    captured_free(c);
    captured_clean();
}

TEST(lib_sections_nested_too_deep_are_left_out_and_said)
{
    const char *path = start();
    sonde_section *open[300];
    struct captured *c;

    for (int i = 0; i < 300; i++)
        open[i] = sonde_section_begin("deep", SONDE_TIME);
    CHECK(open[255] != NULL && open[256] == NULL && open[299] == NULL);
    for (int i = 299; i >= 0; i--)
        sonde_section_end(open[i]);
    c = stop(path);
    CHECK(captured_count(c, SD_REC_SPAN, NULL) == 256);
    CHECK(strstr(c->notes, "256 deep"));
    captured_free(c);
    captured_clean();
}

static void *leave_open(void *unused)
{
    (void)unused;
    sonde_section_begin("left", SONDE_ALL);
    sonde_section_begin("open", SONDE_ALL);
    return NULL;
}

/* Their regions must not stay linked in memory that is freed with the thread. */
TEST(lib_sections_left_open_by_a_thread_hurt_nobody)
{
    const char *path = start();
    struct sd_peak_region r;
    struct captured *c;

    for (int i = 0; i < 4; i++) {
        pthread_t thread;

        CHECK(pthread_create(&thread, NULL, leave_open, NULL) == 0);
        pthread_join(thread, NULL);
        sd_peak_open(&r);
        sd_peak_close(&r);
    }
    c = stop(path);
    CHECK(captured_count(c, SD_REC_OPEN, NULL) == 8);
    CHECK(captured_count(c, SD_REC_SPAN, NULL) == 0);
    captured_free(c);
    captured_clean();
}

static void *end_foreign(void *s)
{
    sonde_section_end(s);
    return NULL;
}

TEST(lib_section_ends_only_on_its_own_thread)
{
    const char *path = start();
    sonde_section *s = sonde_section_begin("mine", SONDE_TIME);
    struct captured *c;
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, end_foreign, s) == 0);
    pthread_join(thread, NULL);
    sonde_section_end(s);
    c = stop(path);
    CHECK(captured_count(c, SD_REC_SPAN, "mine") == 1);
    captured_free(c);
    captured_clean();
}

TEST(lib_start_says_why_it_cannot)
{
    const char *path = start();

    CHECK(sonde_start(path) == SD_EEXISTS);
    CHECK(strstr(sonde_error(), "already"));
    CHECK(sonde_stop() == 0);
    CHECK(sonde_start(path) == SD_EEXISTS); /* nothing is overwritten */
    CHECK(sonde_start("") == SD_EUSAGE);
    CHECK(sonde_start("/nonexistent/x.sonde") < 0);
    captured_clean();
}

TEST(lib_totals_of_a_capture)
{
    const char *path = start();
    sonde_capture *c;
    sonde_total t;

    for (int i = 0; i < 10; i++) {
        sonde_section *s = sonde_section_begin("ten", SONDE_ALL);

        usleep(100);
        sonde_section_end(s);
    }
    sonde_section_end(sonde_section_begin("once", SONDE_TIME));
    CHECK(sonde_stop() == 0);
    CHECK(sonde_open(path, &c) == 0);
    CHECK(sonde_complaint(c) == NULL);
    CHECK(sonde_n_totals(c) == 2);
    t = sonde_get_total(c, 0);
    CHECK(strcmp(t.name, "ten") == 0 && t.count == 10 && t.wall_ns >= 1000000);
    CHECK(t.cpu_ns > 0 && (t.peak_bytes > 0 || t.peak_bytes == -1));
    t = sonde_get_total(c, 1);
    CHECK(strcmp(t.name, "once") == 0 && t.count == 1 && t.peak_bytes == -1);
    CHECK(sonde_get_total(c, 2).count == 0);
    sonde_close(c);
    sonde_close(NULL);
    CHECK(sonde_open("/nonexistent.sonde", &c) < 0 && c == NULL);
    CHECK(strstr(sonde_error(), "nonexistent"));
    captured_clean();
}

TEST(lib_without_memory_neither_crashes_nor_hangs)
{
    for (size_t nth = 1; nth < 60; nth++) {
        const char *path = captured_path();
        sonde_capture *c = NULL;

        sd_mem_fail_at(nth, nth % 2);
        if (sonde_start(path) == 0) {
            sonde_section *s = sonde_section_begin("a", SONDE_ALL);

            sonde_section_end(sonde_section_begin("b", SONDE_TIME));
            sonde_section_end(s);
        }
        sonde_stop();
        if (sonde_open(path, &c) == 0)
            sonde_close(c);
        sd_mem_fail_at(0, false);
        sonde_stop();
        captured_clean();
    }
}
