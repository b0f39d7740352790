/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "formats/stacks_testing.h"

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

TEST(chrometrace_begins_and_ends_what_changes)
{
    const struct sd_stack_style style = { 0 };
    struct sd_out out;
    const char *text = sd_maker_written(&sd_output_chrometrace, &style, &out);

    /* Line 3 from 0 to 20 ms, line 4 from there to 30; the idle rest is open. */
    CHECK(strstr(text, "{\"name\":\"<module>\",\"cat\":\"python\",\"ph\":\"B\","
                       "\"pid\":7,\"tid\":7,\"ts\":0,"
                       "\"args\":{\"filename\":\"/x/app.py\",\"line\":3}}"));
    CHECK(strstr(text, "{\"name\":\"f\",\"cat\":\"python\",\"ph\":\"E\",\"pid\":7,"
                       "\"tid\":7,\"ts\":20000,"));
    CHECK(strstr(text, "\"ph\":\"B\",\"pid\":7,\"tid\":7,\"ts\":20000,"
                       "\"args\":{\"filename\":\"/x/app.py\",\"line\":4}}"));
    CHECK(strstr(text, "\"ph\":\"E\",\"pid\":7,\"tid\":7,\"ts\":30000,"));
    CHECK(!strstr(text, "\"ts\":130000"));
    CHECK(count(text, "\"ph\":\"B\"") == 5 && count(text, "\"ph\":\"E\"") == 5);
    CHECK(strstr(text, "\"ph\":\"M\",\"pid\":9,\"tid\":10,"));
    CHECK(!strchr(text, '\033'));
    sd_out_release(&out);
}

TEST(chrometrace_keeps_a_frame_open_over_samples_that_have_it)
{
    const struct sd_stack_style style = { .has_no_lines = true, .has_idle = true };
    struct sd_out out;
    const char *text = sd_maker_written(&sd_output_chrometrace, &style, &out);

    CHECK(count(text, "\"name\":\"<module>\",\"cat\":\"python\",\"ph\":\"B\"") == 1);
    CHECK(strstr(text, "\"name\":\"<module>\",\"cat\":\"python\",\"ph\":\"E\","
                       "\"pid\":7,\"tid\":7,\"ts\":130000,"
                       "\"args\":{\"filename\":\"/x/app.py\"}}"));
    sd_out_release(&out);
}

/* A native leaf, a cut stack, a task's section that raises, memory. */
static void make_mixed(struct sd_maker *m)
{
    uint32_t process, thread, task, shape, f, native, stack, rss, of_point;
    struct sd_rec_site *r;

    sd_maker_begin(m);
    sd_maker_chunk(m, 1, 1);
    process = sd_maker_track(m, SD_TRACK_PROCESS, 0, 7, "python");
    thread = sd_maker_track(m, SD_TRACK_THREAD, process, 8, "Worker");
    task = sd_maker_track(m, SD_TRACK_TASK, thread, 1, "Task-1");
    shape = sd_maker_sample_shape(m);
    f = sd_maker_function(m, "f", "/x/app.py", 10);
    native = sd_maker_function(m, "dgemm", "/usr/lib/libblas.so.3", 0);
    r = (void *)(m->records.p + m->records.n - sizeof *r);
    r->flags = SD_SITE_NATIVE;
    stack = sd_maker_stack(m, 0, f, 12);
    sd_maker_sample(m, thread, sd_maker_stack(m, stack, native, 0), 0, 10000000, shape,
                    1);
    sd_maker_sample(m, thread, stack, SD_SAMPLE_PARTIAL, 20000000, shape, 1);
    sd_maker_span_with(m, sd_maker_site(m, sd_maker_site(m, 0, "epoch"), "batch"), task,
                       1000, 2000, 0, NULL, 0, SD_SPAN_RAISED);
    rss = sd_maker_metric(m, "rss", SD_UNIT_BYTES, SD_ADDS_LEVEL);
    of_point = sd_maker_shape(m, &rss, 1);
    sd_maker_point(m, process, of_point, 5000000, (int64_t[]){ 4096 }, 1);
    sd_maker_point(m, process, of_point, 60000000, (int64_t[]){ 5096 }, 1);
    sd_maker_end(m, 0);
}

static const char *mixed(const struct sd_output *o, struct sd_out *out)
{
    struct sd_maker m;
    struct sd_profile *p;

    make_mixed(&m);
    p = sd_maker_load(&m, NULL);
    sd_out_to_memory(out);
    CHECK(o->write(&(struct sd_output_job){ .from = sd_maker_save(&m), .profile = p },
                   out) == 0);
    sd_profile_free(p);
    sd_maker_release(&m);
    return sd_buf_string(&out->pending);
}

TEST(chrometrace_has_native_frames_cut_ones_sections_and_readings)
{
    struct sd_out out;
    const char *text = mixed(&sd_output_chrometrace, &out);

    CHECK(strstr(text, "{\"name\":\"dgemm\",\"cat\":\"native\",\"ph\":\"E\",\"pid\":7,"
                       "\"tid\":8,\"ts\":10000,"));
    CHECK(strstr(text, "{\"name\":\"[partial]\",\"cat\":\"python\",\"ph\":\"B\","
                       "\"pid\":7,\"tid\":8,\"ts\":10000,\"args\":{}}"));
    CHECK(strstr(text, "{\"name\":\"batch\",\"cat\":\"section\",\"ph\":\"b\",\"pid\":7,"
                       "\"tid\":8,\"ts\":1,\"id\":1,\"args\":{\"path\":\"epoch:batch\","
                       "\"track\":\"Task-1\",\"end\":\"raised\"}}"));
    CHECK(strstr(text, "\"ph\":\"e\",\"pid\":7,\"tid\":8,\"ts\":2,\"id\":1}"));
    CHECK(strstr(text,
                 "{\"name\":\"rss\",\"ph\":\"C\",\"pid\":7,\"tid\":7,\"ts\":60000,"
                 "\"args\":{\"bytes\":5096}}"));
    sd_out_release(&out);
}

TEST(chrometrace_says_how_many_calls_are_missing)
{
    struct sd_maker m;
    struct sd_profile *p;
    struct sd_out out;

    make_mixed(&m);
    p = sd_maker_load(&m, NULL);
    for (uint64_t lost = 0; lost < 4; lost += 3) {
        p->n_timeline_lost = lost;
        sd_out_to_memory(&out);
        CHECK(sd_output_chrometrace.write(
                  &(struct sd_output_job){ .from = sd_maker_save(&m), .profile = p },
                  &out) == 0);
        CHECK(!!strstr(sd_buf_string(&out.pending), "],\"calls_missing\":3}\n") ==
              (lost == 3));
        CHECK(!!strstr(sd_buf_string(&out.pending), "calls_missing") == (lost == 3));
        sd_out_release(&out);
    }
    sd_profile_free(p);
    sd_maker_release(&m);
}

TEST(firefox_has_native_frames_cut_ones_sections_and_memory)
{
    struct sd_out out;
    const char *text = mixed(&sd_output_firefox, &out);

    CHECK(strstr(text, "\"preprocessedProfileVersion\":60"));
    CHECK(strstr(text, "\"samples\":{\"stack\":[1,2],\"time\":[10,20],"
                       "\"weight\":[10,10],\"weightType\":\"tracing-ms\","
                       "\"threadCPUDelta\":[8000,8000],\"length\":2}"));
    CHECK(strstr(text,
                 "\"markers\":{\"data\":[{\"type\":\"Section\","
                 "\"path\":\"epoch:batch\",\"task\":\"Task-1\",\"end\":\"raised\"}],"
                 "\"name\":[0],\"startTime\":[0.001],\"endTime\":[0.002],"
                 "\"phase\":[1],\"category\":[2],\"length\":1}"));
    CHECK(strstr(text, "\"mainThreadIndex\":0,\"samples\":{\"time\":[5,60],"
                       "\"count\":[4096,1000],\"length\":2}"));
    CHECK(strstr(text, "\"stackTable\":{\"frame\":[0,1,2],\"prefix\":[null,0,0],"));
    CHECK(strstr(text, "\"category\":[0,1,2]"));
    CHECK(strstr(text, "\"stringArray\":[\"batch\",\"f\",\"dgemm\",\"[partial]\","
                       "\"/x/app.py\",\"libblas.so.3\"]"));
    CHECK(count(text, "\"tid\":") == 1);
    sd_out_release(&out);
}

TEST(firefox_writes_every_sample_and_every_process)
{
    const struct sd_stack_style style = { 0 };
    struct sd_out out;
    const char *text = sd_maker_written(&sd_output_firefox, &style, &out);

    CHECK(strstr(text, "\"interval\":10,"));
    CHECK(strstr(text, "\"stack\":[1,1,1,3],\"time\":[10,10,20,30]"));
    CHECK(strstr(text, "\"pid\":\"9\",\"tid\":10,"));
    CHECK(!strchr(text, '\033') && !strstr(text, "<x>"));
    sd_out_release(&out);
}
