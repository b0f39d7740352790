/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_OWNER_H
#define SD_CAPTURE_OWNER_H
/* owner: the inside of struct sd_capture, shared by capture.c (its life), owner.c (the
 * file), live_processes.c (who writes in the folder) and sealer.c (from there into the
 * file).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"
#include "capture/capture.h"
#include "capture/chunk.h"
#include "capture/folder.h"
#include "capture/guarded_fd.h"

struct sd_live_processes { /* a process's file in the folder */
    struct sd_live_in in;
    int chunks_fd;            /* its .chunks, or -1 until there is one */
    uint64_t drained;         /* bytes of it that are sealed */
    struct sd_table last_seq; /* stream -> the last one drained from .chunks */
    bool is_done;             /* all is sealed and the file removed */
    bool is_stuck;            /* something of it could not be written */
    uint64_t starved_ns;     /* sd_who_starved_ns at the end's first look; UINT64_MAX */
    _Atomic uint64_t cpu_ns; /* that the process had used when it was last looked at;
                                in one file of each process */
    struct sd_live_processes *next;
};

struct sd_capture {
    struct sd_capture_options options;
    char *live_dir; /* absolute; owned */
    uint32_t pid;   /* of the owner: a forked child is not */
    uint64_t salt;
    uint64_t created_ns; /* CLOCK_MONOTONIC */
    struct sd_bell *bell;
    bool is_bell_mapped;

    pthread_mutex_t file_lock; /* over x.sonde: META comes from any thread */
    struct sd_guarded_fd file;
    uint64_t size;          /* of the file up to its last whole chunk */
    uint64_t largest_bytes; /* of the files of the folder, so far */
    uint32_t seq;           /* of the owner's own stream, 0 */
    uint64_t n_chunks;
    struct sd_capture_counts counts;
    struct sd_squeezer squeezer;
    bool is_hurried; /* far behind: chunks stay raw until it has caught up */

    pthread_mutex_t list_lock; /* over the list; only the sealing thread takes away */
    struct sd_live_processes *joined;
    uint32_t seen_files; /* bell->n_files at the last look into the folder */
    uint64_t looked_ns, checked_ns, synced_ns;
    uint8_t *half; /* SD_CHUNK_RAW_MAX bytes to copy a half into; owned */

    pthread_t thread;
    bool has_thread;
    _Atomic bool must_stop;
};

/* Writes behind the last whole chunk, and cuts back what did not fit.  0 or an errno.
 */
int sd_capture_extend(struct sd_capture *c, const void *a, size_t n, const void *b,
                      size_t m);
/* Appends one chunk with these raw bytes; fills the rest of *head.  0 or an errno: then
 * nothing of it is left in the file. */
int sd_capture_append(struct sd_capture *c, struct sd_chunk_head *head,
                      const void *raw);
/* The same with the owner's own stream and next number. */
int sd_capture_append_own(struct sd_capture *c, enum sd_chunk_type type,
                          const void *raw, uint32_t n, uint32_t lost);

/* A LOST chunk: so many events, and threads without a table, of which the last met the
 * error `why`. */
int sd_capture_append_lost(struct sd_capture *c, uint32_t events, uint32_t tables,
                           int why);

/* The first chunk: both clocks, and how safe what follows is. */
int sd_capture_append_first(struct sd_capture *c, uint64_t real_ns);

/* Reads the words of its file again, opening it if it was closed meanwhile. */
bool sd_live_processes_refresh(struct sd_capture *c, struct sd_live_processes *j);
/* After a failed open: were there too few descriptors?  Then all but this one's are
 * closed now, to be opened again when their turn comes. */
bool sd_live_processes_has_few(struct sd_capture *c,
                               const struct sd_live_processes *but);
void sd_live_processes_close(struct sd_live_processes *j);

/* Looks for new files in the folder.  Like all below, in the sealing thread only, or
 * when there is none. */
void sd_seal_look(struct sd_capture *c);
/* Seals all that is handed over, and all of processes that have left; with `must_check`
 * also of those that turn out to be gone. */
void sd_seal_pass(struct sd_capture *c, bool must_check);
/* Files of other processes that are not sealed to their end. */
uint32_t sd_seal_n_open(const struct sd_capture *c);
/* Those of them whose processes may be about to end.  One that has left our session has
 * made itself independent: it is a daemon, and nobody waits for that. */
uint32_t sd_seal_n_awaited(const struct sd_capture *c);
/* How many processes they are of, and one of these. */
uint32_t sd_seal_n_running(const struct sd_capture *c, uint32_t *pid);
/* How long the one of them that was given the least has wanted a CPU since this was
 * first asked. */
uint64_t sd_seal_starved_ns(struct sd_capture *c);
/* Events that were lost and are not told of in the file. */
uint64_t sd_seal_unsealed_losses(const struct sd_capture *c);
/* Is there no file in the folder that anyone could still need? */
bool sd_seal_is_empty(struct sd_capture *c);
/* Seals a table of cells that nobody writes any more (cells.c).  0 or an errno. */
int sd_seal_cells(struct sd_capture *c, struct sd_live_processes *j);
void sd_seal_forget(struct sd_capture *c);
int sd_seal_start(struct sd_capture *c);
void sd_seal_stop(struct sd_capture *c);
void sd_seal_sync(struct sd_capture *c);
#endif
