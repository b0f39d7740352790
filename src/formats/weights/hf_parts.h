/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_WEIGHTS_HF_PARTS_H
#define SD_FORMATS_WEIGHTS_HF_PARTS_H
/* hf_parts: what the files of hf_config share.
 *
 *     hf_config    what a configuration says: read, and with what transformers takes
 *                  for what is not said
 *     hf_families  the tensors of its family (hf_families.def), in the sizes it says
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "profile/model/model.h"

enum sd_hf_axis { /* a number of the configuration, and of a tensor */
                  SD_HF_NO_AXIS,
                  SD_HF_0 = SD_HF_NO_AXIS, /* as hf_families.def writes it */
                  SD_HF_VOCAB,
                  SD_HF_HIDDEN,
                  SD_HF_INNER,
                  SD_HF_POSITIONS,
                  SD_HF_TYPES,
                  SD_HF_HEADS,
                  SD_HF_KEY_HEADS,
                  SD_HF_HEAD, /* of one head */
                  SD_HF_LAYERS,
                  SD_HF_DECODER_LAYERS,
                  SD_HF_EXPERTS,
                  SD_HF_LABELS,
                  SD_HF_IMAGE, /* its height, and that of a patch; the width stands
                                  right behind */
                  SD_HF_IMAGE_WIDTH,
                  SD_HF_PATCH_SIDE,
                  SD_HF_PATCH_WIDTH,
                  SD_HF_STRIDE, /* of what a masked image is made again from */
                  SD_HF_CHANNELS,
                  SD_HF_POOLED,
                  SD_HF_BUCKETS,
                  SD_HF_EMBEDDED, /* of a word, where it is not HIDDEN */
                  /* What follows from them. */
                  SD_HF_TWICE,
                  SD_HF_THRICE,
                  SD_HF_QUERY,
                  SD_HF_KEY,
                  SD_HF_QUERY_KEYS,
                  SD_HF_TWICE_INNER,
                  SD_HF_POSITIONS_AND_2,
                  SD_HF_PATCHES_AND_1,
                  SD_HF_PATCH,
                  SD_HF_PIXELS, /* that one place of a masked image becomes */
                  SD_HF_SUMMARY,
                  SD_HF_ONE,
                  SD_HF_TWO,
                  SD_HF_AXES
};

enum sd_hf_yes { SD_HF_NOT_SAID, SD_HF_YES, SD_HF_NO };

struct sd_hf_config {
    char family[64], architecture[96];
    int64_t number[SD_HF_AXES]; /* -1: not known */
    enum sd_hf_yes is_tied, has_bias, has_mlp_bias, has_qkv_bias, has_qk_norms;
    enum sd_hf_yes has_norm_before, has_no_last_norm, has_affine_norms; /* of opt */
    enum sd_hf_yes is_decoder, has_cross_attention;
    enum sd_hf_yes has_summary, is_summary_of_labels; /* of gpt2 */
    bool has_null_key_heads; /* which are then as many as heads */
    char unknown_dtype[64];
    const char *wrong[SD_HF_AXES]; /* the key whose value is no size */
    enum sd_hf_yes is_gated;       /* t5's "gated-gelu" */
    uint8_t dtype;
    bool is_quantized; /* the weights were packed after they were made */
    char quantizer[64];
    int64_t bits; /* 0: not said */
};

static inline bool sd_hf_is_family(const struct sd_hf_config *c, const char *family)
{
    return strcmp(c->family, family) == 0;
}

/* --- hf_config */

/* SD_EFORMAT, with the key that is missing where a size is not known: its own, or that
 * of what it follows from. */
int sd_hf_config_missing(const struct sd_hf_config *c, enum sd_hf_axis axis);

/* --- hf_families */

struct sd_hf_family;

/* 0, or SD_EFORMAT where the configuration says no family; SD_EABSENT for one that is
 * not known: the sentence names those that are. */
int sd_hf_family_find(const struct sd_hf_config *c, const struct sd_hf_family **out);
/* Adds the tensors to the model *m, with a note of what is not known. */
int sd_hf_family_make(const struct sd_hf_family *f, const struct sd_hf_config *c,
                      struct sd_model *m);
#endif
