/* SPDX-License-Identifier: MIT */
#include "collect/rss/connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/test.h"

static void connect_pair(int ends[2])
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t n = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(bind(listener, (struct sockaddr *)&at, n) == 0 && listen(listener, 1) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&at, &n) == 0);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(connect(ends[0], (struct sockaddr *)&at, n) == 0);
    ends[1] = accept(listener, NULL, NULL);
    CHECK(ends[1] >= 0);
    close(listener);
}

static void carry(const int ends[2], size_t n)
{
    char buf[4096] = { 0 };

    CHECK(n <= sizeof buf && write(ends[0], buf, n) == (ssize_t)n);
    CHECK(recv(ends[1], buf, n, MSG_WAITALL) == (ssize_t)n);
}

/* One look at these processes, in this order. */
static void look(struct sd_connections *c, size_t n, const pid_t *pids,
                 struct sd_tcp_account *accounts)
{
    sd_connections_hear(c);
    sd_connections_begin(c, sd_clock_ns());
    for (size_t i = 0; i < n; i++)
        sd_connections_take(c, pids[i], &accounts[i]);
    sd_connections_finish(c);
}

TEST(connections_are_booked_on_who_holds_them)
{
    struct sd_connections c = { 0 };
    struct sd_tcp_account a = { 0 };
    pid_t me = getpid();
    int64_t sent, received;
    int ends[2];

    look(&c, 1, &me, &a);
    CHECK(a.is_told && a.has_news);
    sent = a.sent_bytes; /* what the tests' own process may have */
    received = a.received_bytes;
    connect_pair(ends);
    carry(ends, 1000);
    look(&c, 1, &me, &a);
    CHECK(a.sent_bytes == sent + 1000 && a.received_bytes == received + 1000);
    CHECK(a.n_open >= 2);
    carry(ends, 234);
    look(&c, 1, &me, &a);
    CHECK(a.sent_bytes == sent + 1234 && a.received_bytes == received + 1234);
    carry(ends, 66);
    close(ends[0]);
    close(ends[1]);
    for (int i = 0; i < 1000 && a.sent_bytes < sent + 1300; i++) {
        usleep(10000);
        sd_connections_hear(&c);
    }
    CHECK(a.sent_bytes == sent + 1300); /* up to its end */
    for (int i = 0; i < 3; i++)
        look(&c, 1, &me, &a);
    CHECK(a.sent_bytes == sent + 1300 && a.n_open == 0);
    sd_connections_release(&c);
}

TEST(connections_shared_by_fork_count_for_the_first)
{
    struct sd_connections c = { 0 };
    struct sd_tcp_account a[2] = { 0 };
    pid_t pids[2];
    int ends[2], gate[2];
    char byte;

    connect_pair(ends);
    CHECK(pipe(gate) == 0);
    pids[0] = getpid();
    pids[1] = fork();
    if (pids[1] == 0) {
        close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1); /* holds both ends until then */
    }
    close(gate[0]);
    carry(ends, 500);
    look(&c, 2, pids, a);
    CHECK(a[0].sent_bytes == 500 && a[1].sent_bytes == 0 && a[1].is_told);
    close(ends[0]);
    close(ends[1]); /* now they are the child's alone */
    look(&c, 2, pids, a);
    CHECK(a[0].n_open == 0 && a[1].n_open == 2);
    CHECK(a[0].sent_bytes == 500 && a[1].sent_bytes == 0);
    close(gate[1]);
    CHECK(waitpid(pids[1], NULL, 0) == pids[1]);
    sd_connections_settle(&c, &a[1]);
    sd_connections_leave(&c, &a[1]);
    CHECK(a[1].n_open == 0);
    sd_connections_release(&c);
}

TEST(connections_are_looked_at_seldom)
{
    struct sd_connections c = { 0 };
    struct sd_tcp_account a = { 0 };
    pid_t me = getpid();
    uint64_t now = sd_clock_ns();

    CHECK(sd_connections_are_due(&c, now));
    look(&c, 1, &me, &a);
    CHECK(!sd_connections_are_due(&c, now + 99000000));
    CHECK(c.next_ns - c.began_ns >= 100000000);
    sd_connections_release(&c);
}

TEST(connections_without_memory_are_found_later)
{
    struct sd_connections c = { 0 };
    struct sd_tcp_account a = { 0 };
    pid_t me = getpid();
    int ends[2];

    connect_pair(ends);
    carry(ends, 777);
    for (size_t nth = 1; nth < 12; nth++) {
        sd_mem_fail_at(nth, false);
        look(&c, 1, &me, &a);
        sd_mem_fail_at(0, false);
    }
    look(&c, 1, &me, &a);
    CHECK(a.sent_bytes == 777 && a.received_bytes == 777);
    sd_connections_release(&c);
    close(ends[0]);
    close(ends[1]);
}
