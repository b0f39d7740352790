/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_PICTURE_AXIS_H
#define SD_REPORT_PICTURE_AXIS_H
/* axis: chooses round numbers and a unit for an axis. */
#include <stdbool.h>
#include <stddef.h>

#include "analyse/view.h"

struct sd_axis {
    double from, to;  /* in the data's own unit */
    double scale;     /* of the data's unit in one of the shown: 1048576 for MiB */
    const char *unit; /* "MiB", "s", "%"; "" for counts */
    double step;      /* between ticks, in the shown unit */
    int decimals;     /* that the ticks need */
};

/* From 0 to a little above `most`; about n_ticks ticks. */
struct sd_axis sd_axis_of_values(enum sd_cell_kind kind, double most, int n_ticks);
/* From..to in seconds, exactly: no empty stretch before or after the run. */
struct sd_axis sd_axis_of_time(double from, double to, int n_ticks);

/* The ith tick in the data's unit; false when it lies behind the end. */
bool sd_axis_tick(const struct sd_axis *a, int i, double *at);
/* "12", "0.5", "1,000": into `out`, without the unit. */
void sd_axis_text(const struct sd_axis *a, double at, char *out, size_t n);
#endif
