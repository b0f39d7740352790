/* SPDX-License-Identifier: MIT */
#include "collect/sections/section_block.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/test.h"
#include "capture/memory/memory_chunks.h"
#include "collect/captured_test.h"

extern const struct sd_inside sd_inside_sections;

static void section(const char *outer, const char *inner, unsigned measure)
{
    struct sd_section_name names[2];
    struct sd_section sections[2];

    sd_section_name_init(&names[0], NULL, outer, (uint32_t)strlen(outer));
    sd_section_name_init(&names[1], &names[0], inner, (uint32_t)strlen(inner));
    sd_section_begin(&sections[0], &names[0], measure, 0);
    sd_section_begin(&sections[1], &names[1], measure, 0);
    sd_section_end(&sections[1], true);
    sd_section_end(&sections[0], false);
}

static void *begin(void)
{
    const struct sd_option_value values[1] = { { .text = "all" } };
    void *made;

    CHECK(sd_section_block.begin(values, false, &made) == 0);
    return made;
}

static struct captured *captured_of(void *block)
{
    struct sd_buf bytes = { 0 };
    struct sd_making m = { .to = &bytes };
    const char *path = captured_path();
    struct captured *c;
    FILE *f;

    sd_making_begin(&m, sd_clock_real_ns(), sd_clock_ns());
    CHECK(sd_making_add_fact(&m, "command", "a test") == 0);
    CHECK(sd_section_block.add(block, &m) == 0);
    CHECK(sd_making_end(&m, sd_clock_real_ns(), sd_clock_ns(), 0) == 0);
    f = fopen(path, "wb");
    CHECK(f && fwrite(bytes.p, 1, bytes.n, f) == bytes.n && fclose(f) == 0);
    sd_buf_release(&bytes);
    c = captured_read(path);
    captured_clean();
    return c;
}

TEST(a_block_has_the_sections_that_begin_and_end_in_it)
{
    void *outer = begin(), *inner;
    struct captured *c;

    CHECK(sd_section_is_wanted());
    section("a", "b", SD_MEASURE_TIME);
    inner = begin();
    section("a", "b", SD_MEASURE_TIME | SD_MEASURE_MEMORY);
    sd_section_block.end(inner);
    section("a", "b", SD_MEASURE_TIME);
    sd_section_block.end(outer);
    section("c", "d", SD_MEASURE_TIME);
    c = captured_of(outer);
    CHECK(c->is_whole && c->n == 6 && strstr(c->metas, "command=a test"));
    CHECK(captured_count(c, SD_REC_SPAN, "a") == 3);
    CHECK(captured_count(c, SD_REC_SPAN, "a:b") == 3);
    CHECK(captured_find(c, SD_REC_SPAN, "a:b")->flags == SD_SPAN_RAISED);
    captured_free(c);
    c = captured_of(inner);
    CHECK(c->n == 2);
    CHECK(captured_value(captured_find(c, SD_REC_SPAN, "a"), "rss_after") > 0);
    captured_free(c);
    sd_section_block.free(inner);
    sd_section_block.free(outer);
    CHECK(sd_section_n_blocks == 0);
}

TEST(a_block_may_say_what_sections_measure)
{
    const struct sd_option_value time = { .text = "time", .is_given = true };
    const struct sd_option_value wrong = { .text = "tine", .is_given = true };
    void *made;

    CHECK(sd_section_block.begin(&wrong, false, &made) == SD_EUSAGE && !made);
    CHECK(sd_section_block.begin(&time, false, &made) == 0);
    CHECK(sd_section_measure_or(SD_MEASURE_ALL) == SD_MEASURE_TIME);
    sd_section_block.free(made);
    CHECK(sd_section_measure_or(SD_MEASURE_ALL) == SD_MEASURE_ALL);
}

static void *begin_with(const char *measure, bool in_capture)
{
    const struct sd_option_value values[1] = { { .text = measure,
                                                 .is_given = measure != NULL } };
    void *made;

    CHECK(sd_section_block.begin(values, in_capture, &made) == 0);
    return made;
}

/* The run's comes back when no block says what it wants, whichever block ends first. */
TEST(what_a_block_measures_is_its_own)
{
    const struct sd_option_value io = { .text = "io", .is_given = true };
    void *outer, *inner, *plain;

    CHECK(sd_inside_sections.start(&io) == 0);
    outer = begin_with("time", true);
    inner = begin_with("cpu", false);
    plain = begin_with(NULL, false);
    CHECK(sd_section_measure_or(SD_MEASURE_ALL) != SD_MEASURE_TIME);
    CHECK(sd_section_measure_or(SD_MEASURE_ALL) != SD_MEASURE_IO);
    sd_section_block.end(inner);
    CHECK(sd_section_measure_or(SD_MEASURE_ALL) == SD_MEASURE_TIME);
    sd_section_block.end(outer);
    CHECK(sd_section_measure_or(SD_MEASURE_ALL) == SD_MEASURE_IO);
    sd_section_block.end(plain);
    CHECK(sd_section_measure_or(SD_MEASURE_ALL) == SD_MEASURE_IO);
    sd_inside_sections.stop();
    CHECK(sd_section_measure_or(SD_MEASURE_ALL) == SD_MEASURE_ALL);
    sd_section_block.free(outer);
    sd_section_block.free(inner);
    sd_section_block.free(plain);
    CHECK(sd_section_n_blocks == 0);
}

TEST(a_block_keeps_so_many_sections_and_counts_the_others)
{
    size_t usual = sd_section_block_max;
    void *block = begin();
    struct captured *c;

    sd_section_block_max = 3;
    for (int i = 0; i < 4; i++)
        section("a", "b", SD_MEASURE_TIME);
    sd_section_block.end(block);
    c = captured_of(block);
    sd_section_block_max = usual;
    CHECK(captured_count(c, SD_REC_SPAN, "a") == 1);
    CHECK(captured_count(c, SD_REC_SPAN, "a:b") == 2);
    CHECK(strstr(c->notes, "5 sections are missing: "));
    captured_free(c);
    sd_section_block.free(block);
}
