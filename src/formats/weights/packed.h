/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_WEIGHTS_PACKED_H
#define SD_FORMATS_WEIGHTS_PACKED_H
/* packed: recognises quantised weights, with several elements in one number, by the
 * names of the tensors beside them:
 *
 *     gptq, awq      x.qweight, x.scales, x.qzeros [, x.g_idx]: 32-bit integers
 *     bitsandbytes   x.weight, x.weight.absmax, x.weight.quant_map, ...: two in a byte
 *     mxfp4          x_blocks, x_scales: two in a byte
 *
 * Each is counted as the elements it stands for, in the bytes that are stored, and what
 * belongs to it is a buffer. */
#include "formats/weights/weights.h"

/* After all files of a model; a note says that there are such. */
int sd_packed_count(struct sd_weights *w);
#endif
