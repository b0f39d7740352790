/* SPDX-License-Identifier: MIT */
#include "collect/shared/tree_tracks.h"

#include <string.h>

#include "base/test.h"
#include "collect/captured_test.h"
#include "collect/own.h"
#include "collect/session.h"

enum { N = 40, SHAPE = 77 };

static const struct sd_metric_about metrics[] = {
    { "x", SD_UNIT_BYTES, SD_ADDS_LEVEL, "" },
    { NULL, 0, 0, NULL },
};

/* A line of N processes, each the child of the one before. */
static void make_line(struct sd_tree *t, struct sd_tree_member members[N])
{
    memset(members, 0, N * sizeof *members);
    for (size_t i = 0; i < N; i++) {
        members[i].pid = (pid_t)(100 + i);
        members[i].start_ticks = 7;
        members[i].parent = i ? i - 1 : SIZE_MAX;
        strcpy(members[i].name, "line");
    }
    *t = (struct sd_tree){ .members = members, .n = N };
}

/* A point on the track of this member. */
static void write_point(const struct sd_tree *t, size_t member, uint64_t time)
{
    struct sd_log *l = sd_session_log();
    struct sd_rec_point *e;
    size_t len = sizeof *e + sizeof e->values[0];
    uint32_t track, shape;

    CHECK(l && sd_log_room(l, len + SD_ROOM_SHAPE + sd_tree_track_room(t, member)));
    track = sd_tree_track(l, t, member);
    CHECK(track && track == sd_tree_track(l, t, member)); /* known by now */
    shape = sd_log_known(l, SHAPE);
    if (!shape)
        shape = sd_log_define_shape(l, SHAPE, metrics, 1);
    e = sd_log_put(l, SD_REC_POINT, len);
    e->shape = shape;
    e->track = track;
    e->pad = 0;
    e->time = time;
    e->values[0] = 1;
    sd_log_commit(l, 1, time);
}

TEST(tree_tracks_stand_under_their_parents_and_are_named_again_after_an_exec)
{
    const char *path = captured_path();
    struct sd_tree_member members[N];
    struct captured *c;
    struct sd_tree t;

    make_line(&t, members);
    CHECK(sd_own_start(path) == 0);
    write_point(&t, 1, 10);
    strcpy(members[1].name, "other"); /* an exec */
    write_point(&t, 1, 20);
    CHECK(sd_own_stop(0) == 0);
    c = captured_read(path);
    CHECK(c->n == 2 && strcmp(c->events[0].track, "line") == 0);
    CHECK(strcmp(c->events[1].track, "other") == 0);
    CHECK(c->events[1].process == 101 && c->events[1].parent_process == 100);
    captured_free(c);
    captured_clean();
}

TEST(tree_tracks_have_at_most_so_many_ancestors_above_them)
{
    const char *path = captured_path();
    struct sd_tree_member members[N];
    struct captured *c;
    struct sd_tree t;

    make_line(&t, members);
    members[N - 1].command = (char[]){ "line --last" };
    CHECK(sd_tree_track_room(&t, N - 1) ==
          SD_TREE_ANCESTORS * SD_ROOM_PROCESS + SD_ROOM_STRING(strlen("line --last")));
    CHECK(sd_own_start(path) == 0);
    write_point(&t, N - 1, 10);
    CHECK(sd_own_stop(0) == 0);
    c = captured_read(path);
    CHECK(c->n == 1 && c->events[0].process == 100 + N - 1);
    CHECK(c->events[0].parent_process == 100 + N - 2);
    captured_free(c);
    captured_clean();
}
