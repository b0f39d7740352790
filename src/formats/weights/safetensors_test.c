/* SPDX-License-Identifier: MIT */
#include "formats/weights/safetensors.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "formats/weights/packed.h"

/* A file with this header and so many bytes behind it. */
static void make_file(struct sd_buf *b, const char *header, size_t n_data)
{
    *b = (struct sd_buf){ 0 };
    sd_buf_u64(b, strlen(header));
    sd_buf_text(b, header);
    for (size_t i = 0; i < n_data; i++)
        sd_buf_u8(b, 0);
    CHECK(!b->bad);
}

static int read_file(const struct sd_buf *b, struct sd_model *m)
{
    struct sd_weights w = { .into = m };
    int rc = sd_safetensors_read(b->p, b->n, &w);

    sd_weights_release(&w);
    return rc;
}

static const char two[] =
    "{\"__metadata__\":{\"format\":\"pt\"},"
    "\"layer.weight\":{\"dtype\":\"F32\",\"shape\":[3,4],\"data_offsets\":[0,48]},"
    "\"layer.bias\":{\"dtype\":\"F16\",\"shape\":[5],\"data_offsets\":[48,58]},"
    "\"bn.running_mean\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[58,62]}} ";

TEST(safetensors_are_read_from_the_header)
{
    struct sd_buf b;
    struct sd_model m;

    make_file(&b, two, 62);
    CHECK(sd_safetensors_is(b.p, b.n));
    CHECK(sd_model_init(&m) == 0);
    CHECK(read_file(&b, &m) == 0);
    CHECK(m.n_tensors == 3);
    CHECK(strcmp(sd_model_text(&m, m.tensors[0].name), "layer.weight") == 0);
    CHECK(m.tensors[0].dtype == SD_DTYPE_F32 && m.tensors[0].dims.n == 2 &&
          m.tensors[0].dims.d[1] == 4 && sd_model_tensor_bytes(&m.tensors[0]) == 48);
    CHECK(m.tensors[0].flags == SD_TENSOR_PARAMETER);
    CHECK(strcmp(sd_model_text(&m, m.layers[m.tensors[1].layer].name), "layer") == 0);
    CHECK(m.tensors[1].dtype == SD_DTYPE_F16 &&
          sd_model_tensor_bytes(&m.tensors[1]) == 10);
    CHECK(m.tensors[2].flags == SD_TENSOR_BUFFER && m.tensors[2].dims.n == 0);
    sd_model_release(&m);
    sd_buf_release(&b);
}

/* One tensor of a header: its name, type, shape and bytes; *at is where it begins. */
static void put_tensor(struct sd_buf *head, const char *name, const char *dtype,
                       const char *shape, size_t n, size_t *at)
{
    sd_buf_printf(head,
                  "%c\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":"
                  "[%zu,%zu]}",
                  *at ? ',' : '{', name, dtype, shape, *at, *at + n);
    *at += n;
}

static int64_t held(const struct sd_model *m, uint16_t flag)
{
    int64_t all = 0;

    for (size_t i = 0; i < m->n_tensors; i++)
        if (m->tensors[i].flags & flag)
            all += sd_dims_elements(m->tensors[i].dims);
    return all;
}

/* As gptq, awq, bitsandbytes and mxfp4 write a matrix of 64 by 32. */
TEST(packed_weights_are_counted_as_what_they_stand_for)
{
    struct sd_buf head = { 0 }, b;
    struct sd_model m;
    struct sd_weights w = { .into = &m };
    size_t at = 0;

    put_tensor(&head, "gptq.qweight", "I32", "8,32", 1024, &at);
    put_tensor(&head, "gptq.qzeros", "I32", "2,4", 32, &at);
    put_tensor(&head, "gptq.scales", "F16", "2,32", 128, &at);
    put_tensor(&head, "gptq.g_idx", "I32", "64", 256, &at);
    put_tensor(&head, "awq.qweight", "I32", "64,4", 1024, &at);
    put_tensor(&head, "awq.qzeros", "I32", "2,4", 32, &at);
    put_tensor(&head, "awq.scales", "F16", "2,32", 128, &at);
    put_tensor(&head, "bnb.weight", "U8", "1024,1", 1024, &at);
    put_tensor(&head, "bnb.weight.absmax", "U8", "32", 32, &at);
    put_tensor(&head, "bnb.weight.quant_map", "F32", "16", 64, &at);
    put_tensor(&head, "mx_blocks", "U8", "64,1,16", 1024, &at);
    put_tensor(&head, "mx_scales", "U8", "64,1", 64, &at);
    put_tensor(&head, "fp8.weight", "F8_E4M3", "64,32", 2048, &at);
    put_tensor(&head, "fp8.weight_scale_inv", "F32", "1,1", 4, &at);
    put_tensor(&head, "plain.weight", "F16", "64,32", 4096, &at);
    sd_buf_u8(&head, '}');
    make_file(&b, sd_buf_string(&head), at);
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_safetensors_read(b.p, b.n, &w) == 0);
    CHECK(sd_packed_count(&w) == 0);
    CHECK(held(&m, SD_TENSOR_PARAMETER) == 6 * 64 * 32);
    CHECK(held(&m, SD_TENSOR_BUFFER) == 8 + 64 + 64 + 8 + 64 + 32 + 16 + 64 + 1);
    for (size_t i = 0, bytes = 0; i < m.n_tensors; i++) {
        bytes += (size_t)sd_model_tensor_bytes(&m.tensors[i]);
        CHECK(i + 1 < m.n_tensors || bytes == at);
    }
    CHECK(m.tensors[0].dims.d[0] == 64 && m.tensors[4].dims.d[1] == 32);
    CHECK(m.n_notes == 1 && strstr(sd_model_text(&m, m.notes[0]), "4 tensors pack"));
    sd_weights_release(&w);
    sd_model_release(&m);
    sd_buf_release(&head);
    sd_buf_release(&b);
}

TEST(packed_weights_of_unknown_bits_are_told)
{
    struct sd_buf head = { 0 }, b;
    struct sd_model m;
    struct sd_weights w = { .into = &m };
    size_t at = 0;

    put_tensor(&head, "a.weight_packed", "I32", "8,32", 1024, &at);
    put_tensor(&head, "a.weight_scale", "F16", "2,32", 128, &at);
    put_tensor(&head, "b.qweight", "I32", "8,32", 1024, &at);
    sd_buf_u8(&head, '}');
    make_file(&b, sd_buf_string(&head), at);
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_safetensors_read(b.p, b.n, &w) == 0);
    CHECK(sd_packed_count(&w) == 0);
    CHECK(held(&m, SD_TENSOR_PARAMETER) == 512);
    CHECK(m.n_notes == 1 &&
          strstr(sd_model_text(&m, m.notes[0]), "as they are stored"));
    sd_weights_release(&w);
    sd_model_release(&m);
    sd_buf_release(&head);
    sd_buf_release(&b);
}

static void check_refused(const char *header, size_t n_data, const char *why)
{
    struct sd_buf b;
    struct sd_model m;

    make_file(&b, header, n_data);
    CHECK(sd_model_init(&m) == 0);
    CHECK(read_file(&b, &m) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), why));
    sd_model_release(&m);
    sd_buf_release(&b);
}

#define TENSOR(name, shape, offsets)                                                   \
    "\"" name "\":{\"dtype\":\"U8\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

TEST(safetensors_that_the_library_refuses_are_refused)
{
    check_refused("{" TENSOR("a", "[2]", "[0,2]") "}", 1, "is truncated");
    check_refused("{" TENSOR("a", "[2]", "[0,2]") "}", 3, "belong to no tensor");
    check_refused("{" TENSOR("a", "[2]", "[0,3]") "}", 3, "other bytes");
    check_refused("{" TENSOR("a", "[2]", "[1,3]") "}", 3, "a hole before it");
    check_refused("{" TENSOR("a", "[2]", "[0,2]") "," TENSOR("b", "[2]", "[1,3]") "}",
                  3, "overlaps another");
    check_refused("{" TENSOR("a", "[2]", "[0,2]") "," TENSOR("a", "[2]", "[2,4]") "}",
                  4, "is there twice");
    check_refused("{" TENSOR("a", "[2]", "[2,0]") "}", 2, "no range");
    check_refused("{" TENSOR("a", "[2]", "[0]") "}", 2, "no range");
    check_refused("{" TENSOR("a", "[2]", "[0,1,2]") "}", 2, "too long");
    check_refused("{" TENSOR("a", "[-2]", "[0,2]") "}", 2, "where a size should be");
    check_refused("{" TENSOR("a", "2", "[0,2]") "}", 2, "where a list should be");
    check_refused("{" TENSOR("a", "[4294967296,4294967296,4]", "[0,2]") "}", 2,
                  "other bytes");
    check_refused("{\"a\":{\"shape\":[2],\"data_offsets\":[0,2]}}", 2,
                  "lacks its dtype");
    check_refused("{\"a\":7}", 0, "not described");
    check_refused("[]", 0, "JSON, but not an object");
    check_refused("{\"a\"", 0, "not valid JSON");
}

TEST(safetensors_that_claim_more_than_is_there_are_refused)
{
    struct sd_weights w = { 0 };

    CHECK(sd_safetensors_read("", 0, &w) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "not a safetensors file"));
    CHECK(sd_safetensors_read("\x10\0\0\0\0\0\0\0{}", 10, &w) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "but only 2 are there"));
    CHECK(sd_safetensors_read("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10, &w) ==
          SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "claims a header"));
    CHECK(!sd_safetensors_is("\x10\0\0\0\0\0\0\0[]", 10));
}

TEST(safetensors_of_an_unknown_type_are_taken_at_their_word)
{
    struct sd_buf b;
    struct sd_model m;

    make_file(
        &b,
        "{\"a\":{\"dtype\":\"X9\",\"new\":[1],\"shape\":[2],\"data_offsets\":[0,5]"
        "}}",
        5);
    CHECK(sd_model_init(&m) == 0);
    CHECK(read_file(&b, &m) == 0);
    CHECK(m.n_notes == 1 && sd_model_tensor_bytes(&m.tensors[0]) == 5);
    sd_model_release(&m);
    sd_buf_release(&b);
}

TEST(safetensors_with_a_zero_in_a_name_are_refused)
{
    struct sd_buf b;
    struct sd_model m;

    make_file(&b,
              "{\"a\\u0000b\":{\"dtype\":\"U8\",\"shape\":[1],"
              "\"data_offsets\":[0,1]}}",
              1);
    CHECK(sd_model_init(&m) == 0);
    CHECK(read_file(&b, &m) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "a NUL byte"));
    sd_model_release(&m);
    sd_buf_release(&b);
}

TEST(safetensors_of_many_unknown_types_say_so_in_two_notes)
{
    struct sd_buf b;
    struct sd_model m;

    make_file(&b,
              "{\"a\":{\"dtype\":\"Z1\",\"shape\":[1],\"data_offsets\":[0,1]},"
              "\"b\":{\"dtype\":\"Z1\",\"shape\":[1],\"data_offsets\":[1,2]},"
              "\"c\":{\"dtype\":\"Z2\",\"shape\":[1],\"data_offsets\":[2,3]}}",
              3);
    CHECK(sd_model_init(&m) == 0);
    CHECK(read_file(&b, &m) == 0);
    CHECK(m.n_tensors == 3 && m.n_notes == 2);
    CHECK(strstr(sd_model_text(&m, m.notes[1]), "2 more tensors"));
    sd_model_release(&m);
    sd_buf_release(&b);
}

TEST(safetensors_cut_anywhere_in_the_header_are_refused)
{
    struct sd_buf b;

    make_file(&b, two, 62);
    for (size_t n = 0; n < b.n; n++) {
        struct sd_model m;
        struct sd_weights w = { .into = &m };

        CHECK(sd_model_init(&m) == 0);
        CHECK(sd_safetensors_read(b.p, n, &w) == SD_EFORMAT);
        sd_weights_release(&w);
        sd_model_release(&m);
    }
    sd_buf_release(&b);
}

TEST(weights_make_no_more_layers_than_tensors_have)
{
    enum { TENSORS = 200, LEVELS = 20 };
    struct sd_model m;
    struct sd_weights w = { .into = &m };
    int64_t three = 3;
    int n_own = 0; /* of the model */

    CHECK(sd_model_init(&m) == 0);
    for (int i = 0; i < TENSORS; i++) {
        struct sd_buf name = { 0 };
        uint32_t id;

        for (int k = 0; k < LEVELS; k++)
            sd_buf_printf(&name, "a%d.", i);
        sd_buf_text(&name, "weight");
        CHECK(sd_model_word(&m, sd_buf_string(&name), &id) == 0);
        CHECK(sd_weights_add(&w, id, SD_DTYPE_F32, (struct sd_dims){ &three, 1 }, -1) ==
              0);
        sd_buf_release(&name);
    }
    CHECK(m.n_tensors == TENSORS);
    CHECK(m.n_layers > 1024 && m.n_layers < 1024 + 4 * TENSORS + LEVELS);
    for (int i = 0; i < TENSORS; i++)
        n_own += m.tensors[i].layer == SD_MODEL_ROOT;
    CHECK(m.tensors[0].layer != SD_MODEL_ROOT && n_own > TENSORS / 4);
    sd_weights_release(&w);
    sd_model_release(&m);
}

/* A name of a thousand levels would make a thousand layers with ever longer names. */
TEST(weights_with_names_of_no_layer_belong_to_the_model)
{
    struct sd_model m;
    struct sd_weights w = { .into = &m };
    char name[2001];
    uint32_t id;

    for (size_t i = 0; i < sizeof name - 1; i++)
        name[i] = i % 2 ? '.' : 'a';
    name[sizeof name - 1] = 0;
    CHECK(sd_model_init(&m) == 0);
    CHECK(sd_model_word(&m, name, &id) == 0);
    CHECK(sd_weights_add(&w, id, SD_DTYPE_F32, (struct sd_dims){ 0 }, -1) == 0);
    CHECK(m.n_layers == 1 && w.bytes == 4);
    CHECK(sd_weights_add(&w, id, SD_DTYPE_F32, (struct sd_dims){ 0 }, -1) ==
          SD_EEXISTS);
    sd_weights_release(&w);
    sd_model_release(&m);
}

TEST(safetensors_without_memory_say_so)
{
    struct sd_buf b;

    make_file(&b, two, 62);
    EACH_FAILURE(nth)
    {
        struct sd_model m;
        int rc = sd_model_init(&m);

        if (rc == 0)
            rc = read_file(&b, &m);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_model_release(&m);
    }
    sd_buf_release(&b);
}
