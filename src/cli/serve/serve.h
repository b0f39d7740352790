/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_SERVE_SERVE_H
#define SD_CLI_SERVE_SERVE_H
/* serve: `sonde view --serve`: the page of a capture from a server of its own, which
 * shows a capture of any size, and one that is still being written. */
#include "cli/serve/served_page.h"

struct sd_serve_request {
    struct sd_served_request served;
    uint16_t port; /* 0: any */
    /* Shows the user a page, which leads to the address; NULL: nobody does.  A failure
     * is said, and the server goes on. */
    int (*open)(const char *page);
};

/* Serves until SIGINT, SIGTERM or SIGHUP, and then returns 0. */
int sd_serve(const struct sd_serve_request *r);
#endif
