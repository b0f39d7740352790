/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_RSS_METRICS_H
#define SD_COLLECT_RSS_METRICS_H
/* metrics: the list of metrics.def as numbers and as a table. */
#include "capture/log.h"

enum sd_rss_metric {
#define METRIC(id, name, unit, adds, meaning) SD_RSS_##id,
#include "collect/rss/metrics.def"
#undef METRIC
    SD_RSS_N_METRICS
};

extern const struct sd_metric_about sd_rss_metrics[SD_RSS_N_METRICS + 1];

/* In the order of the options in about.c. */
enum sd_rss_option { SD_RSS_EVERY, SD_RSS_CHILDREN, SD_RSS_WITH_PSS, SD_RSS_WITH_TCP };
#endif
