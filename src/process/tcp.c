/* SPDX-License-Identifier: MIT */
#include "process/tcp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"

enum {
    ANSWER_MAX = 32768, /* what the kernel puts into one message of a dump at most */
    /* <linux/tcp.h> and <netinet/tcp.h> cannot both be had; these are fixed. */
    STATE_SYN_RECV = 3,
    STATE_TIME_WAIT = 6,
    STATE_CLOSE_WAIT = 8,
    STATE_LAST_ACK = 9,
    STATE_LISTEN = 10,
    STATE_CLOSING = 11,
    STATE_NEW_SYN_RECV = 12,
    DESCRIPTORS_MAX =
        16384, /* of one process: some 20 ms; sockets beyond are not seen */
};

/* --- Answers --------------------------------------------------------------------- */

/* The sequence number of the peer's end is counted as a byte. */
static bool has_heard_the_end(uint8_t state)
{
    return state == STATE_CLOSE_WAIT || state == STATE_LAST_ACK ||
           state == STATE_CLOSING;
}

/* Kernels before 4.19 have a shorter one, without bytes_sent. */
static bool has_counts(size_t n)
{
    return n >= offsetof(struct tcp_info, tcpi_bytes_retrans) + sizeof(uint64_t);
}

static void visit_counts(const struct inet_diag_msg *m, const void *info,
                         sd_tcp_visit *visit, void *of)
{
    struct tcp_info i;
    struct sd_tcp_socket s = {
        .cookie = m->id.idiag_cookie[0] | (uint64_t)m->id.idiag_cookie[1] << 32,
        .inode = m->idiag_inode,
    };

    memcpy(&i, info, offsetof(struct tcp_info, tcpi_bytes_retrans) + sizeof(uint64_t));
    s.sent_bytes = i.tcpi_bytes_sent - i.tcpi_bytes_retrans;
    s.received_bytes = i.tcpi_bytes_received;
    if (has_heard_the_end(m->idiag_state) && s.received_bytes > 0)
        s.received_bytes--;
    visit(of, &s);
}

static void visit_message(const struct nlmsghdr *h, sd_tcp_visit *visit, void *of)
{
    const struct inet_diag_msg *m = NLMSG_DATA(h);
    const struct rtattr *a;
    size_t left;

    if (h->nlmsg_len < NLMSG_LENGTH(sizeof *m))
        return;
    left = h->nlmsg_len - NLMSG_LENGTH(sizeof *m);
    for (a = (const void *)(m + 1); RTA_OK(a, left); a = RTA_NEXT(a, left))
        if (a->rta_type == INET_DIAG_INFO && has_counts(RTA_PAYLOAD(a)))
            visit_counts(m, RTA_DATA(a), visit, of);
}

/* One packet of answers to question `asked`, or of what was not asked (0).  1: the last
 * was among them; 0: more may come. */
static int visit_packet(const void *p, size_t n, uint32_t asked, sd_tcp_visit *visit,
                        void *of)
{
    const struct nlmsghdr *h;

    for (h = p; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
        if (h->nlmsg_seq != asked)
            continue;
        if (h->nlmsg_type == NLMSG_DONE)
            return 1;
        if (h->nlmsg_type == NLMSG_ERROR)
            return SD_ELACKS;
        visit_message(h, visit, of);
    }
    return 0;
}

/* Bytes of one packet from the kernel; 0: from somebody else; -1 with errno. */
static ssize_t receive(int fd, void *buf, size_t n)
{
    struct sockaddr_nl from = { 0 };
    socklen_t len = sizeof from;
    ssize_t got;

    do
        got = recvfrom(fd, buf, n, 0, (struct sockaddr *)&from, &len);
    while (got < 0 && errno == EINTR);
    return got > 0 && from.nl_pid != 0 ? 0 : got;
}

/* --- Questions ------------------------------------------------------------------- */

/* The question of old: it is the one that takes both families in one walk, and the walk
 * over the kernel's table is what costs (0.3 ms for its 262,144 places). */
static int ask(struct sd_tcp *t)
{
    struct {
        struct nlmsghdr h;
        struct inet_diag_req q;
    } all = {
        .h = { .nlmsg_len = sizeof all,
               .nlmsg_type = TCPDIAG_GETSOCK,
               .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
               .nlmsg_seq = ++t->n_asked },
        .q = { .idiag_ext = 1 << (INET_DIAG_INFO - 1),
               .idiag_states = ~(1u << STATE_TIME_WAIT | 1u << STATE_LISTEN |
                                 1u << STATE_SYN_RECV | 1u << STATE_NEW_SYN_RECV) },
    };

    return send(t->asks, &all, sizeof all, 0) == (ssize_t)sizeof all ? 0 : SD_ELACKS;
}

int sd_tcp_each(struct sd_tcp *t, sd_tcp_visit *visit, void *of)
{
    _Alignas(struct nlmsghdr) char buf[ANSWER_MAX];
    int rc = ask(t);

    while (rc == 0) {
        ssize_t n = receive(t->asks, buf, sizeof buf);

        rc = n < 0 ? SD_ELACKS : visit_packet(buf, (size_t)n, t->n_asked, visit, of);
    }
    return rc < 0 ? rc : 0;
}

void sd_tcp_each_ended(struct sd_tcp *t, sd_tcp_visit *visit, void *of)
{
    _Alignas(struct nlmsghdr) char buf[ANSWER_MAX];
    ssize_t n;

    if (t->hears < 0)
        return;
    do { /* ENOBUFS: more ended at once than it holds; the rest is still there */
        n = receive(t->hears, buf, sizeof buf);
        if (n > 0)
            visit_packet(buf, (size_t)n, 0, visit, of);
    } while (n >= 0 || errno == ENOBUFS);
}

void sd_tcp_wait_for_ended(const struct sd_tcp *t, int ms)
{
    struct pollfd p = { .fd = t->hears, .events = POLLIN };

    if (t->hears >= 0)
        poll(&p, 1, ms);
}

/* --- Opening --------------------------------------------------------------------- */

static int open_netlink(int flags, uint32_t groups)
{
    struct sockaddr_nl as = { .nl_family = AF_NETLINK, .nl_groups = groups };
    const struct timeval patience = { .tv_sec = 1 };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | flags, NETLINK_SOCK_DIAG);

    if (fd < 0)
        return -1;
    if (bind(fd, (struct sockaddr *)&as, sizeof as) < 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return fd;
}

static void open_here(struct sd_tcp *t)
{
    t->asks = open_netlink(0, 0);
    if (t->asks >= 0)
        t->hears =
            open_netlink(SOCK_NONBLOCK, 1u << (SKNLGRP_INET_TCP_DESTROY - 1) |
                                            1u << (SKNLGRP_INET6_TCP_DESTROY - 1));
}

struct elsewhere {
    struct sd_tcp *tcp;
    int ns;
};

static void *open_there(void *arg)
{
    struct elsewhere *e = arg;

    if (setns(e->ns, CLONE_NEWNET) == 0)
        open_here(e->tcp);
    return NULL;
}

/* A netlink socket stays in the namespace it was made in, and a namespace entered is
 * not always one that can be left: a thread goes in and does not come back. */
static void open_elsewhere(struct sd_tcp *t, int ns)
{
    struct elsewhere e = { t, ns };
    pthread_t thread;

    if (pthread_create(&thread, NULL, open_there, &e) == 0)
        pthread_join(thread, NULL);
}

uint64_t sd_tcp_namespace(pid_t pid)
{
    char path[40];
    struct stat st;

    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

int sd_tcp_open(struct sd_tcp *t, pid_t pid)
{
    uint64_t theirs = sd_tcp_namespace(pid);
    char path[40];
    int ns;

    *t = (struct sd_tcp)SD_TCP_NONE;
    if (theirs == 0)
        return SD_EACCESS;
    if (theirs == sd_tcp_namespace(getpid())) {
        open_here(t);
        return t->asks < 0 ? SD_ELACKS : 0;
    }
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
    ns = open(path, O_RDONLY | O_CLOEXEC);
    if (ns < 0)
        return SD_EACCESS;
    open_elsewhere(t, ns);
    close(ns);
    return t->asks < 0 ? SD_EACCESS : 0;
}

void sd_tcp_close(struct sd_tcp *t)
{
    if (t->asks >= 0)
        close(t->asks);
    if (t->hears >= 0)
        close(t->hears);
    *t = (struct sd_tcp)SD_TCP_NONE;
}

/* --- Whose they are -------------------------------------------------------------- */

/* "socket:[1234]", and the kernel calls its protocol TCP or TCPv6. */
static bool is_tcp_socket(int dir, pid_t pid, const char *name, uint64_t *inode)
{
    char target[64], path[64], protocol[16];
    ssize_t n = readlinkat(dir, name, target, sizeof target - 1);

    if (n <= 0)
        return false;
    target[n] = '\0';
    if (strncmp(target, "socket:[", 8) != 0)
        return false;
    snprintf(path, sizeof path, "/proc/%d/fd/%.16s", (int)pid, name);
    n = getxattr(path, "system.sockprotoname", protocol, sizeof protocol);
    *inode = strtoull(target + 8, NULL, 10);
    return n >= 3 && memcmp(protocol, "TCP", 3) == 0 && *inode != 0;
}

int sd_tcp_held_by(pid_t pid, void (*visit)(void *of, uint64_t inode), void *of)
{
    char path[40];
    const struct dirent *e;
    uint64_t inode;
    int n = 0;
    DIR *d;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    d = opendir(path);
    if (!d)
        return errno == ENOENT || errno == ESRCH ? SD_EGONE : SD_EACCESS;
    while ((e = readdir(d)) && n++ < DESCRIPTORS_MAX)
        if (e->d_name[0] != '.' && is_tcp_socket(dirfd(d), pid, e->d_name, &inode))
            visit(of, inode);
    closedir(d);
    return 0;
}
