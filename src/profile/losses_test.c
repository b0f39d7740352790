/* SPDX-License-Identifier: MIT */
#include "profile/losses.h"

#include <errno.h>

#include "profile/profile_testing.h"

static const char *words_of(const struct sd_profile *p, unsigned kinds,
                            struct sd_buf *b)
{
    sd_buf_clear(b);
    sd_losses_put(b, p, kinds);
    CHECK(!b->bad);
    return sd_buf_string(b);
}

TEST(losses_of_a_whole_capture_are_none)
{
    struct sd_buf b = { 0 };
    struct sd_profile *p;
    struct sd_maker m;

    sd_maker_begin(&m);
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(strcmp(words_of(p, SD_LOSSES_ALL, &b), "") == 0 && !p->complaint);
    for (unsigned i = 0; i < SD_LOSS_KINDS; i++)
        CHECK(sd_loss_amount(p, (enum sd_loss_kind)i) == 0);
    sd_profile_free(p);
    sd_maker_release(&m);
    sd_buf_release(&b);
}

/* What producers could not keep stands in LOST chunks: events, and whole threads with
 * the reason of the last. */
TEST(losses_are_listed_in_order_and_can_be_left_out)
{
    struct sd_buf b = { 0 };
    struct sd_profile *p;
    struct sd_maker m;

    sd_maker_begin(&m);
    sd_maker_chunk(&m, 0, 1);
    m.head.type = SD_CHUNK_LOST;
    m.head.lost_before = 1200;
    m.head.t0 = 3;
    m.head.t1 = EFBIG;
    sd_maker_put_chunk(&m, NULL, 0);
    sd_maker_chunk(&m, 4, 2); /* the first is missing */
    sd_maker_note(&m, SD_NOTE_LOSS, "sections nested more than 256 deep");
    sd_maker_end(&m, 0);
    p = sd_maker_load(&m, NULL);
    CHECK(sd_loss_amount(p, SD_LOSS_EVENTS) == 1200);
    CHECK(sd_loss_amount(p, SD_LOSS_THREADS) == 3);
    CHECK(strcmp(words_of(p, SD_LOSSES_ALL, &b),
                 "1 of 3 chunks (33.3 %) is missing; 1,200 events were dropped while "
                 "recording; all calls of 3 threads are missing: the program's files "
                 "may not become larger (RLIMIT_FSIZE, ulimit -f); sections nested "
                 "more than 256 deep") == 0);
    CHECK(strcmp(words_of(p, SD_LOSS_BIT(DAMAGE), &b),
                 "1 of 3 chunks (33.3 %) is missing") == 0);
    CHECK(p->complaint && strstr(p->complaint, "all calls of 3 threads") &&
          !strstr(p->complaint, "256"));
    sd_profile_free(p);
    sd_maker_release(&m);
    sd_buf_release(&b);
}
