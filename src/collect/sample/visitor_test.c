/* SPDX-License-Identifier: MIT */
#include "collect/sample/visitor.h"

#include <sched.h>

#include "base/test.h"

struct visit {
    int cpu;
    unsigned n;
};

static void note_cpu(void *of)
{
    struct visit *v = of;

    v->cpu = sched_getcpu();
    v->n++;
}

TEST(visitor_works_on_its_cpu_and_is_waited_for)
{
    cpu_set_t ours;
    int cpu;
    unsigned i;

    CHECK(sched_getaffinity(0, sizeof ours, &ours) == 0);
    for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        struct sd_visitor *r;
        struct visit v = { -1, 0 };

        if (!CPU_ISSET((size_t)cpu, &ours))
            continue;
        r = sd_visitor_new(cpu);
        CHECK(r);
        for (i = 1; i <= 1000; i++) {
            sd_visitor_do(r, note_cpu, &v);
            CHECK(v.cpu == cpu && v.n == i);
        }
        CHECK(sd_visitor_cpu_ns(r) > 0);
        sd_visitor_free(r);
    }
    CHECK(sd_visitor_cpu_ns(NULL) == 0);
    sd_visitor_free(NULL);
}

TEST(visitor_is_none_on_a_cpu_that_is_not_there)
{
    CHECK(!sd_visitor_new(-1));
    CHECK(!sd_visitor_new(CPU_SETSIZE));
    CHECK(!sd_visitor_new(CPU_SETSIZE - 1)); /* 1023: no machine of ours has it */
}
