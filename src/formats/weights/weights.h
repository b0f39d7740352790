/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_WEIGHTS_WEIGHTS_H
#define SD_FORMATS_WEIGHTS_WEIGHTS_H
/* weights: turns the tensors of one or several files into a model.
 *
 * A file of weights tells names, types and shapes, and no more: the layers are read off
 * the names ("layer1.0.conv1.weight" is a tensor of the layer "layer1.0.conv1").  What
 * is a parameter and what is not is not told either; only what torch calls the
 * statistics of a batch norm is known to be none. */
#include <stdint.h>

#include "base/table.h"
#include "profile/model/model.h"

struct sd_weights { /* all zero but `into` is a fresh one */
    struct sd_model *into;
    struct sd_table seen; /* ids of the names that were added, to their places */
    int64_t bytes;        /* of all of them */
};

void sd_weights_release(struct sd_weights *w);
/* bytes -1: as many as type and shape make.  SD_EEXISTS, without a sentence: one of
 * this name is there. */
int sd_weights_add(struct sd_weights *w, uint32_t name, uint8_t dtype,
                   struct sd_dims dims, int64_t bytes);
/* Where the tensor of this name is among the model's; SIZE_MAX: nowhere. */
size_t sd_weights_place(const struct sd_weights *w, const char *name, size_t n);
#endif
