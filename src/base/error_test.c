/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "base/test.h"

TEST(failing_returns_the_code_and_leaves_the_sentence)
{
    CHECK(sd_fail(SD_EACCESS, "cannot read process %d", 12) == SD_EACCESS);
    CHECK(strcmp(sd_fail_text(), "cannot read process 12") == 0);
}

TEST(a_failed_system_call_is_told_in_the_systems_words)
{
    CHECK(sd_fail_errno(ENOENT, "cannot open %s", "x") == SD_EABSENT);
    CHECK(strcmp(sd_fail_text(), "cannot open x: No such file or directory") == 0);
}

TEST(errno_chooses_the_code)
{
    CHECK(sd_fail_errno(ENOMEM, "x") == SD_ENOMEM);
    CHECK(sd_fail_errno(EACCES, "x") == SD_EACCESS);
    CHECK(sd_fail_errno(EPERM, "x") == SD_EACCESS);
    CHECK(sd_fail_errno(EROFS, "x") == SD_EACCESS);
    CHECK(sd_fail_errno(ENOTDIR, "x") == SD_EABSENT);
    CHECK(sd_fail_errno(EEXIST, "x") == SD_EEXISTS);
    CHECK(sd_fail_errno(ENOSPC, "x") == SD_EFULL);
    CHECK(sd_fail_errno(EDQUOT, "x") == SD_EFULL);
    CHECK(sd_fail_errno(ESRCH, "x") == SD_EGONE);
    CHECK(sd_fail_errno(EPIPE, "x") == SD_EIO);
}

TEST(context_goes_before_the_sentence_and_the_code_passes_unchanged)
{
    int rc = sd_fail(SD_EFORMAT, "it is too short");

    CHECK(sd_fail_in(rc, "%s", "x.sonde") == SD_EFORMAT);
    CHECK(strcmp(sd_fail_text(), "x.sonde: it is too short") == 0);
    CHECK(sd_fail_in(rc, "while merging") == SD_EFORMAT);
    CHECK(strcmp(sd_fail_text(), "while merging: x.sonde: it is too short") == 0);
}

TEST(the_old_sentence_may_be_an_argument_of_the_new)
{
    sd_fail(SD_EIO, "first");
    sd_fail(SD_EIO, "second, after \"%s\"", sd_fail_text());
    CHECK(strcmp(sd_fail_text(), "second, after \"first\"") == 0);
}

TEST(a_sentence_too_long_is_cut_and_marked_between_characters)
{
    char path[5000];
    const char *said;

    for (size_t shift = 0; shift < 2; shift++) { /* the cut falls on either byte */
        memset(path, 'a', sizeof path);
        for (size_t i = shift; i + 2 < sizeof path; i += 2)
            memcpy(path + i, "\xC3\xA9", 2);
        path[sizeof path - 1] = 0;
        sd_fail(SD_EIO, "%s", path);
        said = sd_fail_text();
        CHECK(strlen(said) > 1000 && strlen(said) < sizeof path - 1);
        CHECK(strcmp(said + strlen(said) - 3, "...") == 0);
        CHECK((unsigned char)said[strlen(said) - 4] == 0xA9);
    }
}

TEST(context_before_a_full_slot_keeps_the_context)
{
    char path[5000];

    memset(path, 'a', sizeof path);
    path[sizeof path - 1] = 0;
    sd_fail(SD_EIO, "%s", path);
    sd_fail_in(SD_EIO, "context");
    CHECK(strncmp(sd_fail_text(), "context: aaa", 12) == 0);
    CHECK(strcmp(sd_fail_text() + strlen(sd_fail_text()) - 3, "...") == 0);
}

TEST(failing_keeps_errno)
{
    errno = EXDEV;
    sd_fail(SD_EIO, "x");
    sd_fail_errno(ENOENT, "x");
    sd_fail_in(SD_EIO, "x");
    CHECK(errno == EXDEV);
}

static void *fail_elsewhere(void *seen)
{
    *(size_t *)seen = strlen(sd_fail_text());
    sd_fail(SD_EIO, "theirs");
    return NULL;
}

TEST(each_thread_has_its_own_sentence)
{
    pthread_t thread;
    size_t seen = 1;

    sd_fail(SD_EIO, "mine");
    CHECK(pthread_create(&thread, NULL, fail_elsewhere, &seen) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(seen == 0);
    CHECK(strcmp(sd_fail_text(), "mine") == 0);
}

static void *fail_without_memory(void *good)
{
    bool *is_good = good;

    sd_mem_fail_at(1, true);
    sd_fail(SD_EACCESS, "cannot read process %d", 12);
    *is_good = strcmp(sd_fail_text(), "the system refused") == 0;
    sd_fail_in(SD_EACCESS, "context");
    *is_good = *is_good && strcmp(sd_fail_text(), "the system refused") == 0;
    sd_mem_fail_at(0, false);
    sd_fail(SD_EIO, "with memory again");
    *is_good = *is_good && strcmp(sd_fail_text(), "with memory again") == 0;
    return NULL;
}

/* In a new thread, which has no slot for its sentence yet. */
TEST(without_memory_for_the_sentence_the_meaning_of_the_code_stands_in)
{
    pthread_t thread;
    bool is_good = false;

    CHECK(pthread_create(&thread, NULL, fail_without_memory, &is_good) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(is_good);
}

TEST(every_code_has_a_meaning_and_strangers_one_too)
{
    CHECK(strcmp(sd_err_meaning(SD_ENOMEM), "out of memory") == 0);
    CHECK(strcmp(sd_err_meaning(SD_ELACKS), "a part this needs is not installed") == 0);
    CHECK(strcmp(sd_err_meaning(0), "no failure") == 0);
    CHECK(strcmp(sd_err_meaning(-12345), "an unknown failure") == 0);
}
