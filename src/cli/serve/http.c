/* SPDX-License-Identifier: MIT */
#include "cli/serve/http.h"

#include "base/error.h"

#ifdef HAVE_MICROHTTPD
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"

enum {
    HTTP_PORT = 80,
    HOST_MAX = 32,            /* "127.0.0.1:65535" */
    IDLE_SECONDS = 60,        /* a silent connection is closed */
    CONNECTIONS_MAX = 32,     /* a browser opens six */
    CONNECTION_BYTES = 32768, /* headers of a request */
};

#define FUNCTIONS(F)                                                                   \
    F(MHD_add_response_header)                                                         \
    F(MHD_create_response_from_buffer)                                                 \
    F(MHD_destroy_response)                                                            \
    F(MHD_lookup_connection_value)                                                     \
    F(MHD_queue_response)                                                              \
    F(MHD_start_daemon)                                                                \
    F(MHD_stop_daemon)

struct sd_http {
    void *library; /* owned */
#define MEMBER(name) __typeof__(name) *name;
    FUNCTIONS(MEMBER)
#undef MEMBER
    struct MHD_Daemon *daemon;
    sd_http_answer *answer;
    void *state;
    uint16_t port;
    char token[SD_HTTP_TOKEN + 1];
    char host[2][HOST_MAX];       /* what a Host header may be */
    char origin[2][HOST_MAX + 8]; /* what an Origin header may be */
};

/* A request while its body comes in. */
struct incoming {
    struct sd_buf body;
    bool is_too_long;
};

/* --- Opening */

static int load_library(struct sd_http *h)
{
    const char *missing = NULL;
    void *found;

    h->library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!h->library)
        return sd_fail(SD_ELACKS,
                       "--serve needs libmicrohttpd: apt install libmicrohttpd12");
#define FIND(name)                                                                     \
    found = dlsym(h->library, #name);                                                  \
    memcpy(&h->name, &found, sizeof found);                                            \
    missing = found ? missing : #name;
    FUNCTIONS(FIND)
#undef FIND
    return missing ? sd_fail(SD_ELACKS,
                             "--serve needs libmicrohttpd 0.9, and the installed "
                             "libmicrohttpd lacks %s: apt install libmicrohttpd12",
                             missing)
                   : 0;
}

static int make_token(struct sd_http *h)
{
    uint8_t bytes[SD_HTTP_TOKEN / 2];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return sd_fail_errno(errno, "cannot get random numbers for the token");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(h->token + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static void name_hosts(struct sd_http *h)
{
    static const char *const names[] = { "127.0.0.1", "localhost" };

    for (int i = 0; i < 2; i++) {
        if (h->port == HTTP_PORT) /* browsers leave it out */
            snprintf(h->host[i], sizeof h->host[i], "%s", names[i]);
        else
            snprintf(h->host[i], sizeof h->host[i], "%s:%u", names[i], h->port);
        snprintf(h->origin[i], sizeof h->origin[i], "http://%s", h->host[i]);
    }
}

/* The socket is ours, so that a port that is taken is named by the reason. */
static int listen_at(struct sd_http *h, uint16_t port, int *fd)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof at;
    int yes = 1, error;

    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return sd_fail_errno(errno, "cannot open a socket");
    setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(*fd, (struct sockaddr *)&at, sizeof at) == 0 &&
        listen(*fd, CONNECTIONS_MAX) == 0 &&
        getsockname(*fd, (struct sockaddr *)&at, &n) == 0) {
        h->port = ntohs(at.sin_port);
        return 0;
    }
    error = errno;
    close(*fd);
    if (error == EADDRINUSE)
        return sd_fail(SD_EIO,
                       "port %u of 127.0.0.1 is in use; choose another with --port, or "
                       "leave it out to get a free one",
                       port);
    return sd_fail_errno(error, "cannot listen on port %u of 127.0.0.1", port);
}

/* --- Who may ask */

static const char *header(struct sd_http *h, struct MHD_Connection *c, const char *name)
{
    return h->MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static bool is_one_of(const char *text, const char *a, const char *b)
{
    return strcmp(text, a) == 0 || strcmp(text, b) == 0;
}

/* Takes as long for any token, so that time tells nothing of it. */
static bool is_token(const struct sd_http *h, const char *typed)
{
    unsigned differs = 0;

    if (!typed || strlen(typed) != SD_HTTP_TOKEN)
        return false;
    for (size_t i = 0; i < SD_HTTP_TOKEN; i++)
        differs |= (unsigned)(typed[i] ^ h->token[i]);
    return differs == 0;
}

static bool is_let_in(struct sd_http *h, struct MHD_Connection *c, bool is_page)
{
    const char *host = header(h, c, "Host"), *origin = header(h, c, "Origin");

    if (!host || !is_one_of(host, h->host[0], h->host[1]))
        return false;
    if (origin && !is_one_of(origin, h->origin[0], h->origin[1]))
        return false;
    return is_page || is_token(h, header(h, c, SD_HTTP_TOKEN_HEADER));
}

/* --- Answering */

static enum MHD_Result send_reply(struct sd_http *h, struct MHD_Connection *c,
                                  struct sd_http_reply *a)
{
    const char *policy = a->policy ? a->policy : "default-src 'none'" SD_HTTP_NO_FRAMES;
    struct MHD_Response *r =
        h->MHD_create_response_from_buffer(a->body.n, a->body.p, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result sent;

    sd_buf_release(&a->body);
    if (!r)
        return MHD_NO;
    h->MHD_add_response_header(r, "Content-Type", a->type);
    if (a->encoding)
        h->MHD_add_response_header(r, "Content-Encoding", a->encoding);
    h->MHD_add_response_header(r, "Content-Security-Policy", policy);
    h->MHD_add_response_header(r, "Cache-Control", "no-store");
    h->MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
    h->MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    h->MHD_add_response_header(r, "X-Frame-Options", "DENY");
    h->MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
    sent = h->MHD_queue_response(c, (unsigned)a->status, r);
    h->MHD_destroy_response(r);
    return sent;
}

static void refuse(struct sd_http_reply *a, int status, const char *why)
{
    sd_buf_release(&a->body);
    *a = (struct sd_http_reply){ .status = status, .type = "text/plain" };
    sd_buf_text(&a->body, why);
}

static enum MHD_Result answer(struct sd_http *h, struct MHD_Connection *c,
                              const char *path, const char *method, struct incoming *in)
{
    bool is_post = strcmp(method, "POST") == 0, is_get = strcmp(method, "GET") == 0;
    bool is_page = is_get && strcmp(path, "/") == 0;
    struct sd_http_reply reply = { .status = MHD_HTTP_OK, .type = "text/plain" };
    struct sd_http_request request = { .path = path, .is_post = is_post };

    if (!is_let_in(h, c, is_page))
        refuse(&reply, MHD_HTTP_FORBIDDEN, "not allowed\n");
    else if (!is_post && !is_page)
        refuse(&reply, MHD_HTTP_METHOD_NOT_ALLOWED, "only POST\n");
    else if (in->is_too_long || in->body.bad)
        refuse(&reply, MHD_HTTP_CONTENT_TOO_LARGE, "too long\n");
    else {
        request.n_body = in->body.n;
        request.body = sd_buf_string(&in->body);
        h->answer(h->state, &request, &reply);
    }
    if (reply.body.bad)
        refuse(&reply, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
    return send_reply(h, c, &reply);
}

/* Called when the headers are there, for each part of the body, and at its end. */
static enum MHD_Result on_request(void *state, struct MHD_Connection *c,
                                  const char *path, const char *method,
                                  const char *version, const char *part, size_t *n_part,
                                  void **request)
{
    struct incoming *in = *request;

    (void)version;
    if (!in) {
        *request = in = sd_zalloc(sizeof *in);
        return in ? MHD_YES : MHD_NO;
    }
    if (*n_part == 0)
        return answer(state, c, path, method, in);
    if (in->body.n + *n_part > SD_HTTP_BODY_MAX)
        in->is_too_long = true;
    else
        sd_buf_add(&in->body, part, *n_part);
    *n_part = 0;
    return MHD_YES;
}

static void on_done(void *state, struct MHD_Connection *c, void **request,
                    enum MHD_RequestTerminationCode how)
{
    struct incoming *in = *request;

    (void)state;
    (void)c;
    (void)how;
    if (in)
        sd_buf_release(&in->body);
    sd_free(in);
    *request = NULL;
}

/* --- The server */

static int start(struct sd_http *h, int fd)
{
    h->daemon = h->MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, on_request, h,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_COMPLETED, on_done, h,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_END);
    if (h->daemon)
        return 0;
    close(fd);
    return sd_fail(SD_EIO, "cannot start the server on port %u", h->port);
}

int sd_http_open(uint16_t port, sd_http_answer *answer_one, void *state,
                 struct sd_http **out)
{
    struct sd_http *h = sd_zalloc(sizeof *h);
    int fd, rc = h ? 0 : sd_no_memory();

    *out = NULL;
    if (rc < 0)
        return rc;
    h->answer = answer_one;
    h->state = state;
    rc = load_library(h);
    if (rc == 0)
        rc = make_token(h);
    if (rc == 0)
        rc = listen_at(h, port, &fd);
    if (rc == 0) {
        name_hosts(h);
        rc = start(h, fd);
    }
    if (rc < 0) {
        sd_http_close(h);
        return rc;
    }
    sd_assert(h->port != 0 && strlen(h->token) == SD_HTTP_TOKEN);
    *out = h;
    return 0;
}

uint16_t sd_http_port(const struct sd_http *h) { return h->port; }
const char *sd_http_token(const struct sd_http *h) { return h->token; }

void sd_http_close(struct sd_http *h)
{
    if (!h)
        return;
    if (h->daemon)
        h->MHD_stop_daemon(h->daemon);
    if (h->library)
        dlclose(h->library);
    sd_free(h);
}
#else
int sd_http_open(uint16_t port, sd_http_answer *answer_one, void *state,
                 struct sd_http **out)
{
    (void)port;
    (void)answer_one;
    (void)state;
    *out = NULL;
    return sd_fail(SD_ELACKS,
                   "this sonde was built without libmicrohttpd, which "
                   "--serve needs: apt install libmicrohttpd-dev, then make");
}
uint16_t sd_http_port(const struct sd_http *h)
{
    (void)h;
    return 0;
}
const char *sd_http_token(const struct sd_http *h)
{
    (void)h;
    return "";
}
void sd_http_close(struct sd_http *h) { (void)h; }
#endif
