/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SESSION_H
#define SD_COLLECT_SESSION_H
/* session: holds what a process has only once.
 *
 * The writer into the capture, if there is one; and the high-water mark of memory,
 * which the kernel keeps once per process (peak.h).  Later collectors hang what else
 * is single on it: the monitoring tool id, the eval-frame hook.
 *
 * Over fork: no lock of ours is held by a thread that the child does not have.  The
 * child takes a live file of its own at its first event; sections open at the fork stay
 * the parent's, and the child's copies of them are not written. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/peak.h"

struct sd_cells;
struct sd_writer;
struct sd_log;

/* Joins the capture named by SONDE_LIVE, if set, once per process; cheap when done.
 * Without one nothing is written and results live in memory only. */
void sd_session_join_from_env(void);
/* Joins the capture of this live folder (sonde.start).  SD_EEXISTS when one is joined
 * already. */
int sd_session_join(const char *live_dir);
void sd_session_leave(void);
bool sd_session_has_capture(void);
/* hot: this thread's log into the capture, or NULL. */
struct sd_log *sd_session_log(void);

/* The capture as its tables need it (capture/cells.h), or NULL.  Good until
 * sd_session_leave. */
struct sd_writer *sd_session_writer(void);

/* For those who live in someone else's process (libsonde, the extension), once at load:
 * a broken assert then stops the measuring and says so in the capture, instead of
 * ending a program that is not ours.  `then` is called after that, in the thread and at
 * the place where the assert broke: it takes no lock of ours, allocates nothing, and
 * asks for collectors to be stopped later.  NULL: none needs to be. */
typedef void sd_session_stopped(void);
void sd_session_be_guest(sd_session_stopped *then);
/* Writes into the capture why an assert stopped the measuring, if that was not possible
 * at once.  The caller is not in the middle of an event. */
void sd_session_tell_stopped(void);

/* Forks between the process that loaded us and this one.  What was begun under another
 * number was begun by an ancestor. */
unsigned sd_session_forks(void);
/* Sets up what must happen around fork; whoever keeps state calls it before the first.
 */
void sd_session_watch_forks(void);
/* Where the process's folded memory peak is read from outside (peak.c), or NULL. */
_Atomic uint64_t *sd_session_peak_word(void);
/* Bytes that the capture has written in this process: not the program's.  Also tells
 * those outside what our own readings of /proc came to. */
uint64_t sd_session_own_written(void);
/* A word that changes when something happened that whoever logs without a clock has to
 * note the time of: a section begins or ends, or 10 ms have passed where the owner of
 * the capture can tell.  Who asks for it makes it move from now on.  After a fork the
 * child asks again.  Never NULL. */
_Atomic uint32_t *sd_session_ticks(void);
/* Another recorder in this process has its own word, which we advance from now on; good
 * for as long as that one records.  After a fork, the child again. */
void sd_session_lend_ticks(_Atomic uint32_t *word);
/* hot: something of that kind happened just now, later than any time that was noted. */
void sd_session_tick(void);

/* The process that owns the capture, or 0. */
uint32_t sd_session_owner_pid(void);

/* A thread of this process, as a track needs it. */
struct sd_thread {
    uint32_t tid;
    uint64_t start_ticks; /* clock ticks since boot; 0: not known */
    uint64_t key;         /* of its track, in every log (sd_log_known) */
};
/* hot: the calling one.  Borrowed until the thread forks. */
const struct sd_thread *sd_thread_self(void);

enum { SD_ROOM_THREAD = 1024 }; /* room for sd_session_define_thread */
/* Defines the thread's track, and that of its process, in this chunk; inside room only.
 * Returns its id, which is known under t->key from now on. */
uint32_t sd_session_define_thread(struct sd_log *l, const struct sd_thread *t);
/* The same under a name, where a plain one may stand in the chunk already. */
enum { SD_THREAD_NAME = 128 }; /* bytes of it that are kept */
uint32_t sd_session_define_named_thread(struct sd_log *l, const struct sd_thread *t,
                                        const char *name, size_t n);
/* The calling thread's, in a table, under this name; NULL: the kernel's. */
uint32_t sd_session_define_in_table(struct sd_cells *table, const char *name, size_t n);
/* Only the process, behind its parent. */
uint32_t sd_session_define_process_in_table(struct sd_cells *table);
#endif
