/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_TIME_BATCH_H
#define SD_CAPTURE_TIME_BATCH_H
/* time_batch: one batch of a timed statement, as it is measured, and as the values of a
 * point in a capture.
 *
 * A batch is the statement some times in a row, with the clock read before and behind.
 * What was measured is kept as it was: what is dropped, subtracted or taken for an
 * outlier is decided by whoever reads (analyse/time). */
#include <stddef.h>
#include <stdint.h>

enum sd_time_flags {
    SD_TIME_EMPTY = 1,     /* of the loop alone, with as many turns */
    SD_TIME_PREEMPTED = 2, /* the thread was taken off its CPU */
    SD_TIME_SLEPT = 4,     /* the thread gave its CPU up, to wait for something */
    SD_TIME_FAULTED = 8,   /* the kernel had to bring memory (page faults) */
    SD_TIME_WARM_UP = 16,  /* to find how many turns, or after a wait: does not count */
};

#define SD_TIME_UNKNOWN INT64_MIN

struct sd_time_batch {
    uint64_t at_ns;    /* CLOCK_MONOTONIC, when it began */
    int64_t took_ns;   /* by the run's clock */
    int64_t waited_ns; /* part of it that the thread could have run, and had no CPU; or
                          SD_TIME_UNKNOWN */
    int64_t instructions; /* in user code, the clocks' included; or SD_TIME_UNKNOWN */
    int64_t loops;        /* turns */
    int64_t round;        /* all sides have one batch in a round, in drawn order */
    int64_t speed;        /* ticks of collect/shared/speed behind it */
    int64_t side;         /* which statement */
    int64_t flags;        /* enum sd_time_flags */
};

enum { /* of a point in a capture: what stands in time_batch.def, and the last one */
#define SD_TIME_VALUE(field, unit, name, meaning) SD_TIME_AT_##field,
#include "capture/time_batch.def"
#undef SD_TIME_VALUE
       SD_TIME_AT_set, /* processes of one set measured in turn, at the same time */
       SD_TIME_VALUES
};
#endif
