/* SPDX-License-Identifier: MIT */
#ifndef SD_BASE_ASSERT_H
#define SD_BASE_ASSERT_H
/* assert: states what holds unless we made a mistake.
 *
 * Input is never asserted, it is checked.  What a broken assert does depends on
 * whose process it is: the program and the tests abort; a guest (the extension,
 * libsonde) sets a handler at start that stops the collectors and writes the
 * sentence into the capture, and the assert then returns. */

typedef void sd_assert_handler(const char *file, int line, const char *claim);

/* NULL brings back the default, which prints the claim and aborts. */
void sd_assert_set_handler(sd_assert_handler *handler);
void sd_assert_broken(const char *file, int line, const char *claim);

#define sd_assert(claim)                                                               \
    do {                                                                               \
        if (__builtin_expect(!(claim), 0))                                             \
            sd_assert_broken(__FILE__, __LINE__, #claim);                              \
    } while (0)

/* The same on a hot path: only tests that are built tiny or with sanitizers, and
 * fuzzers, keep it. */
#ifdef __has_feature
#define SD_IS_SANITIZED __has_feature(address_sanitizer) /* clang's word for it */
#else
#define SD_IS_SANITIZED 0
#endif
#if SD_TINY || SD_IS_SANITIZED || defined(__SANITIZE_ADDRESS__)
#define sd_assert_slow(claim) sd_assert(claim)
#else
#define sd_assert_slow(claim) ((void)0)
#endif
#endif
