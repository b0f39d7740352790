/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_TEST_H
#define SD_BASE_TEST_H
/* test: a unit test is a TEST beside the code it tests, a sentence about
 * behaviour; it registers itself and nothing lists it.  cmocka runs them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct sd_test {
    const char *name;
    void (*run)(void **state);
    struct sd_test *next;
};
void sd_test_add(struct sd_test *t);

#define TEST(name)                                                                     \
    static void test_##name(void **state);                                             \
    static struct sd_test entry_##name = { #name, test_##name, NULL };                 \
    __attribute__((constructor)) static void add_##name(void)                          \
    {                                                                                  \
        sd_test_add(&entry_##name);                                                    \
    }                                                                                  \
    static void test_##name(void **state __attribute__((unused)))

/* A failing CHECK ends the test and says file, line and claim.  In a forked child it
 * ends the child with status 99, in another thread the whole program: only the
 * thread that runs the tests can go on to the next. */
#define CHECK(claim)                                                                   \
    do {                                                                               \
        if (!(claim))                                                                  \
            sd_test_failed(__FILE__, __LINE__, #claim);                                \
    } while (0)
void sd_test_failed(const char *file, int line, const char *claim);

/* Runs what follows with its 1st allocation failing, then its 2nd, and so on until a
 * run has none left to fail:
 *
 *     EACH_FAILURE (nth) {
 *         rc = sd_thing_new(&thing);
 *         CHECK(rc == 0 || rc == SD_ENOMEM);
 *         sd_thing_free(thing);
 *     }
 *
 * The last run succeeds, so leave neither by break nor by return. */
#define EACH_FAILURE(nth) for (size_t nth = 1; sd_test_fails_at(nth); nth++)
bool sd_test_fails_at(size_t nth);
#endif
