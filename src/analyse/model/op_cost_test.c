/* SPDX-License-Identifier: MIT */
#include "analyse/model/op_cost.h"

#include <stdio.h>
#include <string.h>

#include "analyse/model/model_costs_testing.h"
#include "base/test.h"

/* MACs of all operators of `m`, which is released; -1 when one has no rule. */
static int64_t macs_of(struct sd_model *m)
{
    int64_t all = 0;

    for (size_t i = 0; i < m->n_ops; i++) {
        struct sd_cost c = sd_op_cost(m, &m->ops[i]);

        if (c.known == SD_OP_UNKNOWN)
            all = INT64_MIN / 2;
        CHECK(c.flops == 2 * c.macs && c.madds == c.macs);
        all += c.macs * m->ops[i].n_calls;
    }
    sd_model_release(m);
    return all < 0 ? -1 : all;
}

static struct sd_model fresh;

/* MACs of one operator. */
#define MACS(name, out, attrs, ...)                                                    \
    (start(), SD_NET_OP(&fresh, name, out, attrs, __VA_ARGS__), macs_of(&fresh))

static void start(void) { CHECK(sd_model_init(&fresh) == 0); }

TEST(a_product_of_matrices_counts_each_multiply_add)
{
    CHECK(MACS("aten::mm", "8,64", "", "8,32", "32,64") == 16384);
    CHECK(MACS("aten::addmm", "1,1000", "", "1000", "1,512", "512,1000") == 512000);
    CHECK(MACS("aten::addmm_", "1,1000", "", "1000", "1,512", "512,1000") == 512000);
    CHECK(MACS("aten::bmm", "3,4,6", "", "3,4,5", "3,5,6") == 360);
    CHECK(MACS("aten::baddbmm", "3,4,6", "", "3,4,6", "3,4,5", "3,5,6") == 360);
    CHECK(MACS("aten::addbmm", "4,6", "", "4,6", "3,4,5", "3,5,6") == 360);
    CHECK(MACS("aten::mv", "4", "", "4,5", "5") == 20);
    CHECK(MACS("aten::addmv", "4", "", "4", "4,5", "5") == 20);
    CHECK(MACS("aten::dot", "", "", "7", "7") == 7);
    CHECK(MACS("aten::matmul", "2,3,4,6", "", "2,1,4,5", "3,5,6") == 720);
    CHECK(MACS("aten::linear", "2,10,7", "", "2,10,5", "7,5", "7") == 700);
    CHECK(MACS("quantized::linear_dynamic", "2,7", "", "2,5", "7,5") == 70);
    CHECK(MACS("aten::_int_mm", "8,64", "", "8,32", "32,64") == 16384);
    CHECK(MACS("aten::_foreach_mm", "2,4", "", "+2,3", "+5,6", "+3,4", "+6,7") == 234);
    CHECK(MACS("aten::_weight_int8pack_mm", "2,7", "", "2,5", "7,5", "7") == 70);
    CHECK(MACS("aten::_weight_int4pack_mm", "2,7", "", "2,64", "1,4,32,2", "2,7,2") ==
          2 * 7 * 64);
}

TEST(convolutions_of_other_channels_than_their_weight_have_no_count)
{
    CHECK(MACS("onnx::Conv", "4,8,4,4", "", "4,4,6,6", "8,3,3,3") == -1);
    CHECK(MACS("onnx::Conv", "4,8,4,4", "", "4,6,6,6", "8,3,3,3") == 64 * 8 * 27);
}

TEST(inner_products_sum_over_the_last_axes_of_both)
{
    CHECK(MACS("aten::inner", "2,5,2,4", "", "2,5,4", "2,4,4") == 320);
    CHECK(MACS("aten::inner", "", "", "7", "7") == 7);
    CHECK(MACS("aten::inner", "3", "", "3,7", "7") == 21);
    CHECK(MACS("aten::inner", "3,7", "", "3,7", "") == 0);
    CHECK(MACS("aten::inner", "3", "", "3,7", "6") == -1);
}

TEST(onnxruntimes_attention_may_have_values_of_another_width)
{
    CHECK(MACS("com.microsoft::Attention", "2,5,8", "", "2,5,8", "8,24") ==
          2 * 5 * 8 * 24 + 2 * 5 * 5 * (8 + 8));
    CHECK(MACS("com.microsoft::Attention", "2,5,4", "qkv_hidden_sizes=8,8,4", "2,5,8",
               "8,20") == 2 * 5 * 8 * 20 + 2 * 5 * 5 * (8 + 4));
    CHECK(MACS("com.microsoft::Attention", "2,5,4", "qkv_hidden_sizes=8,8,8", "2,5,8",
               "8,20") == -1);
}

/* It has a body, which is not walked: nothing of it may be called free. */
TEST(a_map_over_a_sequence_has_no_rule)
{
    CHECK(MACS("onnx::SequenceMap", "3", "", "3") == -1);
}

TEST(grouped_products_count_the_rows_of_all_groups)
{
    CHECK(MACS("aten::_grouped_mm", "10,6", "", "10,5", "3,5,6", "3") == 300);
    CHECK(MACS("aten::_grouped_mm", "3,4,6", "", "3,4,5", "3,5,6") == 360);
    CHECK(MACS("aten::_grouped_mm", "4,10", "", "3,4,5", "5,10", "3") == 200);
}

TEST(operands_that_do_not_fit_have_no_rule)
{
    CHECK(MACS("aten::mm", "8,64", "", "8,32", "31,64") == -1);
    CHECK(MACS("aten::mm", "8,64", "", "8,32") == -1);
    CHECK(MACS("aten::mm", "8,64", "", "8,32", "-") == -1);
    CHECK(MACS("aten::convolution", "8,64", "", "8,32", "32,64") == -1);
    CHECK(MACS("aten::bmm", "2,4,6", "", "2,4,5", "3,5,6") == -1);
    CHECK(MACS("aten::_trilinear", "2", "", "2,3") == -1);
    CHECK(MACS("aten::einsum", "2,3", "", "2,3") == -1);
    CHECK(MACS("aten::_transformer_encoder_layer_fwd", "2", "", "2,3,4") == -1);
    CHECK(MACS("aten::mkldnn_rnn_layer", "2", "", "2,3,0", "3", "4") == -1);
}

TEST(a_convolution_is_its_weight_at_each_position)
{
    CHECK(MACS("aten::convolution", "1,64,112,112", "", "1,3,224,224", "64,3,7,7",
               "-") == 118013952);
    CHECK(MACS("aten::convolution", "1,32,112,112", "groups=32", "1,32,112,112",
               "32,1,3,3", "-") == 3612672);
    CHECK(MACS("aten::convolution", "4,16,32,32", "", "4,8,32,32", "16,8,3,3", "16") ==
          4718592);
    CHECK(MACS("aten::convolution", "1,16,16,16", "", "1,8,16,16", "16,8,3,3") ==
          294912);
    CHECK(MACS("aten::convolution", "16,16,16", "", "8,16,16", "16,8,3,3") == 294912);
    CHECK(MACS("aten::convolution", "2,6,9", "", "2,4,11", "6,4,3") == 2 * 9 * 72);
    CHECK(MACS("aten::convolution", "1,2,3,4,5", "", "1,1,3,4,5", "2,1,3,3,3") ==
          60 * 54);
}

TEST(a_transposed_convolution_is_its_weight_at_each_position_of_the_input)
{
    CHECK(MACS("aten::convolution", "1,8,64,64", "stride=2,2 transposed=1",
               "1,16,32,32", "16,8,4,4", "8") == 2097152);
    CHECK(MACS("onnx::ConvTranspose", "1,8,64,64", "strides=2,2", "1,16,32,32",
               "16,8,4,4") == 2097152);
}

TEST(the_backward_of_a_convolution_is_one_for_each_gradient_wanted)
{
#define BACKWARD(mask)                                                                 \
    MACS("aten::convolution_backward", "1,3,224,224",                                  \
         "transposed=0 output_mask=" mask, "1,64,112,112", "1,3,224,224", "64,3,7,7")
    CHECK(BACKWARD("0,1,0") == 118013952);
    CHECK(BACKWARD("1,1,1") == 2 * 118013952);
    CHECK(BACKWARD("0,0,1") == 0);
#undef BACKWARD
    CHECK(MACS("aten::convolution_backward", "1,16,32,32",
               "transposed=1 output_mask=1,1,0", "1,8,64,64", "1,16,32,32",
               "16,8,4,4") == 2 * 2097152);
}

TEST(attention_counts_two_products_whatever_the_heads_of_keys)
{
    CHECK(MACS("aten::_scaled_dot_product_flash_attention_for_cpu", "1,12,64,64", "",
               "1,12,64,64", "1,12,64,64", "1,12,64,64") == 6291456);
    CHECK(MACS("aten::_scaled_dot_product_flash_attention_for_cpu", "1,12,64,64", "",
               "1,12,64,64", "1,4,64,64", "1,4,64,64") == 6291456);
    CHECK(MACS("aten::_scaled_dot_product_efficient_attention", "1,12,64,64", "",
               "1,12,64,64", "1,12,32,64", "1,12,32,16") == 12 * 64 * 32 * 80);
    /* (batch, s, heads, d) */
    CHECK(MACS("aten::_flash_attention_forward", "2,10,4,16", "", "2,10,4,16",
               "2,20,4,16", "2,20,4,16") == 2 * 4 * 10 * 20 * 32);
    CHECK(MACS("aten::_flash_attention_forward", "30,4,16", "", "30,4,16", "30,4,16",
               "30,4,16") == -1);
    CHECK(MACS("aten::_scaled_dot_product_flash_attention_for_cpu_backward",
               "1,12,64,64", "", "1,12,64,64", "1,12,64,64", "1,12,64,64",
               "1,12,64,64") == 5 * 3145728);
}

TEST(the_fast_paths_of_attention_have_their_projections)
{
    CHECK(MACS("aten::_native_multi_head_attention", "2,10,64",
               "embed_dim=64 num_head=4", "2,10,64", "2,10,64", "2,10,64", "192,64",
               "192", "64,64", "64", "-") == 353280);
    CHECK(MACS("aten::_transformer_encoder_layer_fwd", "2,10,64", "num_heads=4",
               "2,10,64", "192,64", "192", "64,64", "64", "64", "64", "64", "64",
               "256,64", "256", "64,256", "64", "-") == 1008640);
}

TEST(a_nested_tensor_counts_each_of_its_parts)
{
    /* Two samples of 10 tokens are a batch of two. */
    CHECK(MACS("aten::_transformer_encoder_layer_fwd", "20,64", "num_heads=4", "+10,64",
               "+10,64", "192,64", "192", "64,64", "64", "64", "64", "64", "64",
               "256,64", "256", "64,256", "64", "-") == 1008640);
    CHECK(MACS("aten::_native_multi_head_attention", "20,64", "", "+10,64", "+10,64",
               "+10,64", "+10,64", "+10,64", "+10,64", "192,64", "192", "64,64",
               "64") == 353280);
}

TEST(a_recurrent_layer_is_its_weights_at_each_step)
{
    start();
    SD_NET_OP(&fresh, "aten::mkldnn_rnn_layer", "10,4,128", "", "10,4,64", "512,64",
              "512,128", "512", "512");
    SD_NET_OP(&fresh, "aten::mkldnn_rnn_layer", "10,4,128", "", "10,4,128", "512,128",
              "512,128", "512", "512");
    CHECK(macs_of(&fresh) == 9175040);
    CHECK(MACS("aten::_cudnn_rnn", "10,4,128", "", "10,4,64", "+512,64", "+512,128",
               "+512", "+512", "+512,128", "+512,128", "+512", "+512",
               "2,4,128") == 9175040);
    CHECK(MACS("aten::_cudnn_rnn", "10,4,128", "", "10,4,64", "+384,64", "+384,128",
               "+384", "+384", "+384,128", "+384,128", "+384", "+384") == 6881280);
    CHECK(MACS("onnx::LSTM", "10,1,4,128", "", "10,4,64", "1,512,64", "1,512,128") ==
          40 * 512 * 192);
    CHECK(MACS("aten::lstm_cell", "4,128", "", "4,64", "+4,128", "+4,128", "512,64",
               "512,128") == 4 * 512 * 192);
    CHECK(MACS("aten::gru_cell", "4,128", "", "4,64", "4,128", "384,64", "384,128") ==
          4 * 384 * 192);
}

TEST(a_bilinear_form_counts_each_term)
{
    /* x (5, 3), W (7, 3, 4), y (5, 4) */
    CHECK(MACS("aten::_trilinear", "5,7", "expand1=1,3 expand2=0 expand3=1,2", "5,3",
               "7,3,4", "5,4") == 5 * 7 * 3 * 4);
    CHECK(MACS("aten::_euclidean_dist", "6,8", "", "6,3", "8,3") == 144);
}

TEST(an_einsum_counts_as_its_products_from_left_to_right)
{
    CHECK(MACS("aten::einsum", "8,64", "equation='ij,jk->ik'", "8,32", "32,64") ==
          16384);
    CHECK(MACS("aten::einsum", "2,4,6", "equation='bij,bjk->bik'", "2,4,5", "2,5,6") ==
          240);
    CHECK(MACS("onnx::Einsum", "2,3,4,6", "equation='...ij,...jk->...ik'", "2,3,4,5",
               "2,3,5,6") == 720);
    CHECK(MACS("aten::einsum", "8,64", "equation='ij,jk'", "8,32", "32,64") == 16384);
    CHECK(MACS("aten::einsum", "2,3", "equation='i,j->ij'", "2", "3") == 0);
    CHECK(MACS("aten::einsum", "3,2", "equation='ij->ji'", "2,3") == 0);
    CHECK(MACS("aten::einsum", "2,5", "equation='ij,jk,kl->il'", "2,3", "3,4", "4,5") ==
          24 + 40);
    /* k is summed before the product */
    CHECK(MACS("aten::einsum", "2", "equation='ij,jk->i'", "2,3", "3,4") == 6);
    CHECK(MACS("aten::einsum", "2,4", "equation='ij,kl->ij'", "2,3") == -1);
    CHECK(MACS("aten::einsum", "2,4", "equation='ij,jk->ik'", "2,3", "4,4") == -1);
    CHECK(MACS("aten::einsum", "2,4", "equation='i1,jk->ik'", "2,3", "3,4") == -1);
}

TEST(onnx_names_its_products_otherwise)
{
    CHECK(MACS("onnx::Gemm", "1,1000", "transB=1", "1,512", "1000,512", "1000") ==
          512000);
    CHECK(MACS("onnx::Gemm", "4,6", "transA=1", "5,4", "5,6") == 120);
    CHECK(MACS("onnx::Gemm", "4,6", "", "5,4", "5,6") == -1);
    CHECK(MACS("onnx::MatMul", "2,3,4,6", "", "2,3,4,5", "2,3,5,6") == 720);
    CHECK(MACS("onnx::Conv", "1,64,112,112", "", "1,3,224,224", "64,3,7,7") ==
          118013952);
    CHECK(MACS("onnx::QLinearConv", "1,4,8,8", "", "1,3,8,8", "", "", "4,3,3,3") ==
          64 * 108);
    CHECK(MACS("onnx::Attention", "1,12,64,64", "", "1,12,64,64", "1,12,64,64",
               "1,12,64,64") == 6291456);
    CHECK(MACS("onnx::Attention", "1,64,768", "q_num_heads=12 kv_num_heads=4",
               "1,64,768", "1,64,256", "1,64,256") == 6291456);
    CHECK(MACS("com.microsoft::MatMulNBits", "2,7", "K=64 N=7", "2,64", "7,2,16") ==
          2 * 7 * 64);
}

TEST(what_has_no_product_is_free_and_what_nobody_knows_is_not)
{
    CHECK(MACS("aten::relu", "2,3", "", "2,3") == 0);
    CHECK(sd_op_known("aten::add_") == SD_OP_FREE);
    CHECK(sd_op_known("aten::native_batch_norm_backward") == SD_OP_FREE);
    CHECK(sd_op_known("aten::_foreach_add_") == SD_OP_FREE);
    CHECK(sd_op_known("aten::_foreach_mm") == SD_OP_COUNTED);
    CHECK(sd_op_known("aten::__and__") == SD_OP_FREE);
    CHECK(sd_op_known("aten::special_bessel_j0") == SD_OP_UNKNOWN);
    CHECK(sd_op_known("aten::_fft_r2c") == SD_OP_UNKNOWN);
    CHECK(sd_op_known("mine::thing") == SD_OP_UNKNOWN);
    CHECK(sd_op_known("_") == SD_OP_UNKNOWN && sd_op_known("") == SD_OP_UNKNOWN);
    CHECK(sd_op_is_view("aten::transpose") && !sd_op_is_view("aten::relu"));
}

TEST(a_rule_of_the_users_is_believed)
{
    struct sd_cost c;

    start();
    SD_NET_OP(&fresh, "mine::thing", "8,64", "", "8,64");
    fresh.ops[0].given_macs = 7;
    c = sd_op_cost(&fresh, &fresh.ops[0]);
    CHECK(c.known == SD_OP_COUNTED);
    CHECK(c.macs == 7 && c.flops == 14 && c.read_bytes == 2048);
    fresh.ops[0].given_macs = sd_model_given_flops(5);
    c = sd_op_cost(&fresh, &fresh.ops[0]);
    CHECK(c.known == SD_OP_COUNTED);
    CHECK(c.macs == 2 && c.flops == 5);
    fresh.ops[0].given_macs = sd_model_given_flops(0);
    c = sd_op_cost(&fresh, &fresh.ops[0]);
    CHECK(c.known == SD_OP_COUNTED && c.flops == 0);
    sd_model_release(&fresh);
}

TEST(bytes_are_those_of_its_tensors_and_views_have_none)
{
    struct sd_cost c;

    start();
    SD_NET_OP(&fresh, "aten::mm", "8,64", "", "8,32", "32,64");
    SD_NET_OP(&fresh, "aten::t", "64,8", "", "8,64");
    c = sd_op_cost(&fresh, &fresh.ops[0]);
    CHECK(c.known == SD_OP_COUNTED);
    CHECK(c.read_bytes == 4 * (256 + 2048) && c.written_bytes == 4 * 512);
    c = sd_op_cost(&fresh, &fresh.ops[1]);
    CHECK(c.known == SD_OP_FREE);
    CHECK(c.read_bytes == 0 && c.written_bytes == 0);
    sd_model_release(&fresh);
}

TEST(huge_shapes_stop_at_the_largest_number)
{
    start();
    SD_NET_OP(&fresh, "aten::mm", "8,64", "", "4000000000000,4000000000000",
              "4000000000000,3");
    {
        struct sd_cost c;

        c = sd_op_cost(&fresh, &fresh.ops[0]);
        CHECK(c.known == SD_OP_COUNTED);
        CHECK(c.macs == INT64_MAX && c.flops == INT64_MAX);
    }
    sd_model_release(&fresh);
    CHECK(MACS("aten::mm", "8,64", "", "0,4000000000000", "4000000000000,3") == 0);
}

/* The table is searched by halving. */
TEST(each_kind_of_the_table_is_sorted)
{
#define PRODUCT(name, rule) name,
#define VIEW(name)
#define FREE(name)
    static const char *const products[] = {
#include "analyse/model/ops.def"
    };
#undef PRODUCT
#undef VIEW
#undef FREE
#define PRODUCT(name, rule)
#define VIEW(name) name,
#define FREE(name)
    static const char *const views[] = {
#include "analyse/model/ops.def"
    };
#undef VIEW
#undef FREE
#define VIEW(name)
#define FREE(name) name,
    static const char *const frees[] = {
#include "analyse/model/ops.def"
    };
#undef PRODUCT
#undef VIEW
#undef FREE

    for (size_t i = 1; i < sizeof products / sizeof products[0]; i++)
        CHECK(strcmp(products[i - 1], products[i]) < 0);
    for (size_t i = 1; i < sizeof views / sizeof views[0]; i++)
        CHECK(strcmp(views[i - 1], views[i]) < 0);
    for (size_t i = 1; i < sizeof frees / sizeof frees[0]; i++)
        CHECK(strcmp(frees[i - 1], frees[i]) < 0);
    for (size_t i = 0; i < sizeof frees / sizeof frees[0]; i++)
        CHECK(sd_op_known(frees[i]) == SD_OP_FREE);
}

/* --- Language models and a transformer for pictures, product by product */

static void linear(struct sd_model *m, int64_t rows, int64_t k, int64_t out)
{
    char a[64], b[64], c[64], y[64];

    snprintf(a, sizeof a, "%lld", (long long)out);
    snprintf(b, sizeof b, "%lld,%lld", (long long)rows, (long long)k);
    snprintf(c, sizeof c, "%lld,%lld", (long long)k, (long long)out);
    snprintf(y, sizeof y, "%lld,%lld", (long long)rows, (long long)out);
    SD_NET_OP(m, "aten::addmm", y, "", a, b, c);
}

static void block(struct sd_model *m, int64_t tokens, int64_t width, int64_t heads)
{
    char scores[64], q[64], k[64];

    linear(m, tokens, width, 3 * width);
    snprintf(q, sizeof q, "%lld,%lld,%lld", (long long)heads, (long long)tokens,
             (long long)(width / heads));
    snprintf(k, sizeof k, "%lld,%lld,%lld", (long long)heads,
             (long long)(width / heads), (long long)tokens);
    snprintf(scores, sizeof scores, "%lld,%lld,%lld", (long long)heads,
             (long long)tokens, (long long)tokens);
    SD_NET_OP(m, "aten::bmm", scores, "", q, k);
    SD_NET_OP(m, "aten::bmm", q, "", scores, q);
    linear(m, tokens, width, width);
    linear(m, tokens, width, 4 * width);
    linear(m, tokens, 4 * width, width);
}

static int64_t transformer(int64_t tokens, int64_t head_rows, int64_t head)
{
    start();
    for (int i = 0; i < 12; i++)
        block(&fresh, tokens, 768, 12);
    if (head > 0)
        linear(&fresh, head_rows, 768, head);
    return macs_of(&fresh);
}

TEST(transformers_count_as_published)
{
    const int64_t patches = INT64_C(196) * 768 * 3 * 16 * 16;

    CHECK(transformer(128, 1, 768) == 11174215680); /* BERT-base with pooler */
    CHECK(transformer(512, 1, 768) == 48318971904);
    CHECK(transformer(1024, 1024, 50257) == 145824153600); /* GPT-2 small with head */
    CHECK(transformer(1024, 0, 0) == 106300440576);
    CHECK(transformer(128, 128, 50257) == 16114089984);
    CHECK(transformer(197, 1, 1000) + patches == 17563828224); /* ViT-B/16 */
}

TEST(forward_and_backward_count_as_measured)
{
    start();
    linear(&fresh, 32, 784, 256);
    linear(&fresh, 32, 256, 10);
    /* The gradient of the second layer's input, and of both weights. */
    SD_NET_OP(&fresh, "aten::mm", "32,256", "", "32,10", "10,256");
    SD_NET_OP(&fresh, "aten::mm", "10,256", "", "10,32", "32,256");
    SD_NET_OP(&fresh, "aten::mm", "256,784", "", "256,32", "32,784");
    CHECK(macs_of(&fresh) == 13090816);
}
