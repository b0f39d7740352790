/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SAMPLE_METRICS_H
#define SD_COLLECT_SAMPLE_METRICS_H
/* metrics: the list of metrics.def as numbers and as a table; the options of about.c.
 */
#include "capture/log.h"

enum sd_sample_metric {
#define METRIC(id, name, unit, adds, meaning) SD_SAMPLE_METRIC_##id,
#include "collect/sample/metrics.def"
#undef METRIC
    SD_SAMPLE_N_METRICS
};

extern const struct sd_metric_about sd_sample_metrics[SD_SAMPLE_N_METRICS + 1];

/* In the order of the options in about.c. */
enum sd_sample_option {
    SD_SAMPLE_RATE,
    SD_SAMPLE_MODE,
    SD_SAMPLE_CONSISTENCY,
    SD_SAMPLE_WITH_IDLE,
    SD_SAMPLE_WITH_CHILDREN,
    SD_SAMPLE_WITH_NATIVE,
};
#endif
