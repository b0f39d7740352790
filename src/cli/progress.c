/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/path.h"
#include "cli/say.h"

enum { BAR_CELLS = 30, FIRST_MS = 500, THEN_MS = 100 };

static void draw(const struct sd_progress *p)
{
    uint64_t whole = sd_reader_health(p->reader)->chunks;
    uint64_t done = sd_reader_n_read(p->reader);
    char bar[BAR_CELLS + 1], line[256];
    ssize_t written;
    int n, full;

    if (whole == 0)
        return;
    if (done > whole)
        done = whole;
    full = (int)(done * BAR_CELLS / whole);
    memset(bar, ' ', BAR_CELLS);
    memset(bar, '#', (size_t)full);
    bar[BAR_CELLS] = '\0';
    n = snprintf(line, sizeof line, "\rsonde: reading %.60s [%s] %3d %%",
                 sd_path_base(p->name), bar, (int)(done * 100 / whole));
    written = write(STDERR_FILENO, line, (size_t)n);
    (void)written;
}

static void erase(void)
{
    static const char blank[] = "\r\033[K";
    ssize_t written = write(STDERR_FILENO, blank, sizeof blank - 1);

    (void)written;
}

/* Waits until it is over or this long has passed; true when it is over.  Under the
 * lock. */
static bool wait_ms(struct sd_progress *p, long ms)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!p->is_over)
        if (pthread_cond_timedwait(&p->wake, &p->lock, &until) != 0)
            break;
    return p->is_over;
}

static void *keep_drawing(void *of)
{
    struct sd_progress *p = of;
    bool is_over;

    pthread_mutex_lock(&p->lock);
    is_over = wait_ms(p, FIRST_MS);
    if (!is_over) {
        do
            draw(p);
        while (!wait_ms(p, THEN_MS));
        erase();
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

void sd_progress_begin(struct sd_progress *p, const struct sd_command *c,
                       const struct sd_reader *reader, const char *name)
{
    *p = (struct sd_progress){ .name = name };
    if (sd_loudness_of(c) == SD_QUIET || !isatty(STDERR_FILENO))
        return;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    p->reader = reader;
    if (pthread_create(&p->thread, NULL, keep_drawing, p) != 0)
        p->reader = NULL;
}

void sd_progress_end(struct sd_progress *p)
{
    if (!p->reader)
        return;
    pthread_mutex_lock(&p->lock);
    p->is_over = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    p->reader = NULL;
}
