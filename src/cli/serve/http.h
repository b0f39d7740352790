/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_SERVE_HTTP_H
#define SD_CLI_SERVE_HTTP_H
/* http: a server for one page and one user, on 127.0.0.1.
 *
 * Any web page that the user has open can send requests to this address, and so can
 * other users of the machine.  So a request is refused with 403 unless its Host is ours
 * (no other name may point here), its Origin, where there is one, is ours, and, but for
 * the page itself, it carries the token that only the address printed for the user has.
 * The token is in a header, never in an address, because addresses are kept in
 * histories and logs.
 *
 * libmicrohttpd speaks HTTP; it is loaded when a server is opened, because loading it
 * takes milliseconds that no other verb should pay. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum {
    SD_HTTP_TOKEN = 32,       /* hexadecimal digits: 128 bits */
    SD_HTTP_BODY_MAX = 65536, /* bytes of a request */
};
#define SD_HTTP_TOKEN_HEADER "X-Sonde-Token"
/* Part of each policy: no other page may have ours in a frame. */
#define SD_HTTP_NO_FRAMES "; frame-ancestors 'none'"

struct sd_http_reply {
    const char *type;     /* "application/json" */
    const char *encoding; /* "gzip", or NULL */
    const char *policy;   /* Content-Security-Policy, or NULL: nothing is allowed */
    struct sd_buf body;   /* freed by the server */
    int status;           /* 200 */
};
struct sd_http_request {
    const char *path; /* "/state" */
    const char *body; /* ends with a 0 byte that is not counted */
    size_t n_body;
    bool is_post;
};
/* Answers one request that was let in; called by one thread of the server. */
typedef void sd_http_answer(void *state, const struct sd_http_request *request,
                            struct sd_http_reply *reply);

struct sd_http;

/* Listens on a port of 127.0.0.1; 0: any that is free.  SD_ELACKS without
 * libmicrohttpd, SD_EIO when the port is taken, with a sentence. */
int sd_http_open(uint16_t port, sd_http_answer *answer, void *state,
                 struct sd_http **out);
uint16_t sd_http_port(const struct sd_http *h);
const char *sd_http_token(const struct sd_http *h);
/* Waits for the request that is being answered. */
void sd_http_close(struct sd_http *h);
#endif
