/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_WEIGHTS_GGUF_H
#define SD_FORMATS_WEIGHTS_GGUF_H
/* gguf: reads the tensors of a gguf file (llama.cpp), from its header alone.
 *
 *     "GGUF", version (1 to 3), how many tensors, how many facts
 *     facts      key, type, value: "general.architecture" = "llama", ...
 *     tensors    name, how many axes, axes (the innermost first), type, offset
 *     data       from the next multiple of general.alignment (32 unless said)
 *
 * Nothing of the data is read.  Elements of quantised types stand in blocks, so that a
 * tensor has fewer bytes than elements.  Facts that are single values are kept. */
#include "formats/weights/weights.h"

bool sd_gguf_is(const void *p, size_t n);
int sd_gguf_read(const void *p, size_t n, struct sd_weights *to);
#endif
