/* SPDX-License-Identifier: MIT */
#include "cli/serve/serve.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/say.h"
#include "cli/serve/address_file.h"
#include "cli/serve/http.h"
#include "report/page/html_page.h"

enum { OK = 200, BAD_REQUEST = 400, NOT_FOUND = 404 };

struct server {
    struct sd_served_page *page;
    struct sd_buf policy;
    struct sd_address_file address; /* that the browser was given */
};

/* --- Answers */

static void fail(struct sd_http_reply *reply, int status, const char *why)
{
    reply->status = status;
    reply->type = "text/plain; charset=utf-8";
    sd_buf_text(&reply->body, why);
}

static void answer_page(struct server *s, struct sd_http_reply *reply)
{
    struct sd_out out;

    sd_out_to_memory(&out);
    sd_page_write_served(&out);
    reply->body = out.pending;
    reply->type = "text/html; charset=utf-8";
    reply->policy = sd_buf_string(&s->policy);
}

static void answer_query(struct server *s, const struct sd_http_request *q,
                         struct sd_http_reply *reply)
{
    bool is_view = strcmp(q->path, "/view") == 0;
    int rc = is_view ? sd_served_page_view(s->page, q->body, q->n_body, &reply->body)
                     : sd_served_page_query(s->page, q->body, q->n_body, &reply->body);

    reply->type = is_view ? "application/gzip" : "application/json";
    if (rc < 0) {
        sd_buf_clear(&reply->body);
        fail(reply, BAD_REQUEST, sd_fail_text());
    }
}

static void answer(void *server, const struct sd_http_request *q,
                   struct sd_http_reply *reply)
{
    struct server *s = server;

    if (!q->is_post) {
        answer_page(s, reply);
    } else if (strcmp(q->path, "/data") == 0) {
        reply->type = "application/gzip";
        sd_served_page_put_data(s->page, &reply->body);
    } else if (strcmp(q->path, "/state") == 0) {
        reply->type = "application/json";
        sd_served_page_put_state(s->page, &reply->body);
    } else if (strcmp(q->path, "/query") == 0 || strcmp(q->path, "/view") == 0) {
        answer_query(s, q, reply);
    } else {
        fail(reply, NOT_FOUND, "there is /data, /state, /query and /view\n");
    }
}

/* --- Until it is ended */

/* Those that whoever started us does not want to be ignored. */
static void ending_signals(sigset_t *set)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction now;

    sigemptyset(set);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(set, signals[i]);
}

static void open_page(const struct sd_serve_request *r, struct server *s,
                      const char *address)
{
    int rc = r->open ? sd_address_file_make(&s->address, address) : 0;

    if (rc == 0 && r->open)
        rc = r->open(s->address.path);
    if (rc < 0)
        sd_say("%s", sd_fail_text());
}

/* The first line of stdout is the address, for whoever started us. */
static int announce(const struct sd_serve_request *r, struct server *s,
                    const struct sd_http *http)
{
    char address[96];

    snprintf(address, sizeof address, "http://127.0.0.1:%u/#%s", sd_http_port(http),
             sd_http_token(http));
    if (printf("%s\n", address) < 0 || fflush(stdout) != 0)
        return sd_fail_errno(errno, "cannot print the address");
    sd_say("serving %s until Control-C", r->served.files[0]);
    open_page(r, s, address);
    return 0;
}

/* The port is taken first: whoever cannot have it reads nothing. */
static int serve(const struct sd_serve_request *r, struct server *s)
{
    struct sd_http *http = NULL;
    sigset_t ending;
    int got, rc = sd_http_open(r->port, answer, s, &http);

    ending_signals(&ending);
    if (rc == 0)
        rc = sd_served_page_open(&r->served, &s->page);
    if (rc == 0)
        rc = announce(r, s, http);
    while (rc == 0 && sigwait(&ending, &got) != 0)
        ;
    sd_address_file_remove(&s->address);
    if (sd_served_page_is_busy(s->page))
        _exit(rc < 0 ? sd_say_failure(rc) : 0);
    sd_http_close(http);
    return rc;
}

int sd_serve(const struct sd_serve_request *r)
{
    struct server s = { 0 };
    sigset_t ending, before;
    int rc;

    /* Threads inherit the mask, so that the signals wait for sigwait. */
    ending_signals(&ending);
    pthread_sigmask(SIG_BLOCK, &ending, &before);
    sd_page_served_policy(&s.policy);
    sd_buf_text(&s.policy, SD_HTTP_NO_FRAMES);
    rc = s.policy.bad ? sd_no_memory() : serve(r, &s);
    sd_served_page_close(s.page);
    sd_buf_release(&s.policy);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}
