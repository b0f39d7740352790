/* SPDX-License-Identifier: MIT */
#include "formats/weights/hf_config.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

static int64_t count(const struct sd_model *m)
{
    int64_t sum = 0;

    for (size_t i = 0; i < m->n_tensors; i++)
        sum += sd_dims_elements(m->tensors[i].dims);
    return sum;
}

/* The numbers are those of the models as transformers makes them. */
static void check_count(const char *config, int64_t params)
{
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_hf_config_read(config, strlen(config), &m) == 0);
    CHECK(count(&m) == params);
    sd_model_release(&m);
}

#define BERT                                                                           \
    "\"model_type\":\"bert\",\"hidden_size\":768,\"num_hidden_layers\":12,"            \
    "\"num_attention_heads\":12,\"intermediate_size\":3072,"                           \
    "\"max_position_embeddings\":512,\"type_vocab_size\":2,\"vocab_size\":30522"

#define LLAMA                                                                          \
    "\"model_type\":\"llama\",\"hidden_size\":4096,\"num_hidden_layers\":32,"          \
    "\"num_attention_heads\":32,\"intermediate_size\":11008,\"vocab_size\":32000"

TEST(hf_config_gives_the_parameters_of_families)
{
    check_count("{" BERT "}", 109482240);
    check_count("{\"architectures\":[\"BertForMaskedLM\"]," BERT "}", 109514298);
    check_count("{\"architectures\":[\"BertForSequenceClassification\"],"
                "\"id2label\":{\"0\":\"a\",\"1\":\"b\"}," BERT "}",
                109483778);
    check_count("{\"architectures\":[\"LlamaForCausalLM\"]," LLAMA "}", 6738415616);
    check_count("{\"architectures\":[\"LlamaForCausalLM\"],"
                "\"tie_word_embeddings\":true," LLAMA "}",
                6607343616);
    check_count("{\"model_type\":\"gpt2\",\"n_embd\":768,\"n_layer\":12,\"n_head\":12,"
                "\"n_inner\":null,\"n_positions\":1024,\"vocab_size\":50257,"
                "\"architectures\":[\"GPT2LMHeadModel\"]}",
                124439808);
    check_count("{\"model_type\":\"vit\",\"hidden_size\":768,\"num_hidden_layers\":12,"
                "\"num_attention_heads\":12,\"intermediate_size\":3072,"
                "\"image_size\":224,\"patch_size\":16,\"num_channels\":3,"
                "\"architectures\":[\"ViTForImageClassification\"],"
                "\"num_labels\":1000}",
                86567656);
}

#define T5                                                                             \
    "\"model_type\":\"t5\",\"d_model\":32,\"d_kv\":8,\"d_ff\":64,\"num_layers\":2,"    \
    "\"num_heads\":4,\"vocab_size\":130"

#define PHI                                                                            \
    "\"model_type\":\"phi\",\"hidden_size\":32,\"num_hidden_layers\":2,"               \
    "\"num_attention_heads\":4,\"intermediate_size\":64,\"vocab_size\":130,"           \
    "\"architectures\":[\"PhiForCausalLM\"]"

/* What a configuration says beside its sizes: words of another width, no decoder, norms
 * of queries, a head that other classes of the family have. */
TEST(hf_config_looks_at_more_than_sizes)
{
    check_count("{\"model_type\":\"opt\",\"hidden_size\":1024,\"num_hidden_layers\":24,"
                "\"num_attention_heads\":16,\"ffn_dim\":4096,\"vocab_size\":50272,"
                "\"max_position_embeddings\":2048,\"word_embed_proj_dim\":512,"
                "\"do_layer_norm_before\":false,"
                "\"architectures\":[\"OPTForCausalLM\"]}",
                331196416);
    check_count("{\"architectures\":[\"T5ForConditionalGeneration\"]," T5 "}", 45760);
    check_count("{\"architectures\":[\"T5EncoderModel\"]," T5 "}", 20832);
    check_count("{\"architectures\":[\"T5ForSequenceClassification\"]," T5 "}", 46882);
    check_count("{" PHI "}", 25474);
    check_count("{\"qk_layernorm\":true," PHI "}", 25538);
    check_count("{\"architectures\":[\"BertLMHeadModel\"]," BERT "}", 109514298);
}

#define SMALL                                                                          \
    "\"hidden_size\":64,\"intermediate_size\":96,\"num_hidden_layers\":2,"             \
    "\"num_attention_heads\":8,\"vocab_size\":1000,\"max_position_embeddings\":128"

#define GPT2                                                                           \
    "\"model_type\":\"gpt2\",\"n_embd\":64,\"n_layer\":2,\"n_head\":8,"                \
    "\"n_positions\":128,\"vocab_size\":1000"

#define VIT                                                                            \
    "\"model_type\":\"vit\",\"hidden_size\":64,\"num_hidden_layers\":2,"               \
    "\"num_attention_heads\":8,\"intermediate_size\":96"

#define ENCODER(family, architecture, more)                                            \
    "{\"model_type\":\"" family "\",\"architectures\":[\"" architecture "\"]," more    \
    "," SMALL "}"

#define CROSS "\"is_decoder\":true,\"add_cross_attention\":true"
#define UNTIED "\"tie_word_embeddings\":false"

TEST(hf_config_knows_heads_that_are_not_tied_and_attention_to_another_model)
{
    check_count(ENCODER("bert", "BertForMaskedLM", UNTIED), 201424);
    check_count(ENCODER("bert", "BertLMHeadModel", CROSS), 169960);
    check_count(ENCODER("roberta", "RobertaForMaskedLM", UNTIED), 201424);
    check_count(ENCODER("xlm-roberta", "XLMRobertaForCausalLM", CROSS), 169960);
    check_count("{\"architectures\":[\"GPT2LMHeadModel\"],"
                "\"add_cross_attention\":true," GPT2 "}",
                205824);
}

TEST(hf_config_knows_the_heads_of_transformers)
{
    check_count(ENCODER("bert", "BertForTokenClassification", CROSS), 164802);
    check_count(ENCODER("roberta", "RobertaForMultipleChoice", CROSS), 168897);
    check_count("{\"architectures\":[\"GPT2DoubleHeadsModel\"]," GPT2 "}", 172353);
    check_count("{\"architectures\":[\"GPT2ForTokenClassification\"]," GPT2 "}",
                172418);
    check_count("{\"architectures\":[\"T5ForTokenClassification\"]," T5 "}", 20898);
    check_count("{\"architectures\":[\"ViTForMaskedImageModeling\"],"
                "\"image_size\":[64,96],\"patch_size\":16," VIT "}",
                159680);
}

/* What a configuration leaves out is what transformers takes, not what is usual. */
TEST(hf_config_has_the_defaults_of_each_family)
{
    check_count("{\"model_type\":\"qwen3\",\"architectures\":[\"Qwen3ForCausalLM\"],"
                "\"head_dim\":16," SMALL "}",
                329088);
    check_count("{\"model_type\":\"gemma\",\"architectures\":[\"GemmaForCausalLM\"],"
                "\"num_key_value_heads\":2," SMALL "}",
                756544);
}

static void check_refused(const char *config, int code, const char *why)
{
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_hf_config_read(config, strlen(config), &m) == code);
    CHECK(strstr(sd_fail_text(), why));
    sd_model_release(&m);
}

TEST(hf_config_says_what_it_does_not_know)
{
    check_refused("{\"model_type\":\"newest\"}", SD_EABSENT, "family newest");
    check_refused("{}", SD_EFORMAT, "no model_type");
    check_refused("[]", SD_EFORMAT, "JSON, but not an object");
    check_refused("[1", SD_EFORMAT, "JSON, but not an object");
    check_refused("{,", SD_EFORMAT, "not valid JSON at byte 1");
    check_refused("{\"model_type\":\"llama\"}", SD_EFORMAT, "model has no vocab_size");
    check_refused("{" LLAMA ",\"hidden_size\":null,\"model_type\":\"vit\"}", SD_EFORMAT,
                  "has no patch_size");
    check_refused("{\"model_type\":\"llama\",\"vocab_size\":9,\"hidden_size\":4}",
                  SD_EFORMAT, "has no num_attention_heads");
    check_refused("{\"model_type\":\"bert\",\"vocab_size\":9,\"hidden_size\":4,"
                  "\"max_position_embeddings\":4,\"num_hidden_layers\":1}",
                  SD_EFORMAT, "model has no intermediate_size");
    check_refused("{\"num_layers\":-1," LLAMA "}", SD_EFORMAT,
                  "num_layers in the configuration");
    check_refused("{\"head_dim\":\"256\"," LLAMA "}", SD_EFORMAT,
                  "head_dim in the configuration");
    check_refused("{\"head_dim\":256.0," LLAMA "}", SD_EFORMAT,
                  "head_dim in the configuration");
    check_refused("{\"head_dim\":1e30," LLAMA "}", SD_EFORMAT,
                  "head_dim in the configuration");
    check_refused("{\"head_dim\":[1,2]," LLAMA "}", SD_EFORMAT,
                  "head_dim in the configuration");
    check_refused("{\"image_size\":[1,2,3]," VIT "}", SD_EFORMAT,
                  "image_size in the configuration");
    check_refused("{\"image_size\":[1,[2]]," VIT "}", SD_EFORMAT,
                  "image_size in the configuration");
    check_refused("{" LLAMA ",\"num_attention_heads\":0}", SD_EFORMAT,
                  "has 0 for num_attention_heads");
    check_refused("{" LLAMA ",\"num_hidden_layers\":1000000}", SD_EFORMAT,
                  "has 1000000 layers, and no model has more than 10000");
}

TEST(hf_config_with_another_head_counts_the_body)
{
    const char config[] = "{\"architectures\":[\"LlamaForDancing\"]," LLAMA "}";
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_hf_config_read(config, sizeof config - 1, &m) == 0);
    CHECK(count(&m) == 6607343616 && m.n_notes == 1);
    CHECK(sd_model_find_layer(&m, "model.layers.31.mlp.up_proj", 27) != UINT32_MAX);
    sd_model_release(&m);
}

TEST(hf_config_of_quantised_weights_says_so)
{
    const char config[] = "{\"quantization_config\":{\"bits\":4,\"desc_act\":[1],"
                          "\"quant_method\":\"gptq\"}," LLAMA "}";
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_hf_config_read(config, sizeof config - 1, &m) == 0);
    CHECK(m.n_notes == 1 &&
          strstr(sd_model_text(&m, m.notes[0]), "quantised (gptq, 4 bits)"));
    sd_model_release(&m);
}

/* Of what does not count as it stands. */
static void check_noted(const char *config, const char *note)
{
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_hf_config_read(config, strlen(config), &m) == 0);
    CHECK(m.n_notes == 1 && strstr(sd_model_text(&m, m.notes[0]), note));
    sd_model_release(&m);
}

TEST(hf_config_says_what_its_numbers_are_not)
{
    check_noted("{\"torch_dtype\":\"foo\"," LLAMA "}", "the type foo is not known");
    check_noted("{\"architectures\":[\"BertModel\"]," LLAMA "}",
                "the head of BertModel is not known");
    check_noted("{\"architectures\":[\"T5EncoderModel\"],\"is_decoder\":true," T5 "}",
                "has is_decoder set");
}

TEST(hf_config_without_memory_says_so)
{
    const char config[] = "{\"model_type\":\"gpt2\",\"n_embd\":4,\"n_layer\":1,"
                          "\"n_head\":1,\"n_positions\":4,\"vocab_size\":9}";

    EACH_FAILURE(nth)
    {
        struct sd_model m;
        int rc = sd_model_init(&m);

        if (rc == 0)
            rc = sd_hf_config_read(config, sizeof config - 1, &m);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_model_release(&m);
    }
}
