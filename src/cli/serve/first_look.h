/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_SERVE_FIRST_LOOK_H
#define SD_CLI_SERVE_FIRST_LOOK_H
/* first_look: the data of a page that shows what the heads of a capture's chunks tell,
 * while the capture is still being read. */
#include "base/out.h"
#include "outputs/page/page_maker.h"

/* Packs it.  Of what is no capture there is nothing to tell: the page is then empty
 * but for a note. */
int sd_first_look(const struct sd_page_request *request, const char *path,
                  struct sd_out *to);
#endif
