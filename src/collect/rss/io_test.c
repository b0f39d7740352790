/* SPDX-License-Identifier: MIT */
#include "collect/rss/io.h"

#include "base/test.h"

static const struct sd_io none = { 0, 0 };

static struct sd_io bytes(int64_t read, int64_t written)
{
    return (struct sd_io){ read, written };
}

TEST(io_of_a_child_that_was_waited_for_counts_once)
{
    struct sd_io_account parent = { 0 }, child = { 0 };
    struct sd_io own;

    sd_io_own(&parent, bytes(10, 20), none);
    own = sd_io_own(&child, bytes(1000, 2000), none);
    CHECK(own.read == 1000 && own.written == 2000);
    sd_io_child_ended(&parent, &child);
    own = sd_io_own(&parent, bytes(1012, 2025), none); /* with 2 and 5 of its own */
    CHECK(own.read == 12 && own.written == 25);
    own = sd_io_own(&parent, bytes(1013, 2025), none);
    CHECK(own.read == 13 && own.written == 25);
}

TEST(io_of_a_child_waited_for_between_two_readings_of_one_round)
{
    struct sd_io_account parent = { 0 }, child = { 0 };

    sd_io_own(&parent, bytes(10, 10), none);
    sd_io_own(&child, bytes(500, 500), none);
    sd_io_own(&parent, bytes(510, 510), none); /* the same round: it has it already */
    sd_io_child_ended(&parent, &child);
    CHECK(sd_io_own(&parent, bytes(511, 511), none).read == 11);
}

TEST(io_of_a_child_nobody_waited_for_is_not_taken_off)
{
    struct sd_io_account parent = { 0 }, child = { 0 };

    sd_io_own(&parent, bytes(10, 20), none);
    sd_io_own(&child, bytes(1000, 2000), none);
    sd_io_child_ended(&parent, &child);
    CHECK(sd_io_own(&parent, bytes(15, 20), none).read == 15);
    CHECK(sd_io_own(&parent, bytes(5000, 20), none).read == 5000);
}

TEST(io_of_grandchildren_counts_once_too)
{
    struct sd_io_account root = { 0 }, child = { 0 }, grandchild = { 0 };

    sd_io_own(&root, bytes(1, 1), none);
    sd_io_own(&child, bytes(10, 10), none);
    sd_io_own(&grandchild, bytes(100, 100), none);
    sd_io_child_ended(&child, &grandchild);
    CHECK(sd_io_own(&child, bytes(110, 110), none).read == 10);
    sd_io_child_ended(&root, &child);
    CHECK(sd_io_own(&root, bytes(111, 111), none).written == 1);
}

TEST(io_that_cannot_be_read_is_unknown)
{
    struct sd_io_account a = { 0 }, parent = { 0 };

    CHECK(sd_io_own(&a, bytes(-1, -1), none).read == -1);
    sd_io_child_ended(&parent, &a);
    CHECK(sd_io_own(&parent, bytes(5, 5), bytes(2, 9)).read == 3);
    CHECK(sd_io_own(&parent, bytes(5, 5), bytes(2, 9)).written == 0);
}
