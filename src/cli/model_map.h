/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_MODEL_MAP_H
#define SD_CLI_MODEL_MAP_H
/* model_map: the graph of a model's layers, or at which depth it could be drawn. */
#include "analyse/model/model_view.h"
#include "base/out.h"
#include "report/report.h"

/* SD_EUSAGE where it has too many boxes to be looked at; the sentence has the largest
 * depth that is small enough, if there is one. */
int sd_model_put_map(struct sd_out *out, enum sd_picture kind,
                     const struct sd_model_costs *c, enum sd_model_metric metric,
                     uint32_t n_levels);
#endif
