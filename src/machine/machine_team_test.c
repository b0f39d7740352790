/* SPDX-License-Identifier: MIT */
#include "machine/machine_team.h"

#include "base/error.h"
#include "base/test.h"

struct counts {
    unsigned of[3];
};

static void count(void *job, unsigned place)
{
    struct counts *c = job;

    c->of[place]++;
}

TEST(team_members_each_do_a_job_once)
{
    static const int cpus[] = { 0, 0, 0 };
    struct counts c = { { 0 } };
    struct sd_team t;

    CHECK(sd_team_start(&t, cpus, 3) == 0);
    for (int i = 0; i < 100; i++)
        sd_team_run(&t, 3, count, &c);
    for (int i = 0; i < 10; i++)
        sd_team_run(&t, 1, count, &c);
    sd_team_run(&t, 9, count, &c); /* no more than there are */
    sd_team_end(&t);
    CHECK(c.of[0] == 111 && c.of[1] == 101 && c.of[2] == 101);
}

TEST(team_without_memory_is_none)
{
    static const int cpus[] = { 0 };
    struct sd_team t;

    EACH_FAILURE(nth)
    {
        int rc = sd_team_start(&t, cpus, 1);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        if (rc == 0)
            sd_team_end(&t);
    }
}
