/* SPDX-License-Identifier: MIT */
#include "collect/inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/test.h"
#include "collect/captured_test.h"
#include "collect/own.h"

static const struct sd_option options[] = {
    { .name = "depth", .kind = SD_NUMBER, .fallback = "3" },
    { .name = NULL },
};
static const struct sd_collector_about about_good = { .name = "good",
                                                      .place = SD_INSIDE,
                                                      .options = options };
static const struct sd_collector_about about_bad = { .name = "bad",
                                                     .place = SD_INSIDE,
                                                     .options = options };

static uint64_t depth;
static char deeds[64];
static bool may_all;

static bool is_stopped_meanwhile; /* as an audit hook of the program does */

static int start_good(const struct sd_option_value *values)
{
    if (is_stopped_meanwhile) {
        sd_inside_stop();
        CHECK(sd_own_stop(0) == 0);
    }
    depth = values[0].number;
    strcat(deeds, "start ");
    return 0;
}

static int start_bad(const struct sd_option_value *values)
{
    (void)values;
    return sd_fail(SD_ELACKS, "there is no such clock");
}

static void at_exit_good(void) { strcat(deeds, "exit "); }
static void stop_good(void) { strcat(deeds, "stop "); }
static void fork_good(void) { strcat(deeds, "fork "); }
static void never(void) { CHECK(false); } /* it does not run */

static const struct sd_inside good = { .about = &about_good,
                                       .start = start_good,
                                       .at_exit = at_exit_good,
                                       .stop = stop_good,
                                       .after_fork = fork_good };
static const struct sd_inside bad = { .about = &about_bad,
                                      .start = start_bad,
                                      .at_exit = never,
                                      .stop = never,
                                      .after_fork = never };
static const struct sd_inside *const all[] = { &bad, &good, NULL };

static bool may(const struct sd_inside *c)
{
    (void)c;
    return may_all;
}

/* Begins a capture and starts what the text names; how many were started. */
static size_t begin(const char *with, const char **path)
{
    deeds[0] = '\0';
    *path = captured_path();
    setenv("SONDE_WITH", with, 1);
    CHECK(sd_inside_start(all, NULL) == 0); /* there is no capture yet */
    CHECK(sd_own_start(*path) == 0);
    return sd_inside_start(all, NULL);
}

static struct captured *end(const char *path)
{
    unsetenv("SONDE_WITH");
    sd_inside_stop();
    CHECK(sd_own_stop(0) == 0);
    return captured_read(path);
}

TEST(inside_stops_what_was_stopped_while_it_started)
{
    const char *path;

    is_stopped_meanwhile = true;
    CHECK(begin("good:depth=9", &path) == 0 && depth == 9);
    is_stopped_meanwhile = false;
    CHECK(strcmp(deeds, "start stop ") == 0);
    unsetenv("SONDE_WITH");
    sd_inside_stop(); /* it does not run any more */
    CHECK(strcmp(deeds, "start stop ") == 0);
    captured_free(captured_read(path));
}

TEST(inside_starts_what_the_run_names_once_and_stops_it)
{
    const char *path;

    CHECK(begin("sections,good:depth=9", &path) == 1 && depth == 9);
    CHECK(sd_inside_start(all, NULL) == 0);
    sd_inside_at_exit();
    captured_free(end(path));
    CHECK(strcmp(deeds, "start exit stop ") == 0);
    captured_clean();
    CHECK(begin("sections", &path) == 0 && !*deeds);
    captured_free(end(path));
    captured_clean();
}

TEST(inside_says_in_the_capture_what_cannot_start_and_why)
{
    struct captured *c;
    const char *path;

    CHECK(begin("bad,good", &path) == 1 && depth == 3);
    CHECK(sd_inside_start(all, NULL) == 0); /* nor is it tried again */
    sd_inside_at_exit();
    c = end(path);
    CHECK(strstr(c->notes, "the collector bad does not run in process "));
    CHECK(strstr(c->notes, ": there is no such clock\n"));
    captured_free(c);
    captured_clean();
}

TEST(inside_says_in_the_capture_which_option_cannot_be_read)
{
    struct captured *c;
    const char *path;

    CHECK(begin("good:depth=deep", &path) == 0 && !*deeds);
    c = end(path);
    CHECK(strstr(c->notes, "the collector good does not run") &&
          strstr(c->notes, "\"deep\""));
    captured_free(c);
    captured_clean();
}

TEST(inside_asks_whether_one_may_start)
{
    const char *path;

    CHECK(begin("", &path) == 0);
    setenv("SONDE_WITH", "good", 1);
    may_all = false;
    CHECK(sd_inside_start(all, may) == 0);
    may_all = true;
    CHECK(sd_inside_start(all, may) == 1);
    captured_free(end(path));
    captured_clean();
}

TEST(inside_tells_of_forks_where_one_that_runs_wants_to_know)
{
    const char *path;

    CHECK(begin("bad", &path) == 0 && !sd_inside_follows_forks());
    captured_free(end(path));
    captured_clean();
    CHECK(begin("good", &path) == 1 && sd_inside_follows_forks());
    sd_inside_before_fork();
    sd_inside_after_fork();
    captured_free(end(path));
    CHECK(strcmp(deeds, "start fork stop ") == 0);
    captured_clean();
}
