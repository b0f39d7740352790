/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_MODEL_MODEL_PUT_H
#define SD_CLI_MODEL_MODEL_PUT_H
/* model_put: prints a counted model as tables, data, or a picture. */
#include "analyse/model/model_fit.h"
#include "analyse/model/model_view.h"
#include "base/out.h"
#include "report/report.h"

struct sd_model_fit_request {
    bool is_asked;
    enum sd_optimizer optimizer;
    int64_t batch, available_bytes;
};

void sd_model_put_text(struct sd_out *out, const struct sd_model_costs *c,
                       const struct sd_view *v, const struct sd_model_fit_request *fit,
                       const struct sd_text_style *style);
/* One object: sums of the whole under their names, then the tables. */
void sd_model_put_json(struct sd_out *out, const struct sd_model_costs *c,
                       const struct sd_view *v, const struct sd_model_fit_request *fit);
#endif
