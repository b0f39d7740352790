/* SPDX-License-Identifier: MIT */
#include "formats/hf_config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json_in.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/model_files.h"
#include "formats/weights.h"

enum { /* no model has more; a text may claim any number */
       LAYERS_MAX = 10000,
       EXPERTS_MAX = 1000,
       TENSORS_MAX = 250000, /* five times what 60 layers of 256 experts have */
};
#define NUMBER_MAX ((int64_t)1 << 40)

/* --- What a configuration says */

enum axis {
    NO_AXIS,
    VOCAB,
    HIDDEN,
    INNER,
    POSITIONS,
    TYPES,
    HEADS,
    KEY_HEADS,
    HEAD, /* of one head */
    LAYERS,
    DECODER_LAYERS,
    EXPERTS,
    LABELS,
    IMAGE, /* its height, and that of a patch; the width stands right behind */
    IMAGE_WIDTH,
    PATCH_SIDE,
    PATCH_WIDTH,
    STRIDE, /* of what a masked image is made again from */
    CHANNELS,
    POOLED,
    BUCKETS,
    EMBEDDED, /* of a word, where it is not HIDDEN */
    /* What follows from them. */
    TWICE,
    THRICE,
    QUERY,
    KEY,
    QUERY_KEYS,
    TWICE_INNER,
    POSITIONS_AND_2,
    PATCHES_AND_1,
    PATCH,
    PIXELS, /* that one place of a masked image becomes */
    SUMMARY,
    ONE,
    TWO,
    AXES
};

/* Names of the same number in different families; the last one said counts. */
static const struct {
    const char *key;
    enum axis axis;
} keys[] = {
    { "vocab_size", VOCAB },
    { "hidden_size", HIDDEN },
    { "n_embd", HIDDEN },
    { "d_model", HIDDEN },
    { "dim", HIDDEN },
    { "intermediate_size", INNER },
    { "n_inner", INNER },
    { "hidden_dim", INNER },
    { "ffn_dim", INNER },
    { "d_ff", INNER },
    { "max_position_embeddings", POSITIONS },
    { "n_positions", POSITIONS },
    { "type_vocab_size", TYPES },
    { "num_attention_heads", HEADS },
    { "n_head", HEADS },
    { "n_heads", HEADS },
    { "num_heads", HEADS },
    { "num_key_value_heads", KEY_HEADS },
    { "head_dim", HEAD },
    { "d_kv", HEAD },
    { "num_hidden_layers", LAYERS },
    { "n_layer", LAYERS },
    { "n_layers", LAYERS },
    { "num_layers", LAYERS },
    { "num_decoder_layers", DECODER_LAYERS },
    { "num_local_experts", EXPERTS },
    { "num_labels", LABELS },
    { "image_size", IMAGE },
    { "patch_size", PATCH_SIDE },
    { "encoder_stride", STRIDE },
    { "num_channels", CHANNELS },
    { "pooler_output_size", POOLED },
    { "relative_attention_num_buckets", BUCKETS },
    { "word_embed_proj_dim", EMBEDDED },
};

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
enum yes { NOT_SAID, YES, NO };

struct config {
    char family[64], architecture[96];
    int64_t number[AXES]; /* -1: not said */
    enum yes is_tied, has_bias, has_mlp_bias, has_qkv_bias, has_qk_norms;
    enum yes has_norm_before, has_no_last_norm, has_affine_norms; /* of opt */
    enum yes is_decoder, has_cross_attention;
    enum yes has_summary, is_summary_of_labels; /* of gpt2 */
    bool has_null_key_heads;                    /* which are then as many as heads */
    char unknown_dtype[64];
    const char *wrong[AXES]; /* the key whose value is no size */
    enum yes is_gated;       /* t5's "gated-gelu" */
    bool is_encoder_only;    /* of t5 */
    uint8_t dtype;
    bool is_quantized; /* the weights were packed after they were made */
    char quantizer[64];
    int64_t bits; /* 0: not said */
    enum head head;
    bool is_tied_by_default;
    const char *prefix;
};

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
    enum axis axes[2];
};

#define TENSORS(list) static const struct part list[] = {
#define PART(often, when, name, first, second)                                         \
    { often, when, name, { (enum axis)(first), (enum axis)(second) } },
#define END                                                                            \
    {                                                                                  \
        0                                                                              \
    }                                                                                  \
    }                                                                                  \
    ;
#define FAMILY(name, parts, is_tied, prefix, class)
#include "formats/hf_families.def"
#undef TENSORS
#undef PART
#undef END
#undef FAMILY

static const struct family {
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
#include "formats/hf_families.def"
#undef TENSORS
#undef PART
#undef END
#undef FAMILY
};

/* --- Reading */

static void copy_text(const struct sd_json_in *j, char *to, size_t size)
{
    size_t n = j->n < size - 1 ? j->n : size - 1;

    memcpy(to, j->text, n);
    to[n] = 0;
}

static enum yes yes_of(enum sd_json_kind kind)
{
    return kind == SD_JSON_TRUE ? YES : kind == SD_JSON_FALSE ? NO : NOT_SAID;
}

/* How many classes are named: {"0": "cat", "1": "dog"}. */
static void count_labels(struct sd_json_in *j, struct config *c)
{
    int64_t n = 0;

    if (sd_json_in_next(j) != SD_JSON_OBJECT)
        return;
    while (sd_json_in_next(j) == SD_JSON_KEY) {
        n++;
        sd_json_in_next(j);
        sd_json_in_skip(j);
    }
    c->number[LABELS] = n;
}

static void read_architectures(struct sd_json_in *j, struct config *c)
{
    if (sd_json_in_next(j) != SD_JSON_ARRAY)
        return;
    while (sd_json_in_next(j) == SD_JSON_TEXT)
        if (!c->architecture[0])
            copy_text(j, c->architecture, sizeof c->architecture);
    while (j->kind != SD_JSON_CLOSE && j->kind != SD_JSON_BAD)
        sd_json_in_next(j);
}

/* [224, 448]: height and width. */
static bool read_sides(struct sd_json_in *j, int64_t sides[2])
{
    int n = 0;

    while (sd_json_in_next(j) == SD_JSON_WHOLE)
        if (n++ < 2)
            sides[n - 1] = j->whole;
    while (j->kind != SD_JSON_CLOSE && j->kind != SD_JSON_BAD) {
        sd_json_in_skip(j);
        sd_json_in_next(j);
        n = 0;
    }
    return n == 2;
}

static bool is_size(int64_t n) { return n >= 0 && n <= NUMBER_MAX; }

/* What is no size is told when the family turns out to be known: before that the key
 * may mean anything. */
static void read_number(struct sd_json_in *j, struct config *c, size_t key)
{
    enum axis axis = keys[key].axis;
    bool can_be_two = axis == IMAGE || axis == PATCH_SIDE;
    enum sd_json_kind kind = sd_json_in_next(j);
    int64_t sides[2] = { -1, -1 };

    if (kind == SD_JSON_NULL) {
        c->has_null_key_heads |= axis == KEY_HEADS;
        return;
    }
    if (kind == SD_JSON_WHOLE)
        sides[0] = sides[1] = j->whole;
    else if (kind == SD_JSON_ARRAY && can_be_two && !read_sides(j, sides))
        sides[0] = -1;
    sd_json_in_skip(j);
    if (!is_size(sides[0]) || !is_size(sides[1])) {
        c->wrong[axis] = keys[key].key;
        return;
    }
    c->number[axis] = sides[0];
    if (can_be_two)
        c->number[axis + 1] = sides[1];
}

static enum yes *yes_named(const struct sd_json_in *j, struct config *c)
{
    const struct {
        const char *key;
        enum yes *yes;
    } known[] = {
        { "tie_word_embeddings", &c->is_tied },
        { "attention_bias", &c->has_bias },
        { "enable_bias", &c->has_bias },
        { "mlp_bias", &c->has_mlp_bias },
        { "qkv_bias", &c->has_qkv_bias },
        { "qk_layernorm", &c->has_qk_norms },
        { "do_layer_norm_before", &c->has_norm_before },
        { "_remove_final_layer_norm", &c->has_no_last_norm },
        { "layer_norm_elementwise_affine", &c->has_affine_norms },
        { "is_decoder", &c->is_decoder },
        { "add_cross_attention", &c->has_cross_attention },
        { "summary_use_proj", &c->has_summary },
        { "summary_proj_to_labels", &c->is_summary_of_labels },
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (sd_json_in_is(j, known[i].key))
            return known[i].yes;
    return NULL;
}

static void read_quantization(struct sd_json_in *j, struct config *c)
{
    if (sd_json_in_next(j) != SD_JSON_OBJECT)
        return;
    c->is_quantized = true;
    while (sd_json_in_next(j) == SD_JSON_KEY) {
        bool is_method = sd_json_in_is(j, "quant_method");
        bool is_bits = sd_json_in_is(j, "bits") || sd_json_in_is(j, "w_bit");
        int64_t loaded = sd_json_in_is(j, "load_in_4bit")   ? 4
                         : sd_json_in_is(j, "load_in_8bit") ? 8
                                                            : 0;
        enum sd_json_kind kind = sd_json_in_next(j);

        if (kind == SD_JSON_TEXT && is_method)
            copy_text(j, c->quantizer, sizeof c->quantizer);
        else if (kind == SD_JSON_WHOLE && is_bits && j->whole > 0 && j->whole <= 16)
            c->bits = j->whole;
        else if (loaded && yes_of(kind) == YES)
            c->bits = loaded;
        sd_json_in_skip(j);
    }
}

/* The values that are texts, and whatever is not looked at. */
static void read_other(struct sd_json_in *j, struct config *c)
{
    bool is_family = sd_json_in_is(j, "model_type");
    bool is_dtype = sd_json_in_is(j, "torch_dtype") || sd_json_in_is(j, "dtype");
    bool is_act = sd_json_in_is(j, "feed_forward_proj");
    char word[64];

    if (sd_json_in_next(j) == SD_JSON_TEXT) {
        copy_text(j, word, sizeof word);
        if (is_family)
            memcpy(c->family, word, sizeof word);
        if (is_act)
            c->is_gated = strncmp(word, "gated", 5) == 0 ? YES : NO;
        if (is_dtype) {
            c->dtype = (uint8_t)sd_dtype_named(word, strlen(word));
            memcpy(c->unknown_dtype, word, sizeof word);
        }
    }
    sd_json_in_skip(j);
}

static void read_key(struct sd_json_in *j, struct config *c)
{
    enum yes *yes = yes_named(j, c);

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (sd_json_in_is(j, keys[i].key)) {
            read_number(j, c, i);
            return;
        }
    if (sd_json_in_is(j, "architectures")) {
        read_architectures(j, c);
    } else if (sd_json_in_is(j, "quantization_config")) {
        read_quantization(j, c);
    } else if (sd_json_in_is(j, "id2label")) {
        count_labels(j, c);
    } else if (yes) {
        *yes = yes_of(sd_json_in_next(j));
        sd_json_in_skip(j);
    } else {
        read_other(j, c);
    }
}

static int read_config(const void *p, size_t n, struct config *c)
{
    struct sd_json_in j;
    int rc = 0;

    sd_json_in_init(&j, p, n);
    if (sd_json_in_next(&j) != SD_JSON_OBJECT)
        rc = j.kind == SD_JSON_BAD
                 ? sd_json_in_wrong(&j, "the configuration")
                 : sd_fail(SD_EFORMAT, "this is no configuration of a model: it is "
                                       "JSON, but no object");
    while (rc == 0 && sd_json_in_next(&j) == SD_JSON_KEY)
        read_key(&j, c);
    if (rc == 0 && sd_json_in_next(&j) != SD_JSON_STOP)
        rc = sd_json_in_wrong(&j, "the configuration");
    sd_json_in_release(&j);
    return rc;
}

/* --- What follows from it */

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
    default:
        return false;
    }
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

static void fallback(struct config *c, enum axis axis, int64_t value)
{
    if (c->number[axis] < 0)
        c->number[axis] = value;
}

static bool is_family(const struct config *c, const char *family)
{
    return strcmp(c->family, family) == 0;
}

static int64_t default_of(const struct config *c, enum axis axis)
{
    static const struct {
        const char *family;
        enum axis axis;
        int64_t value;
    } defaults[] = {
        { "mistral", KEY_HEADS, 8 }, { "mixtral", KEY_HEADS, 8 },
        { "qwen2", KEY_HEADS, 32 },  { "qwen3", KEY_HEADS, 32 },
        { "gemma", KEY_HEADS, 16 },  { "gemma2", KEY_HEADS, 4 },
        { "qwen3", HEAD, 128 },      { "gemma", HEAD, 256 },
        { "gemma2", HEAD, 256 },     { "t5", HEAD, 64 },
        { "mt5", HEAD, 64 },
    };

    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (defaults[i].axis == axis && is_family(c, defaults[i].family))
            return defaults[i].value;
    return -1;
}

/* As transformers' classes have it for what old files leave out. */
static void derive(struct config *c)
{
    int64_t *v = c->number;

    fallback(c, TYPES, 2);
    if (!c->has_null_key_heads)
        fallback(c, KEY_HEADS, default_of(c, KEY_HEADS));
    fallback(c, KEY_HEADS, v[HEADS]);
    fallback(c, HEAD, default_of(c, HEAD));
    fallback(c, HEAD, v[HIDDEN] >= 0 && v[HEADS] > 0 ? v[HIDDEN] / v[HEADS] : -1);
    if (is_family(c, "gpt2"))
        fallback(c, INNER, v[HIDDEN] >= 0 ? 4 * v[HIDDEN] : -1);
    fallback(c, DECODER_LAYERS, v[LAYERS]);
    fallback(c, LABELS, 2);
    fallback(c, CHANNELS, 3);
    fallback(c, POOLED, v[HIDDEN]);
    fallback(c, BUCKETS, 32);
    fallback(c, EXPERTS, 8);
    fallback(c, EMBEDDED, v[HIDDEN]);
    fallback(c, STRIDE, 16);
    v[ONE] = 1;
    v[TWO] = 2;
    v[SUMMARY] = c->is_summary_of_labels == NO ? v[HIDDEN] : 1;
    v[TWICE] = v[HIDDEN] < 0 ? -1 : 2 * v[HIDDEN];
    v[THRICE] = v[HIDDEN] < 0 ? -1 : 3 * v[HIDDEN];
    v[QUERY] = v[HEADS] < 0 || v[HEAD] < 0 ? -1 : sd_times(v[HEADS], v[HEAD]);
    v[KEY] = v[KEY_HEADS] < 0 || v[HEAD] < 0 ? -1 : sd_times(v[KEY_HEADS], v[HEAD]);
    v[QUERY_KEYS] =
        v[QUERY] < 0 || v[KEY] < 0 ? -1 : sd_plus(v[QUERY], sd_times(2, v[KEY]));
    v[TWICE_INNER] = v[INNER] < 0 ? -1 : 2 * v[INNER];
    v[POSITIONS_AND_2] = v[POSITIONS] < 0 ? -1 : v[POSITIONS] + 2;
    v[PIXELS] = sd_times(v[CHANNELS], sd_times(v[STRIDE], v[STRIDE]));
    if (v[PATCH_SIDE] > 0 && v[PATCH_WIDTH] > 0) {
        v[PATCH] = sd_times(v[CHANNELS], sd_times(v[PATCH_SIDE], v[PATCH_WIDTH]));
        if (v[IMAGE] >= 0)
            v[PATCHES_AND_1] = sd_plus(
                sd_times(v[IMAGE] / v[PATCH_SIDE], v[IMAGE_WIDTH] / v[PATCH_WIDTH]), 1);
    }
}

static bool applies(const struct config *c, enum when when)
{
    bool is_tied = c->is_tied == NOT_SAID ? c->is_tied_by_default : c->is_tied == YES;
    bool is_mixed = is_family(c, "mixtral");
    bool is_gated = c->is_gated == YES || (!c->is_gated && is_family(c, "mt5"));

    switch (when) {
    case ALWAYS:
        return true;
    case IF_BASE:
        return c->head == NO_HEAD;
    case IF_POOLED: /* bert's classes look at the pooled state */
        return c->head == NO_HEAD || c->head == CLASSES || c->head == CHOICE ||
               c->head == NEXT_SENTENCE || c->head == PRETRAINING;
    case IF_CHOICE_POOLED:
        return c->head == NO_HEAD || c->head == CHOICE;
    case IF_UNTIED:
    case IF_MASKED_UNTIED:
        return is_of_head(when, c->head) && !is_tied;
    case IF_SUMMARY:
        return is_of_head(when, c->head) && c->has_summary != NO;
    case IF_MASKED:
    case IF_LANGUAGE:
    case IF_CLASSES:
    case IF_TOKENS:
    case IF_ANSWERS:
    case IF_CHOICE:
    case IF_CLASSES_OR_CHOICE:
    case IF_NEXT_SENTENCE:
    case IF_MASKED_IMAGE:
        return is_of_head(when, c->head);
    case IF_MASK_TOKEN:
        return c->head == MASKED_IMAGE;
    case IF_CROSS: /* gpt2 is a decoder without saying so */
        return c->has_cross_attention == YES &&
               (c->is_decoder == YES || is_family(c, "gpt2"));
    case IF_BIAS:
        return c->has_bias == YES;
    case IF_QKV_BIAS: /* qwen2 has it always, and never says so */
        return c->has_bias == YES || is_family(c, "qwen2");
    case IF_VIT_BIAS:
        return c->has_qkv_bias != NO;
    case IF_NOT_BARE:
        return c->has_bias != NO;
    case IF_MLP_BIAS:
        return c->has_mlp_bias == YES && is_family(c, "llama");
    case IF_HEAD_NORMS:
        return is_family(c, "qwen3");
    case IF_FOUR_NORMS:
        return is_family(c, "gemma2");
    case IF_DENSE:
        return !is_mixed;
    case IF_MIXED:
        return is_mixed;
    case IF_PLAIN_FF:
        return !is_gated;
    case IF_GATED_FF:
        return is_gated;
    case IF_DECODER:
        return !c->is_encoder_only;
    case IF_QK_NORMS:
        return c->has_qk_norms == YES;
    case IF_LAST_NORM:
        return c->has_norm_before != NO && c->has_no_last_norm != YES &&
               c->has_affine_norms != NO;
    case IF_AFFINE:
        return c->has_affine_norms != NO;
    case IF_PROJECTED:
        return c->number[EMBEDDED] != c->number[HIDDEN];
    }
    return false;
}

/* --- The tensors */

struct making {
    const struct config *c;
    struct sd_weights to;
    size_t n;
};

/* Numbers in place of '%' and '#'; the body of a model with a head has a prefix. */
static void write_name(const struct making *k, const struct part *p, int64_t layer,
                       int64_t expert, char out[256])
{
    bool is_body = p->when < IF_MASKED || p->when > IF_MASKED_IMAGE;
    size_t n = 0;

    if (is_body && k->c->head != NO_HEAD)
        n = (size_t)snprintf(out, 256, "%s", k->c->prefix);
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
    uint32_t n_dims = p->axes[1] == NO_AXIS ? 1 : 2, name;
    char text[256];
    int rc;

    for (uint32_t i = 0; i < n_dims; i++)
        dims[i] = k->c->number[p->axes[i]];
    if (k->n++ == TENSORS_MAX)
        return sd_fail(SD_EFORMAT, "the configuration has more layers than any model");
    write_name(k, p, layer, expert, text);
    rc = sd_model_word(k->to.into, text, &name);
    if (rc == 0)
        rc = sd_weights_add(&k->to, name, k->c->dtype, (struct sd_dims){ dims, n_dims },
                            -1);
    return rc;
}

/* The key that is missing where a size is not known: its own, or that of what it
 * follows from. */
static int missing(const struct config *c, enum axis axis)
{
    const int64_t *v = c->number;
    size_t key = 0;

    switch (axis) {
    case TWICE:
    case THRICE:
    case SUMMARY:
    case POOLED:
    case EMBEDDED:
        axis = HIDDEN;
        break;
    case TWICE_INNER:
        axis = INNER;
        break;
    case QUERY:
    case KEY:
    case QUERY_KEYS:
    case KEY_HEADS:
    case HEAD:
        axis = v[HEADS] <= 0 ? HEADS : HIDDEN;
        break;
    case POSITIONS_AND_2:
        axis = POSITIONS;
        break;
    case PATCH:
    case PATCHES_AND_1:
        axis = v[PATCH_SIDE] <= 0 ? PATCH_SIDE : IMAGE;
        break;
    default:
        break;
    }
    while (key + 1 < sizeof keys / sizeof *keys && keys[key].axis != axis)
        key++;
    return v[axis] == 0
               ? sd_fail(SD_EFORMAT, "the configuration of this %s has 0 as its %s",
                         c->family, keys[key].key)
               : sd_fail(SD_EFORMAT, "the configuration of this %s does not say its %s",
                         c->family, keys[key].key);
}

static int check_sizes(const struct config *c)
{
    for (int i = 0; i < AXES; i++)
        if (c->wrong[i])
            return sd_fail(SD_EFORMAT,
                           "the configuration of this %s has something else than a "
                           "whole number, or one that no model has, as its %s",
                           c->family, c->wrong[i]);
    return 0;
}

static int make_part(struct making *k, const struct part *p)
{
    const int64_t *v = k->c->number;
    int64_t layers = p->often == ONCE      ? 1
                     : p->often == DECODER ? v[DECODER_LAYERS]
                                           : v[LAYERS];
    int64_t experts = p->often == EXPERT ? v[EXPERTS] : 1;
    int rc = 0;

    for (int i = 0; i < 2; i++)
        if (v[p->axes[i]] < 0 && p->axes[i] != NO_AXIS)
            return missing(k->c, p->axes[i]);
    if (layers < 0)
        return missing(k->c, LAYERS);
    if (layers > LAYERS_MAX || experts > EXPERTS_MAX)
        return sd_fail(SD_EFORMAT,
                       "the configuration of this %s has more layers or experts than "
                       "any model",
                       k->c->family);
    for (int64_t i = 0; i < layers && rc == 0; i++)
        for (int64_t e = 0; e < experts && rc == 0; e++)
            rc = make_tensor(k, p, i, e);
    return rc;
}

static int unknown_family(const struct config *c)
{
    struct sd_buf known = { 0 };
    int rc;

    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        sd_buf_printf(&known, "%s%s", i ? ", " : "", families[i].name);
    rc = known.bad ? sd_no_memory()
         : c->family[0]
             ? sd_fail(SD_EABSENT,
                       "the family %s of this configuration is not known; these are: "
                       "%s.  With the weights beside it any model can be read",
                       c->family, sd_buf_string(&known))
             : sd_fail(SD_EFORMAT, "this is no configuration of a model: it has no "
                                   "model_type");
    sd_buf_release(&known);
    return rc;
}

static int tell(const struct config *c, struct sd_model *m)
{
    char source[128], bits[32] = "";
    int rc;

    snprintf(source, sizeof source, "config.json, %s",
             c->architecture[0] ? c->architecture : c->family);
    rc = sd_model_fact(m, "source", source);
    if (rc == 0 && c->head == OTHER_HEAD)
        rc = sd_model_note(m, "the head of %s is not known: the body alone is counted",
                           c->architecture);
    if (rc == 0 && c->is_encoder_only && c->is_decoder == YES)
        rc = sd_model_note(m, "an encoder that is_decoder is not known: what makes it "
                              "one is not counted");
    if (rc == 0 && c->unknown_dtype[0])
        rc = sd_model_note(m, "the type %s is not known: bytes are those of float32",
                           c->unknown_dtype);
    if (rc < 0 || !c->is_quantized)
        return rc;
    if (c->bits > 0)
        snprintf(bits, sizeof bits, "%s%lld bits", c->quantizer[0] ? ", " : "",
                 (long long)c->bits);
    return sd_model_note(
        m,
        "this configuration is of weights that were quantised (%s%s): "
        "types and bytes are those before that; of the files of "
        "weights they are as stored",
        c->quantizer[0] || c->bits > 0 ? c->quantizer : "it does not say how", bits);
}

/* A few bodies have another name in models with some heads. */
static const char *prefix_of(const struct config *c, const struct family *f)
{
    if (f->parts == t5 && (c->head == CLASSES || c->head == TOKENS))
        return "transformer.";
    if (c->head == ANSWERS &&
        (is_family(c, "llama") || is_family(c, "qwen2") || is_family(c, "qwen3")))
        return "transformer.";
    return f->prefix;
}

int sd_hf_config_read(const void *p, size_t n, struct sd_model *m)
{
    struct config c = { .dtype = SD_DTYPE_F32 };
    struct making k = { .c = &c, .to.into = m };
    const struct family *family = NULL;
    int rc;

    for (int i = 0; i < AXES; i++)
        c.number[i] = -1;
    rc = read_config(p, n, &c);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (is_family(&c, families[i].name))
            family = &families[i];
    if (!family)
        return unknown_family(&c);
    rc = check_sizes(&c);
    if (rc < 0)
        return rc;
    c.head = head_in(family->parts, head_of(c.architecture, family->class));
    c.is_encoder_only =
        family->parts == t5 &&
        (c.head == TOKENS || sd_text_ends(c.architecture, "EncoderModel"));
    c.is_tied_by_default = family->is_tied;
    c.prefix = prefix_of(&c, family);
    if (c.dtype == SD_DTYPE_UNKNOWN)
        c.dtype = SD_DTYPE_F32;
    else
        c.unknown_dtype[0] = 0;
    derive(&c);
    for (const struct part *part = family->parts; part->name && rc == 0; part++)
        if (applies(&c, part->when) && !(part->often == DECODER && c.is_encoder_only))
            rc = make_part(&k, part);
    sd_weights_release(&k.to);
    return rc == 0 ? tell(&c, m) : rc;
}

int sd_hf_config_file(const char *path, const struct sd_model_wish *wish,
                      struct sd_model *m)
{
    struct sd_map map = { 0 };
    int rc = sd_map_file(&map, path);

    (void)wish;
    if (rc < 0)
        return rc;
    rc = sd_hf_config_read(map.p, map.n, m);
    sd_map_release(&map);
    return rc < 0 ? sd_fail_in(rc, "%s", path) : 0;
}
