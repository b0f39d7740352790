/* SPDX-License-Identifier: MIT */
#include "analyse/model/model_modes.h"

#include <string.h>

#include "base/error.h"

static const struct {
    const char *word, *definition;
} modes[] = {
#define MODE(name, word, definition) { word, definition },
#include "analyse/model/modes.def"
#undef MODE
};

static const char all_words[] = /* each with ", " before it */
#define MODE(name, word, definition) ", " word
#include "analyse/model/modes.def"
#undef MODE
    ;

const char *sd_model_mode_name(enum sd_model_mode mode) { return modes[mode].word; }

const char *sd_model_mode_definition(enum sd_model_mode mode)
{
    return modes[mode].definition;
}

int sd_model_mode_named(const char *name, enum sd_model_mode *mode)
{
    for (size_t i = 0; i < SD_COUNT_MODES; i++)
        if (!strcmp(modes[i].word, name)) {
            *mode = (enum sd_model_mode)i;
            return 0;
        }
    return sd_fail(SD_EUSAGE, "there is no counting mode '%s'; the modes are %s", name,
                   all_words + 2);
}

const struct sd_mode *sd_model_mode_of(enum sd_model_mode mode)
{
    static const struct sd_mode all[SD_COUNT_MODES] = {
        [SD_COUNT_METINOR] = { .layer = sd_mode_metinor, .once = true },
        [SD_COUNT_FVCORE] = { .op = sd_mode_fvcore },
        [SD_COUNT_THOP] = { .layer = sd_mode_thop },
        [SD_COUNT_PTFLOPS] = { .op = sd_mode_ptflops },
        [SD_COUNT_PTFLOPS_HOOKS] = { .op = sd_mode_ptflops_functions,
                                     .layer = sd_mode_ptflops_hooks,
                                     .whole = sd_mode_layer_is_attention },
        [SD_COUNT_TORCHINFO] = { .layer = sd_mode_torchinfo },
    };

    return &all[mode];
}

bool sd_model_mode_is_of_modules(enum sd_model_mode mode)
{
    return sd_model_mode_of(mode)->layer != NULL;
}

/* --- Questions */

bool sd_mode_layer_is(const struct sd_model *m, uint32_t layer, const char *type)
{
    return !strcmp(sd_model_text(m, m->layers[layer].type), type);
}

bool sd_mode_layer_is_any(const struct sd_model *m, uint32_t layer,
                          const char *const *types)
{
    for (; *types; types++)
        if (sd_mode_layer_is(m, layer, *types))
            return true;
    return false;
}

bool sd_mode_layer_is_nd(const struct sd_model *m, uint32_t layer, const char *stem)
{
    const char *type = sd_model_text(m, m->layers[layer].type);
    size_t n = strlen(stem);

    return !strncmp(type, stem, n) && type[n] >= '1' && type[n] <= '3' &&
           !strcmp(type + n + 1, "d");
}

bool sd_mode_layer_is_attention(const struct sd_model *m, uint32_t layer)
{
    return sd_mode_layer_is(m, layer, "MultiheadAttention") &&
           sd_model_layer_number(m, layer, "num_heads", 0, 0) > 0 &&
           (sd_mode_layer_has(m, layer, "in_proj_weight") ||
            sd_mode_layer_has(m, layer, "q_proj_weight"));
}

int64_t sd_mode_layer_params(const struct sd_model *m, uint32_t layer)
{
    int64_t all = 0;

    for (uint32_t i = m->layers[layer].first_tensor; i; i = m->tensors[i - 1].next)
        if (m->tensors[i - 1].flags & SD_TENSOR_PARAMETER)
            all = sd_plus(all, sd_dims_elements(m->tensors[i - 1].dims));
    return all;
}

/* The last part of a tensor's name is what its layer calls it. */
const struct sd_model_tensor *sd_mode_layer_tensor(const struct sd_model *m,
                                                   uint32_t layer, const char *name)
{
    for (uint32_t i = m->layers[layer].first_tensor; i; i = m->tensors[i - 1].next) {
        const char *whole = sd_model_text(m, m->tensors[i - 1].name);
        const char *dot = strrchr(whole, '.');

        if (!strcmp(dot ? dot + 1 : whole, name))
            return &m->tensors[i - 1];
    }
    return NULL;
}

bool sd_mode_layer_has(const struct sd_model *m, uint32_t layer, const char *name)
{
    return sd_mode_layer_tensor(m, layer, name) != NULL;
}

const struct sd_operand *sd_mode_call_in(const struct sd_layer_call *c)
{
    return c->n_in > 0 ? &c->in[0] : NULL;
}

const struct sd_operand *sd_mode_call_out(const struct sd_layer_call *c)
{
    return c->n_out > 0 ? &c->out[0] : NULL;
}

int64_t sd_mode_call_in_elements(const struct sd_layer_call *c)
{
    return c->n_in > 0 ? sd_operand_elements(&c->in[0]) : 0;
}

int64_t sd_mode_call_out_elements(const struct sd_layer_call *c)
{
    return c->n_out > 0 ? sd_operand_elements(&c->out[0]) : 0;
}
