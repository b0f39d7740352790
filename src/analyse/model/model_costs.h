/* SPDX-License-Identifier: MIT */
#ifndef SD_ANALYSE_MODEL_MODEL_COSTS_H
#define SD_ANALYSE_MODEL_MODEL_COSTS_H
/* model_costs: works out what a model costs, layer by layer, type by type, operator by
 * operator.
 *
 * A row is a leaf layer that was called, or any layer that itself has tensors,
 * operators that cost or operators without a rule; so the shares of the rows in
 * parameters and MACs add up to 100 %.  Times, and bytes that operators move or keep,
 * are also those of layers without a row (the addition of a block), and the rows may
 * lack these.  Rows stand in the order of first calls, those that were never called at
 * the end.  A layer that was called more than once is one row.  How MACs, FLOPs and
 * MAdds are counted is the mode's: ours, or that of another tool, for comparison
 * (modes.def). */
#include <stdint.h>

#include "analyse/model/op_cost.h"
#include "profile/model/model.h"

enum sd_model_mode {
#define MODE(name, word, definition) SD_COUNT_##name,
#include "analyse/model/modes.def"
#undef MODE
    SD_COUNT_MODES
};

const char *sd_model_mode_name(enum sd_model_mode mode);       /* "macs", "fvcore" */
const char *sd_model_mode_definition(enum sd_model_mode mode); /* a sentence or two */
/* Tools that look at torch's modules as they are called: they see no backward, and
 * nothing of a file, which has operators. */
bool sd_model_mode_is_of_modules(enum sd_model_mode mode);
/* 0, or SD_EUSAGE with a sentence that names those there are. */
int sd_model_mode_named(const char *name, enum sd_model_mode *mode);

/* The numbers of a layer, of a type, of all. */
struct sd_model_sum {
    int64_t params, trainable; /* elements; tied ones once */
    int64_t buffers;           /* elements */
    int64_t param_bytes, buffer_bytes;
    int64_t macs, flops, madds;        /* all calls, backward ones too */
    int64_t backward_macs;             /* of these, in the backward */
    int64_t work, backward_work;       /* FLOPs of all calls, and of the backward ones,
                                          by our own definition in every mode: what a
                                          machine did is not for a tool to say */
    int64_t moved_work;                /* FLOPs that were timed here and are another
                                          layer's; below 0: that were timed elsewhere */
    int64_t mem_read, mem_write;       /* elements, as metinor counts: of a leaf its
                                          inputs and parameters, its outputs */
    int64_t read_bytes, written_bytes; /* by its operators */
    int64_t activations;               /* elements that products wrote (fvcore) */
    int64_t time_ns, backward_ns;      /* SD_MODEL_NONE: not measured */
    int64_t activation_bytes;          /* SD_MODEL_NONE: not known */
    uint64_t n_ops, n_unknown;         /* calls of operators */
    uint64_t n_calls;                  /* calls of the layers */
    uint32_t n_layers;
};

struct sd_model_row {
    uint32_t layer; /* a place in model->layers */
    struct sd_model_sum sum;
};

struct sd_model_group {        /* of a type of layers, or an operator */
    uint32_t name;             /* in model->strings */
    enum sd_op_coverage known; /* of an operator: UNKNOWN when any call was */
    struct sd_model_sum sum;
};

struct sd_model_costs {
    const struct sd_model *model; /* borrowed */
    enum sd_model_mode mode;
    struct sd_model_row *rows; /* owned, as those below */
    size_t n_rows;
    struct sd_model_sum *own;    /* of each place in model->layers: its own */
    struct sd_model_sum *within; /* the same with all layers in it: for trees */
    struct sd_model_group *types;
    size_t n_types;
    struct sd_model_group *operators; /* in the order of first calls */
    size_t n_operators;
    struct sd_model_sum total;
    double coverage; /* calls of operators that have a rule, of all; 1 when there were
                        none */
};

/* 0, SD_ENOMEM, or SD_EUSAGE: the mode is of a tool of modules, which counts no
 * backward, and the model has one.  Released equals fresh memory. */
int sd_model_costs(const struct sd_model *m, enum sd_model_mode mode,
                   struct sd_model_costs *costs);
/* The same, but `operators` has only those that ran in this layer or in one that it
 * holds. */
int sd_model_costs_within(const struct sd_model *m, enum sd_model_mode mode,
                          uint32_t layer, struct sd_model_costs *costs);
void sd_model_costs_release(struct sd_model_costs *costs);
/* A sentence where a sum stopped at the largest number that there is room for, which is
 * to be shown wherever its numbers are; else NULL. */
const char *sd_model_costs_beyond(const struct sd_model_costs *costs);
/* The same sentence, where one of these stopped there. */
const char *sd_model_costs_sums_beyond(const int64_t *sums, size_t n);

/* --- Metrics: the columns that can be sorted by, plotted and shared out. */

enum sd_model_metric {
#define METRIC(name, word, unit, title, field) SD_BY_##name,
#include "analyse/model/model_metrics.def"
#undef METRIC
    SD_BY_END
};

enum sd_model_unit { SD_MODEL_COUNT, SD_MODEL_ELEMENTS, SD_MODEL_BYTES, SD_MODEL_NS };

const char *sd_model_metric_word(enum sd_model_metric k);  /* "macs", "mem_read" */
const char *sd_model_metric_title(enum sd_model_metric k); /* "MACs" */
enum sd_model_unit sd_model_metric_unit(enum sd_model_metric k);
int sd_model_metric_named(const char *word, enum sd_model_metric *k); /* any case */
int64_t sd_model_metric_of(const struct sd_model_sum *s, enum sd_model_metric k);

enum sd_model_direction { SD_MODEL_LARGEST_FIRST, SD_MODEL_SMALLEST_FIRST };

/* Places in costs->rows, by a metric; equal ones stay in their order.  `order` has room
 * for n_rows. */
void sd_model_metric_order(const struct sd_model_costs *costs, enum sd_model_metric k,
                           enum sd_model_direction direction, uint32_t *order);
#endif
