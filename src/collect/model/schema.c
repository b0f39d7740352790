/* SPDX-License-Identifier: MIT */
#include "collect/model/schema.h"

#include <string.h>

#include "base/error.h"

/* Past what stands in brackets and quotes: the comma or bracket that ends an argument.
 */
static const char *end_of_argument(const char *at)
{
    int depth = 0;
    bool is_quoted = false;

    for (; *at; at++) {
        if (*at == '"' && at[-1] != '\\')
            is_quoted = !is_quoted;
        if (is_quoted)
            continue;
        if (depth == 0 && (*at == ',' || *at == ')'))
            return at;
        depth += *at == '(' || *at == '[';
        depth -= *at == ')' || *at == ']';
    }
    return NULL;
}

/* "Tensor(a!)[] name=default": the type ends with the last blank before a default. */
static void read_argument(const char *from, const char *to, struct sd_schema_arg *out)
{
    const char *equals = memchr(from, '=', (size_t)(to - from));
    const char *end = equals ? equals : to, *name = end, *type_end;

    while (name > from && name[-1] != ' ')
        name--;
    type_end = name > from ? name - 1 : name;
    out->name = name;
    out->n = (uint32_t)(end - name);
    out->kind = SD_ARG_OTHER;
    if (type_end - from >= 6 && memcmp(from, "Tensor", 6) == 0) {
        const char *list = memchr(from, '[', (size_t)(type_end - from));

        out->kind = list ? SD_ARG_TENSORS : SD_ARG_TENSOR;
    }
    out->is_written = memchr(from, '!', (size_t)(type_end - from)) != NULL;
}

static int read_name(const char *text, const char *open, struct sd_schema *out)
{
    const char *dot = memchr(text, '.', (size_t)(open - text));

    out->name = text;
    out->n_full = (uint32_t)(open - text);
    out->n = dot ? (uint32_t)(dot - text) : out->n_full;
    return out->n > 0 ? 0
                      : sd_fail(SD_EFORMAT,
                                "cannot read torch's description (schema) of an "
                                "operator, which has no name: %s",
                                text);
}

int sd_schema_read(const char *text, struct sd_schema *out)
{
    const char *at = strchr(text, '('), *end;

    memset(out, 0, sizeof *out);
    if (!at || read_name(text, at, out) < 0)
        return sd_fail(SD_EFORMAT,
                       "this is not torch's description (schema) of an operator: %s",
                       text);
    for (at++; *at && *at != ')'; at = *end == ',' ? end + 1 : end) {
        while (*at == ' ')
            at++;
        end = end_of_argument(at);
        if (!end)
            return sd_fail(
                SD_EFORMAT,
                "torch's description (schema) of an operator is incomplete: %s", text);
        if (*at == '*' || at == end) /* only keywords follow */
            continue;
        if (out->n_args < SD_SCHEMA_ARGS_MAX)
            read_argument(at, end, &out->args[out->n_args++]);
    }
    return *at == ')'
               ? 0
               : sd_fail(
                     SD_EFORMAT,
                     "torch's description (schema) of an operator is incomplete: %s",
                     text);
}
