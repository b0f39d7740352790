/* SPDX-License-Identifier: MIT */
/* capture_cost: what one event costs the thread that logs it, in a shared mapping of a
 * file and in plain memory, side by side in one process.
 *
 *     capture_cost [events in millions, default 20] [rounds, default 5]
 *
 * The same inline code runs in both rows; only where the halves lie differs.  "hot"
 * never leaves its half (what crash safety costs); "sealed" hands halves to an owner
 * that compresses them in another thread of this process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "capture/capture.h"
#include "capture/pool.h"
#include "capture/writer.h"

/* What a section's beginning does, time aside: room, a known name, one record. */
static inline void one_event(struct sd_log *l, uint64_t i)
{
    struct sd_rec_open *e;
    uint32_t site;

    if (!sd_log_room(l, SD_ROOM_SITE + sizeof *e))
        return;
    site = sd_log_known(l, 7);
    if (!site)
        site = sd_log_define_site(l, 7, SD_SITE_SECTION, 0, 0, 0, 0);
    e = sd_log_put(l, SD_REC_OPEN, sizeof *e);
    e->site = site;
    e->track = 1;
    e->pad = 0;
    e->span = i;
    e->time = i;
    sd_log_commit(l, 1, i);
}

/* Begins the half again before it is full: no hand-over, no system call. */
static double hot(struct sd_log *l, uint64_t n)
{
    uint64_t from = sd_clock_thread_cpu_ns();

    for (uint64_t i = 0; i < n; i++) {
        if (l->at + 256 > l->half_bytes)
            sd_log_begin(l, 0, l->seq + 1);
        one_event(l, i);
    }
    return (double)(sd_clock_thread_cpu_ns() - from) / (double)n;
}

static double through(struct sd_log *l, uint64_t n)
{
    uint64_t from = sd_clock_thread_cpu_ns();

    for (uint64_t i = 0; i < n; i++)
        one_event(l, i);
    return (double)(sd_clock_thread_cpu_ns() - from) / (double)n;
}

/* A log like `from` on memory of malloc. */
static struct sd_log *plain_log(const struct sd_log *from)
{
    struct sd_log *l = sd_zalloc(sizeof *l);
    uint8_t *memory = aligned_alloc(4096, 4096 + 2 * SD_BIG_HALF);

    if (!l || !memory)
        exit(1);
    memset(memory, 0, 4096 + 2 * SD_BIG_HALF);
    memcpy(l, from, sizeof *l);
    l->slot = (void *)memory;
    l->halves[0] = memory + 4096;
    l->halves[1] = memory + 4096 + SD_BIG_HALF;
    sd_log_begin(l, 0, 1);
    return l;
}

int main(int argc, char **argv)
{
    uint64_t n = (argc > 1 ? strtoull(argv[1], NULL, 10) : 20) * 1000000;
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    char path[64], live[80];
    struct sd_capture_counts counts;
    struct sd_capture *c;
    struct sd_writer *w;
    struct sd_log *plain, *l;

    snprintf(path, sizeof path, "./capture_cost-%d.sonde", getpid());
    snprintf(live, sizeof live, "%s.live", path);
    if (sd_capture_create(path, NULL, &c) < 0 || sd_writer_join(live, &w) < 0 ||
        sd_capture_start(c) < 0)
        return 1;
    l = sd_writer_log(w);
    plain = plain_log(l);
    printf("%u bytes an event, %lu million events a row\n",
           (unsigned)sizeof(struct sd_rec_open), n / 1000000);
    for (int i = 0; i < rounds; i++) {
        double in_memory = hot(plain, n), mapped = hot(l, n), sealed;

        sealed = through(l, n);
        printf(
            "malloc %5.2f ns   mapped %5.2f ns   sealed by another thread %6.2f ns\n",
            in_memory, mapped, sealed);
        /* The next round begins the half again, so this one is handed on first. */
        sd_log_begin(l, (int)(l->half - l->slot->halves), l->seq + 1);
    }
    sd_writer_leave(w);
    if (sd_capture_finish(c, 0, &counts) < 0)
        return 1;
    printf("%.1f bytes of records made one byte of file\n",
           (double)counts.bytes_raw / (double)counts.bytes_stored);
    unlink(path);
    return 0;
}
