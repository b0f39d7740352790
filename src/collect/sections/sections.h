/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SECTIONS_H
#define SD_COLLECT_SECTIONS_H
/* sections: measures named, nested regions of a program.
 *
 * The caller owns a struct sd_section from begin to end (on its stack, or in a
 * Python object) and reads the results from it; when a capture is joined, a copy goes
 * there: OPEN at begin, SPAN at end.  Nesting is the caller's too (`parent`), because
 * only it knows whether it follows threads, tasks or generators.
 *
 * The cost of reading falls outside of what is read: at begin the dearest readings come
 * first and the clock last, at end the other way round. */
#include <stdbool.h>
#include <stdint.h>

#include "collect/session.h"

enum sd_section_measure {                        /* bits */
                          SD_MEASURE_TIME = 1,   /* wall, and the CPU clock asked for */
                          SD_MEASURE_MEMORY = 2, /* rss and vms, before and after */
                          SD_MEASURE_PEAK = 4,
                          SD_MEASURE_IO = 8,
                          SD_MEASURE_NETWORK = 16,
                          SD_MEASURE_PSS = 32, /* only when asked for by name */
                          SD_MEASURE_THREAD_CPU =
                              64, /* set with TIME when thread CPU time is wanted */
                          SD_MEASURE_PROCESS_CPU = 128,
                          SD_MEASURE_ALL = 31,
};

struct sd_reading {
    uint64_t wall_ns;
    uint64_t thread_cpu_ns, process_cpu_ns; /* 0 unless measured */
    int64_t rss_bytes, vms_bytes;           /* -1 unless measured */
    int64_t read_bytes, written_bytes, received_bytes, sent_bytes;
    int64_t pss_bytes; /* at the end only: it costs up to milliseconds */
};

struct sd_section_name { /* one per different path; lives as long as its user needs it
                          */
    const struct sd_section_name *parent;
    const char *name; /* own part of the path, not ended by a 0 */
    uint32_t n;
    uint32_t depth; /* of the path: 1 without a parent */
    uint64_t key;   /* hash of the whole path: sd_section_name_init */
};
void sd_section_name_init(struct sd_section_name *name,
                          const struct sd_section_name *parent, const char *s,
                          uint32_t n);

struct sd_section {
    const struct sd_section_name *name; /* borrowed until end */
    unsigned measure;
    unsigned
        forks;     /* sd_session_forks() at begin: the child of a fork writes no span */
    uint64_t span; /* its number in the capture, or 0 */
    uint64_t task; /* 0, or the number of the asyncio task it runs in */
    struct sd_thread
        thread; /* that began it; set only where a CPU clock or a capture needs it */
    bool is_recorded; /* a capture was joined at begin: a span goes there */
    bool is_moved; /* ended on another thread, or in the child of a fork: CPU times are
                      not those of the section, and end equals start */
    struct sd_reading start, end;
    int64_t peak_bytes; /* -1 unless measured */
    struct sd_peak_region region;
};

/* hot: reads as little as `measure` asks for.  Never fails: what cannot be read is -1.
 */
void sd_section_begin(struct sd_section *s, const struct sd_section_name *name,
                      unsigned measure, uint64_t task);
void sd_section_end(struct sd_section *s, bool raised);

/* A mark at one moment, seen in the time series: a span of no length. */
void sd_section_mark(const struct sd_section_name *name);

/* "time,memory" (or "time+memory") to bits of enum sd_section_measure ("all", "cpu",
 * "process" too). SD_EUSAGE with a sentence that names the word and lists those there
 * are. */
int sd_section_measure_parse(const char *words, unsigned *measure);
/* Which of the metrics (metrics.def, as bits) a section that has ended has besides its
 * times, and their values in that order; returns how many. */
uint64_t sd_section_shape(const struct sd_section *s);
uint32_t sd_section_values(const struct sd_section *s, int64_t *values);
/* What sections measure from now on that do not say so themselves: as blocks of the
 * program want it (section_block), come what the run wants; 0: no block says. */
void sd_section_choose(unsigned measure);
/* hot: what blocks or else the run chose (the option `measure`), or this, where none
 * did. */
unsigned sd_section_measure_or(unsigned fallback);
#endif
