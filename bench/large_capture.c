/* SPDX-License-Identifier: MIT */
/* large_capture: writes a capture of any size, as a sampler of a long run would.
 *
 *     large_capture FILE [gigabytes, default 10] [stacks, default 20000] [samples]
 *
 * Samples of one thread every 10 us of the run, of stacks that are drawn
 * deterministically from a tree four calls wide; compression is off, so that the size
 * is reached soon.  With a number of samples it ends there.  Prints how many samples
 * there are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "capture/capture.h"
#include "capture/writer.h"

enum { WIDE = 4, DEEP_MAX = 40, FUNCTIONS = 500, EVERY_NS = 10000, AT_ONCE = 64 };

struct node {
    uint32_t chunk, id; /* of the log: in which chunk the id is good */
};
static struct node *nodes;
static uint32_t sites[FUNCTIONS], sites_chunk;

static const struct sd_metric_about metrics[] = {
    { "samples", SD_UNIT_COUNT, SD_ADDS_SUM, "looks at the thread" },
    { "wall", SD_UNIT_NANOSECONDS, SD_ADDS_SUM, "time since the look before" },
    { "cpu", SD_UNIT_NANOSECONDS, SD_ADDS_SUM, "CPU time since then" },
    { NULL, 0, 0, NULL },
};

static uint32_t site_of(struct sd_log *l, uint32_t function)
{
    char name[32];
    uint32_t string, file;
    int n;

    if (sites_chunk != sd_log_chunk(l)) {
        memset(sites, 0, sizeof sites);
        sites_chunk = sd_log_chunk(l);
    }
    if (sites[function])
        return sites[function];
    n = snprintf(name, sizeof name, "function_%u", function);
    string = sd_log_define_string(l, 0, name, (size_t)n);
    n = snprintf(name, sizeof name, "/app/module_%u.py", function / 20);
    file = sd_log_define_string(l, 0, name, (size_t)n);
    return sites[function] = sd_log_define_function(l, 0, 0, string, 0, file,
                                                    10 * (function % 20) + 1);
}

/* Stack number i hangs on number (i - 1) / WIDE; parents are defined first. */
static uint32_t stack_of(struct sd_log *l, uint32_t i)
{
    uint32_t path[DEEP_MAX], n = 0, id = 0;

    for (;; i = (i - 1) / WIDE) {
        path[n++] = i;
        if (i == 0)
            break;
    }
    while (n-- > 0) {
        struct node *node = &nodes[path[n]];

        if (node->chunk != sd_log_chunk(l) || !node->id) {
            uint32_t function = path[n] % FUNCTIONS;

            node->id = sd_log_define_stack(l, id, site_of(l, function),
                                           10 * (function % 20) + 3);
            node->chunk = sd_log_chunk(l);
        }
        id = node->id;
    }
    return id;
}

static void sample(struct sd_log *l, uint32_t stack, uint64_t time)
{
    struct sd_rec_sample *e;
    uint32_t shape, process, track, id;

    if (!sd_log_room(l,
                     SD_ROOM_SHAPE +
                         40 * (SD_ROOM_STACK + SD_ROOM_SITE + 2 * SD_ROOM_STRING(32)) +
                         2 * SD_ROOM_TRACK))
        return;
    shape = sd_log_known(l, 1);
    if (!shape)
        shape = sd_log_define_shape(l, 1, metrics, 7);
    track = sd_log_known(l, 3);
    if (!track) {
        process = sd_log_define_track(l, 2, SD_TRACK_PROCESS, 0, 1000, 1,
                                      sd_log_define_string(l, 0, "python", 6));
        track = sd_log_define_track(l, 3, SD_TRACK_THREAD, process, 1000, 1, 0);
    }
    id = stack_of(l, stack);
    e = sd_log_put(l, SD_REC_SAMPLE, sizeof *e + 3 * sizeof(int64_t));
    e->track = track;
    e->stack = id;
    e->shape = (uint16_t)shape;
    e->flags = 0;
    e->time = time;
    e->values[0] = 1;
    e->values[1] = e->values[2] = EVERY_NS;
    sd_log_commit(l, 1, time);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "large.sonde";
    double gigabytes = argc > 2 ? strtod(argv[2], NULL) : 10;
    uint32_t n_stacks = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 20000;
    uint64_t most = argc > 4 ? strtoull(argv[4], NULL, 10) : UINT64_MAX, n = 0;
    struct sd_capture_options options = { .create = SD_CREATE_NEW };
    struct sd_capture_counts counts;
    struct sd_capture *c;
    struct sd_writer *w;
    uint32_t seed = 1;
    uint64_t time = sd_clock_ns();
    struct stat st = { 0 };

    nodes = calloc(n_stacks, sizeof *nodes);
    if (!nodes || sd_capture_create(path, &options, &c) < 0 ||
        sd_writer_join(sd_capture_live_dir(c), &w) < 0 || sd_capture_start(c) < 0) {
        printf("%s\n", sd_fail_text());
        return 1;
    }
    while ((double)st.st_size < gigabytes * 1e9 && n < most) {
        for (uint32_t i = 0; i < 1000000 && n < most; i++, n++, time += EVERY_NS) {
            /* A program stays in one part of its code for a while. */
            if (n % AT_ONCE == 0)
                seed = seed * 1664525 + 1013904223;
            sample(sd_writer_log(w),
                   (uint32_t)(((uint64_t)seed + n % AT_ONCE / 8 * 77777) % n_stacks),
                   time);
        }
        stat(path, &st);
    }
    sd_writer_leave(w);
    if (sd_capture_finish(c, 0, &counts) < 0)
        printf("%s\n", sd_fail_text());
    printf("%lu samples, %lu lost\n", counts.events, counts.lost);
    free(nodes);
    return 0;
}
