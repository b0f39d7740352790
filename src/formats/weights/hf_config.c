/* SPDX-License-Identifier: MIT */
#include "formats/weights/hf_config.h"

#include <stdio.h>
#include <string.h>

#include "base/encoding/json_in.h"
#include "base/error.h"
#include "base/file.h"
#include "formats/weights/hf_parts.h"
#include "formats/weights/model_files.h"

#define NUMBER_MAX ((int64_t)1 << 40) /* no model has more; a text may claim any */

/* Names of the same number in different families; the last one said counts. */
static const struct {
    const char *key;
    enum sd_hf_axis axis;
} keys[] = {
    { "vocab_size", SD_HF_VOCAB },
    { "hidden_size", SD_HF_HIDDEN },
    { "n_embd", SD_HF_HIDDEN },
    { "d_model", SD_HF_HIDDEN },
    { "dim", SD_HF_HIDDEN },
    { "intermediate_size", SD_HF_INNER },
    { "n_inner", SD_HF_INNER },
    { "hidden_dim", SD_HF_INNER },
    { "ffn_dim", SD_HF_INNER },
    { "d_ff", SD_HF_INNER },
    { "max_position_embeddings", SD_HF_POSITIONS },
    { "n_positions", SD_HF_POSITIONS },
    { "type_vocab_size", SD_HF_TYPES },
    { "num_attention_heads", SD_HF_HEADS },
    { "n_head", SD_HF_HEADS },
    { "n_heads", SD_HF_HEADS },
    { "num_heads", SD_HF_HEADS },
    { "num_key_value_heads", SD_HF_KEY_HEADS },
    { "head_dim", SD_HF_HEAD },
    { "d_kv", SD_HF_HEAD },
    { "num_hidden_layers", SD_HF_LAYERS },
    { "n_layer", SD_HF_LAYERS },
    { "n_layers", SD_HF_LAYERS },
    { "num_layers", SD_HF_LAYERS },
    { "num_decoder_layers", SD_HF_DECODER_LAYERS },
    { "num_local_experts", SD_HF_EXPERTS },
    { "num_labels", SD_HF_LABELS },
    { "image_size", SD_HF_IMAGE },
    { "patch_size", SD_HF_PATCH_SIDE },
    { "encoder_stride", SD_HF_STRIDE },
    { "num_channels", SD_HF_CHANNELS },
    { "pooler_output_size", SD_HF_POOLED },
    { "relative_attention_num_buckets", SD_HF_BUCKETS },
    { "word_embed_proj_dim", SD_HF_EMBEDDED },
};

/* --- Reading */

static void copy_text(const struct sd_json_in *j, char *to, size_t size)
{
    size_t n = j->n < size - 1 ? j->n : size - 1;

    memcpy(to, j->text, n);
    to[n] = 0;
}

static enum sd_hf_yes yes_of(enum sd_json_kind kind)
{
    return kind == SD_JSON_TRUE    ? SD_HF_YES
           : kind == SD_JSON_FALSE ? SD_HF_NO
                                   : SD_HF_NOT_SAID;
}

/* How many classes are named: {"0": "cat", "1": "dog"}. */
static void count_labels(struct sd_json_in *j, struct sd_hf_config *c)
{
    int64_t n = 0;

    if (sd_json_in_next(j) != SD_JSON_OBJECT)
        return;
    while (sd_json_in_next(j) == SD_JSON_KEY) {
        n++;
        sd_json_in_next(j);
        sd_json_in_skip(j);
    }
    c->number[SD_HF_LABELS] = n;
}

static void read_architectures(struct sd_json_in *j, struct sd_hf_config *c)
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
static void read_number(struct sd_json_in *j, struct sd_hf_config *c, size_t key)
{
    enum sd_hf_axis axis = keys[key].axis;
    bool can_be_two = axis == SD_HF_IMAGE || axis == SD_HF_PATCH_SIDE;
    enum sd_json_kind kind = sd_json_in_next(j);
    int64_t sides[2] = { -1, -1 };

    if (kind == SD_JSON_NULL) {
        c->has_null_key_heads |= axis == SD_HF_KEY_HEADS;
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

static enum sd_hf_yes *yes_named(const struct sd_json_in *j, struct sd_hf_config *c)
{
    const struct {
        const char *key;
        enum sd_hf_yes *yes;
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

static void read_quantization(struct sd_json_in *j, struct sd_hf_config *c)
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
        else if (loaded && yes_of(kind) == SD_HF_YES)
            c->bits = loaded;
        sd_json_in_skip(j);
    }
}

/* The values that are texts, and whatever is not looked at. */
static void read_other(struct sd_json_in *j, struct sd_hf_config *c)
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
            c->is_gated = strncmp(word, "gated", 5) == 0 ? SD_HF_YES : SD_HF_NO;
        if (is_dtype) {
            c->dtype = (uint8_t)sd_dtype_named(word, strlen(word));
            memcpy(c->unknown_dtype, word, sizeof word);
        }
    }
    sd_json_in_skip(j);
}

static void read_key(struct sd_json_in *j, struct sd_hf_config *c)
{
    enum sd_hf_yes *yes = yes_named(j, c);

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

static int read_config(const void *p, size_t n, struct sd_hf_config *c)
{
    struct sd_json_in j;
    int rc = 0;

    sd_json_in_init(&j, p, n);
    if (sd_json_in_next(&j) != SD_JSON_OBJECT)
        rc = j.kind == SD_JSON_BAD
                 ? sd_json_in_wrong(&j, "the configuration")
                 : sd_fail(SD_EFORMAT, "this is not a configuration of a model: it is "
                                       "JSON, but not an object");
    while (rc == 0 && sd_json_in_next(&j) == SD_JSON_KEY)
        read_key(&j, c);
    if (rc == 0 && sd_json_in_next(&j) != SD_JSON_STOP)
        rc = sd_json_in_wrong(&j, "the configuration");
    sd_json_in_release(&j);
    return rc;
}

/* --- What follows from it */

static void fallback(struct sd_hf_config *c, enum sd_hf_axis axis, int64_t value)
{
    if (c->number[axis] < 0)
        c->number[axis] = value;
}

static int64_t default_of(const struct sd_hf_config *c, enum sd_hf_axis axis)
{
    static const struct {
        const char *family;
        enum sd_hf_axis axis;
        int64_t value;
    } defaults[] = {
        { "mistral", SD_HF_KEY_HEADS, 8 }, { "mixtral", SD_HF_KEY_HEADS, 8 },
        { "qwen2", SD_HF_KEY_HEADS, 32 },  { "qwen3", SD_HF_KEY_HEADS, 32 },
        { "gemma", SD_HF_KEY_HEADS, 16 },  { "gemma2", SD_HF_KEY_HEADS, 4 },
        { "qwen3", SD_HF_HEAD, 128 },      { "gemma", SD_HF_HEAD, 256 },
        { "gemma2", SD_HF_HEAD, 256 },     { "t5", SD_HF_HEAD, 64 },
        { "mt5", SD_HF_HEAD, 64 },
    };

    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (defaults[i].axis == axis && sd_hf_is_family(c, defaults[i].family))
            return defaults[i].value;
    return -1;
}

/* As transformers' classes have it for what old files leave out. */
static void take_defaults(struct sd_hf_config *c)
{
    const int64_t *v = c->number;

    fallback(c, SD_HF_TYPES, 2);
    if (!c->has_null_key_heads)
        fallback(c, SD_HF_KEY_HEADS, default_of(c, SD_HF_KEY_HEADS));
    fallback(c, SD_HF_KEY_HEADS, v[SD_HF_HEADS]);
    fallback(c, SD_HF_HEAD, default_of(c, SD_HF_HEAD));
    fallback(c, SD_HF_HEAD,
             v[SD_HF_HIDDEN] >= 0 && v[SD_HF_HEADS] > 0
                 ? v[SD_HF_HIDDEN] / v[SD_HF_HEADS]
                 : -1);
    if (sd_hf_is_family(c, "gpt2"))
        fallback(c, SD_HF_INNER, v[SD_HF_HIDDEN] >= 0 ? 4 * v[SD_HF_HIDDEN] : -1);
    fallback(c, SD_HF_DECODER_LAYERS, v[SD_HF_LAYERS]);
    fallback(c, SD_HF_LABELS, 2);
    fallback(c, SD_HF_CHANNELS, 3);
    fallback(c, SD_HF_POOLED, v[SD_HF_HIDDEN]);
    fallback(c, SD_HF_BUCKETS, 32);
    fallback(c, SD_HF_EXPERTS, 8);
    fallback(c, SD_HF_EMBEDDED, v[SD_HF_HIDDEN]);
    fallback(c, SD_HF_STRIDE, 16);
}

static void derive(struct sd_hf_config *c)
{
    int64_t *v = c->number;

    v[SD_HF_ONE] = 1;
    v[SD_HF_TWO] = 2;
    v[SD_HF_SUMMARY] = c->is_summary_of_labels == SD_HF_NO ? v[SD_HF_HIDDEN] : 1;
    v[SD_HF_TWICE] = v[SD_HF_HIDDEN] < 0 ? -1 : 2 * v[SD_HF_HIDDEN];
    v[SD_HF_THRICE] = v[SD_HF_HIDDEN] < 0 ? -1 : 3 * v[SD_HF_HIDDEN];
    v[SD_HF_QUERY] = v[SD_HF_HEADS] < 0 || v[SD_HF_HEAD] < 0
                         ? -1
                         : sd_times(v[SD_HF_HEADS], v[SD_HF_HEAD]);
    v[SD_HF_KEY] = v[SD_HF_KEY_HEADS] < 0 || v[SD_HF_HEAD] < 0
                       ? -1
                       : sd_times(v[SD_HF_KEY_HEADS], v[SD_HF_HEAD]);
    v[SD_HF_QUERY_KEYS] = v[SD_HF_QUERY] < 0 || v[SD_HF_KEY] < 0
                              ? -1
                              : sd_plus(v[SD_HF_QUERY], sd_times(2, v[SD_HF_KEY]));
    v[SD_HF_TWICE_INNER] = v[SD_HF_INNER] < 0 ? -1 : 2 * v[SD_HF_INNER];
    v[SD_HF_POSITIONS_AND_2] = v[SD_HF_POSITIONS] < 0 ? -1 : v[SD_HF_POSITIONS] + 2;
    v[SD_HF_PIXELS] =
        sd_times(v[SD_HF_CHANNELS], sd_times(v[SD_HF_STRIDE], v[SD_HF_STRIDE]));
    if (v[SD_HF_PATCH_SIDE] > 0 && v[SD_HF_PATCH_WIDTH] > 0) {
        v[SD_HF_PATCH] = sd_times(v[SD_HF_CHANNELS],
                                  sd_times(v[SD_HF_PATCH_SIDE], v[SD_HF_PATCH_WIDTH]));
        if (v[SD_HF_IMAGE] >= 0)
            v[SD_HF_PATCHES_AND_1] =
                sd_plus(sd_times(v[SD_HF_IMAGE] / v[SD_HF_PATCH_SIDE],
                                 v[SD_HF_IMAGE_WIDTH] / v[SD_HF_PATCH_WIDTH]),
                        1);
    }
}

/* --- What is not known */

int sd_hf_config_missing(const struct sd_hf_config *c, enum sd_hf_axis axis)
{
    const int64_t *v = c->number;
    size_t key = 0;

    switch (axis) {
    case SD_HF_TWICE:
    case SD_HF_THRICE:
    case SD_HF_SUMMARY:
    case SD_HF_POOLED:
    case SD_HF_EMBEDDED:
        axis = SD_HF_HIDDEN;
        break;
    case SD_HF_TWICE_INNER:
        axis = SD_HF_INNER;
        break;
    case SD_HF_QUERY:
    case SD_HF_KEY:
    case SD_HF_QUERY_KEYS:
    case SD_HF_KEY_HEADS:
    case SD_HF_HEAD:
        axis = v[SD_HF_HEADS] <= 0 ? SD_HF_HEADS : SD_HF_HIDDEN;
        break;
    case SD_HF_POSITIONS_AND_2:
        axis = SD_HF_POSITIONS;
        break;
    case SD_HF_PATCH:
    case SD_HF_PATCHES_AND_1:
        axis = v[SD_HF_PATCH_SIDE] <= 0 ? SD_HF_PATCH_SIDE : SD_HF_IMAGE;
        break;
    case SD_HF_NO_AXIS:
    case SD_HF_VOCAB:
    case SD_HF_HIDDEN:
    case SD_HF_INNER:
    case SD_HF_POSITIONS:
    case SD_HF_TYPES:
    case SD_HF_HEADS:
    case SD_HF_LAYERS:
    case SD_HF_DECODER_LAYERS:
    case SD_HF_EXPERTS:
    case SD_HF_LABELS:
    case SD_HF_IMAGE:
    case SD_HF_IMAGE_WIDTH:
    case SD_HF_PATCH_SIDE:
    case SD_HF_PATCH_WIDTH:
    case SD_HF_STRIDE:
    case SD_HF_CHANNELS:
    case SD_HF_BUCKETS:
    case SD_HF_PIXELS:
    case SD_HF_ONE:
    case SD_HF_TWO:
    case SD_HF_AXES:
        break; /* the configuration itself says it */
    }
    while (key + 1 < sizeof keys / sizeof *keys && keys[key].axis != axis)
        key++;
    return v[axis] == 0
               ? sd_fail(SD_EFORMAT, "the configuration of this %s model has 0 for %s",
                         c->family, keys[key].key)
               : sd_fail(SD_EFORMAT,
                         "the configuration of this %s model has no %s; Sonde needs it "
                         "to count its layers",
                         c->family, keys[key].key);
}

static int check_sizes(const struct sd_hf_config *c)
{
    for (int i = 0; i < SD_HF_AXES; i++)
        if (c->wrong[i])
            return sd_fail(SD_EFORMAT,
                           "%s in the configuration of this %s model must be an "
                           "integer of at least 1",
                           c->wrong[i], c->family);
    return 0;
}

/* --- The door */

static int tell(const struct sd_hf_config *c, struct sd_model *m)
{
    char source[128], bits[32] = "";
    int rc;

    snprintf(source, sizeof source, "config.json, %s",
             c->architecture[0] ? c->architecture : c->family);
    rc = sd_model_fact(m, "source", source);
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
        "the weights of this configuration are quantised (%s%s); types and bytes here "
        "are those before quantisation; the weight files show the stored ones",
        c->quantizer[0] || c->bits > 0 ? c->quantizer : "it does not say how", bits);
}

int sd_hf_config_read(const void *p, size_t n, struct sd_model *m)
{
    struct sd_hf_config c = { .dtype = SD_DTYPE_F32 };
    const struct sd_hf_family *family = NULL;
    int rc;

    for (int i = 0; i < SD_HF_AXES; i++)
        c.number[i] = -1;
    rc = read_config(p, n, &c);
    if (rc == 0)
        rc = sd_hf_family_find(&c, &family);
    if (rc == 0)
        rc = check_sizes(&c);
    if (rc < 0)
        return rc;
    if (c.dtype == SD_DTYPE_UNKNOWN)
        c.dtype = SD_DTYPE_F32;
    else
        c.unknown_dtype[0] = 0;
    take_defaults(&c);
    derive(&c);
    rc = sd_hf_family_make(family, &c, m);
    return rc == 0 ? tell(&c, m) : rc;
}

int sd_hf_config_file(const char *path, const struct sd_model_request *request,
                      struct sd_model *m)
{
    struct sd_map map = { 0 };
    int rc = sd_map_file(&map, path);

    (void)request;
    if (rc < 0)
        return rc;
    rc = sd_hf_config_read(map.p, map.n, m);
    sd_map_release(&map);
    return rc < 0 ? sd_fail_in(rc, "%s", path) : 0;
}
