/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_TREE_H
#define SD_PROCESS_TREE_H
/* tree: finds a process and all its descendants, again at every reading.
 *
 * A descendant once seen stays a member until it ends, also when its parent died and it
 * has been given to another one.  One that was born and orphaned between two looks is
 * not found.  Members are told apart by pid and start time, so a reused pid is never
 * taken for the old process.
 *
 * Looking is cheap: /proc/loadavg tells the last pid given out.  While it stays the
 * same no process was born (0.7 us instead of an open, a directory listing and a close
 * per process and thread).  Where a few were given out since, by anybody on the
 * machine, each of these is asked for its parent (6 us), however many processes and
 * threads the tree has.  Every tenth look lists all children again, because a number is
 * given out a moment before its process can be seen. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/stat.h"

struct sd_tree_member {
    pid_t pid;
    uint64_t start_ticks;
    size_t parent; /* index of a member; SIZE_MAX: the root's */
    bool is_gone;  /* ended; stays in the list so that indexes stay good */
    char name[SD_PROCESS_NAME];
    char *command; /* owned; without secrets; NULL: not asked for, or none */
    void *of_user; /* whatever the owner of the tree hangs on it */
};

struct sd_tree {
    struct sd_tree_member *members; /* owned; the root first, parents before children */
    size_t n, cap;
    size_t n_gone;
    int loadavg;      /* kept-open descriptor, or -1 */
    int64_t last_pid; /* as /proc/loadavg said at the last look */
    unsigned n_short; /* looks since the last full one */
};

enum {
    SD_TREE_COMMAND = 256, /* bytes of a command, with its 0; longer ones are cut */
    SD_TREE_MAX = 65536,   /* members, the ended ones included; more are not followed */
    SD_TREE_SHORT = 9,     /* a full look is made at least every tenth time */
};

/* SD_EGONE when there is no such process. */
int sd_tree_init(struct sd_tree *t, pid_t root);
/* Finds new descendants.  Whether a member has ended is for the caller to notice (its
 * readings fail) and to say. */
int sd_tree_look(struct sd_tree *t);
/* Asks again what a member is called, and by which command it was started: a process
 * that execs, or gives itself a name, is called otherwise from then on. */
void sd_tree_name_again(struct sd_tree *t, size_t member);
void sd_tree_set_gone(struct sd_tree *t, size_t member);
void sd_tree_release(struct sd_tree *t);
#endif
