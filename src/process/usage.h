/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_USAGE_H
#define SD_PROCESS_USAGE_H
/* usage: reads memory, CPU time, I/O and network bytes of any process, or our own,
 * through /proc descriptors that stay open.
 *
 * A kept-open descriptor is four times cheaper than opening, but inside a target
 * it is not safe for ever: programs close ranges of descriptors and fork.  So
 * each descriptor remembers its device and inode and the pid it was opened in, is
 * checked before use (fstat, 0.2 us) and opened again when it is no longer ours.
 *
 * One reader of our own process serves all its threads at once, without a lock that a
 * fork could leave held:
 *
 *  - Only the thread that has set `opening_pid` closes, opens and writes the words of a
 *    kept descriptor.  One that finds another at it reads through a descriptor of its
 *    own instead of waiting.
 *  - Whoever takes a number from `fd` compares what it names with dev and ino.  Words
 *    of two openings mixed are no match, or one that is true.
 *  - A descriptor that matches and was opened by this process is never closed while it
 *    is kept, so nobody reads through one that another thread closes.  What is closed
 *    is the copy inherited by fork, which no thread here has ever taken.
 *  - The program may close ours and open its own between the check and the use.  A read
 *    is by pread and moves nothing of the program's; what it gives is parsed as a
 *    stranger's bytes.  Nothing is written but the reset of the mark.
 *  - The mark (peak, reset) is for one thread at a time: collect/peak.c has the lock.
 *
 * A reader of another process belongs to one thread. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/stat.h"

enum sd_usage_what {
    SD_USAGE_MEMORY = 1, /* rss, vms: /proc/PID/statm */
    SD_USAGE_IO =
        2, /* read, written (all bytes passed to read and write): /proc/PID/io */
    SD_USAGE_NETWORK = 4, /* received, sent in its network namespace, loopback included:
                             /proc/PID/net/dev */
    SD_USAGE_CPU = 8,     /* cpu, threads: its CPU clock and /proc/PID/stat */
    SD_USAGE_PEAK = 16,   /* peak: VmHWM */
    SD_USAGE_PSS = 32,    /* pss, uss: smaps_rollup; up to 45 ms at 2 GB */
};

struct sd_usage { /* -1 where it was not asked for or could not be read */
    int64_t rss_bytes, vms_bytes;
    int64_t read_bytes, written_bytes; /* what we do to our own process left out */
    int64_t received_bytes, sent_bytes;
    int64_t cpu_ns, n_threads;
    int64_t peak_bytes;
    int64_t pss_bytes, uss_bytes;
    uint64_t start_ticks; /* with CPU: start time of the process; 0: not read */
    uint64_t n_faults;    /* with CPU, of our own with PEAK: page faults so far */
    char name[16];        /* with CPU: its comm */
};

struct sd_kept_fd {              /* usage.c's own */
    _Atomic int fd;              /* -1: none; stored last */
    _Atomic int32_t opened_by;   /* pid */
    _Atomic uint64_t dev, ino;   /* of what was opened */
    _Atomic int32_t opening_pid; /* the process whose thread is at opening it, or 0 */
};

struct sd_usage_reader {
    pid_t pid; /* 0: this process, whichever it is after a fork */
    struct sd_kept_fd statm, io, net, stat, status, clear_refs;
    /* Of our own process only, and begun again in the child of a fork: */
    _Atomic int32_t counted_in; /* the pid that the fields below speak of */
    _Atomic uint64_t own_read,
        own_written;              /* bytes our own readings added to its I/O */
    _Atomic int64_t rusage_floor; /* ru_maxrss above this is the true mark (usage.c) */
    /* When the mark was last read, by the one thread that may (usage.c): */
    int64_t mark_bytes; /* 0: to be read again */
    uint64_t mark_faults;
    pid_t mark_in;          /* of our own: in which process */
    int64_t mark_rss_bytes; /* of another process only: what was resident then */
};

/* pid 0 is our own.  Opens nothing yet; released equals fresh. */
void sd_usage_init(struct sd_usage_reader *r, pid_t pid);
/* Fills what `what` asks for (enum sd_usage_what bits), the rest -1.  SD_EGONE, without
 * a sentence, when the process is no more; one that has ended but is not waited for
 * still tells CPU and I/O.  No allocation; errno is kept. */
int sd_usage_read(struct sd_usage_reader *r, unsigned what, struct sd_usage *out);
/* Sets the kernel's high-water mark back to what is resident now.  Own process only.
 * SD_EACCESS, without a sentence, where the kernel does not allow it. */
int sd_usage_reset_peak(struct sd_usage_reader *r);
/* Bytes that our own code read and wrote in this process by other ways: left out of its
 * I/O from now on. */
void sd_usage_add_own(struct sd_usage_reader *r, uint64_t read, uint64_t written);
void sd_usage_release(struct sd_usage_reader *r);
#endif
