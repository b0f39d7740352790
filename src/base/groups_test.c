/* SPDX-License-Identifier: MIT */
#include "base/groups.h"

#include <string.h>

#include "base/test.h"

TEST(things_of_one_group_stand_together_in_the_order_they_came_in)
{
    static const struct {
        uint32_t group;
        char name;
    } things[] = { { 2, 'a' }, { 0, 'b' }, { 2, 'c' }, { 3, 'd' }, { 0, 'e' } };
    enum { N = sizeof things / sizeof *things, N_GROUPS = 4 };
    uint32_t first[N_GROUPS + 2] = { 0 };
    char names[N + 1] = "";

    for (size_t i = 0; i < N; i++)
        sd_groups_count(first, things[i].group);
    sd_groups_sum(first, N_GROUPS);
    for (size_t i = 0; i < N; i++)
        names[sd_groups_place(first, things[i].group)] = things[i].name;
    CHECK(strcmp(names, "beacd") == 0);
    CHECK(first[0] == 0 && first[1] == 2 && first[2] == 2); /* the second is empty */
    CHECK(first[3] == 4 && first[4] == N);
}
