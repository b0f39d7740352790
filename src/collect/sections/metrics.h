/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SECTIONS_METRICS_H
#define SD_COLLECT_SECTIONS_METRICS_H
/* metrics: the list of metrics.def as numbers and as a table. */
#include "capture/log.h"

enum sd_section_metric {
#define METRIC(id, name, unit, adds, meaning) SD_SECTION_##id,
#include "collect/sections/metrics.def"
#undef METRIC
    SD_SECTION_N_METRICS
};

extern const struct sd_metric_about sd_section_metrics[SD_SECTION_N_METRICS + 1];
#endif
