/* SPDX-License-Identifier: MIT */
#include "cli/serve/http.h"

#ifdef HAVE_MICROHTTPD
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/test.h"

static void echo(void *state, const struct sd_http_request *q, struct sd_http_reply *a)
{
    (void)state;
    a->type = "text/plain";
    sd_buf_printf(&a->body, "%s %s %zu:%s", q->is_post ? "POST" : "GET", q->path,
                  q->n_body, q->body ? q->body : "");
}

/* Sends these bytes and reads until the server closes.  The status, or -1. */
static int ask(const struct sd_http *h, const char *request, char *reply, size_t size)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons(sd_http_port(h)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status = -1;
    size_t n = 0;
    ssize_t got;

    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    CHECK(send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request));
    while (n + 1 < size && (got = recv(fd, reply + n, size - 1 - n, 0)) > 0)
        n += (size_t)got;
    reply[n] = '\0';
    close(fd);
    if (sscanf(reply, "HTTP/1.1 %d", &status) != 1)
        status = -1;
    return status;
}

struct request {
    const char *line;  /* "GET /" */
    const char *host;  /* NULL: ours */
    const char *extra; /* header lines */
    const char *token; /* NULL: none; "": ours */
};

static int try(const struct sd_http *h, struct request q, char *reply, size_t size)
{
    char text[1024], token[128] = "", host[64];

    snprintf(host, sizeof host, "127.0.0.1:%u", sd_http_port(h));
    if (q.token)
        snprintf(token, sizeof token, "X-Sonde-Token: %s\r\n",
                 *q.token ? q.token : sd_http_token(h));
    snprintf(text, sizeof text,
             "%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: "
             "5\r\n%s%s\r\nhello",
             q.line, q.host ? q.host : host, q.extra ? q.extra : "", token);
    return ask(h, text, reply, size);
}

static struct sd_http *opened(void)
{
    struct sd_http *h;

    CHECK(sd_http_open(0, echo, NULL, &h) == 0);
    return h;
}

TEST(http_lets_in_who_has_the_token)
{
    struct sd_http *h = opened();
    char reply[4096];

    CHECK(strlen(sd_http_token(h)) == SD_HTTP_TOKEN);
    CHECK(try(h, (struct request){ "GET /", NULL, NULL, NULL }, reply, sizeof reply) ==
          200);
    CHECK(strstr(reply, "Cache-Control: no-store") &&
          strstr(reply, "Referrer-Policy: no-referrer") && strstr(reply, "nosniff"));
    CHECK(try(h, (struct request){ "POST /data", NULL, NULL, "" }, reply,
              sizeof reply) == 200);
    CHECK(strstr(reply, "POST /data 5:hello"));
    sd_http_close(h);
}

TEST(http_refuses_strangers)
{
    static const struct request strangers[] = {
        { "GET /", "evil.example", NULL, NULL },
        { "GET /", "127.0.0.1", NULL, NULL },
        { "GET /", NULL, "Origin: http://evil.example\r\n", NULL },
        { "GET /", NULL, "Origin: null\r\n", NULL },
        { "POST /data", NULL, NULL, NULL },
        { "POST /data", NULL, NULL, "0123456789abcdef0123456789abcdef" },
        { "POST /data", NULL, NULL, "0" },
        { "POST /data", "evil.example", NULL, "" },
        { "POST /data", NULL, "Origin: http://evil.example\r\n", "" },
        { "POST /", NULL, NULL, NULL },
        { "GET /data", NULL, NULL, NULL },
        { "GET /etc/passwd", NULL, NULL, NULL },
    };
    struct sd_http *h = opened();
    char reply[4096];

    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        CHECK(try(h, strangers[i], reply, sizeof reply) == 403);
        CHECK(!strstr(reply, "hello"));
    }
    CHECK(try(h, (struct request){ "GET /etc/passwd", NULL, NULL, "" }, reply,
              sizeof reply) == 405);
    sd_http_close(h);
}

TEST(http_bounds_what_a_request_may_hold)
{
    struct sd_http *h = opened();
    static char text[SD_HTTP_BODY_MAX * 2];
    char reply[4096];
    int n = snprintf(text, sizeof text,
                     "POST /query HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: "
                     "close\r\nX-Sonde-Token: %s\r\nContent-Length: %d\r\n\r\n",
                     sd_http_port(h), sd_http_token(h), SD_HTTP_BODY_MAX + 1);

    memset(text + n, 'x', SD_HTTP_BODY_MAX + 1);
    CHECK(ask(h, text, reply, sizeof reply) == 413);
    sd_http_close(h);
}

TEST(http_names_a_port_that_is_taken)
{
    struct sd_http *h = opened(), *other;
    char number[16];

    snprintf(number, sizeof number, "port %u", sd_http_port(h));
    CHECK(sd_http_open(sd_http_port(h), echo, NULL, &other) == SD_EIO);
    CHECK(!other && strstr(sd_fail_text(), number) && strstr(sd_fail_text(), "--port"));
    sd_http_close(h);
}
#endif
