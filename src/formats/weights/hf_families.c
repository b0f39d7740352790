/* SPDX-License-Identifier: MIT */
#include "formats/weights/hf_parts.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/weights/weights.h"

enum { /* no model has more; a text may claim any number */
       LAYERS_MAX = 10000,
       EXPERTS_MAX = 1000,
       TENSORS_MAX = 250000, /* five times what 60 layers of 256 experts have */
};

/* --- The list */

enum when {
    ALWAYS,
    IF_BASE,
    IF_POOLED,
    IF_CHOICE_POOLED,
    /* Of heads. */
    IF_MASKED,
    IF_MASKED_UNTIED,
    IF_LANGUAGE,
    IF_UNTIED,
    IF_CLASSES,
    IF_TOKENS,
    IF_ANSWERS,
    IF_CHOICE,
    IF_CLASSES_OR_CHOICE,
    IF_NEXT_SENTENCE,
    IF_SUMMARY,
    IF_MASKED_IMAGE,
    /* Of the body again. */
    IF_MASK_TOKEN,
    IF_CROSS,
    IF_BIAS,
    IF_QKV_BIAS,
    IF_VIT_BIAS,
    IF_NOT_BARE,
    IF_MLP_BIAS,
    IF_HEAD_NORMS,
    IF_FOUR_NORMS,
    IF_DENSE,
    IF_MIXED,
    IF_PLAIN_FF,
    IF_GATED_FF,
    IF_DECODER,
    IF_QK_NORMS,
    IF_LAST_NORM,
    IF_AFFINE,
    IF_PROJECTED,
};
enum often { ONCE, EACH, DECODER, EXPERT };

struct part {
    enum often often;
    enum when when;
    const char *name;
    enum sd_hf_axis axes[2];
};

#define TENSORS(list) static const struct part list[] = {
#define PART(often, when, name, first, second)                                         \
    { often, when, name, { SD_HF_##first, SD_HF_##second } },
#define END                                                                            \
    {                                                                                  \
        0                                                                              \
    }                                                                                  \
    }                                                                                  \
    ;
#define FAMILY(name, parts, is_tied, prefix, class)
#include "formats/weights/hf_families.def"
#undef TENSORS
#undef PART
#undef END
#undef FAMILY

static const struct sd_hf_family {
    const char *name;
    const struct part *parts;
    bool is_tied;
    const char *prefix;
    const char *class; /* how the names of its architectures begin */
} families[] = {
#define TENSORS(list)
#define PART(often, when, name, first, second)
#define END
#define FAMILY(name, parts, is_tied, prefix, class)                                    \
    { name, parts, is_tied, prefix, class },
#include "formats/weights/hf_families.def"
#undef TENSORS
#undef PART
#undef END
#undef FAMILY
};

/* --- Heads */

enum head {
    NO_HEAD,
    LANGUAGE,
    MASKED,
    CLASSES,
    TOKENS,  /* classes of each token */
    ANSWERS, /* where the answer to a question begins and ends */
    CHOICE,  /* of several */
    NEXT_SENTENCE,
    PRETRAINING,  /* bert's: MASKED and NEXT_SENTENCE */
    DOUBLE,       /* gpt2's: LANGUAGE and CHOICE */
    MASKED_IMAGE, /* vit's */
    OTHER_HEAD
};

static const struct {
    const char *suffix; /* of the architecture, behind its class */
    enum head head;
} heads[] = {
    { "ForCausalLM", LANGUAGE },
    { "LMHeadModel", LANGUAGE },
    { "WithLMHeadModel", LANGUAGE },
    { "ForConditionalGeneration", LANGUAGE },
    { "ForMaskedLM", MASKED },
    { "ForSequenceClassification", CLASSES },
    { "ForImageClassification", CLASSES },
    { "ForTokenClassification", TOKENS },
    { "ForQuestionAnswering", ANSWERS },
    { "ForMultipleChoice", CHOICE },
    { "ForNextSentencePrediction", NEXT_SENTENCE },
    { "ForPreTraining", PRETRAINING },
    { "DoubleHeadsModel", DOUBLE },
    { "ForMaskedImageModeling", MASKED_IMAGE },
    { "Model", NO_HEAD },
    { "EncoderModel", NO_HEAD },
};

/* An architecture of another class is none of the family's, whatever it is. */
static enum head head_of(const char *architecture, const char *class)
{
    size_t n = strlen(class);

    if (!architecture[0])
        return NO_HEAD;
    if (strncasecmp(architecture, class, n) != 0)
        return OTHER_HEAD;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (strcmp(architecture + n, heads[i].suffix) == 0)
            return heads[i].head;
    return OTHER_HEAD;
}

/* Is a tensor of this kind one of the head?  Tied ones count: they say that there is
 * such a head. */
static bool is_of_head(enum when when, enum head head)
{
    switch (when) {
    case IF_LANGUAGE:
    case IF_UNTIED:
        return head == LANGUAGE || head == DOUBLE;
    case IF_MASKED:
    case IF_MASKED_UNTIED:
        return head == MASKED || head == PRETRAINING;
    case IF_CLASSES:
        return head == CLASSES;
    case IF_TOKENS:
        return head == TOKENS;
    case IF_ANSWERS:
        return head == ANSWERS;
    case IF_CHOICE:
        return head == CHOICE;
    case IF_CLASSES_OR_CHOICE:
        return head == CLASSES || head == CHOICE;
    case IF_NEXT_SENTENCE:
        return head == NEXT_SENTENCE || head == PRETRAINING;
    case IF_SUMMARY:
        return head == DOUBLE;
    case IF_MASKED_IMAGE:
        return head == MASKED_IMAGE;
    case ALWAYS:
    case IF_BASE:
    case IF_POOLED:
    case IF_CHOICE_POOLED:
    case IF_MASK_TOKEN:
    case IF_CROSS:
    case IF_BIAS:
    case IF_QKV_BIAS:
    case IF_VIT_BIAS:
    case IF_NOT_BARE:
    case IF_MLP_BIAS:
    case IF_HEAD_NORMS:
    case IF_FOUR_NORMS:
    case IF_DENSE:
    case IF_MIXED:
    case IF_PLAIN_FF:
    case IF_GATED_FF:
    case IF_DECODER:
    case IF_QK_NORMS:
    case IF_LAST_NORM:
    case IF_AFFINE:
    case IF_PROJECTED:
        return false;
    }
    return false; /* no such part: they are written in the list */
}

static bool is_of_body(enum when when)
{
    for (int head = 0; head <= OTHER_HEAD; head++)
        if (is_of_head(when, (enum head)head))
            return false;
    return true;
}

/* Some heads are two: what one alone has must be there. */
static bool knows_head(const struct part *parts, enum head head)
{
    for (; parts->name; parts++)
        if (is_of_head(parts->when, head) &&
            (head != PRETRAINING || parts->when == IF_NEXT_SENTENCE) &&
            (head != DOUBLE || parts->when == IF_SUMMARY))
            return true;
    return head == NO_HEAD;
}

/* Encoders that predict the next word do it with the head that predicts hidden ones. */
static enum head head_in(const struct part *parts, enum head head)
{
    if (knows_head(parts, head))
        return head;
    return head == LANGUAGE && knows_head(parts, MASKED) ? MASKED : OTHER_HEAD;
}

/* --- Which tensors it has */

struct making {
    const struct sd_hf_config *c;
    const struct sd_hf_family *family;
    enum head head;
    bool is_encoder_only; /* of t5 */
    const char *prefix;   /* of the body's names, where there is a head */
    struct sd_weights to;
    size_t n;
};

static bool applies(const struct making *k, enum when when)
{
    const struct sd_hf_config *c = k->c;
    bool is_tied =
        c->is_tied == SD_HF_NOT_SAID ? k->family->is_tied : c->is_tied == SD_HF_YES;
    bool is_mixed = sd_hf_is_family(c, "mixtral");
    bool is_gated =
        c->is_gated == SD_HF_YES || (!c->is_gated && sd_hf_is_family(c, "mt5"));

    switch (when) {
    case ALWAYS:
        return true;
    case IF_BASE:
        return k->head == NO_HEAD;
    case IF_POOLED: /* bert's classes look at the pooled state */
        return k->head == NO_HEAD || k->head == CLASSES || k->head == CHOICE ||
               k->head == NEXT_SENTENCE || k->head == PRETRAINING;
    case IF_CHOICE_POOLED:
        return k->head == NO_HEAD || k->head == CHOICE;
    case IF_UNTIED:
    case IF_MASKED_UNTIED:
        return is_of_head(when, k->head) && !is_tied;
    case IF_SUMMARY:
        return is_of_head(when, k->head) && c->has_summary != SD_HF_NO;
    case IF_MASKED:
    case IF_LANGUAGE:
    case IF_CLASSES:
    case IF_TOKENS:
    case IF_ANSWERS:
    case IF_CHOICE:
    case IF_CLASSES_OR_CHOICE:
    case IF_NEXT_SENTENCE:
    case IF_MASKED_IMAGE:
        return is_of_head(when, k->head);
    case IF_MASK_TOKEN:
        return k->head == MASKED_IMAGE;
    case IF_CROSS: /* gpt2 is a decoder without saying so */
        return c->has_cross_attention == SD_HF_YES &&
               (c->is_decoder == SD_HF_YES || sd_hf_is_family(c, "gpt2"));
    case IF_BIAS:
        return c->has_bias == SD_HF_YES;
    case IF_QKV_BIAS: /* qwen2 has it always, and never says so */
        return c->has_bias == SD_HF_YES || sd_hf_is_family(c, "qwen2");
    case IF_VIT_BIAS:
        return c->has_qkv_bias != SD_HF_NO;
    case IF_NOT_BARE:
        return c->has_bias != SD_HF_NO;
    case IF_MLP_BIAS:
        return c->has_mlp_bias == SD_HF_YES && sd_hf_is_family(c, "llama");
    case IF_HEAD_NORMS:
        return sd_hf_is_family(c, "qwen3");
    case IF_FOUR_NORMS:
        return sd_hf_is_family(c, "gemma2");
    case IF_DENSE:
        return !is_mixed;
    case IF_MIXED:
        return is_mixed;
    case IF_PLAIN_FF:
        return !is_gated;
    case IF_GATED_FF:
        return is_gated;
    case IF_DECODER:
        return !k->is_encoder_only;
    case IF_QK_NORMS:
        return c->has_qk_norms == SD_HF_YES;
    case IF_LAST_NORM:
        return c->has_norm_before != SD_HF_NO && c->has_no_last_norm != SD_HF_YES &&
               c->has_affine_norms != SD_HF_NO;
    case IF_AFFINE:
        return c->has_affine_norms != SD_HF_NO;
    case IF_PROJECTED:
        return c->number[SD_HF_EMBEDDED] != c->number[SD_HF_HIDDEN];
    }
    return false;
}

/* A few bodies have another name in models with some heads. */
static const char *prefix_of(const struct sd_hf_config *c, const struct sd_hf_family *f,
                             enum head head)
{
    if (f->parts == t5 && (head == CLASSES || head == TOKENS))
        return "transformer.";
    if (head == ANSWERS && (sd_hf_is_family(c, "llama") ||
                            sd_hf_is_family(c, "qwen2") || sd_hf_is_family(c, "qwen3")))
        return "transformer.";
    return f->prefix;
}

/* --- Making them */

/* Numbers in place of '%' and '#'; the body of a model with a head has a prefix. */
static void write_name(const struct making *k, const struct part *p, int64_t layer,
                       int64_t expert, char out[256])
{
    bool is_body = is_of_body(p->when);
    size_t n = 0;

    if (is_body && k->head != NO_HEAD)
        n = (size_t)snprintf(out, 256, "%s", k->prefix);
    for (const char *at = p->name; *at && n < 200; at++) {
        if (*at == '%' || *at == '#')
            n += (size_t)snprintf(out + n, 256 - n, "%lld",
                                  (long long)(*at == '%' ? layer : expert));
        else
            out[n++] = *at;
    }
    out[n] = 0;
}

static int make_tensor(struct making *k, const struct part *p, int64_t layer,
                       int64_t expert)
{
    int64_t dims[2] = { 0 };
    uint32_t n_dims = p->axes[1] == SD_HF_NO_AXIS ? 1 : 2, name;
    char text[256];
    int rc;

    for (uint32_t i = 0; i < n_dims; i++)
        dims[i] = k->c->number[p->axes[i]];
    if (k->n++ == TENSORS_MAX)
        return sd_fail(SD_EFORMAT,
                       "the configuration of this %s model makes more than %d tensors, "
                       "which no model has; check its numbers of layers and experts",
                       k->c->family, TENSORS_MAX);
    write_name(k, p, layer, expert, text);
    rc = sd_model_word(k->to.into, text, &name);
    if (rc == 0)
        rc = sd_weights_add(&k->to, name, k->c->dtype, (struct sd_dims){ dims, n_dims },
                            -1);
    return rc;
}

static int make_part(struct making *k, const struct part *p)
{
    const int64_t *v = k->c->number;
    int64_t layers = p->often == ONCE      ? 1
                     : p->often == DECODER ? v[SD_HF_DECODER_LAYERS]
                                           : v[SD_HF_LAYERS];
    int64_t experts = p->often == EXPERT ? v[SD_HF_EXPERTS] : 1;
    int rc = 0;

    for (int i = 0; i < 2; i++)
        if (v[p->axes[i]] < 0 && p->axes[i] != SD_HF_NO_AXIS)
            return sd_hf_config_missing(k->c, p->axes[i]);
    if (layers < 0)
        return sd_hf_config_missing(k->c, SD_HF_LAYERS);
    if (layers > LAYERS_MAX)
        return sd_fail(SD_EFORMAT,
                       "the configuration of this %s model has %lld layers, and no "
                       "model has more than %d; check the configuration",
                       k->c->family, (long long)layers, LAYERS_MAX);
    if (experts > EXPERTS_MAX)
        return sd_fail(SD_EFORMAT,
                       "the configuration of this %s model has %lld experts, and no "
                       "model has more than %d; check the configuration",
                       k->c->family, (long long)experts, EXPERTS_MAX);
    for (int64_t i = 0; i < layers && rc == 0; i++)
        for (int64_t e = 0; e < experts && rc == 0; e++)
            rc = make_tensor(k, p, i, e);
    return rc;
}

/* --- The family */

static int unknown_family(const struct sd_hf_config *c)
{
    struct sd_buf known = { 0 };
    int rc;

    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        sd_buf_printf(&known, "%s%s", i ? ", " : "", families[i].name);
    rc = known.bad ? sd_no_memory()
         : c->family[0]
             ? sd_fail(
                   SD_EABSENT,
                   "the family %s of this configuration is not known; known families "
                   "are %s. Any model can be read whose weights are in the same folder",
                   c->family, sd_buf_string(&known))
             : sd_fail(SD_EFORMAT,
                       "this is not a configuration of a model: it has no model_type");
    sd_buf_release(&known);
    return rc;
}

int sd_hf_family_find(const struct sd_hf_config *c, const struct sd_hf_family **out)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (sd_hf_is_family(c, families[i].name))
            *out = &families[i];
    return *out ? 0 : unknown_family(c);
}

static int tell(const struct making *k, struct sd_model *m)
{
    int rc = 0;

    if (k->head == OTHER_HEAD)
        rc = sd_model_note(m, "the head of %s is not known: the body alone is counted",
                           k->c->architecture);
    if (rc == 0 && k->is_encoder_only && k->c->is_decoder == SD_HF_YES)
        rc = sd_model_note(m, "this encoder has is_decoder set, which is not "
                              "supported: the parts that make it a decoder are not "
                              "counted");
    return rc;
}

int sd_hf_family_make(const struct sd_hf_family *f, const struct sd_hf_config *c,
                      struct sd_model *m)
{
    struct making k = { .c = c, .family = f, .to.into = m };
    int rc = 0;

    k.head = head_in(f->parts, head_of(c->architecture, f->class));
    k.is_encoder_only =
        f->parts == t5 &&
        (k.head == TOKENS || sd_text_ends(c->architecture, "EncoderModel"));
    k.prefix = prefix_of(c, f, k.head);
    for (const struct part *part = f->parts; part->name && rc == 0; part++)
        if (applies(&k, part->when) && !(part->often == DECODER && k.is_encoder_only))
            rc = make_part(&k, part);
    sd_weights_release(&k.to);
    return rc == 0 ? tell(&k, m) : rc;
}
