/* SPDX-License-Identifier: MIT */
#include "formats/lprof.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"
#include "formats/pickle.h"

/* LineStats({("m.py", 3, "C.f"): [(4, 2, 1500), (5, 300, 2**40)]}, 1e-09) as Python
 * writes it with protocol 5, and with protocol 2 and the module of old versions. */
static const char of_protocol_5[] =
    "\x80\x05\x95\x6f\0\0\0\0\0\0\0\x8c\x1bline_profiler.line_profiler\x94\x8c\x09"
    "LineStats\x94\x93\x94)\x81\x94}\x94(\x8c\x07timings\x94}\x94\x8c\x04m.py\x94K\x03"
    "\x8c\x03"
    "C.f\x94\x87\x94]\x94(K\x04K\x02M\xdc\x05\x87\x94K\x05M,\x01\x8a\x06\0\0\0\0\0\x01"
    "\x87\x94"
    "es\x8c\x04unit\x94G>\x11.\x0b\xe8&\xd6\x95ub.";
static const char of_protocol_2[] =
    "\x80\x02"
    "c_line_profiler\nLineStats\nq\0)\x81q\x01}q\x02(X\x07\0\0\0timingsq\x03}q\x04X\x04"
    "\0\0\0m.pyq\x05K\x03X\x03\0\0\0C.fq\x06\x87q\x07]q\x08(K\x04K\x02M\xdc\x05\x87q"
    "\x09K\x05M,\x01\x8a\x06\0\0\0\0\0\x01\x87q\x0a"
    "esX\x04\0\0\0unitq\x0bG>\x11.\x0b\xe8&\xd6\x95ub.";

static void check_is_the_example(const struct sd_line_stats *s)
{
    const struct sd_line_function *f = s->functions;

    CHECK(s->n == 1 && s->unit == 1e-9);
    CHECK(strcmp(f->file.p, "m.py") == 0 && f->line == 3 &&
          strcmp(f->name.p, "C.f") == 0 && f->n == 2);
    CHECK(f->entries[0].line == 4 && f->entries[0].hits == 2 &&
          f->entries[0].time == 1500);
    CHECK(f->entries[1].line == 5 && f->entries[1].hits == 300 &&
          f->entries[1].time == 0x1p40);
}

static void check_reads(const char *p, size_t n)
{
    struct sd_line_stats s;

    sd_line_stats_init(&s);
    CHECK(sd_lprof_is(p, n));
    CHECK(sd_lprof_read(p, n, &s) == 0);
    check_is_the_example(&s);
    sd_line_stats_release(&s);
}

TEST(lprof_of_old_and_new_versions_is_read)
{
    check_reads(of_protocol_5, sizeof of_protocol_5 - 1);
    check_reads(of_protocol_2, sizeof of_protocol_2 - 1);
}

TEST(lprof_is_written_and_read_back)
{
    struct sd_line_stats s, again;
    struct sd_out out;
    size_t at;

    sd_line_stats_init(&s);
    sd_line_stats_init(&again);
    sd_out_to_memory(&out);
    CHECK(sd_lprof_read(of_protocol_5, sizeof of_protocol_5 - 1, &s) == 0);
    CHECK(sd_line_stats_function(&s, "m.py", 4, 70000, "g", 1, &at) == 0);
    CHECK(sd_line_stats_add_line(&s, at, (struct sd_line_entry){ 70001, 1, 0.5 }) == 0);
    CHECK(sd_line_stats_write_lprof(&s, &out) == 0);
    CHECK(sd_lprof_is(out.pending.p, out.pending.n));
    CHECK(sd_lprof_read(out.pending.p, out.pending.n, &again) == 0);
    CHECK(again.n == 2 && again.functions[1].line == 70000 &&
          again.functions[1].entries[0].time == 0.5);
    again.n = 1;
    check_is_the_example(&again);
    again.n = 2;
    sd_line_stats_release(&again);
    sd_line_stats_release(&s);
    sd_out_release(&out);
}

TEST(lprof_that_is_cut_anywhere_is_refused)
{
    size_t n = sizeof of_protocol_5 - 1;

    for (size_t i = 0; i < n; i++) {
        struct sd_line_stats s;

        sd_line_stats_init(&s);
        CHECK(sd_lprof_read(of_protocol_5, i, &s) == SD_EFORMAT);
        sd_line_stats_release(&s);
    }
}

static void check_refused(const char *p, size_t n, const char *why)
{
    struct sd_line_stats s;

    sd_line_stats_init(&s);
    CHECK(sd_lprof_read(p, n, &s) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), why));
    sd_line_stats_release(&s);
}
#define REFUSED(text, why) check_refused(text, sizeof text - 1, why)

TEST(lprof_reader_calls_nothing_and_refuses_what_is_no_data)
{
    REFUSED("\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R.", "LineStats");
    REFUSED("\x80\x04\x8c\x02os\x8c\x06system\x93.", "LineStats");
    REFUSED("\x80\x04(\x8c\x02osi.", "more than data");
    REFUSED("\x80\x04K\x01K\x02R.", "no class");
    REFUSED("\x80\x04K\x01K\x02.", "one value");
    REFUSED("\x80\x04}.", "LineStats");
    REFUSED("\x80\x04h\x05.", "never kept");
    REFUSED("\x80\x04K\x01r\xff\xff\xff\xff.", "keeps nothing");
    REFUSED("\x80\x09K\x01.", "protocol");
    REFUSED("\x80\x04u.", "more than there is");
    REFUSED("\x80\x04K\x01"
            "a.",
            "fills nothing");
}

/* One list of three lines, named for each of two hundred functions. */
TEST(lprof_cannot_become_much_from_little)
{
    struct sd_buf b = { 0 };

    sd_buf_text(&b, "\x80\x04");
    sd_buf_text(&b, "cm\nLineStats\n)\x81}(X\x07");
    sd_buf_add(&b, "\0\0\0timings}(", 12);
    for (int i = 0; i < 200; i++) {
        sd_buf_text(&b, "\x8c\x01");
        sd_buf_text(&b, "aK");
        sd_buf_u8(&b, (uint8_t)i);
        sd_buf_text(&b, "\x8c\x01");
        sd_buf_text(&b, "b\x87");
        if (i == 0) {
            sd_buf_text(&b, "](");
            for (int k = 0; k < 40; k++)
                sd_buf_text(&b, "K\1K\1K\1\x87");
            sd_buf_text(&b, "e\x94");
        } else {
            sd_buf_add(&b, "h\0", 2);
        }
    }
    sd_buf_text(&b, "u\x8c\x04unitG>\x11.\x0b\xe8&\xd6\x95ub.");
    check_refused((char *)b.p, b.n, "over and over");
    sd_buf_release(&b);
}

TEST(line_stats_of_several_units_add_up_in_the_largest)
{
    struct sd_line_stats a, b, sum, *parts[] = { &a, &b };
    size_t at;

    sd_line_stats_init(&a);
    sd_line_stats_init(&b);
    sd_line_stats_init(&sum);
    a.unit = 1e-6;
    b.unit = 1e-7;
    CHECK(sd_line_stats_function(&a, "spam.py", 7, 10, "bar", 3, &at) == 0);
    sd_line_stats_add_line(&a, at, (struct sd_line_entry){ 11, 2, 1000 });
    sd_line_stats_add_line(&a, at, (struct sd_line_entry){ 12, 1, 500 });
    CHECK(sd_line_stats_function(&b, "spam.py", 7, 10, "bar", 3, &at) == 0);
    sd_line_stats_add_line(&b, at, (struct sd_line_entry){ 12, 5, 1000 });
    sd_line_stats_add_line(&b, at, (struct sd_line_entry){ 11, 10, 20000 });
    CHECK(sd_line_stats_sum(&sum, parts, 2) == 0);
    CHECK(sum.unit == 1e-6 && sum.n == 1 && sum.functions[0].n == 2);
    CHECK(sum.functions[0].entries[0].hits == 12 &&
          sum.functions[0].entries[0].time == 3000);
    CHECK(sum.functions[0].entries[1].hits == 6 &&
          sum.functions[0].entries[1].time == 600);
    sd_line_stats_release(&sum);
    sd_line_stats_release(&a);
    sd_line_stats_release(&b);
}

TEST(lprof_reading_survives_every_allocation_that_fails)
{
    size_t nth = 1;
    int rc = SD_ENOMEM;

    for (; rc == SD_ENOMEM && nth < 200; nth++) {
        struct sd_line_stats s;

        sd_line_stats_init(&s);
        sd_mem_fail_at(nth, false);
        rc = sd_lprof_read(of_protocol_5, sizeof of_protocol_5 - 1, &s);
        sd_mem_fail_at(0, false);
        sd_line_stats_release(&s);
    }
    CHECK(rc == 0 && nth > 3);
}

/* A stack of many values, the arena filled up differently each time: so that a value
 * finds no memory at the very moment in which the stack has grown for it. */
TEST(pickle_reading_survives_a_value_that_finds_no_memory_for_a_grown_stack)
{
    static const char many[] = "\x80\x02(NNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNt.";
    const struct sd_pickle_value *v;

    for (size_t used = 0; used <= 4096; used += 16)
        for (size_t nth = 1; nth < 8; nth++) {
            struct sd_arena arena = { 0 };
            int rc;

            for (size_t n = 0; n < used; n += 16)
                sd_arena_alloc(&arena, 16);
            sd_mem_fail_at(nth, false);
            rc = sd_pickle_read(many, sizeof many - 1, &arena, &v);
            sd_mem_fail_at(0, false);
            CHECK(rc == SD_ENOMEM || (rc == 0 && v->items.n == 40));
            sd_arena_release(&arena);
        }
}
