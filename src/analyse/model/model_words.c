/* SPDX-License-Identifier: MIT */
/* model_words: names a model, its layers and its shapes. */
#include <string.h>

#include "analyse/model/model_view.h"

const char *sd_model_words_title(const struct sd_model *m)
{
    const char *type = sd_model_text(m, m->layers[SD_MODEL_ROOT].type);
    const char *path = sd_model_fact_of(m, "path");
    const char *slash = path ? strrchr(path, '/') : NULL;

    if (*type)
        return type;
    return slash && slash[1] ? slash + 1 : path ? path : "model";
}

const char *sd_model_words_dtype(const struct sd_model *m)
{
    int64_t elements[UINT8_MAX + 1] = { 0 }; /* one of a damaged file may be any */
    size_t most = SD_DTYPE_F32;

    for (size_t i = 0; i < m->n_tensors; i++) {
        const struct sd_model_tensor *t = &m->tensors[i];

        if (t->flags & SD_TENSOR_PARAMETER && !(t->flags & SD_TENSOR_TIED))
            elements[t->dtype] = sd_plus(elements[t->dtype], sd_dims_elements(t->dims));
    }
    for (size_t i = 0; i <= UINT8_MAX; i++)
        if (elements[i] > elements[most])
            most = i;
    return sd_dtype_about((uint8_t)most)->name;
}

bool sd_model_knows_training(const struct sd_model *m)
{
    const char *source = sd_model_fact_of(m, "source");

    return !source || strncmp(source, "torch", 5) == 0;
}

bool sd_model_knows_operators(const struct sd_model *m)
{
    const char *source = sd_model_fact_of(m, "source");

    return m->n_ops > 0 || sd_model_fact_of(m, "ran_on") ||
           (source && strncmp(source, "onnx", 4) == 0);
}

static void put_dims(struct sd_buf *to, struct sd_dims d)
{
    if (d.n == 0)
        sd_buf_text(to, "scalar");
    for (uint32_t i = 0; i < d.n; i++) {
        sd_buf_text(to, i ? "×" : "");
        if (d.d[i] < 0)
            sd_buf_text(to, "?");
        else
            sd_buf_printf(to, "%lld", (long long)d.d[i]);
    }
}

static const char *kept(struct sd_arena *a, struct sd_buf *text)
{
    const char *copy =
        text->bad ? NULL : sd_arena_string(a, sd_buf_string(text), text->n);

    sd_buf_release(text);
    return copy;
}

const char *sd_model_words_operands(struct sd_arena *a, const struct sd_operand *o,
                                    size_t n)
{
    enum { MOST = 4 };
    struct sd_buf text = { 0 };
    size_t n_put = 0;

    for (size_t i = 0; i < n; i++) {
        if (o[i].kind != SD_OPERAND_TENSOR && o[i].kind != SD_OPERAND_MEMBER)
            continue;
        if (n_put++ >= MOST)
            continue;
        sd_buf_text(&text, n_put > 1 ? ", " : "");
        put_dims(&text, o[i].dims);
    }
    if (n_put > MOST)
        sd_buf_printf(&text, ", %zu more", n_put - MOST);
    return kept(a, &text);
}

const char *sd_model_words_layer(const struct sd_model *m, uint32_t layer)
{
    const char *name = sd_model_text(m, m->layers[layer].name);

    return *name ? name : layer == SD_MODEL_ROOT ? sd_model_words_title(m) : "?";
}

const char *sd_model_words_short_name(const struct sd_model *m, uint32_t layer)
{
    const char *name = sd_model_words_layer(m, layer);
    const char *above = sd_model_text(m, m->layers[m->layers[layer].parent].name);
    size_t n = strlen(above);

    if (layer != SD_MODEL_ROOT && n > 0 && strncmp(name, above, n) == 0 &&
        name[n] == '.' && name[n + 1])
        return name + n + 1;
    return name;
}
