/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_TCP_H
#define SD_PROCESS_TCP_H
/* tcp: reads the byte counts of TCP connections, and which process holds which.
 *
 * The kernel counts network bytes per device, and so per namespace, but not per
 * process.  Of TCP it knows more: every open connection has its own two counts, and
 * NETLINK_SOCK_DIAG tells them to anybody, with the inode by which /proc/PID/fd names
 * the socket.  UDP and the rest have no such counts.
 *
 * The counts are of payload: what was sent less what had to be sent again, and what
 * was received in order; no headers.  A connection that closes is told once more, when
 * the kernel forgets it, with its last counts but without an inode: so it is known by
 * its cookie, which no other socket ever gets. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sd_tcp_socket {
    uint64_t cookie; /* unique since boot */
    uint64_t inode;  /* 0: no process holds it any more */
    uint64_t sent_bytes, received_bytes;
};

typedef void sd_tcp_visit(void *of, const struct sd_tcp_socket *s);

struct sd_tcp {
    int asks;  /* netlink socket in the namespace, or -1 */
    int hears; /* the same, of connections that end; -1: they are not told */
    uint32_t
        n_asked; /* numbers the questions, so that no answer is taken for another */
};
#define SD_TCP_NONE                                                                    \
    {                                                                                  \
        .asks = -1, .hears = -1                                                        \
    }

/* Asks in the network namespace of this process; entering another's needs privileges.
 * SD_EACCESS or SD_ELACKS, without a sentence, where the kernel does not tell. */
int sd_tcp_open(struct sd_tcp *t, pid_t pid);
/* Every connection that is open or being closed; listeners are none. */
int sd_tcp_each(struct sd_tcp *t, sd_tcp_visit *visit, void *of);
/* Those that ended since the last call, whoever held them.  The peer's end may count as
 * one byte received.  Does not wait. */
void sd_tcp_each_ended(struct sd_tcp *t, sd_tcp_visit *visit, void *of);
/* Until there is one, but no longer than this. */
void sd_tcp_wait_for_ended(const struct sd_tcp *t, int ms);
void sd_tcp_close(struct sd_tcp *t);

/* The TCP sockets that a process holds, by inode; the same one twice if it has two
 * descriptors of it.  SD_EGONE or SD_EACCESS, without a sentence. */
int sd_tcp_held_by(pid_t pid, void (*visit)(void *of, uint64_t inode), void *of);
/* Inode of its network namespace; 0: cannot be told. */
uint64_t sd_tcp_namespace(pid_t pid);
#endif
