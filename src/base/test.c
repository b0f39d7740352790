/* SPDX-License-Identifier: MIT */
#include "base/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"

static struct sd_test *first_test;
static struct sd_test **last_link = &first_test;

/* Called by constructors, before main, in the order of linking. */
void sd_test_add(struct sd_test *t)
{
    *last_link = t;
    last_link = &t->next;
}

bool sd_test_fails_at(size_t nth)
{
    size_t asked = sd_mem_fail_at(0, false);

    if (nth > 1 && asked < nth - 1)
        return false; /* the run before this one had no allocation left to fail */
    sd_mem_fail_at(nth, false);
    return true;
}

static pid_t runner; /* the thread that runs the tests */

/* cmocka jumps out of a failed test.  That jump belongs to the runner: in a forked
 * child it would run the remaining tests a second time, in another thread it would
 * land on a foreign stack. */
void sd_test_failed(const char *file, int line, const char *claim)
{
    if (gettid() == runner)
        _assert_true(0, claim, file, line);
    fprintf(stderr, "%s:%d: failed: %s\n", file, line, claim);
    if (getpid() != runner)
        _exit(99);
    abort();
}

/* cmocka catches SIGSEGV to go on with the next test.  Under AddressSanitizer the
 * report of what went wrong is worth more.  And freed memory is held back for a while
 * only: 256 MB of it, the usual, make every fork of the tests that follow slow. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "handle_segv=2:quarantine_size_mb=16";
}

/* Whatever a test before it left behind (it may have failed half-way) is undone. */
static int before_each(void **state)
{
    (void)state;
    sd_mem_fail_at(0, false);
    sd_assert_set_handler(sd_test_failed); /* and the other tests still run */
    return 0;
}

static bool is_wanted(const struct sd_test *t, const char *part)
{
    return !part || strstr(t->name, part);
}

/* The tests whose name contains `part`, as cmocka takes them; the caller frees. */
static struct CMUnitTest *choose(const char *part, size_t *n)
{
    struct CMUnitTest *chosen;
    size_t all = 0;

    for (struct sd_test *t = first_test; t; t = t->next)
        all++;
    chosen = calloc(all + 1, sizeof *chosen);
    *n = 0;
    for (struct sd_test *t = first_test; t && chosen; t = t->next) {
        if (is_wanted(t, part))
            chosen[(*n)++] =
                (struct CMUnitTest){ t->name, t->run, before_each, before_each, NULL };
    }
    return chosen;
}

/* unit [PART]: runs the tests whose name contains PART (all without it), one line
 * each in TAP, and a last line that counts them. */
int main(int argc, char **argv)
{
    size_t n = 0;
    struct CMUnitTest *chosen = choose(argc > 1 ? argv[1] : NULL, &n);
    int failed;

    runner = gettid();
    if (!chosen)
        return 2;
    if (n == 0) {
        fprintf(stderr, "no test has \"%s\" in its name\n", argc > 1 ? argv[1] : "");
        free(chosen);
        return 2;
    }
    cmocka_set_message_output(CM_OUTPUT_TAP);
    failed = _cmocka_run_group_tests("unit", chosen, n, NULL, NULL);
    free(chosen);
    if (failed < 0) /* cmocka itself could not run */
        return 2;
    printf("%zu passed, %d failed\n", n - (size_t)failed, failed);
    return failed ? 1 : 0;
}
