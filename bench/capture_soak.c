/* SPDX-License-Identifier: MIT */
/* capture_soak: many events through a log into a capture and out of it again.
 *
 *     capture_soak [events in millions, default 100] [folder, default .]
 *
 * A producer process logs spans of a thread; this process owns the capture and seals
 * it. Prints how long it took, the size of the file and the peak memory of all three
 * parts; fails when an event is lost or memory is not bounded. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "capture/capture.h"
#include "capture/reader.h"
#include "capture/writer.h"

enum { LIMIT_MIB = 64, NAMES = 20 };

static void one_span(struct sd_log *l, uint64_t i)
{
    struct sd_rec_span *e;
    char name[32];
    uint64_t key = 1 + i % NAMES;
    uint32_t site;

    if (!sd_log_room(l, SD_ROOM_STRING(sizeof name) + SD_ROOM_SITE + sizeof *e))
        return;
    site = sd_log_known(l, key);
    if (!site) {
        int n = snprintf(name, sizeof name, "section %lu", key);
        uint32_t string = sd_log_define_string(l, key + 100, name, (size_t)n);

        site = sd_log_define_site(l, key, SD_SITE_SECTION, string, 0, 0, 0);
    }
    e = sd_log_put(l, SD_REC_SPAN, sizeof *e);
    e->site = site;
    e->track = 0;
    e->shape = e->flags = 0;
    e->span = i;
    e->from = sd_clock_ns(); /* as a section does, twice */
    e->to = sd_clock_ns();
    sd_log_commit(l, 1, e->to);
}

static int produce(const char *live, uint64_t n)
{
    struct sd_writer *w;
    uint64_t from = sd_clock_ns();

    if (sd_writer_join(live, &w) < 0)
        return 1;
    for (uint64_t i = 1; i <= n; i++) {
        struct sd_log *l = sd_writer_log(w);

        if (l)
            one_span(l, i);
    }
    printf("producer: %.1f s, %.0f ns an event\n", (double)(sd_clock_ns() - from) / 1e9,
           (double)(sd_clock_ns() - from) / (double)n);
    fflush(stdout);
    sd_writer_leave(w);
    return 0;
}

static double peak_mib(int who)
{
    struct rusage usage;

    getrusage(who, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static uint64_t count_spans(const char *path, uint64_t *sum)
{
    struct sd_reader *r;
    struct sd_chunk_view view;
    const struct sd_record *record;
    uint64_t n = 0;

    *sum = 0;
    if (sd_reader_open(path, &r) < 0)
        return 0;
    while (sd_reader_next(r, &view) == 1) {
        uint32_t at = 0;

        while ((record = sd_chunk_view_next(&view, &at))) {
            const void *p = record;

            if (record->type != SD_REC_SPAN)
                continue;
            n++;
            *sum += ((const struct sd_rec_span *)p)->span;
        }
    }
    if (sd_reader_complaint(r))
        printf("complaint: %s\n", sd_reader_complaint(r));
    sd_reader_free(r);
    return n;
}

int main(int argc, char **argv)
{
    uint64_t n = (argc > 1 ? strtoull(argv[1], NULL, 10) : 100) * 1000000, sum, found;
    char path[256], live[272];
    struct sd_capture_counts counts;
    struct sd_capture *c;
    struct stat st;
    uint64_t from = sd_clock_ns();
    int status = 0;
    pid_t pid;

    snprintf(path, sizeof path, "%s/capture_soak-%d.sonde", argc > 2 ? argv[2] : ".",
             getpid());
    snprintf(live, sizeof live, "%s.live", path);
    if (sd_capture_create(path, NULL, &c) < 0) {
        printf("%s\n", sd_fail_text());
        return 1;
    }
    pid = fork();
    if (pid == 0)
        _exit(produce(live, n));
    if (pid < 0 || sd_capture_start(c) < 0)
        return 1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (sd_capture_finish(c, status, &counts) < 0)
        printf("%s\n", sd_fail_text());
    stat(path, &st);
    printf("sealed: %.1f s, %lu events, %lu lost, file %.1f MB (%.1f bytes an event)\n",
           (double)(sd_clock_ns() - from) / 1e9, counts.events, counts.lost,
           (double)st.st_size / 1e6, (double)st.st_size / (double)n);
    printf("peak memory: producer %.1f MiB, owner %.1f MiB\n",
           peak_mib(RUSAGE_CHILDREN), peak_mib(RUSAGE_SELF));
    from = sd_clock_ns();
    found = count_spans(path, &sum);
    printf("read: %.1f s, %lu events, peak memory %.1f MiB\n",
           (double)(sd_clock_ns() - from) / 1e9, found, peak_mib(RUSAGE_SELF));
    unlink(path);
    if (found != n || sum != n * (n + 1) / 2 || counts.lost ||
        peak_mib(RUSAGE_SELF) > LIMIT_MIB || peak_mib(RUSAGE_CHILDREN) > LIMIT_MIB) {
        printf("FAILED\n");
        return 1;
    }
    return 0;
}
