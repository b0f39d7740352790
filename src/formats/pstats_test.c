/* SPDX-License-Identifier: MIT */
#include "formats/pstats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/test.h"

/* {("m.py", 1, "f"): (1, 2, 0.25, 0.5, {("m.py", 3, "g"): (2, 1, 0.25, 0.5)})}, as
 * marshal's version 4 writes it: what comes again is a reference.  The tail of each
 * literal stands apart where the next letter would be taken for a digit. */
static const char of_3_13[] =
    "\xfb\xa9\x03\xfa\x04m.py\xe9\x01\0\0\0\xda\x01"
    "f)\x05r\x03\0\0\0\xe9\x02\0\0\0\xe7\0\0\0\0\0\0\xd0?\xe7\0\0\0\0\0\0\xe0?{"
    "\xa9\x03r\x02\0\0\0\xe9\x03\0\0\0\xda\x01g\xa9\x04r\x05\0\0\0r\x03\0\0\0r\x06\0\0"
    "\0r\x07\0\0\0"
    "00";
/* The same as version 0 writes it: nothing is a reference, numbers are text. */
static const char of_version_0[] =
    "{(\x03\0\0\0u\x04\0\0\0m.pyi\x01\0\0\0u\x01\0\0\0f(\x05\0\0\0i\x01\0\0\0i\x02\0\0"
    "\0f\x04"
    "0.25f\x03"
    "0.5{(\x03\0\0\0u\x04\0\0\0m.pyi\x03\0\0\0u\x01\0\0\0g(\x04\0\0\0i\x02\0\0\0i\x01\0"
    "\0\0f\x04"
    "0.25f\x03"
    "0.5"
    "00";
/* {("m.py", 1, "f"): (1, 2**40, -2**40, 0.5, {("m.py", 3, "g"): 7})} */
static const char of_profile[] =
    "{\xa9\x03\xfa\x04m.py\xe9\x01\0\0\0\xda\x01"
    "f)\x05r\x02\0\0\0\xec\x03\0\0\0\0\0\0\0\0\x04\xec\xfd\xff\xff\xff\0\0\0\0\0\x04"
    "\xe7\0\0\0\0\0\0\xe0?{\xa9\x03r\x01\0\0\0\xe9\x03\0\0\0\xda\x01g\xe9\x07\0\0\0"
    "00";

/* {("m.py", 1, "f"): (1, 2, 0.25, 0.5, {}), ("__sampled__",): True} of 3.15 */
static const char of_sampling[] =
    "{)\x03\xfa\x04m.py\xe9\x01\0\0\0\xda\x01"
    "f)\x05r\x01\0\0\0\xe9\x02\0\0\0g\0\0\0\0\0\0\xd0?g\0\0\0\0\0\0\xe0?{"
    "0)\x01\xda\x0b__sampled__T"
    "0";

static int parse(struct sd_call_stats *s, const void *p, size_t n)
{
    sd_call_stats_init(s);
    return sd_pstats_read(p, n, s);
}

static void check_is_the_example(const struct sd_call_stats *s)
{
    const struct sd_call_function *f = sd_call_stats_at(s, s->listed[0]);
    const struct sd_call_edge *e = &s->edges[f->first_caller];

    CHECK(s->n_listed == 1 && s->n_functions == 2 && s->n_edges == 1);
    CHECK(strcmp(f->file.p, "m.py") == 0 && f->line == 1 &&
          strcmp(f->name.p, "f") == 0);
    CHECK(f->n.primitive == 1 && f->n.calls == 2 && f->n.own == 0.25 &&
          f->n.total == 0.5 && f->n.whole == 0);
    CHECK(strcmp(sd_call_stats_at(s, e->caller)->name.p, "g") == 0 &&
          sd_call_stats_at(s, e->caller)->line == 3);
    CHECK(e->n.calls == 2 && e->n.primitive == 1 && e->n.own == 0.25 && !e->is_plain);
    CHECK(s->sum.calls == 2 && s->sum.primitive == 1 && s->sum.own == 0.25);
}

TEST(pstats_files_of_every_version_of_marshal_read_the_same)
{
    struct sd_call_stats s;

    CHECK(sd_pstats_is(of_3_13, sizeof of_3_13 - 1));
    CHECK(parse(&s, of_3_13, sizeof of_3_13 - 1) == 0);
    check_is_the_example(&s);
    sd_call_stats_release(&s);
    CHECK(sd_pstats_is(of_version_0, sizeof of_version_0 - 1));
    CHECK(parse(&s, of_version_0, sizeof of_version_0 - 1) == 0);
    check_is_the_example(&s);
    sd_call_stats_release(&s);
}

TEST(pstats_file_of_profile_has_callers_with_a_count_alone)
{
    struct sd_call_stats s;
    const struct sd_call_function *f;

    CHECK(parse(&s, of_profile, sizeof of_profile - 1) == 0);
    f = sd_call_stats_at(&s, s.listed[0]);
    CHECK(f->n.calls == (int64_t)1 << 40 && f->n.own == -0x1p40);
    CHECK(f->n.whole == SD_WHOLE_OWN);
    CHECK(s.edges[f->first_caller].is_plain && s.edges[f->first_caller].n.calls == 7);
    sd_call_stats_release(&s);
}

TEST(pstats_file_of_samples_says_so_and_is_written_so)
{
    struct sd_call_stats s, again;
    struct sd_out out;

    CHECK(parse(&s, of_3_13, sizeof of_3_13 - 1) == 0 && !s.is_sampled);
    sd_call_stats_release(&s);
    CHECK(parse(&s, of_sampling, sizeof of_sampling - 1) == 0);
    CHECK(s.is_sampled && s.n_listed == 1 && s.sum.calls == 2 && s.sum.primitive == 1);
    sd_out_to_memory(&out);
    CHECK(sd_call_stats_write_pstats(&s, &out) == 0);
    CHECK(parse(&again, out.pending.p, out.pending.n) == 0);
    CHECK(again.is_sampled && again.n_listed == 1 && again.sum.calls == 2);
    CHECK(sd_call_stats_strip_dirs(&again) == 0 && again.is_sampled);
    sd_call_stats_release(&again);
    sd_call_stats_release(&s);
    sd_out_release(&out);
    CHECK(parse(&s, "{)\x01\xda\x0b__somewhat_T0", 18) == SD_EFORMAT);
    sd_call_stats_release(&s);
}

TEST(pstats_file_is_told_from_others_by_its_first_bytes)
{
    CHECK(sd_pstats_is("{0", 2) && sd_pstats_is("{)\3", 3));
    CHECK(!sd_pstats_is("{\"a\": 1}", 8) && !sd_pstats_is("{}", 2));
    CHECK(!sd_pstats_is("", 0) && !sd_pstats_is("{", 1) && !sd_pstats_is("{)\4", 3));
    CHECK(!sd_pstats_is("{(\3\0\0\1", 6));
}

/* Cut at any place it is refused, by a sentence that says so. */
static void check_cuts(const char *p, size_t n)
{
    struct sd_call_stats s;

    for (size_t i = 0; i < n; i++) {
        CHECK(parse(&s, p, i) == SD_EFORMAT);
        CHECK(strstr(sd_fail_text(), "truncated"));
        sd_call_stats_release(&s);
    }
}

TEST(pstats_file_that_is_cut_is_refused)
{
    check_cuts(of_3_13, sizeof of_3_13 - 1);
    check_cuts(of_version_0, sizeof of_version_0 - 1);
    check_cuts(of_profile, sizeof of_profile - 1);
    check_cuts(of_sampling, sizeof of_sampling - 1);
}

/* Any bit turned gives other numbers or a refusal; the sanitizers look on. */
static void check_flips(const char *p, size_t n)
{
    char bytes[256];
    struct sd_call_stats s;

    CHECK(n <= sizeof bytes);
    for (size_t bit = 0; bit < n * 8; bit++) {
        memcpy(bytes, p, n);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << (bit % 8)));
        CHECK(parse(&s, bytes, n) <= 0);
        sd_call_stats_release(&s);
    }
}

TEST(pstats_file_with_a_turned_bit_does_no_harm)
{
    check_flips(of_3_13, sizeof of_3_13 - 1);
    check_flips(of_version_0, sizeof of_version_0 - 1);
    check_flips(of_profile, sizeof of_profile - 1);
    check_flips(of_sampling, sizeof of_sampling - 1);
}

/* Each is refused by one sentence with this in it. */
TEST(pstats_files_of_wrong_shape_are_refused)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *says;
    } wrong[] = {
#define WRONG(bytes, says) { bytes, sizeof bytes - 1, says }
        WRONG("[\0\0\0\0", "a dictionary of functions"),
        WRONG("{i\1\0\0\0i\1\0\0\0000", "(file, line, name)"),
        WRONG("{)\2z\1ai\1\0\0\0000", "(file, line, name)"),
        WRONG("{)\3i\1\0\0\0i\1\0\0\0z\1a", "a name"),
        WRONG("{)\3z\1az\1az\1a", "a whole number"),
        WRONG("{)\3u\1\0\0\0\xffi\1\0\0\0z\1a", "a name"),
        WRONG("{)\3z\1al\5\0\0\0\0\0\0\0\0\0\0\0\x08\0z\1a", "63 bits"),
        WRONG("{)\3z\1ai\1\0\0\0z\1ai\1\0\0\0", "and its callers"),
        WRONG("{)\3z\1ai\1\0\0\0z\1a)\5r\0\0\0\0", "met before"),
        WRONG("\xfb\xa9\3z\1ai\1\0\0\0z\1ar\0\0\0\0", "met before"), /* the whole */
        WRONG("{\xa9\3z\1ai\1\0\0\0z\1ar\0\0\0\0", "a tuple or a dictionary"),
        WRONG("{)\3z\1ai\1\0\0\0z\1a)\5i\0\0\0\0i\0\0\0\0z\1ai\0\0\0\0", "of seconds"),
        WRONG("{)\3z\1ai\1\0\0\0z\1a)\5i\0\0\0\0i\0\0\0\0f\1xi\0\0\0\0", "a number"),
        WRONG("{)\3z\1ai\1\0\0\0z\1a)\5i\0\0\0\0i\0\0\0\0N", "a number or a name"),
#undef WRONG
    };
    struct sd_call_stats s;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(parse(&s, wrong[i].bytes, wrong[i].n) == SD_EFORMAT);
        CHECK(strstr(sd_fail_text(), wrong[i].says));
        sd_call_stats_release(&s);
    }
}

/* Tuples and dictionaries that are named again are read again: here the callers of one
 * function are those of another, too. */
TEST(pstats_file_may_share_its_dictionaries)
{
    static const char shared[] =
        "{)\3z\1ai\1\0\0\0z\1a\xa9\5i\1\0\0\0i\1\0\0\0i\0\0\0\0i"
        "\0\0\0\0\xfb)\3z\1ai\1\0\0\0z\1a\xa9\4i\1\0\0\0i\1\0\0"
        "\0i\0\0\0\0i\0\0\0\0000"
        ")\3z\1bi\1\0\0\0z\1br\0\0\0\0"
        "0";
    struct sd_call_stats s;

    CHECK(parse(&s, shared, sizeof shared - 1) == 0);
    CHECK(s.n_listed == 2 && s.n_edges == 2);
    CHECK(sd_call_stats_at(&s, s.listed[1])->n.calls == 1);
    CHECK(s.edges[1].caller.at == s.listed[0].at);
    sd_call_stats_release(&s);
}

/* A few thousand bytes that would be millions of callers. */
TEST(pstats_file_cannot_ask_for_more_than_its_size)
{
    enum { N = 300 };
    static const char head[] = "{)\3z\1ai\0\0\0\0z\1a\xa9\5i\0\0\0\0i\0\0\0\0i\0\0\0"
                               "\0i\0\0\0\0{";
    struct sd_buf b = { 0 };
    struct sd_call_stats s;

    sd_buf_add(&b, head, sizeof head - 1);
    for (uint32_t i = 0; i < N; i++) {
        sd_buf_add(&b, ")\3z\1ci", 6);
        sd_buf_u32(&b, i);
        sd_buf_add(&b, "z\1ci\1\0\0\0", 8);
    }
    sd_buf_u8(&b, '0');
    for (uint32_t i = 0; i < N; i++) {
        sd_buf_add(&b, ")\3z\1bi", 6);
        sd_buf_u32(&b, i);
        sd_buf_add(&b, "z\1br\0\0\0\0", 8);
    }
    sd_buf_u8(&b, '0');
    CHECK(!b.bad && parse(&s, b.p, b.n) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "over and over"));
    CHECK(s.n_edges <= b.n);
    sd_call_stats_release(&s);
    sd_buf_release(&b);
}

/* As many code objects as fit, each called by the one long name in the file. */
TEST(pstats_file_cannot_ask_for_more_by_names_of_code)
{
    enum { N = 300, LONG = 20000 };
    struct sd_buf b = { 0 };
    struct sd_call_stats s;
    uint8_t *name;

    sd_buf_add(&b, "{)\3\xf5", 4);
    sd_buf_u32(&b, LONG);
    name = sd_buf_room(&b, LONG);
    CHECK(name);
    memset(name, 'x', LONG);
    b.n += LONG;
    for (uint32_t i = 0; i < N; i++) {
        if (i > 0)
            sd_buf_add(&b, ")\3r\0\0\0\0", 7); /* (the long name, 0, code) */
        sd_buf_add(&b, "i\0\0\0\0c", 6);
        for (uint32_t k = 0; k < 5; k++)
            sd_buf_u32(&b, 0);
        sd_buf_add(&b, "s\0\0\0\0NNNNr\0\0\0\0r\0\0\0\0N", 20);
        sd_buf_u32(&b, i); /* the line makes each another */
        sd_buf_add(&b, "NN)\5i\0\0\0\0i\0\0\0\0i\0\0\0\0i\0\0\0\0{0", 26);
    }
    sd_buf_u8(&b, '0');
    CHECK(!b.bad && parse(&s, b.p, b.n) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "too often"));
    CHECK(s.n_functions <= 16 * b.n / LONG);
    sd_call_stats_release(&s);
    sd_buf_release(&b);
}

/* --- Writing */

static void check_same(const struct sd_call_stats *a, const struct sd_call_stats *b)
{
    CHECK(a->n_listed == b->n_listed && a->n_edges == b->n_edges);
    for (size_t i = 0; i < a->n_listed; i++) {
        const struct sd_call_function *f = sd_call_stats_at(a, a->listed[i]);
        const struct sd_call_function *g = sd_call_stats_at(b, b->listed[i]);
        uint32_t e = f->first_caller, d = g->first_caller;

        CHECK(sd_call_function_compare(f, g) == 0 && f->n.calls == g->n.calls &&
              f->n.primitive == g->n.primitive && f->n.own == g->n.own &&
              f->n.total == g->n.total && f->n.whole == g->n.whole);
        for (; e != SD_NO_EDGE && d != SD_NO_EDGE;
             e = a->edges[e].next, d = b->edges[d].next)
            CHECK(a->edges[e].n.calls == b->edges[d].n.calls &&
                  a->edges[e].n.total == b->edges[d].n.total &&
                  a->edges[e].is_plain == b->edges[d].is_plain);
        CHECK(e == d);
    }
}

static void write_and_read(const struct sd_call_stats *s)
{
    struct sd_call_stats again;
    struct sd_out out;

    sd_out_to_memory(&out);
    CHECK(sd_call_stats_write_pstats(s, &out) == 0 && !out.pending.bad);
    CHECK(sd_pstats_is(out.pending.p, out.pending.n));
    CHECK(parse(&again, out.pending.p, out.pending.n) == 0);
    check_same(s, &again);
    sd_call_stats_release(&again);
    sd_out_release(&out);
}

static sd_function_id function(struct sd_call_stats *s, const char *file, size_t n_file,
                               int64_t line, const char *name, size_t n_name)
{
    sd_function_id id = { 0 };

    CHECK(sd_call_stats_function(s, file, n_file, line, name, n_name, &id) == 0);
    return id;
}

TEST(pstats_file_comes_back_as_it_was_written)
{
    static const struct sd_call_numbers huge = { INT64_MAX, INT64_MIN + 1, 1e300, 0.1,
                                                 0 },
                                        whole = { -1, (int64_t)1 << 31, 3, 4,
                                                  SD_WHOLE_OWN | SD_WHOLE_TOTAL };
    struct sd_call_stats s;
    char name[300];
    sd_function_id f, g, h;

    memset(name, 'x', sizeof name);
    sd_call_stats_init(&s);
    f = function(&s, "/a/\xC3\xA9.py", 8, -1, name, sizeof name);
    g = function(&s, "\xED\xB3\xBF", 3, INT64_MAX, "a\0b", 3); /* a lone surrogate */
    h = function(&s, "", 0, 0, "", 0);
    CHECK(sd_call_stats_count(&s, f, &huge) == 0);
    CHECK(sd_call_stats_count_calls(&s, g, f, &whole) == 0);
    CHECK(sd_call_stats_count_calls(&s, f, f, &huge) == 0);
    CHECK(sd_call_stats_count(&s, h, &whole) == 0);
    CHECK(sd_call_stats_count_plain(&s, g, h, (int64_t)1 << 62) == 0);
    write_and_read(&s);
    sd_call_stats_release(&s);
    write_and_read(&s); /* nothing at all */
}

TEST(pstats_file_that_is_loaded_says_when_it_was_written)
{
    char path[] = "/tmp/sonde-pstats-XXXXXX";
    int fd = mkstemp(path);
    struct sd_call_stats s;

    CHECK(fd >= 0);
    CHECK(write(fd, of_3_13, sizeof of_3_13 - 1) == (ssize_t)sizeof of_3_13 - 1);
    close(fd);
    sd_call_stats_init(&s);
    CHECK(sd_pstats_load(path, &s) == 0);
    CHECK(s.n_origins == 1 && s.origins[0].n == 24 + 4 + strlen(path));
    CHECK(strcmp(s.origins[0].p + 28, path) == 0);
    sd_call_stats_release(&s);
    CHECK(unlink(path) == 0);
    CHECK(sd_pstats_load(path, &s) == SD_EABSENT);
    sd_call_stats_release(&s);
}

TEST(pstats_reading_and_writing_survive_every_failed_allocation)
{
    EACH_FAILURE(nth)
    {
        struct sd_call_stats s;
        struct sd_out out;
        int rc = parse(&s, of_3_13, sizeof of_3_13 - 1);

        sd_out_to_memory(&out);
        if (rc == 0)
            rc = sd_call_stats_write_pstats(&s, &out);
        CHECK(rc == 0 || rc == SD_ENOMEM);
        sd_out_release(&out);
        sd_call_stats_release(&s);
    }
}
