/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_POOL_H
#define SD_CAPTURE_POOL_H
/* pool: holds what one process has in one capture: its live files, their slots, and the
 * logs over them.
 *
 * A thread takes a log and gives it back at its end; the next thread goes on in the
 * same half of the same stream.  The pool outlives its writer's leaving until the last
 * thread has given its log back, because a thread may be anywhere when another one
 * leaves. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/live.h"
#include "capture/log.h"
#include "capture/spill.h"

struct sd_live_out { /* a live file that this process writes */
    struct sd_guarded_fd file;
    pthread_mutex_t reserving; /* over file.fd, which may have to be opened again */
    struct sd_live_head *head; /* its first page, mapped (or a copy: written) */
    uint32_t number;
    struct sd_spill spill;
    struct sd_live_out *next; /* older */
};

struct sd_pool {
    /* A page of its own that fork empties: 1 while this process may write. */
    _Atomic uint32_t *owner;
    char *dir; /* absolute name of the live folder; owned */
    uint64_t salt;
    struct sd_who who;
    uint32_t owner_pid;             /* of the capture's owner */
    struct sd_bell *bell;           /* mapped, or NULL */
    bool is_written;                /* no shared mapping here */
    _Atomic uint32_t n_tables;      /* made so far, by any thread */
    _Atomic uint64_t table_bytes;   /* that tables have on the disk, all of them */
    _Atomic uint64_t looked_ns;     /* when the disk was last looked at */
    _Atomic bool is_short_of_spare; /* and what was seen: sd_log_has_spare */
    _Atomic int why_no_room; /* errno of the last table or segment that got none */

    pthread_mutex_t lock;      /* over all below */
    struct sd_live_out *outs;  /* newest first; slots are taken from it */
    struct sd_live_out *first; /* the oldest: the process's figures stand in its head */
    struct sd_log *logs;       /* every one */
    struct sd_log *idle;       /* those no thread has */
    uint32_t n_taken;          /* those a thread has */
    uint64_t retry_ns;         /* not before this is another slot tried for; or 0 */
    bool has_left;             /* no log is given out any more */
    bool is_marked;            /* and the files say so */
};

/* A page that reads 0 in the child of any fork, raw clone included; NULL without
 * memory.
 */
_Atomic uint32_t *sd_pool_page_emptied_by_fork(void);
void sd_pool_page_release(_Atomic uint32_t *page); /* NULL is fine */

/* Reads the folder's salt and makes this process's file in it.  `salt`: the capture
 * that is meant; where that has ended, another's folder may be there.  0: whichever it
 * is. */
int sd_pool_new(const char *live_dir, uint64_t salt, struct sd_pool **out);
/* Makes sure of bytes `from` to `to` of one of the log's halves: on disk first, then in
 * memory, so that storing there can neither fail nor raise SIGBUS.  errno is kept. */
bool sd_pool_reserve(struct sd_log *l, int half, uint32_t from, uint32_t to);
/* Returns a log for this thread, or NULL when there is no room for one. */
struct sd_log *sd_pool_take(struct sd_pool *p);
/* Counts an event that found no log. */
void sd_pool_lose_event(struct sd_pool *p);
void sd_pool_give_back(struct sd_pool *p, struct sd_log *l);
/* Nobody may write from now on; frees the pool unless threads still have logs. */
void sd_pool_leave(struct sd_pool *p);
/* In a child of fork, before it forgets: the page of the parent's figures, to be given
 * to sd_pool_unmap_head; NULL where it is not shared. */
struct sd_live_head *sd_pool_detach_head(struct sd_pool *p);
/* In a child of fork: forgets everything, touching nothing that is shared. */
void sd_pool_forget(struct sd_pool *p);

/* Makes a file in the folder named by this process and the next free number, with a
 * reserved and mapped head page of the kind.  0 or an errno. */
int sd_pool_make_file(struct sd_pool *p, enum sd_live_kind kind,
                      struct sd_guarded_fd *file, struct sd_live_head **head);
void sd_pool_unmap_head(struct sd_live_head *head);
/* The pool of a writer, or NULL when it has left (writer.c). */
struct sd_pool *sd_writer_pool(struct sd_writer *w);
/* Writes a head that is not shared with its file. */
void sd_pool_write_head(struct sd_guarded_fd *file, const struct sd_live_head *head);
#endif
