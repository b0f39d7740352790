/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_SERVE_SERVED_PAGE_H
#define SD_CLI_SERVE_SERVED_PAGE_H
/* served_page: the data of the page that is served, kept up to date.
 *
 * A thread reads the files, packs what the page is given, and reads them again when a
 * capture that is still being written has grown.  Until the first reading is done, a
 * capture shows what the heads of its chunks tell (capture/skim.h).  Readings of a
 * growing capture keep a pause that is as long as the reading took, so that they take
 * half of a CPU at most.
 *
 * What the page asks for is answered from the last reading. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "outputs/page/page_maker.h"

struct sd_served_page;

struct sd_served_request {
    char *const *files; /* borrowed, as all here */
    size_t n_files;
    struct sd_page_request page;
};

/* Starts to read.  SD_EUSAGE when one is no capture, or what opening says. */
int sd_served_page_open(const struct sd_served_request *r, struct sd_served_page **out);
/* Adds the data, packed with gzip. */
void sd_served_page_put_data(struct sd_served_page *s, struct sd_buf *to);
/* Adds JSON: which reading it is (0: none yet), whether more is being read, and whether
 * the capture still grows. */
void sd_served_page_put_state(struct sd_served_page *s, struct sd_buf *to);
/* Adds the answer to a query, JSON as `sonde report --json` prints it.  The query is a
 * JSON object: "views", and as report's options "from_ns", "to_ns", "section", "track",
 * "metric", "by", "idle", "gil", "mine".  SD_EUSAGE with a sentence. */
int sd_served_page_query(struct sd_served_page *s, const char *query, size_t n,
                         struct sd_buf *to);
/* Adds the one view that such a query names, in the form of a page's data. */
int sd_served_page_view(struct sd_served_page *s, const char *query, size_t n,
                        struct sd_buf *to);
/* Is it reading or answering?  Whoever wants to end should not wait for that: it takes
 * minutes with large files, and nothing is lost with it. */
bool sd_served_page_is_busy(struct sd_served_page *s);
/* Waits for what is going on. */
void sd_served_page_close(struct sd_served_page *s);
#endif
