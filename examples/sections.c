/* SPDX-License-Identifier: MIT */
/* sections: a C program that names its parts, so that Sonde can tell what each costs.
 *
 *     cc sections.c $(pkg-config --cflags --libs sonde) -o sections
 *     sonde run -- ./sections 1000000
 *     sonde report sections.sonde
 *
 * Without a parent: SONDE_OUT=x.sonde ./sections 1000000
 *
 * usage: sections N [THREADS] [--counter FILE]
 *
 * Every thread does N steps of almost no work, each a section with time only.  With
 * --counter it also counts the steps it has finished in FILE, a page shared with the
 * file, one 64-bit number per thread, 64 bytes apart: after a kill -9 the capture must
 * hold at least as many. */
#include <sonde.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS_MAX = 256, STRIDE = 64 };

struct worker {
    pthread_t thread;
    uint64_t n_steps;
    volatile uint64_t *n_done; /* in the shared page, or in `own` */
    uint64_t own;
};

static volatile uint64_t sink;

static void step(uint64_t i)
{
    sonde_section *s = sonde_section_begin("step", SONDE_TIME);

    sink = i * i;
    sonde_section_end(s);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    SONDE_SECTION("work"); /* everything measured, until this function returns */

    for (uint64_t i = 0; i < w->n_steps; i++) {
        step(i);
        *w->n_done = i + 1;
    }
    return NULL;
}

/* Holds 3n bytes for a moment and keeps n: the peak is more than what is left. */
static char *load(size_t n)
{
    SONDE_SECTION("load");
    char *raw = calloc(2, n);
    char *data = malloc(n);

    for (size_t i = 0; raw && data && i < n; i++)
        data[i] = raw[2 * i]++;
    free(raw);
    sonde_mark("loaded");
    return data;
}

/* One page and more that outlive the process. */
static uint8_t *map_counters(const char *path)
{
    size_t n = THREADS_MAX * STRIDE;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *p = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, (off_t)n) == 0)
        p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return p == MAP_FAILED ? NULL : p;
}

static int usage(void)
{
    fprintf(stderr, "usage: sections N [THREADS] [--counter FILE]\n");
    return 2;
}

int main(int argc, char **argv)
{
    static struct worker workers[THREADS_MAX];
    const char *counter = NULL;
    uint8_t *counters = NULL;
    uint64_t numbers[2] = { 0, 1 };
    int n_numbers = 0;
    char *data;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--counter") == 0 && i + 1 < argc)
            counter = argv[++i];
        else if (n_numbers < 2 && argv[i][0] >= '0' && argv[i][0] <= '9')
            numbers[n_numbers++] = strtoull(argv[i], NULL, 10);
        else
            return usage();
    }
    if (n_numbers == 0 || numbers[1] < 1 || numbers[1] > THREADS_MAX)
        return usage();
    if (counter && !(counters = map_counters(counter))) {
        perror(counter);
        return 1;
    }
    data = load(8 << 20);
    for (uint64_t i = 0; i < numbers[1]; i++) {
        struct worker *w = &workers[i];

        w->n_steps = numbers[0];
        w->n_done = counters ? (void *)(counters + i * STRIDE) : &w->own;
        if (pthread_create(&w->thread, NULL, work, w) != 0) {
            fprintf(stderr, "cannot start thread %d\n", (int)i);
            return 1;
        }
    }
    for (uint64_t i = 0; i < numbers[1]; i++)
        pthread_join(workers[i].thread, NULL);
    free(data);
    return 0;
}
