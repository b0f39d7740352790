/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_MODEL_DTYPE_H
#define SD_PROFILE_MODEL_DTYPE_H
/* dtype: the element types of tensors. dtypes.def is the list, with the words that
 * torch, ONNX, safetensors and gguf have for each.  Elements of the quantised types of
 * gguf stand in blocks that have a size of their own. */
#include <stddef.h>
#include <stdint.h>

/* On disk: values never change. */
enum sd_dtype {
#define DTYPE(name, value, ...) SD_DTYPE_##name = value,
#include "profile/model/dtypes.def"
#undef DTYPE
    SD_DTYPE_END
};

struct sd_dtype_about {
    const char *name;        /* ours, and torch's where it has one: "float32" */
    const char *safetensors; /* "F32"; "" where it has none */
    const char *gguf;        /* "F32", "Q4_K" */
    int16_t onnx;            /* TensorProto.DataType; -1: none */
    int16_t ggml;            /* enum ggml_type; -1: none */
    uint16_t block_elements; /* elements of a block: 1 but of quantised types; of types
                                that are smaller than a byte as many as fill one */
    uint16_t block_bytes;
};

/* Of UNKNOWN too, for any number that is none of them. */
const struct sd_dtype_about *sd_dtype_about(uint8_t dtype);

/* SD_DTYPE_UNKNOWN when there is none of that name or number. */
enum sd_dtype sd_dtype_named(const char *name,
                             size_t n); /* "float32", "torch.float32" */
enum sd_dtype sd_dtype_of_safetensors(const char *name, size_t n);
enum sd_dtype sd_dtype_of_onnx(int64_t number);
enum sd_dtype sd_dtype_of_ggml(int64_t number);

/* Of that many elements; a block that is not full counts whole.  0 of UNKNOWN.  Stops
 * at INT64_MAX. */
int64_t sd_dtype_bytes(uint8_t dtype, int64_t elements);
#endif
