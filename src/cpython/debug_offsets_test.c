/* SPDX-License-Identifier: MIT */
#include "cpython/debug_offsets.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"
#include "cpython/layouts.h"

enum { N_WORDS = SD_DEBUG_OFFSETS_BYTES / 8 };

/* The words of a 3.13.0, as a process showed them. */
static const uint64_t of_313[] = { 0x7970677562656478,
                                   0x30d00f0,
                                   0,
                                   0x452b8,
                                   0x260,
                                   0x278,
                                   0x2f998,
                                   0x1c68,
                                   0x1c60,
                                   0x1cb0,
                                   0x1ce8,
                                   0x1de8,
                                   0x1dd8,
                                   0x1de0,
                                   0x10,
                                   0x1e48,
                                   0,
                                   0x1e58,
                                   0x1e50,
                                   0x130,
                                   0,
                                   0x8,
                                   0x10,
                                   0x48,
                                   0x98,
                                   0xa0,
                                   0xe8,
                                   0x20,
                                   0x50,
                                   0x8,
                                   0,
                                   0x38,
                                   0x48,
                                   0x46,
                                   0xd0,
                                   0x70,
                                   0x78,
                                   0x80,
                                   0x88,
                                   0x44,
                                   0x34,
                                   0x60,
                                   0x68,
                                   0xc8,
                                   0x10,
                                   0x8,
                                   0x1a0,
                                   0x18,
                                   0x58,
                                   0xa8,
                                   0x20,
                                   0x18,
                                   0x10,
                                   0x28,
                                   0x18,
                                   0x10,
                                   0x30,
                                   0x20,
                                   0x28,
                                   0x18,
                                   0x10,
                                   0x20,
                                   0x10,
                                   0x18,
                                   0x28,
                                   0x10,
                                   0x20,
                                   0x40,
                                   0x20,
                                   0x10,
                                   0x28,
                                   0xf0,
                                   0xc8 };
enum { N_313 = sizeof of_313 / sizeof *of_313 };

static int read_words(struct sd_layout *l, const uint64_t *words)
{
    return sd_debug_offsets_read(l, (const uint8_t *)words, SD_DEBUG_OFFSETS_BYTES);
}

static void copy_313(uint64_t words[N_WORDS])
{
    memset(words, 0, N_WORDS * sizeof *words);
    memcpy(words, of_313, sizeof of_313);
}

TEST(debug_offsets_of_313_say_the_same_as_its_headers)
{
    const struct sd_layout *want = &sd_layout_cp313;
    uint64_t words[N_WORDS];
    struct sd_layout l;

    copy_313(words);
    CHECK(read_words(&l, words) == 0);
#define OFFSET(name, within, meaning) CHECK(l.name == want->name);
#include "cpython/offsets.def"
#undef OFFSET
    CHECK(l.frame_size == want->frame_size && l.code_size == want->code_size);
    CHECK(l.version == 0x030d00f0 && !l.is_free_threaded);
    CHECK(l.gil_style == SD_GIL_INTERPRETER && l.frames_style == SD_FRAMES_DIRECT);
}

/* clang-format off */
/* The same of a 3.14.10 and of a 3.15.2. */
static const uint64_t of_314[] = {
    0x7970677562656478, 0x30e0af0, 0, 0x4d4c8, 0x310, 0x328, 0x37248, 0x1c70, 0x1c68, 0x1cb0, 0x1cc0, 0x1cf0,
    0x1e08, 0x1df8, 0x1e00, 0x10, 0x1e68, 0, 0x1e78, 0x1e70, 0x1f38, 0, 0x340, 0,
    8, 0x10, 0x48, 0x98, 0xa0, 0xe8, 0x20, 0x58, 8, 0, 0x38, 0x50,
    0x4a, 0x40, 0, 0xd8, 0x70, 0x78, 0x80, 0x88, 0x44, 0x34, 0x60, 0x68,
    0xd0, 0, 0x10, 8, 0x1a0, 0x18, 0x58, 0xa8, 0x28, 0x20, 0x10, 0x28,
    0x18, 0x10, 0xc8, 0x18, 0x28, 0x20, 0x30, 0x20, 0x28, 0x18, 0x10, 0x20,
    0x10, 0x18, 0x28, 0x10, 0x20, 0x40, 0x20, 0x10, 0x28, 0x108, 0xc0,
};
static const uint64_t of_315[] = {
    0x7970677562656478, 0x30f02f0, 0, 0x549c8, 0x390, 0x3a8, 0x373c0, 0x1c68, 0x1c60, 0x1ca8, 0x1cb8, 0x1ce8,
    0x1da8, 0x1d98, 0x1da0, 0x10, 0x1e38, 0, 0x1e48, 0x1e40, 0x1f08, 0, 0x378, 0,
    8, 0x10, 0x48, 0x50, 0x58, 0x60, 0xb0, 0xb8, 0x100, 0x20, 0x24, 0x28,
    0x88, 0x120, 0, 0x58, 8, 0, 0x38, 0x50, 0x4a, 0x40, 0, 0xd8,
    0x70, 0x78, 0x80, 0x88, 0x44, 0x34, 0x60, 0x68, 0xd0, 0, 0x10, 8,
    0x1a8, 0x18, 0x58, 0xa8, 0x20, 0x120, 0x3b0, 0x378, 0x28, 0x20, 0x10, 0x28,
    0x18, 0x10, 0xc8, 0x18, 0x28, 0x20, 0x30, 0x20, 0x28, 0x18, 0x10, 0x20,
    0x10, 0x18, 0x28, 0x10, 0x20, 0x40, 0x20, 0x10, 0x28, 0x38, 0xb0, 0x70,
    0x78,
};
/* clang-format on */

/* What such a process says, and what the headers of its version say. */
static void check_as_headers(const uint64_t *told, size_t n,
                             const struct sd_layout *want)
{
    uint64_t words[N_WORDS] = { 0 };
    struct sd_layout l;

    memcpy(words, told, n * sizeof *told);
    CHECK(read_words(&l, words) == 0);
#define OFFSET(name, within, meaning) CHECK(l.name == want->name);
#include "cpython/offsets.def"
#undef OFFSET
    CHECK(l.frame_size == want->frame_size && l.code_size == want->code_size);
    CHECK(l.version == want->version && l.code_mask == want->code_mask);
    CHECK(l.frame_specials == want->frame_specials);
    CHECK(l.owner_last == want->owner_last);
}

TEST(debug_offsets_of_later_versions_say_the_same_as_their_headers)
{
    check_as_headers(of_314, sizeof of_314 / sizeof *of_314, &sd_layout_cp314);
    check_as_headers(of_315, sizeof of_315 / sizeof *of_315, &sd_layout_cp315);
}

TEST(debug_offsets_without_cookie_or_cut_are_refused)
{
    uint64_t words[N_WORDS];
    struct sd_layout l;
    uint32_t version;
    size_t n;

    copy_313(words);
    for (n = 0; n < 16; n++)
        CHECK(!sd_debug_offsets_version((const uint8_t *)words, n, &version));
    for (n = 0; n < sizeof of_313; n += 8)
        CHECK(sd_debug_offsets_read(&l, (const uint8_t *)words, n) == SD_EFORMAT);
    words[0]++;
    CHECK(!sd_debug_offsets_version((const uint8_t *)words, sizeof words, &version));
}

TEST(debug_offsets_of_a_version_to_come_are_refused_by_name)
{
    uint64_t words[N_WORDS];
    struct sd_layout l;

    copy_313(words);
    words[1] = 0x031000a1;
    CHECK(read_words(&l, words) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "cannot read CPython 3.16.0a1"));
    CHECK(strstr(sd_fail_text(), "3.8 to 3.15"));
}

/* No word may lead outside its structure, and an order with one word more or less than
 * we think is noticed. */
TEST(debug_offsets_that_do_not_fit_are_refused)
{
    uint64_t words[N_WORDS];
    struct sd_layout l;
    size_t i, n_taken = 0;

    for (i = 2; i < N_313; i++) {
        copy_313(words);
        words[i] = 0xfffffff8;
        if (read_words(&l, words) == 0)
            n_taken++; /* a word that nobody here uses */
        copy_313(words);
        words[i] = UINT64_MAX - 7;
        if (read_words(&l, words) == 0)
            n_taken++;
    }
    CHECK(n_taken == 2 * 9);
    for (i = 6; i < 56; i++) {
        copy_313(words);
        memmove(words + i + 1, words + i, (N_313 - i) * sizeof *words);
        CHECK(read_words(&l, words) == SD_EFORMAT);
        copy_313(words);
        memmove(words + i, words + i + 1, (N_313 - i) * sizeof *words);
        CHECK(read_words(&l, words) == SD_EFORMAT);
    }
}

/* The words of 3.13 under the order of a later version: as if that one had moved
 * nothing. So the order is tested; what a later version really says nobody here can
 * know. */
static void reorder(uint64_t words[N_WORDS], uint32_t version)
{
    const bool has_base = version >= 0x030f0000, has_seq = version >= 0x030f00b4;
    const bool has_dicts = version >= 0x030f00c1;
    const uint64_t *from = of_313 + 3;
    uint64_t *to = words + 3;

#define TAKE(n) (memcpy(to, from, (n) * sizeof *to), to += (n), from += (n))
#define PUT(word) (*to++ = (word))
    memset(words, 0, N_WORDS * sizeof *words);
    words[0] = of_313[0];
    words[1] = version;
    TAKE(3 + 4);
    PUT(0x1cb8); /* threads.main */
    TAKE(9);
    PUT(0x1e68), PUT(0); /* generations of code and of its copies */
    TAKE(5);
    if (has_base)
        PUT(0x80), PUT(0x50);
    if (has_seq)
        PUT(0x58);
    TAKE(4);
    if (has_base)
        PUT(0x24), PUT(0x28), PUT(0x60), PUT(0x68), PUT(0);
    TAKE(6);
    PUT(0x40), PUT(0); /* stack pointer, copy */
    TAKE(10);
    PUT(0); /* copies */
    TAKE(2 + 4);
    if (has_dicts)
        PUT(0x20), PUT(0x120), PUT(0x3a0), PUT(0x370);
    TAKE(3 + 3);
    PUT(0xc8), PUT(0x18), PUT(0x28), PUT(0x20); /* a set */
    memcpy(to, from, (size_t)(of_313 + N_313 - from) * sizeof *to);
#undef TAKE
#undef PUT
}

TEST(debug_offsets_of_later_versions_have_their_own_order)
{
    static const uint32_t versions[] = { 0x030e00f0, 0x030e03f0, 0x030f00a3, 0x030f00b4,
                                         0x030f00c1, 0x030f00f0, 0x030f02f0 };
    const struct sd_layout *want = &sd_layout_cp313;
    uint64_t words[N_WORDS];
    struct sd_layout l;
    size_t i;

    for (i = 0; i < sizeof versions / sizeof *versions; i++) {
        reorder(words, versions[i]);
        CHECK(read_words(&l, words) == 0);
        CHECK(l.thread_frame == want->thread_frame);
        CHECK(l.thread_native == want->thread_native);
        CHECK(l.thread_chunk == want->thread_chunk && l.thread_top == want->thread_top);
        CHECK(l.frame_instr == want->frame_instr && l.frame_size == want->frame_size);
        CHECK(l.code_bytecode == want->code_bytecode &&
              l.code_lines == want->code_lines);
        CHECK(l.str_compact == want->str_compact && l.gil_holder == want->gil_holder);
        CHECK(l.interp_gil == want->interp_gil && l.dict_keys == want->dict_keys);
        CHECK(l.code_mask == ~(uint64_t)7 && l.code_copies == SD_NO_OFFSET);
    }
    CHECK(l.type_cached_keys == want->type_cached_keys && l.type_size == 0x3a0);
    reorder(words, 0x030f00b4); /* the release has told more */
    words[1] = 0x030f00f0;
    CHECK(read_words(&l, words) == SD_EFORMAT);
    reorder(words, 0x030f00b3); /* the order of another beta */
    words[1] = 0x030f00b4;
    CHECK(read_words(&l, words) == SD_EFORMAT);
}

TEST(debug_offsets_of_a_free_threaded_build_have_no_gil)
{
    uint64_t words[N_WORDS];
    struct sd_layout l;

    copy_313(words);
    words[2] = 1;
    CHECK(read_words(&l, words) == 0);
    CHECK(l.is_free_threaded && l.gil_style == SD_GIL_NONE);
    CHECK(l.type_cached_keys == SD_NO_OFFSET && l.keys_index == SD_NO_OFFSET);
    words[2] = 2;
    CHECK(read_words(&l, words) == SD_EFORMAT);
}
