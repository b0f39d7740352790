/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_WRITER_H
#define SD_CAPTURE_WRITER_H
/* writer: joins a process to a capture: its live file, and the pool of slots in it that
 * threads take at their first event and give back at their end.
 *
 * Any process may join a capture: it needs only the name of its live folder,
 * which `sonde run` puts into SONDE_LIVE.  It never touches x.sonde itself. */
#include <stdatomic.h>
#include <stdint.h>

#include "capture/log.h"

struct sd_writer;

/* Joins the capture whose live folder this is.  On success *out is the caller's. */
int sd_writer_join(const char *live_dir, struct sd_writer **out);

/* This thread's log, taken at its first call and given back when the thread ends.  NULL
 * when none can be had (counted) or when this process is not the one that joined (after
 * fork, until sd_writer_after_fork). */
struct sd_log *sd_writer_log(struct sd_writer *w);
/* The one that this thread has taken already, or NULL.  Takes no lock. */
struct sd_log *sd_writer_own_log(struct sd_writer *w);

/* What becomes of events that find no room, and of the first where there is no log:
 * they are counted in the capture, or the taker numbers its events, so that readers see
 * what is missing. */
enum sd_log_losses { SD_LOSSES_COUNTED, SD_LOSSES_NUMBERED };

/* A log besides that of the thread, for who has it for himself and says when he is done
 * with it; NULL as above.  In the child of a fork it is the parent's and must not be
 * touched; giving it back is nothing there. */
struct sd_log *sd_writer_take_log(struct sd_writer *w, enum sd_log_losses losses);
void sd_writer_give_log(struct sd_writer *w, struct sd_log *l); /* NULL is fine */

/* A thread found no room for a table (cells.h), so that all it does is missing: the
 * capture says so, and why the last one found none. */
void sd_writer_lose_table(struct sd_writer *w);
/* Before a fork, and in its child, which has a file of its own by then: the owner of
 * the capture waits a little for such a child before it ends. */
void sd_writer_expect_child(struct sd_writer *w);
void sd_writer_child_is_here(struct sd_writer *w);

/* In the child of a fork, before anything else there uses the writer: leaves the
 * parent's file alone.  The child's own is made at its first event, since most children
 * only exec. */
int sd_writer_after_fork(struct sd_writer *w);

/* The word that the owner of the memory mark folds into and `rss` reads.  Ask again
 * after fork; NULL when there is none.  Valid until the writer is left: who asks sees
 * to it that nobody leaves meanwhile. */
_Atomic uint64_t *sd_writer_peak_bytes(struct sd_writer *w);

/* Bytes that Sonde itself reads and writes in this process are not to be taken for the
 * program's: tells those outside what was read, by whoever measures here, and gives
 * what the capture has written; 0 when there is none. */
uint64_t sd_writer_own_io(struct sd_writer *w, uint64_t read);

/* The word that the owner of the capture advances every 10 ms from now on; NULL: nobody
 * can.  Valid until the writer is left. */
_Atomic uint32_t *sd_writer_want_ticks(struct sd_writer *w);

/* Bytes that the capture has on disk so far, what is not sealed left out; 0: not known.
 */
uint64_t sd_writer_file_bytes(struct sd_writer *w);

/* The process that owns the capture, or 0. */
uint32_t sd_writer_owner_pid(struct sd_writer *w);

/* This process is done: no thread of it gets room from now on; events already begun are
 * waited for (100 ms at most).  A thread may still hold its log, and a late
 * sd_writer_log on w gives NULL. */
void sd_writer_leave(struct sd_writer *w);
#endif
