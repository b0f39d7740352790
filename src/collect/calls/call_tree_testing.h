/* SPDX-License-Identifier: MIT */
#ifndef SD_CALLS_CALL_TREE_TESTING_H
#define SD_CALLS_CALL_TREE_TESTING_H
/* call_tree_testing: a thread without an interpreter, for tests of trees of calls.
 *
 * The test moves its clock.  Functions are letters, whose key is ten times the letter;
 * frames are small numbers. */
#include <stdio.h>

#include "base/test.h"
#include "collect/calls/call_tree.h"

struct world {
    uint64_t now;
    uint32_t n_defined;
    struct sd_call_tree *tree;
};

static inline uint64_t read_clock(void *of) { return ((struct world *)of)->now; }

/* Names a function by its key.  `of` is a world that counts them, or NULL. */
static inline uint32_t define(void *of, struct sd_call_tree *t, uint64_t key,
                              const void *what)
{
    struct world *w = of;
    char name[24];
    int n = snprintf(name, sizeof name, "%d", (int)key);

    (void)what;
    if (w)
        w->n_defined++;
    return sd_cells_define_function(
        t->table, 0, sd_cells_define_string(t->table, name, (size_t)n), 0, 0, 1);
}

/* A tree of this world with room for n_max paths, the root among them; 0: a million. */
static inline struct sd_call_tree_how tree_how(struct world *w, uint32_t n_max)
{
    return (struct sd_call_tree_how){ .names = { .define = define, .of = w },
                                      .timer = read_clock,
                                      .timer_of = w,
                                      .n_max = n_max };
}

static inline void begin(struct world *w, uint32_t n_max)
{
    struct sd_call_tree_how how = tree_how(w, n_max);

    *w = (struct world){ .now = 1000 };
    CHECK(sd_call_tree_new(&how, &w->tree) == 0);
    sd_call_tree_begin(w->tree);
}

static inline void end(struct world *w)
{
    sd_call_tree_end(w->tree);
    sd_call_tree_free(w->tree);
}

static inline uintptr_t frame_at(unsigned number) { return number * 16u; }

static inline void enter(struct world *w, char function, unsigned frame, unsigned below)
{
    struct sd_call_entry *e = sd_call_tree_enter(w->tree, (uint64_t)function * 10, NULL,
                                                 frame_at(frame), frame_at(below));

    CHECK(e);
    e->start = w->now;
}

static inline void leave(struct world *w, unsigned frame)
{
    sd_call_tree_leave(w->tree, frame_at(frame), w->now);
}

/* "abc": a calls b calls c, in the frames 1, 2 and 3. */
static inline void enter_each(struct world *w, const char *functions)
{
    for (unsigned i = 0; functions[i]; i++)
        enter(w, functions[i], i + 1, i);
}

/* The frames from this one out end: 3, 2 and 1. */
static inline void leave_from(struct world *w, unsigned frame)
{
    for (; frame > 0; frame--)
        leave(w, frame);
}
#endif
