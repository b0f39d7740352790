/* SPDX-License-Identifier: MIT */
#include "profile/opens.h"

#include <stdlib.h>

#include "base/test.h"

static int begin(struct sd_opens *o, uint64_t span)
{
    return sd_opens_begin(o, &(struct sd_open_span){ .span = span, .process = 1 });
}

static size_t n_left(const struct sd_opens *o)
{
    struct sd_open_span left;
    size_t at = 0, n = 0;

    while (sd_opens_left(o, &at, &left))
        n++;
    return n;
}

TEST(opens_forgets_what_ended_in_whatever_order)
{
    struct sd_opens o = { 0 };
    enum { N = 60 };
    uint64_t order[N];

    srand(3);
    for (uint64_t i = 0; i < N; i++) {
        uint64_t k = (uint64_t)rand() % (i + 1);

        order[i] = order[k];
        order[k] = i + 1;
        CHECK(begin(&o, i + 1) == 0);
    }
    for (size_t i = 0; i < N - 7; i++)
        CHECK(sd_opens_end(&o, 1, order[i]) == 0);
    CHECK(sd_opens_next_stream(&o) == 0);
    CHECK(n_left(&o) == 7);
    for (size_t i = N - 7; i < N; i++)
        CHECK(sd_opens_end(&o, 1, order[i]) == 0);
    CHECK(n_left(&o) == 0);
    sd_opens_release(&o);
}

TEST(opens_keeps_processes_apart)
{
    struct sd_opens o = { 0 };

    CHECK(begin(&o, 5) == 0);
    CHECK(sd_opens_end(&o, 2, 5) == 0);
    CHECK(sd_opens_next_stream(&o) == 0);
    CHECK(n_left(&o) == 1);
    sd_opens_release(&o);
}

TEST(opens_counts_what_does_not_fit)
{
    struct sd_opens o = { 0 };

    for (uint64_t i = 1; i <= SD_OPENS_MAX + 100; i++)
        CHECK(begin(&o, i) == 0);
    CHECK(sd_opens_next_stream(&o) == 0);
    CHECK(n_left(&o) == SD_OPENS_MAX && o.n_refused == 100);
    sd_opens_release(&o);
}
