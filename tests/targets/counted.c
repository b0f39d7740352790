/* SPDX-License-Identifier: MIT */
/* counted: the same as counted.py, in C: sections until told to stop, counted by the
 * program itself in a shared page.
 *
 *     counted PAGE [THREADS]
 *
 * Words of the page: 0 to 15 sections finished by each thread, 256 our pid, 257 asks us
 * to stop, 258 is 1 after an orderly end.  A count is stored after the section has
 * ended, so a capture may be ahead of it by one section per thread, and never behind.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sonde.h>

enum { MOST_THREADS = 16, PID = 256, STOP = 257, DONE = 258 };
enum {
    MOST_SECTIONS = 4000000
}; /* whoever forgot to stop us finds the disk not full */

static volatile uint64_t *words;

static void *work(void *mine)
{
    uint64_t n = 0;

    while (!words[STOP] && n < MOST_SECTIONS) {
        sonde_section *s = sonde_section_begin("work", SONDE_TIME);
        n++;
        sonde_section_end(s);
        words[(uintptr_t)mine] = n;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST_THREADS];
    int n_threads = argc > 2 ? atoi(argv[2]) : 1;
    int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (page == MAP_FAILED || n_threads < 1 || n_threads > MOST_THREADS) {
        fputs("usage: counted PAGE [THREADS]\n", stderr);
        return 2;
    }
    close(fd);
    words = page;
    words[PID] = (uint64_t)getpid();
    for (int i = 1; i < n_threads; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i) != 0)
            return 1;
    work(NULL);
    for (int i = 1; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    words[DONE] = 1;
    return 0;
}
