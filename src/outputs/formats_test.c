/* SPDX-License-Identifier: MIT */
#include "outputs/outputs.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"
#include "formats/stacks_testing.h"

#define HOSTILE "=1\033[2J,\"<script>\xe2\x80\xae\xff"

static struct sd_profile *make(struct sd_maker *m)
{
    uint32_t process, thread, site, cpu, rss, of_span, of_point;

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    sd_maker_meta(m, "command", HOSTILE);
    sd_maker_note(m, SD_NOTE_REFUSAL, HOSTILE);
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, HOSTILE);
    thread = sd_maker_track(m, SD_TRACK_THREAD, process, 8, NULL);
    site = sd_maker_site(m, 0, HOSTILE);
    cpu = sd_maker_metric(m, "cpu", SD_UNIT_NANOSECONDS, SD_ADDS_SUM);
    of_span = sd_maker_shape(m, &cpu, 1);
    cpu = sd_maker_metric(m, "cpu", SD_UNIT_NANOSECONDS, SD_ADDS_COUNTER);
    rss = sd_maker_metric(m, "rss", SD_UNIT_BYTES, SD_ADDS_LEVEL);
    of_point = sd_maker_shape(m, (uint32_t[]){ cpu, rss }, 2);
    sd_maker_span_with(m, site, thread, 1000, 1500000002, of_span, (int64_t[]){ 42 }, 1,
                       SD_SPAN_RAISED);
    sd_maker_point(m, process, of_point, 5, (int64_t[]){ 3, SD_VALUE_NONE }, 2);
    sd_maker_point(m, process, of_point, 6, (int64_t[]){ 4, 4096 }, 2);
    sd_maker_open(m, site, thread, 9, 7);
    sd_maker_end(m, 0);
    return sd_maker_load(m, NULL);
}

static const char *written(const char *name, struct sd_maker *m, struct sd_out *out)
{
    struct sd_profile *p = make(m);
    const struct sd_output *o = sd_output_named(name);
    const struct sd_output_job job = { .from = sd_maker_save(m),
                                       .to = "-",
                                       .profile = p };

    sd_out_to_memory(out);
    CHECK(o && sd_output_write(o, &job, out) == 0);
    sd_profile_free(p);
    return sd_buf_string(&out->pending);
}

TEST(csv_format_has_a_row_per_event_and_a_column_per_metric)
{
    struct sd_maker m;
    struct sd_out out;

    CHECK(strcmp(written("csv", &m, &out),
                 "kind,process,thread,name,start_s,end_s,cpu,rss\r\n"
                 "span,7,8,\"'=1\\x1b[2J,\"\"<script>\\u202e\\xff\","
                 "0.000001000,1.500000002,42,\r\n"
                 "point,7,,,0.000000005,0.000000005,3,\r\n"
                 "point,7,,,0.000000006,0.000000006,4,4096\r\n"
                 "unfinished,7,8,\"'=1\\x1b[2J,\"\"<script>\\u202e\\xff\","
                 "0.000000007,1.500000002,,\r\n") == 0);
    sd_out_release(&out);
    sd_maker_release(&m);
}

TEST(json_format_carries_everything)
{
    struct sd_maker m;
    struct sd_out out;
    const char *text = written("json", &m, &out);

    CHECK(strstr(text,
                 "{\"kind\":\"span\",\"track\":1,\"site\":0,\"from_ns\":1000,"
                 "\"to_ns\":1500000002,\"raised\":true,\"values\":{\"cpu\":42}}"));
    CHECK(strstr(text, "{\"kind\":\"point\",\"track\":0,\"time_ns\":5,"
                       "\"values\":{\"cpu\":3}}"));
    CHECK(strstr(text, "\"unfinished\":true"));
    CHECK(strstr(text, "\"key\":\"command\""));
    CHECK(!strstr(text, "<script") && !strchr(text, '\033'));
    sd_out_release(&out);
    sd_maker_release(&m);
}

static bool is_format(const struct sd_output *o)
{
    return o->folds_paths || (o->write && o->needs & SD_HOLDS_EVENTS);
}

/* Of a capture with events and stacks. */
static void write_without_memory(struct sd_maker *m, const struct sd_stack_style *style)
{
    struct sd_profile *p = sd_maker_load(m, NULL);
    const struct sd_output_job job = {
        .from = sd_maker_save(m), .to = "x.svg", .profile = p, .style = style
    };

    for (size_t i = 0; sd_outputs[i]; i++)
        EACH_FAILURE(nth)
        {
            struct sd_out out;
            int rc = 0;

            sd_out_to_memory(&out);
            if (is_format(sd_outputs[i]))
                rc = sd_output_write(sd_outputs[i], &job, &out);
            CHECK(rc == 0 || rc == SD_ENOMEM);
            sd_out_release(&out);
        }
    sd_profile_free(p);
    sd_maker_release(m);
}

TEST(formats_survive_every_allocation_that_fails)
{
    const struct sd_stack_style style = { .has_idle = true, .has_threads = true };
    struct sd_maker m;

    sd_profile_free(make(&m));
    write_without_memory(&m, NULL);
    sd_maker_stacks(&m);
    write_without_memory(&m, &style);
}
