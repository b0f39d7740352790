/* SPDX-License-Identifier: MIT */
#include "base/pages.h"

#include "base/error.h"
#include "base/test.h"

TEST(pages_keep_what_is_in_them_when_they_grow_and_shrink)
{
    struct sd_pages s = { 0 };

    CHECK(sd_pages_grow(&s, 10) == 0);
    for (size_t i = 0; i < 10; i++)
        ((char *)s.p)[i] = (char)i;
    CHECK(sd_pages_grow(&s, 9 << 20) == 0);
    CHECK(s.bytes >= 9 << 20);
    CHECK(((char *)s.p)[9] == 9);
    CHECK(((char *)s.p)[(9 << 20) - 1] == 0); /* fresh pages are zero */
    sd_pages_shrink(&s, 100);
    CHECK(s.bytes == 4096);
    CHECK(((char *)s.p)[9] == 9);
    sd_pages_release(&s);
    CHECK(!s.p && !s.bytes);
    sd_pages_release(&s);
}

TEST(pages_say_when_there_is_no_memory)
{
    struct sd_pages s = { 0 };

    EACH_FAILURE(nth)
    {
        int rc = sd_pages_grow(&s, 1);

        CHECK(rc == 0 || (rc == SD_ENOMEM && !s.p));
    }
    CHECK(sd_pages_grow(&s, SIZE_MAX) == SD_ENOMEM);
    CHECK(s.p); /* what there was is still there */
    sd_pages_release(&s);
}
