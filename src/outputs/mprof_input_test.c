/* SPDX-License-Identifier: MIT */
/* .dat files as captures, and captures as .dat files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/test.h"
#include "outputs/outputs.h"
#include "outputs/translated.h"

extern const struct sd_output sd_output_mprof;

static void save(char *path, const char *text)
{
    int fd = mkstemp(path);

    CHECK(fd >= 0 && sd_write_all(fd, text, strlen(text)) == 0);
    close(fd);
}

static int load(char *path, struct sd_translated *t, struct sd_profile **p)
{
    static const struct sd_loader how;
    int rc = sd_translated_open(t, &sd_input_mprof, NULL, (char *[]){ path }, 1);

    *p = NULL;
    return rc < 0 ? rc : sd_captures_load(&how, t->paths, 1, p);
}

static void check_written(const struct sd_profile *p, const char *from,
                          const char *expected)
{
    const struct sd_output_job job = { .from = from, .to = "x.dat", .profile = p };
    struct sd_out out;

    sd_out_to_memory(&out);
    CHECK(sd_output_mprof.write(&job, &out) == 0);
    CHECK(out.pending.n == strlen(expected) &&
          memcmp(out.pending.p, expected, out.pending.n) == 0);
    sd_out_release(&out);
}

static const char whole[] =
    "CMDLINE /usr/bin/python3 example.py\n"
    "MEM 1.503906 1700000000.1000\n"
    "MEM 7.812500 1700000000.2000\n"
    "CHLD 42 3.007812 1700000000.2000\n"
    "CHLD 43 1.000000 1700000000.3001\n"
    "MEM 161.007812 1700000000.4001\n"
    "FUNC m.outer 1.5000 1700000000.1100 8.2500 1700000000.3900 0\n"
    "FUNC m.inner 1.6000 1700000000.1500 161.0078 1700000000.3500 1\n"
    "FUNC m.inner 7.0000 1700000000.3600 7.5000 1700000000.3700 1\n"
    "FUNC m.inner 7.0000 1700000000.3950 7.5000 1700000000.3951 0\n";

TEST(an_mprof_file_becomes_a_capture_and_the_same_file_again)
{
    char path[] = "/tmp/sonde-mprof-XXXXXX";
    struct sd_translated t;
    struct sd_profile *p;

    save(path, whole);
    CHECK(load(path, &t, &p) == 0);
    CHECK(p->n_series == 3 && p->n_spans == 3 && p->n_point_events == 5 + 2 * 4);
    CHECK(!strcmp(sd_profile_meta(p, "command"), "/usr/bin/python3 example.py"));
    CHECK(p->real_zero_ns == 1700000000100000000 && p->end_ns == 300100000);
    check_written(p, t.paths[0], whole);
    sd_profile_free(p);
    sd_translated_close(&t);
    unlink(path);
}

TEST(an_mprof_file_gets_the_calls_beside_it)
{
    char path[] = "/tmp/sonde-mprof-XXXXXX", dat[64], ts[64];
    struct sd_translated t;
    struct sd_profile *p;
    FILE *f;

    save(path, "");
    snprintf(dat, sizeof dat, "%s.dat", path);
    snprintf(ts, sizeof ts, "%s_ts.dat", path);
    f = fopen(dat, "w");
    CHECK(f && fputs("MEM 1.0 1700000000.1\n", f) > 0 && fclose(f) == 0);
    f = fopen(ts, "w");
    CHECK(f && fputs("FUNC f 1.0 1700000000.2 2.0 1700000000.3\n", f) > 0 &&
          fclose(f) == 0);
    CHECK(load(dat, &t, &p) == 0);
    check_written(p, t.paths[0],
                  "CMDLINE \nMEM 1.000000 1700000000.1000\n"
                  "FUNC f 1.0000 1700000000.2000 2.0000 1700000000.3000 0\n");
    sd_profile_free(p);
    sd_translated_close(&t);
    unlink(path);
    unlink(dat);
    unlink(ts);
}

TEST(an_mprof_file_without_readings_is_refused_by_name)
{
    char path[] = "/tmp/sonde-mprof-XXXXXX";
    struct sd_translated t;
    struct sd_profile *p;

    save(path, "CMDLINE x\n\n");
    CHECK(load(path, &t, &p) == SD_EABSENT);
    CHECK(strstr(sd_fail_text(), path) && strstr(sd_fail_text(), "no readings"));
    unlink(path);
    CHECK(load(path, &t, &p) < 0);
}

TEST(translating_an_mprof_file_survives_every_allocation_that_fails)
{
    char path[] = "/tmp/sonde-mprof-XXXXXX";

    save(path, whole);
    EACH_FAILURE(nth)
    {
        struct sd_translated t;
        int rc = sd_translated_open(&t, &sd_input_mprof, NULL, (char *[]){ path }, 1);

        CHECK(rc == 0 || rc == SD_ENOMEM);
        if (rc == 0)
            sd_translated_close(&t);
    }
    unlink(path);
}
