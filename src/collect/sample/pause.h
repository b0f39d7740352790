/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_PAUSE_H
#define SD_COLLECT_SAMPLE_PAUSE_H
/* pause: stops one thread while its stack is read.
 *
 * PTRACE_SEIZE and INTERRUPT, not ATTACH: no signal is sent, a program that is stopped
 * by job control stays so, and threads that run no Python are never touched.  Nothing
 * is left attached between two samples.  Should we die in between, however that be,
 * the kernel lets the thread go: it belongs to the thread that traces it.
 *
 * A thread that does not stop at once (it waits for a disk, or for a CPU) has been told
 * to, and would stand still from then on: so sd_pause_end waits for it, up to a second.
 * One that takes longer stays seized, and who holds the pause asks sd_pause_try_end
 * again and again until it is let go.  All calls of one pause come from one thread. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sd_pause { /* of one thread; all zero is a fresh one */
    bool is_seized;
    bool is_stopped; /* seen to be; then it stays so until it is let go, or killed */
    int signal;      /* that it was about to get; or 0 */
};

/* 0: it stands still until sd_pause_end.  Without a sentence: SD_ETORN when it does not
 * stop in time, SD_EGONE, SD_EACCESS (somebody else traces it, or no right). */
int sd_pause_begin(struct sd_pause *p, pid_t tid);
/* Lets it go on, and gives it the signal it was about to get.  Harmless when it is not
 * stopped; true when nothing of ours is left on it. */
bool sd_pause_end(struct sd_pause *p, pid_t tid);
/* The same without waiting. */
bool sd_pause_try_end(struct sd_pause *p, pid_t tid);
#endif
