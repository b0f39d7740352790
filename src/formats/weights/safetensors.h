/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_WEIGHTS_SAFETENSORS_H
#define SD_FORMATS_WEIGHTS_SAFETENSORS_H
/* safetensors: reads the tensors of a safetensors file, from its header alone.
 *
 *     8 bytes   length of the header, little-endian
 *     header    JSON: {"name": {"dtype": "F32", "shape": [3, 4],
 *               "data_offsets": [0, 48]}, ..., "__metadata__": {"format": "pt"}}
 *     data      the tensors, one after the other, to the end of the file
 *
 * Nothing of the data is read, so that a file of any size takes as long as its header.
 * What the library itself refuses to load is refused here: offsets that leave holes,
 * overlap, do not fit type and shape, or do not end where the file does. */
#include "formats/weights/weights.h"

bool sd_safetensors_is(const void *p, size_t n);
/* The whole file as bytes (a mapping).  Adds its tensors; SD_EFORMAT with a sentence.
 */
int sd_safetensors_read(const void *p, size_t n, struct sd_weights *to);
#endif
