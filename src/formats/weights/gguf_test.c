/* SPDX-License-Identifier: MIT */
#include "formats/weights/gguf.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

static void put_text(struct sd_buf *b, const char *s)
{
    sd_buf_u64(b, strlen(s));
    sd_buf_text(b, s);
}

static void put_tensor(struct sd_buf *b, const char *name, uint64_t inner,
                       uint64_t outer, uint32_t type, uint64_t offset)
{
    put_text(b, name);
    sd_buf_u32(b, outer ? 2 : 1);
    sd_buf_u64(b, inner);
    if (outer)
        sd_buf_u64(b, outer);
    sd_buf_u32(b, type);
    sd_buf_u64(b, offset);
}

static void put_padding(struct sd_buf *b, size_t to)
{
    while (b->n % to)
        sd_buf_u8(b, 0);
}

enum { F32 = 0, Q4_0 = 2, Q6_K = 14 };

/* Facts of every kind; 64 x 2 in blocks of 32 (4 of 18 bytes), 3 floats. */
static void make_file(struct sd_buf *b)
{
    *b = (struct sd_buf){ 0 };
    sd_buf_text(b, "GGUF");
    sd_buf_u32(b, 3);
    sd_buf_u64(b, 2);
    sd_buf_u64(b, 5);
    put_text(b, "general.architecture");
    sd_buf_u32(b, 8);
    put_text(b, "llama");
    put_text(b, "general.alignment");
    sd_buf_u32(b, 4);
    sd_buf_u32(b, 64);
    put_text(b, "llama.rope");
    sd_buf_u32(b, 6);
    sd_buf_u32(b, 0x3fc00000); /* 1.5 */
    put_text(b, "tokens");
    sd_buf_u32(b, 9);
    sd_buf_u32(b, 8);
    sd_buf_u64(b, 2);
    put_text(b, "a");
    put_text(b, "b");
    put_text(b, "scores");
    sd_buf_u32(b, 9);
    sd_buf_u32(b, 6);
    sd_buf_u64(b, 2);
    sd_buf_u64(b, 0);
    put_tensor(b, "blk.0.attn_q.weight", 64, 2, Q4_0, 0);
    put_tensor(b, "output_norm.bias", 3, 0, F32, 128);
    put_padding(b, 64);
    for (int i = 0; i < 128 + 12; i++)
        sd_buf_u8(b, 0);
    CHECK(!b->bad);
}

static int read_file(const void *p, size_t n, struct sd_model *m)
{
    struct sd_weights w = { .into = m };
    int rc = sd_gguf_read(p, n, &w);

    sd_weights_release(&w);
    return rc;
}

TEST(gguf_is_read_from_the_header)
{
    struct sd_buf b;
    struct sd_model m;

    make_file(&b);
    CHECK(sd_gguf_is(b.p, b.n));
    CHECK(sd_model_init(&m) == 0);
    CHECK(read_file(b.p, b.n, &m) == 0);
    CHECK(m.n_tensors == 2);
    CHECK(m.tensors[0].dims.n == 2 && m.tensors[0].dims.d[0] == 2 &&
          m.tensors[0].dims.d[1] == 64 &&
          sd_model_tensor_bytes(&m.tensors[0]) == 4 * 18);
    CHECK(sd_model_tensor_bytes(&m.tensors[1]) == 12);
    CHECK(strcmp(sd_model_fact_of(&m, "general.architecture"), "llama") == 0);
    CHECK(strcmp(sd_model_fact_of(&m, "llama.rope"), "1.5") == 0);
    CHECK(!sd_model_fact_of(&m, "scores"));
    sd_model_release(&m);
    sd_buf_release(&b);
}

TEST(gguf_cut_anywhere_is_refused)
{
    struct sd_buf b;

    make_file(&b);
    for (size_t n = 0; n < b.n; n++) {
        struct sd_model m;

        CHECK(sd_model_init(&m) == 0);
        CHECK(read_file(b.p, n, &m) == SD_EFORMAT);
        CHECK(strstr(sd_fail_text(), n < 4 ? "not a gguf file" : "is truncated"));
        sd_model_release(&m);
    }
    sd_buf_release(&b);
}

static void begin(struct sd_buf *b, uint32_t version, uint64_t n_tensors,
                  uint64_t n_facts)
{
    sd_buf_clear(b);
    sd_buf_text(b, "GGUF");
    sd_buf_u32(b, version);
    sd_buf_u64(b, n_tensors);
    sd_buf_u64(b, n_facts);
}

/* Types of 2026 are known; of those that come later elements are counted. */
TEST(gguf_of_newer_types_is_counted)
{
    enum { NVFP4 = 40, Q1_0 = 41 };
    struct sd_buf b = { 0 };
    struct sd_model m;

    begin(&b, 3, 4, 0);
    put_tensor(&b, "a", 128, 0, NVFP4, 0);
    put_tensor(&b, "b", 128, 0, Q1_0, 96);
    put_tensor(&b, "c", 3, 0, 999, 128);
    put_tensor(&b, "d", 5, 0, 999, 160);
    put_padding(&b, 32);
    for (int i = 0; i < 160; i++)
        sd_buf_u8(&b, 0);
    CHECK(!b.bad && sd_model_init(&m) == 0);
    CHECK(read_file(b.p, b.n, &m) == 0);
    CHECK(sd_model_tensor_bytes(&m.tensors[0]) == 72 &&
          sd_model_tensor_bytes(&m.tensors[1]) == 18);
    CHECK(sd_dims_elements(m.tensors[2].dims) == 3 &&
          sd_model_tensor_bytes(&m.tensors[2]) == 0);
    CHECK(m.n_notes == 2 && strstr(sd_model_text(&m, m.notes[0]), "the type 999 of"));
    CHECK(strstr(sd_model_text(&m, m.notes[1]), "1 more tensor"));
    sd_model_release(&m);
    sd_buf_release(&b);
}

static void check_refused(const struct sd_buf *b, const char *why)
{
    struct sd_model m;

    CHECK(sd_model_init(&m) == 0);
    CHECK(read_file(b->p, b->n, &m) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), why));
    sd_model_release(&m);
}

TEST(gguf_that_lies_is_refused)
{
    struct sd_buf b = { 0 };

    begin(&b, 4, 0, 0);
    check_refused(&b, "version 4");
    begin(&b, 0x03000000, 0, 0);
    check_refused(&b, "big-endian");
    begin(&b, 3, UINT64_MAX, 0);
    check_refused(&b, "is truncated");
    begin(&b, 3, 0, 1);
    put_text(&b, "x");
    sd_buf_u32(&b, 13);
    check_refused(&b, "of a kind");
    begin(&b, 3, 0, 1);
    put_text(&b, "x");
    sd_buf_u32(&b, 9);
    sd_buf_u32(&b, 10);
    sd_buf_u64(&b, UINT64_MAX / 4);
    check_refused(&b, "is truncated");
    begin(&b, 3, 0, 1);
    put_text(&b, "general.alignment");
    sd_buf_u32(&b, 4);
    sd_buf_u32(&b, 3);
    check_refused(&b, "alignment that is none");
    begin(&b, 3, 1, 0);
    put_tensor(&b, "a", 33, 0, Q4_0, 0);
    check_refused(&b, "no whole blocks");
    begin(&b, 3, 1, 0);
    put_tensor(&b, "a", 3, 0, F32, 1);
    check_refused(&b, "multiple of the alignment");
    begin(&b, 3, 1, 0);
    put_tensor(&b, "a", (uint64_t)1 << 62, (uint64_t)1 << 62, F32, 32);
    check_refused(&b, "larger than any file");
    begin(&b, 3, 2, 0);
    put_tensor(&b, "a", 30, 0, F32, 0);
    put_tensor(&b, "b", 30, 0, F32, 32);
    check_refused(&b, "overlaps");
    begin(&b, 3, 2, 0);
    put_tensor(&b, "a", 8, 0, F32, 0);
    put_tensor(&b, "a", 8, 0, F32, 32);
    check_refused(&b, "was there before");
    sd_buf_release(&b);
}

/* Lists of lists of lists take no more of the stack than four. */
TEST(gguf_lists_in_lists_end)
{
    struct sd_buf b = { 0 };

    begin(&b, 3, 0, 1);
    put_text(&b, "x");
    sd_buf_u32(&b, 9);
    for (int i = 0; i < 1000; i++) {
        sd_buf_u32(&b, 9);
        sd_buf_u64(&b, 1);
    }
    check_refused(&b, "a list of what");
    sd_buf_release(&b);
}

/* Found by fuzzing: the lists of a list that is cut were counted to their end. */
TEST(gguf_lists_that_are_cut_end)
{
    struct sd_buf b = { 0 };

    begin(&b, 3, 0, 1);
    put_text(&b, "x");
    sd_buf_u32(&b, 9);
    sd_buf_u32(&b, 9);
    sd_buf_u64(&b, UINT64_MAX);
    check_refused(&b, "is truncated");
    sd_buf_release(&b);
}

TEST(gguf_without_memory_says_so)
{
    struct sd_buf b;

    make_file(&b);
    EACH_FAILURE(nth)
    {
        struct sd_model m;
        int rc = sd_model_init(&m);

        if (rc == 0)
            rc = read_file(b.p, b.n, &m);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_model_release(&m);
    }
    sd_buf_release(&b);
}
