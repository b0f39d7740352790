/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_STAT_H
#define SD_PROCESS_STAT_H
/* stat: parses /proc/PID/stat: the name, parent and start time of a process.
 *
 * Pids are reused; a pid together with its start time is not. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SD_PROCESS_NAME = 64 }; /* comm is 15 bytes; kernel threads may have more */

struct sd_process_stat {
    pid_t parent;
    char state;           /* 'R', 'S', 'Z', ... */
    int64_t n_threads;    /* 1 of a zombie, whose threads are gone */
    uint64_t start_ticks; /* clock ticks since boot */
    uint64_t n_faults;    /* page faults, minor and major */
    bool is_of_kernel;    /* a thread of the kernel */
    bool is_thread; /* /proc has the threads of a process under their numbers, too */
    char name[SD_PROCESS_NAME];
    size_t n_bytes; /* of the line: what reading it adds to our own I/O counts */
};

/* SD_EGONE, without a sentence, when there is no such process; pid 0 is our own. */
int sd_process_stat(pid_t pid, struct sd_process_stat *out);
int sd_process_stat_of_thread(pid_t pid, pid_t tid, struct sd_process_stat *out);
/* The same from n bytes already read; SD_EFORMAT, without a sentence, when they are no
 * such line. */
int sd_process_stat_parse(const char *p, size_t n, struct sd_process_stat *out);

/* Start time in clock ticks since boot (0: no such process or thread). */
uint64_t sd_process_start_time(pid_t pid);
uint64_t sd_process_thread_start_time(pid_t pid, pid_t tid);
/* Those ticks on CLOCK_MONOTONIC, good to a tick (10 ms). */
uint64_t sd_process_start_ns(uint64_t start_ticks);
#endif
