/* SPDX-License-Identifier: MIT */
#include "collect/sample/time_slice.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/test.h"

struct asked {
    uint64_t period_ns;
    int nice_before, nice_after;
};

/* The nice value of a thread is its own on Linux. */
static void *ask(void *of)
{
    struct asked *a = of;

    if (a->nice_before)
        CHECK(setpriority(PRIO_PROCESS, (id_t)gettid(), a->nice_before) == 0);
    sd_time_slice_shorten(a->period_ns);
    a->nice_after = getpriority(PRIO_PROCESS, (id_t)gettid());
    return NULL;
}

static int nice_after(uint64_t period_ns, int nice_before)
{
    struct asked a = { period_ns, nice_before, 0 };
    pthread_t t;

    CHECK(pthread_create(&t, NULL, ask, &a) == 0 && pthread_join(t, NULL) == 0);
    return a.nice_after;
}

TEST(slice_goes_before_others_at_usual_rates_where_it_may)
{
    struct rlimit r;
    bool may = geteuid() == 0 || (getrlimit(RLIMIT_NICE, &r) == 0 && r.rlim_cur >= 30);

    if (getpriority(PRIO_PROCESS, 0) != 0)
        return; /* somebody has chosen: it stays, as below */
    CHECK(nice_after(1000000, 0) == (may ? -10 : 0));
    CHECK(nice_after(10000, 0) == 0);
}

TEST(slice_leaves_a_chosen_nice_value_as_it_is) { CHECK(nice_after(1000000, 5) == 5); }
