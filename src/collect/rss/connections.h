/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_RSS_CONNECTIONS_H
#define SD_COLLECT_RSS_CONNECTIONS_H
/* connections: books the bytes of TCP connections, each on one process.
 *
 * A look lists the sockets of every process and asks the kernel once per namespace what
 * each connection has carried.  What it carried since the last look is booked on the
 * first process of the tree that holds it now (parents come before children): a socket
 * shared by fork counts once, and one that a server hands to a child and closes is the
 * child's from then on.  A process's sum never falls, whatever closes.
 *
 * A connection that was seen once is followed to its end, because the kernel tells its
 * last counts when it forgets it.  One that was opened and closed between two looks is
 * never seen: without an inode nobody knows whose it was.
 *
 * Looks take time: 1 us for each descriptor of each process, and where there are TCP
 * sockets 0.3 ms for the walk over the kernel's table.  So they are made ten times a
 * second at most, and so seldom that they never take more than a four-hundredth of the
 * time. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/table.h"
#include "process/tcp.h"

struct sd_tcp_account { /* a process's; all zero is a fresh one */
    int64_t received_bytes, sent_bytes;
    size_t n_open; /* connections booked here that have not ended */
    bool is_told;  /* the last look could read its sockets */
    bool has_news; /* changed since the caller last cleared this */
};

struct sd_connection; /* connections.c's own */

enum { SD_CONNECTIONS_NAMESPACES = 16 }; /* processes of more are not told */

struct sd_connections {        /* all zero is a fresh one */
    struct sd_connection *all; /* owned */
    size_t n, cap;
    struct sd_table by_cookie; /* to the index in `all` */
    struct sd_table held;      /* inode to the account of who holds it, of this look */
    struct {
        uint64_t inode; /* of the namespace */
        struct sd_tcp tcp;
        bool is_used; /* somebody had a TCP socket there, at this look */
    } namespaces[SD_CONNECTIONS_NAMESPACES];
    size_t n_namespaces;
    unsigned n_looks;
    uint64_t began_ns, next_ns; /* CLOCK_MONOTONIC: of this look, of the next */
    uint64_t began_cpu_ns;      /* of this thread */
    bool may_wait;              /* once per reading */
};

/* Books what ended since; before every reading. */
void sd_connections_hear(struct sd_connections *c);
/* A look: begin, then each process in the order of the tree, then finish. */
bool sd_connections_are_due(const struct sd_connections *c, uint64_t now_ns);
void sd_connections_begin(struct sd_connections *c, uint64_t now_ns);
void sd_connections_take(struct sd_connections *c, pid_t pid, struct sd_tcp_account *a);
void sd_connections_finish(struct sd_connections *c);
/* A process has ended: books what its connections still carried. */
void sd_connections_settle(struct sd_connections *c, const struct sd_tcp_account *a);
/* The account will be no more. */
void sd_connections_leave(struct sd_connections *c, const struct sd_tcp_account *a);
void sd_connections_release(struct sd_connections *c);
#endif
