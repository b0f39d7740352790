/* SPDX-License-Identifier: MIT */
#include "cli/time/time_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyse/time/time_growth.h"
#include "base/error.h"
#include "cli/read/export.h"
#include "cli/say.h"
#include "outputs/outputs.h"
#include "outputs/pictures.h"
#include "profile/time/timings_capture.h"

/* What a capture of timed statements holds. */
enum { HOLDS = SD_HOLDS_EVENTS | SD_HOLDS_TIMINGS };

int sd_time_file_check(const struct sd_time_ask *ask)
{
    const struct sd_output *o;
    enum sd_picture kind;
    int rc = 0;

    if (!ask->to || sd_output_is_capture(ask->to))
        return ask->to ? sd_export_try(ask->to, ask->create) : 0;
    o = sd_output_for(ask->to, HOLDS);
    if (!o)
        rc = sd_output_check(ask->to, ".sonde, ");
    else if (sd_picture_of(ask->to, &kind) && !ask->size_name)
        rc = sd_fail(SD_EUSAGE,
                     "a picture shows how the time grows with a size: add --vary "
                     "n=10,100,1000,10000, or choose another file than %s",
                     ask->to);
    else if (!sd_picture_of(ask->to, &kind) && !sd_output_can_be_of(o, HOLDS))
        rc = sd_fail(SD_EUSAGE,
                     "timed statements cannot be written as %s; use .sonde, "
                     ".pyperf.json, .html, .csv, .json or .txt",
                     ask->to);
    return rc < 0 ? rc : sd_export_try(ask->to, ask->create);
}

static int put_capture(const struct sd_time_ask *ask, const struct sd_timings *t,
                       struct sd_buf *to)
{
    struct sd_buf command = { 0 };
    int rc;

    sd_buf_printf(&command, "sonde time %s", ask->statements[0]);
    rc = sd_timings_capture_write(t, sd_buf_string(&command), to);
    sd_buf_release(&command);
    return rc;
}

static int put_picture(const struct sd_timings *t, enum sd_picture kind,
                       struct sd_out *out)
{
    struct sd_drawing d = { .name = "timing_growth", .shape = SD_SHAPE_GROWTH };
    struct sd_arena arena = { 0 };
    int rc = sd_time_growth_picture(t, &arena, &d.growth);

    if (rc == 0)
        rc = sd_picture_write_drawing(&d, kind, (struct sd_picture_size){ 0 }, out);
    sd_arena_release(&arena);
    return rc;
}

/* As `sonde convert` does: of the capture, in a file without a name. */
static int put_output(const struct sd_time_ask *ask, const struct sd_buf *capture,
                      struct sd_out *out)
{
    struct sd_profile *p = NULL;
    struct sd_output_job job = { .to = ask->to,
                                 .name = ask->statements[0],
                                 .remarks = &sd_said_remarks };
    char path[64];
    int fd = memfd_create("sonde-capture", MFD_CLOEXEC), rc = 0;

    if (fd < 0 || sd_write_all(fd, capture->p, capture->n) < 0)
        rc = sd_fail_errno(errno, "cannot keep the capture in memory (memfd_create)");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (rc == 0)
        rc = sd_profile_load(path, NULL, &p);
    job.from = path;
    job.profile = p;
    if (rc == 0)
        rc = sd_output_write(sd_output_for(ask->to, HOLDS), &job, out);
    sd_profile_free(p);
    if (fd >= 0)
        close(fd);
    return rc;
}

int sd_time_file_write(const struct sd_time_ask *ask, const struct sd_timings *t)
{
    struct sd_buf capture = { 0 };
    struct sd_export_file file;
    enum sd_picture kind;
    int rc = sd_export_open(&file, ask->to, ask->create);

    if (rc < 0)
        return rc;
    if (sd_picture_of(ask->to, &kind)) {
        rc = put_picture(t, kind, &file.out);
    } else {
        rc = put_capture(ask, t, &capture);
        if (rc == 0 && sd_output_is_capture(ask->to))
            sd_out_write(&file.out, capture.p, capture.n);
        else if (rc == 0)
            rc = put_output(ask, &capture, &file.out);
    }
    sd_buf_release(&capture);
    return sd_export_close(&file, rc);
}
