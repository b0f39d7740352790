/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_MODEL_MAP_SIZE_H
#define SD_CLI_MODEL_MAP_SIZE_H
/* map_size: checks that the graph of a model's layers is small enough to be looked at,
 * or says at which depth it would be. */
#include "analyse/model/model_view.h"
#include "report/report.h"

/* 0 where it is, and of everything else that is drawn.  SD_EUSAGE where it has too many
 * boxes; the sentence has the largest depth that is small enough, if there is one. */
int sd_map_size_check(const struct sd_model_costs *c, const struct sd_view_request *r,
                      const struct sd_drawing *d);
#endif
