/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_USAGE_H
#define SD_PROCESS_USAGE_H
/* usage: what a process uses, any process or our own, read from kept-open /proc
 * descriptors.
 *
 * A kept-open descriptor is four times cheaper than opening, but inside a target
 * it is not safe for ever: programs close ranges of descriptors and fork.  So
 * each descriptor remembers its device and inode and the pid it was opened in, is
 * checked before use (fstat, 0.2 us) and opened again when it is no longer ours. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum sd_usage_what {
    SD_USAGE_MEMORY = 1, /* rss, vms: /proc/PID/statm */
    SD_USAGE_IO =
        2, /* read, written (all bytes passed to read and write): /proc/PID/io */
    SD_USAGE_NETWORK = 4, /* received, sent in its network namespace, loopback included:
                             /proc/PID/net/dev */
    SD_USAGE_CPU = 8,     /* cpu, threads: /proc/PID/stat */
    SD_USAGE_PEAK = 16,   /* peak: VmHWM */
    SD_USAGE_PSS = 32,    /* pss: smaps_rollup; up to 45 ms at 2 GB */
};

struct sd_usage { /* SD_VALUE_NONE-like: -1 where it could not be read */
    int64_t rss_bytes, vms_bytes;
    int64_t read_bytes, written_bytes;
    int64_t received_bytes, sent_bytes;
    int64_t cpu_ns, n_threads;
    int64_t peak_bytes;
    int64_t pss_bytes;
};

struct sd_kept_fd {
    int fd;
    pid_t opened_by;
    uint64_t dev, ino;
}; /* usage.c's own */

struct sd_usage_reader {
    pid_t pid; /* 0: this process, whichever it is after a fork */
    struct sd_kept_fd statm, io, net, stat, status, clear_refs, smaps;
};

/* pid 0 is our own.  Opens nothing yet; released equals fresh. */
void sd_usage_init(struct sd_usage_reader *r, pid_t pid);
/* Fills what `what` asks for (enum sd_usage_what bits), the rest -1.  SD_EGONE, without
 * a sentence, when the process is no more.  No allocation; errno is kept. */
int sd_usage_read(struct sd_usage_reader *r, unsigned what, struct sd_usage *out);
/* Sets the kernel's high-water mark back to what is resident now.  Own process only.
 * SD_EACCESS, without a sentence, where the kernel does not allow it. */
int sd_usage_reset_peak(struct sd_usage_reader *r);
void sd_usage_release(struct sd_usage_reader *r);

/* Start time of a process in clock ticks since boot (0: no such process). */
uint64_t sd_process_start_time(pid_t pid);
uint64_t sd_thread_start_time(pid_t pid, pid_t tid);
#endif
