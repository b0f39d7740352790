/* SPDX-License-Identifier: MIT */
/* tcp_look: CPU nanoseconds of one look of `rss` at the TCP connections of a process:
 * its descriptors listed, and, when it has connections, the kernel asked once.
 *
 *     tcp_look ROUNDS      prints one line per round: 20 descriptors and no TCP socket,
 *                          then two connections too */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/rss/connections.h"

enum { LOOKS = 200 };

static void connect_to_ourselves(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t n = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int end = socket(AF_INET, SOCK_STREAM, 0);

    if (bind(listener, (struct sockaddr *)&at, n) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&at, &n) < 0 ||
        connect(end, (struct sockaddr *)&at, n) < 0 || accept(listener, NULL, NULL) < 0)
        exit(1);
    close(listener);
}

static double per_look(struct sd_connections *c, struct sd_tcp_account *a)
{
    uint64_t start = sd_clock_thread_cpu_ns();

    for (int i = 0; i < LOOKS; i++) {
        sd_connections_hear(c);
        sd_connections_begin(c, 0);
        sd_connections_take(c, getpid(), a);
        sd_connections_finish(c);
    }
    if (!a->is_told)
        exit(1);
    return (double)(sd_clock_thread_cpu_ns() - start) / LOOKS;
}

int main(int argc, char **argv)
{
    int n_rounds = argc > 1 ? atoi(argv[1]) : 5;
    double without[100];

    if (n_rounds < 1 || n_rounds > 100)
        return 2;
    while (open("/dev/null", O_RDONLY) < 19)
        ;
    for (int i = 0; i < n_rounds; i++) {
        struct sd_connections c = { 0 };
        struct sd_tcp_account a = { 0 };

        without[i] = per_look(&c, &a);
        sd_connections_release(&c);
    }
    connect_to_ourselves();
    connect_to_ourselves();
    for (int i = 0; i < n_rounds; i++) {
        struct sd_connections c = { 0 };
        struct sd_tcp_account a = { 0 };

        printf("%.1f %.1f\n", without[i], per_look(&c, &a));
        sd_connections_release(&c);
    }
    return 0;
}
