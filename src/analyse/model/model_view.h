/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_MODEL_MODEL_VIEW_H
#define SD_ANALYSE_MODEL_MODEL_VIEW_H
/* model_view: what a model costs: the words and pictures of its views (views.def).
 *
 * A layer has one row, under the name that its program gave it; the model itself is
 * shown by its type.  Numbers are those of analyse/model/model_costs.h and stand in the
 * unit of their metric: counts, elements, bytes, nanoseconds. */
#include "analyse/model/model_costs.h"
#include "analyse/views.h"

/* --- Words */

/* "ResNet18", or what else is known of it: the file's name, "model". */
const char *sd_model_words_title(const struct sd_model *m);
/* A layer's name in the model; of the model itself its title. */
const char *sd_model_words_layer(const struct sd_model *m, uint32_t layer);
/* Inside its parent a layer goes by the rest of its name. */
const char *sd_model_words_short_name(const struct sd_model *m, uint32_t layer);
/* The type of most elements of its parameters, as torch calls it; "float32" without
 * any. */
const char *sd_model_words_dtype(const struct sd_model *m);
/* Files of weights do not say what is trained. */
bool sd_model_knows_training(const struct sd_model *m);
/* Is it known what is computed?  Of a model that ran and of a graph, also where that is
 * nothing; weights alone do not tell. */
bool sd_model_knows_operators(const struct sd_model *m);
/* "1×3×224×224"; "1×10, 1×10" of several; in the arena, NULL without memory. */
const char *sd_model_words_operands(struct sd_arena *a, const struct sd_operand *o,
                                    size_t n);

/* FLOPs a second in forward and backward, as far as they were timed: those of the
 * backward count only with its time.  They are ours, however the costs are counted.
 * 0: nothing was timed. */
double sd_model_column_rate(const struct sd_model_sum *s);

/* --- Pictures */

enum sd_model_bars_kind {
    SD_MODEL_BARS_TOP,    /* the `limit` layers with most of the metric */
    SD_MODEL_BARS_IMPACT, /* their shares of it, all layers that have any */
    SD_MODEL_BARS_LAYERS, /* the metric of layers in the order they ran */
    SD_MODEL_BARS_MEMORY, /* what each reads and writes, in that order */
    SD_MODEL_BARS_TYPES,  /* the metric of types of layers */
};
/* Fails: a metric was asked for that nobody measured.  Says with what it would have
 * been; files and captures cannot be asked again. */
int sd_model_pictures_not_measured(enum sd_model_metric k);

/* The request says which metric, of which type of layers, and how many.  All in the
 * arena. */
int sd_model_bars(const struct sd_model_costs *c, enum sd_model_bars_kind kind,
                  const struct sd_view_request *w, struct sd_arena *a,
                  struct sd_view_bars *out);

/* Layers that do arithmetic in the roofline of a machine: its peak and the bandwidth of
 * its memory, as the request has them. */
int sd_model_roofline(const struct sd_model_costs *c, const struct sd_view_request *r,
                      struct sd_arena *a, struct sd_view_roofline *out);

/* Layers and what goes from one to another, coloured by a metric.  Layers that lie
 * deeper than so many levels (1: the model alone; 0: all) are part of those that hold
 * them. */
int sd_model_map(const struct sd_model_costs *c, enum sd_model_metric metric,
                 uint32_t n_levels, struct sd_arena *a, struct sd_view_map *out);
#endif
