/* SPDX-License-Identifier: MIT */
#include "profile/model/dtype.h"

#include <string.h>

#include "base/assert.h"

static const struct sd_dtype_about abouts[] = {
#define DTYPE(name, value, ours, safetensors, gguf, onnx, ggml, elements, bytes)       \
    [value] = { ours, safetensors, gguf, onnx, ggml, elements, bytes },
#include "profile/model/dtypes.def"
#undef DTYPE
};

enum { N_ABOUTS = sizeof abouts / sizeof abouts[0] };

_Static_assert((int)N_ABOUTS == (int)SD_DTYPE_END,
               "the last in the list is the largest");
_Static_assert((int)N_ABOUTS <= UINT8_MAX, "a byte on disk");

/* Values have gaps, whose names are NULL. */
const struct sd_dtype_about *sd_dtype_about(uint8_t dtype)
{
    if (dtype >= N_ABOUTS || !abouts[dtype].name)
        return &abouts[SD_DTYPE_UNKNOWN];
    return &abouts[dtype];
}

static int is_word(const char *word, const char *p, size_t n)
{
    return word && *word && strlen(word) == n && memcmp(word, p, n) == 0;
}

enum sd_dtype sd_dtype_named(const char *name, size_t n)
{
    static const char prefix[] = "torch.";

    if (n > sizeof prefix - 1 && memcmp(name, prefix, sizeof prefix - 1) == 0) {
        name += sizeof prefix - 1;
        n -= sizeof prefix - 1;
    }
    for (size_t i = 0; i < N_ABOUTS; i++)
        if (is_word(abouts[i].name, name, n))
            return (enum sd_dtype)i;
    return SD_DTYPE_UNKNOWN;
}

enum sd_dtype sd_dtype_of_safetensors(const char *name, size_t n)
{
    for (size_t i = 0; i < N_ABOUTS; i++)
        if (is_word(abouts[i].safetensors, name, n))
            return (enum sd_dtype)i;
    return SD_DTYPE_UNKNOWN;
}

enum sd_dtype sd_dtype_of_onnx(int64_t number)
{
    for (size_t i = 0; i < N_ABOUTS; i++)
        if (abouts[i].name && number >= 0 && abouts[i].onnx == number)
            return (enum sd_dtype)i;
    return SD_DTYPE_UNKNOWN;
}

enum sd_dtype sd_dtype_of_ggml(int64_t number)
{
    for (size_t i = 0; i < N_ABOUTS; i++)
        if (abouts[i].name && number >= 0 && abouts[i].ggml == number)
            return (enum sd_dtype)i;
    return SD_DTYPE_UNKNOWN;
}

int64_t sd_dtype_bytes(uint8_t dtype, int64_t elements)
{
    const struct sd_dtype_about *a = sd_dtype_about(dtype);
    int64_t blocks, bytes;

    sd_assert(a->block_elements > 0);
    if (elements <= 0)
        return 0;
    blocks = elements / a->block_elements + (elements % a->block_elements != 0);
    return __builtin_mul_overflow(blocks, (int64_t)a->block_bytes, &bytes) ? INT64_MAX
                                                                           : bytes;
}
