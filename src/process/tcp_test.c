/* SPDX-License-Identifier: MIT */
#include "process/tcp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/test.h"

/* Both ends of a connection over loopback; false where there is no such family. */
static bool connect_pair(int family, int ends[2])
{
    struct sockaddr_in6 six = { .sin6_family = AF_INET6,
                                .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    struct sockaddr_in four = { .sin_family = AF_INET,
                                .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct sockaddr *to =
        family == AF_INET6 ? (struct sockaddr *)&six : (struct sockaddr *)&four;
    socklen_t n = family == AF_INET6 ? sizeof six : sizeof four;
    int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ends[0] = ends[1] = -1;
    if (listener >= 0 && bind(listener, to, n) == 0 && listen(listener, 1) == 0 &&
        getsockname(listener, to, &n) == 0) {
        ends[0] = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(ends[0], to, n) == 0)
            ends[1] = accept(listener, NULL, NULL);
    }
    if (listener >= 0)
        close(listener);
    return ends[1] >= 0;
}

static uint64_t inode_of(int fd)
{
    struct stat st;

    CHECK(fstat(fd, &st) == 0);
    return st.st_ino;
}

static void carry(int from, int to, size_t n)
{
    char buf[4096] = { 0 };

    for (size_t put = 0; put < n;) {
        ssize_t one = write(from, buf, n - put < sizeof buf ? n - put : sizeof buf);

        CHECK(one > 0);
        put += (size_t)one;
        for (ssize_t got = 0; got < one;) {
            ssize_t some = read(to, buf, (size_t)(one - got));

            CHECK(some > 0);
            got += some;
        }
    }
}

struct wanted {
    uint64_t inode, cookie; /* either */
    struct sd_tcp_socket found;
    size_t n;
};

static void want(void *of, const struct sd_tcp_socket *s)
{
    struct wanted *w = of;

    if ((w->inode && s->inode == w->inode) || (w->cookie && s->cookie == w->cookie)) {
        w->found = *s;
        w->n++;
    }
}

static void want_inode(void *of, uint64_t inode)
{
    struct wanted *w = of;

    w->n += inode == w->inode;
}

static void check_exact(int family)
{
    struct sd_tcp t;
    struct wanted near = { 0 }, far = { 0 };
    int ends[2];

    if (!connect_pair(family, ends))
        return;
    carry(ends[0], ends[1], 12345);
    carry(ends[1], ends[0], 678);
    near.inode = inode_of(ends[0]);
    far.inode = inode_of(ends[1]);
    CHECK(sd_tcp_open(&t, getpid()) == 0);
    CHECK(sd_tcp_each(&t, want, &near) == 0);
    CHECK(sd_tcp_each(&t, want, &far) == 0);
    CHECK(near.n == 1 && near.found.sent_bytes == 12345 &&
          near.found.received_bytes == 678);
    CHECK(far.n == 1 && far.found.sent_bytes == 678 &&
          far.found.received_bytes == 12345);
    CHECK(near.found.cookie != far.found.cookie);
    sd_tcp_close(&t);
    close(ends[0]);
    close(ends[1]);
}

TEST(tcp_counts_both_ends_to_the_byte) { check_exact(AF_INET); }
TEST(tcp_counts_ipv6_too) { check_exact(AF_INET6); }

TEST(tcp_end_of_the_peer_is_no_byte)
{
    struct sd_tcp t;
    struct wanted w = { 0 };
    int ends[2];

    CHECK(connect_pair(AF_INET, ends));
    carry(ends[0], ends[1], 100);
    close(ends[0]);
    w.inode = inode_of(ends[1]);
    CHECK(sd_tcp_open(&t, getpid()) == 0);
    CHECK(sd_tcp_each(&t, want, &w) == 0);
    CHECK(w.n == 1 && w.found.received_bytes == 100);
    sd_tcp_close(&t);
    close(ends[1]);
}

TEST(tcp_tells_the_last_counts_of_what_ends)
{
    struct sd_tcp t;
    struct wanted w = { 0 };
    int ends[2];

    CHECK(connect_pair(AF_INET, ends));
    w.inode = inode_of(ends[0]);
    CHECK(sd_tcp_open(&t, getpid()) == 0);
    CHECK(sd_tcp_each(&t, want, &w) == 0 && w.n == 1);
    w = (struct wanted){ .cookie = w.found.cookie };
    carry(ends[0], ends[1], 4321);
    sd_tcp_each_ended(&t, want, &w);
    CHECK(w.n == 0);
    close(ends[0]);
    close(ends[1]);
    for (int i = 0; i < 100 && !w.n; i++) { /* the kernel does it when it finds time */
        sd_tcp_wait_for_ended(&t, 50);
        sd_tcp_each_ended(&t, want, &w);
    }
    CHECK(w.n == 1 && w.found.sent_bytes == 4321 && w.found.inode == 0);
    sd_tcp_close(&t);
}

TEST(tcp_sockets_of_a_process_are_told_from_others)
{
    struct wanted tcp = { 0 }, local = { 0 };
    int ends[2], pair[2];

    CHECK(connect_pair(AF_INET, ends));
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    tcp.inode = inode_of(ends[0]);
    local.inode = inode_of(pair[0]);
    CHECK(sd_tcp_held_by(getpid(), want_inode, &tcp) == 0 && tcp.n == 1);
    CHECK(sd_tcp_held_by(getpid(), want_inode, &local) == 0 && local.n == 0);
    close(ends[0]);
    close(ends[1]);
    close(pair[0]);
    close(pair[1]);
}

TEST(tcp_of_a_process_that_is_no_more)
{
    struct wanted w = { 0 };
    struct sd_tcp t;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    CHECK(waitpid(pid, NULL, 0) == pid);
    CHECK(sd_tcp_held_by(pid, want_inode, &w) == SD_EGONE);
    CHECK(sd_tcp_open(&t, pid) == SD_EACCESS);
    sd_tcp_close(&t); /* fine though nothing was opened */
    CHECK(sd_tcp_namespace(getpid()) != 0 && sd_tcp_namespace(pid) == 0);
}
