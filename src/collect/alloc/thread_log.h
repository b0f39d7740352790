/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_THREAD_LOG_H
#define SD_ALLOC_THREAD_LOG_H
/* thread_log: the record that a thread fills with its events
 * (capture/alloc/alloc_events.h), and everything that happens rarely there: a new
 * record, a new run, the time. */
#include <stdbool.h>
#include <stdint.h>

struct sd_alloc_thread;

/* Makes room for an event, behind the newest run and the time that it is; false: there
 * is none, and the event is counted as lost.  Keeps errno. */
bool sd_thread_log_make_way(struct sd_alloc_thread *t);
/* Ends the record, tells what was lost and gives the log back. */
void sd_thread_log_give(struct sd_alloc_thread *t);
#endif
