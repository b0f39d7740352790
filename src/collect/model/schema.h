/* SPDX-License-Identifier: MIT */
#ifndef SD_MODEL_SCHEMA_H
#define SD_MODEL_SCHEMA_H
/* schema: parses the schema of a torch operator:
 *
 *     aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
 *
 * The text is asked for once per operator and read here, because to ask the same by
 * attributes of torch's objects costs a hundred calls into it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SD_SCHEMA_ARGS_MAX = 48 }; /* those behind are not told of; none has so many */

enum sd_schema_kind {
    SD_ARG_TENSOR,  /* Tensor, Tensor? */
    SD_ARG_TENSORS, /* Tensor[], Tensor?[] */
    SD_ARG_OTHER,
};

struct sd_schema_arg {
    const char *name; /* in the text; not ended by a 0 */
    uint32_t n;
    uint8_t kind;    /* enum sd_schema_kind */
    bool is_written; /* Tensor(a!): the operator writes to it */
};

struct sd_schema {
    const char *name; /* "aten::add", in the text */
    uint32_t n;
    uint32_t n_full; /* with the overload: "aten::add.Tensor" */
    uint32_t n_args;
    struct sd_schema_arg args[SD_SCHEMA_ARGS_MAX];
};

/* Its name without the overload. */
static inline bool sd_schema_is(const struct sd_schema *s, const char *name)
{
    return s->n == strlen(name) && memcmp(s->name, name, s->n) == 0;
}

/* `text` is borrowed as long as the schema is used.  0, or SD_EFORMAT with a sentence.
 */
int sd_schema_read(const char *text, struct sd_schema *out);
#endif
