/* SPDX-License-Identifier: MIT */
#ifndef SONDE_H
#define SONDE_H
/* sonde.h: the public C API of Sonde: sections from C, and captures read from C.
 *
 * Sections cost well under a microsecond with SONDE_TIME alone.  Outside of a
 * capture (no `sonde run`, no SONDE_OUT, no sonde_start) they do nothing.
 *
 *     #include <sonde.h>
 *     void train(void)
 *     {
 *         SONDE_SECTION("train");            // until the end of this block
 *         for (int i = 0; i < 100; i++) {
 *             sonde_section *s = sonde_section_begin("step", SONDE_TIME);
 *             step(i);
 *             sonde_section_end(s);
 *         }
 *     }
 *
 * Build with: cc x.c $(pkg-config --cflags --libs sonde) */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__
#define SONDE_API __attribute__((visibility("default")))
#else
#define SONDE_API
#endif

#define SONDE_VERSION "0.1.0"

/* --- Errors.  Functions that can fail return 0 or a negative number, and leave one
 * sentence for this thread. */
SONDE_API const char *sonde_error(void);
SONDE_API const char *sonde_version(void);

/* --- Recording */

/* Opens a capture that this process writes and seals itself.  Under `sonde run` the
 * run's own capture is there already, and this says so by failing. */
SONDE_API int sonde_start(const char *path);
SONDE_API int sonde_stop(void);

enum sonde_measure { /* what a section reads, as bits */
                     SONDE_TIME = 1,
                     SONDE_MEMORY = 2,
                     SONDE_PEAK = 4,
                     SONDE_IO = 8,
                     SONDE_NETWORK = 16,
                     SONDE_CPU = 64, /* CPU time of the thread */
                     SONDE_ALL = 1 | 2 | 4 | 8 | 16 | 64,
};

typedef struct sonde_section sonde_section;

/* Opens a section inside this thread's innermost one.  Never fails: NULL means that
 * nothing is recorded, and is fine to end.  Sections end in the order opposite to that
 * in which they began; ending an outer one ends those left open inside it. */
SONDE_API sonde_section *sonde_section_begin(const char *name, unsigned measure);
SONDE_API void sonde_section_end(sonde_section *s);
/* A moment worth seeing in the time series. */
SONDE_API void sonde_mark(const char *name);

SONDE_API void sonde_section_leave(sonde_section **s); /* the macro's own */
#define SONDE_PASTE_(a, b) a##b
#define SONDE_PASTE(a, b) SONDE_PASTE_(a, b)
#define SONDE_SECTION(name)                                                            \
    sonde_section *SONDE_PASTE(sonde_section_, __LINE__)                               \
        __attribute__((cleanup(sonde_section_leave), unused)) =                        \
            sonde_section_begin((name), SONDE_ALL)

/* --- Captures */

typedef struct sonde_capture sonde_capture;

typedef struct sonde_total { /* one section, summed over all its runs */
    const char *name;        /* "outer:inner"; borrowed until the capture is closed */
    uint64_t count;
    uint64_t wall_ns, cpu_ns; /* cpu_ns 0 unless measured */
    int64_t peak_bytes;       /* -1 unless measured */
} sonde_total;

SONDE_API int sonde_open(const char *path, sonde_capture **out);
SONDE_API size_t sonde_n_totals(const sonde_capture *c);
SONDE_API sonde_total sonde_get_total(const sonde_capture *c, size_t i);
/* NULL when the capture is whole, else one sentence on what is missing. */
SONDE_API const char *sonde_complaint(const sonde_capture *c);
SONDE_API void sonde_close(sonde_capture *c);

#ifdef __cplusplus
}
#endif
#endif
