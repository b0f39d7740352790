/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_REMOTE_H
#define SD_PROCESS_REMOTE_H
/* remote: reads the memory of another process while it runs.
 *
 * process_vm_readv takes a pid, and pids are reused; so the process is held by a pidfd
 * taken at open, together with its start time.  A read that succeeds says nothing of
 * whose memory it was: a round of reads counts only when sd_remote_is_alive is still
 * true after it.
 *
 * Where the system call itself is forbidden (seccomp in containers) /proc/PID/mem is
 * read instead; it asks for the same rights and costs one call per range. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct sd_remote {
    pid_t pid;
    uint64_t start_ticks; /* of the process, since boot */
    int pidfd; /* -1: this kernel has none; then the start time is compared */
    int mem;   /* -1, or /proc/PID/mem where process_vm_readv is forbidden */
};

#define SD_REMOTE_NONE ((struct sd_remote){ 0, 0, -1, -1 })

enum { SD_REMOTE_RANGES = 1024 }; /* most ranges of one readv, the kernel's own limit */

/* Takes hold of a process and reads one byte of it as a proof.  SD_EGONE: no such
 * process, or it has ended (a zombie); SD_EACCESS: we may not, with the cause and the
 * way out in the sentence (diagnose.h); SD_EUSAGE: a thread, or ourselves. */
int sd_remote_open(struct sd_remote *r, pid_t pid);
void sd_remote_close(struct sd_remote *r); /* closed equals SD_REMOTE_NONE */

/* hot: one poll.  False once it has ended, waited for or not. */
bool sd_remote_is_alive(const struct sd_remote *r);

/* hot: both copy, and give bare codes without a sentence: SD_ETORN when any of it is
 * not mapped (there), SD_EGONE when the process is, SD_EACCESS when it has changed its
 * rights (a setuid exec).  sd_remote_readv wants all of it: the two lists describe the
 * same number of bytes, the ranges are copied in order. */
int sd_remote_read(const struct sd_remote *r, uint64_t from, void *to, size_t n);
int sd_remote_readv(const struct sd_remote *r, const struct iovec *to, size_t n_to,
                    const struct iovec *from, size_t n_from);
/* The same as far as it goes: bytes copied before the first that is not there, or a
 * code. */
ssize_t sd_remote_readv_some(const struct sd_remote *r, const struct iovec *to,
                             size_t n_to, const struct iovec *from, size_t n_from);

static inline int sd_remote_u64(const struct sd_remote *r, uint64_t from, uint64_t *v)
{
    return sd_remote_read(r, from, v, sizeof *v);
}

/* A C string of at most n - 1 bytes; longer ones are cut. */
int sd_remote_string(const struct sd_remote *r, uint64_t from, char *to, size_t n);

/* May we read this process?  0, or the kernel's reason (EPERM, ESRCH, ENOSYS). */
int sd_remote_may(pid_t pid);
/* Whether the system call itself is forbidden to us, as by a seccomp filter. */
bool sd_remote_is_forbidden(void);

/* The pid of a process as it counts itself, in its own pid namespace (NSpid); equal to
 * `pid` unless it is in a container.  0 when it is gone. */
pid_t sd_remote_inner_pid(pid_t pid);
#endif
