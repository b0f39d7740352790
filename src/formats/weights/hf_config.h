/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_WEIGHTS_HF_CONFIG_H
#define SD_FORMATS_WEIGHTS_HF_CONFIG_H
/* hf_config: works out the weights that a Hugging Face model would have, from its
 * config.json alone.
 *
 * A family (model_type) is a list of tensors whose axes are numbers of the
 * configuration: hf_families.def.  So a model that was never downloaded can be told in
 * size.  What a configuration does not say has the family's default where transformers
 * has one that follows from the other sizes; without one it is named.  The heads are
 * those that transformers has for the families; with another one the body is counted,
 * and a note says so. */
#include "profile/model/model.h"

/* Adds to the model *m, which is made.  SD_EFORMAT with a sentence; SD_EABSENT for a
 * family that is not known: the sentence names those that are. */
int sd_hf_config_read(const void *p, size_t n, struct sd_model *m);
#endif
