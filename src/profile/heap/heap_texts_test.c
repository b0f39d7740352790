/* SPDX-License-Identifier: MIT */
#include "profile/heap/heap_texts.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/test.h"

TEST(heap_texts_store_each_text_once)
{
    struct sd_heap_texts t = { .n = 0 };
    char text[32];
    uint32_t id;

    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 5000; i++) {
            int n = snprintf(text, sizeof text, "text %u", (unsigned)i);

            CHECK(sd_heap_texts_add(&t, text, (size_t)n, &id) == 0);
            CHECK(id == i + 1);
        }
    CHECK(strcmp(sd_heap_texts_get(&t, 1), "text 0") == 0);
    CHECK(strcmp(sd_heap_texts_get(&t, 5000), "text 4999") == 0);
    CHECK(sd_heap_texts_add(&t, "text 12 and more", 7, &id) == 0 && id == 13);
    CHECK(sd_heap_texts_add(&t, "", 0, &id) == 0 && id == 0);
    CHECK(*sd_heap_texts_get(&t, 0) == 0 && *sd_heap_texts_get(&t, 9999) == 0);
    sd_heap_texts_release(&t);
}

TEST(heap_texts_survive_each_failing_allocation)
{
    EACH_FAILURE(nth)
    {
        struct sd_heap_texts t = { .n = 0 };
        uint32_t id;
        int rc = sd_heap_texts_add(&t, "x", 1, &id);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_heap_texts_release(&t);
    }
}
