/* SPDX-License-Identifier: MIT */
#include "cli/record/recording.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "capture/folder.h"
#include "cli/record/facts.h"
#include "cli/say.h"
#include "outputs/remarks.h"
#include "process/stat.h"

static int read_sync(const char *word, struct sd_capture_options *how)
{
    if (strcmp(word, "off") == 0)
        how->sync = SD_SYNC_OFF;
    else if (strcmp(word, "seal") == 0)
        how->sync = SD_SYNC_SEAL;
    else if (sd_text_parse_duration(word, &how->sync_every_ns))
        how->sync = SD_SYNC_EVERY;
    else
        return sd_fail(SD_EUSAGE,
                       "--sync must be off, seal or a time such as 1s, not \"%s\"",
                       word);
    return 0;
}

int sd_recording_create(struct sd_recording *r, const char *name, const char *sync)
{
    struct sd_capture_options how = { .create = r->create, .zstd_level = 3 };
    int rc = read_sync(sync, &how);

    if (rc < 0)
        return rc;
    for (;;) {
        rc = sd_capture_create(r->naming.capture, &how, &r->capture);
        if (rc != SD_EEXISTS || r->naming.is_chosen)
            return rc;
        rc = sd_naming_next(&r->arena, name, &r->naming);
        if (rc < 0)
            return rc;
    }
}

static uint64_t folded_peak(void *of, pid_t pid)
{
    return sd_capture_peak_bytes(of, (uint32_t)pid);
}

static void own_io(void *of, pid_t pid, uint64_t *read, uint64_t *written)
{
    sd_capture_own_io(of, (uint32_t)pid, read, written);
}

int sd_recording_watch(struct sd_recording *r, pid_t root)
{
    struct sd_collect how = {
        .root = root, .folded_peak = folded_peak, .own_io = own_io, .of = r->capture
    };
    int rc = sd_capture_start(r->capture);

    if (rc == 0)
        rc = sd_writer_join(sd_capture_live_dir(r->capture), &r->writer);
    how.writer = r->writer;
    if (rc == 0)
        rc = sd_collector_set_start(&r->chosen, &how);
    return rc;
}

static void hold(void *of, bool is_held)
{
    struct sd_recording *r = of;

    sd_collector_set_hold(&r->chosen, is_held);
}

int sd_recording_launch(struct sd_recording *r, const struct sd_program *target,
                        char **envp, struct sd_child *child)
{
    int rc =
        envp ? sd_facts_put_before(r->capture, target, &r->chosen) : sd_no_memory();

    if (rc == 0)
        rc = sd_launch_prepare(target->path, target->argv, envp, child);
    if (rc < 0)
        return rc;
    rc = sd_recording_watch(r, child->pid);
    if (rc < 0) {
        sd_launch_cancel(child);
        return rc;
    }
    child->hold = hold;
    child->of = r;
    return sd_launch_go(child, target->path);
}

uint64_t sd_recording_n_samples(const struct sd_recording *r)
{
    void *sampler = sd_collector_set_sampler(&r->chosen);

    return sampler ? sd_sample_so_far(sampler) : 0;
}

void sd_recording_stop(struct sd_recording *r)
{
    void *sampler = sd_collector_set_sampler(&r->chosen);

    if (sampler) {
        sd_sample_finish(sampler, &r->sampled);
        r->has_sampled = true;
    }
    sd_collector_set_stop(&r->chosen);
}

/* The usual reason why a program's own process could not write its events. */
bool sd_recording_is_disk_full(const struct sd_recording *r)
{
    struct statvfs disk;

    return statvfs(r->naming.capture, &disk) == 0 &&
           disk.f_bavail < (1 << 20) / disk.f_bsize;
}

/* One sentence, whatever there is to say.  On a full disk, what a thread or a table
 * that found no room to begin would have recorded later is not in the count. */
static void say_losses(const struct sd_recording *r, int rc,
                       const struct sd_capture_counts *counts)
{
    bool is_full = sd_recording_is_disk_full(r);
    const char *path = r->naming.capture;
    char number[SD_TEXT_MAX], lost[SD_TEXT_MAX + 32] = "";

    if (counts->lost)
        snprintf(lost, sizeof lost, "; %s%s event%s lost", is_full ? "at least " : "",
                 sd_text_count(number, (int64_t)counts->lost),
                 counts->lost == 1 ? " was" : "s were");
    if (counts->write_error && r->has_rest && !r->naming.export) /* else: say_kept */
        sd_say("part of the recording could not be written to %s: %s; that part stays "
               "in %s.live, which sonde report %s also reads%s",
               path, strerror(counts->write_error), path, path, lost);
    else if (counts->write_error)
        sd_say("part of the recording could not be written to %s: %s%s", path,
               strerror(counts->write_error), lost);
    else if (rc < 0)
        sd_say("the recording is not complete: %s%s", sd_fail_text(), lost);
    else if (counts->lost)
        sd_say("%s%s", lost + 2,
               is_full               ? " because the disk is full"
               : counts->is_at_limit ? "; files may not become larger here (ulimit -f)"
                                     : "");
}

/* What a process that outlives the program records has nobody to seal it: the folder
 * stays, and reports read it beside the capture. */
static void say_running(const struct sd_recording *r,
                        const struct sd_capture_counts *counts)
{
    struct sd_process_stat stat;
    char name[SD_PROCESS_NAME + 4] = "", others[48] = "";

    if (counts->n_running == 0)
        return;
    if (sd_process_stat((pid_t)counts->running_pid, &stat) == 0)
        snprintf(name, sizeof name, " (%s)", stat.name);
    if (counts->n_running > 1)
        snprintf(others, sizeof others, " and %u more", counts->n_running - 1);
    sd_say("process %u%s%s still run%s: what is recorded there from now on stays in "
           "%s.live, which sonde report %s also reads",
           counts->running_pid, name, others, counts->n_running > 1 ? "" : "s",
           r->naming.capture, r->naming.capture);
}

void sd_recording_finish(struct sd_recording *r, int32_t status)
{
    struct sd_capture_counts counts = { 0 };
    int rc;

    sd_writer_leave(r->writer);
    r->writer = NULL;
    r->n_joined = sd_capture_n_joined(r->capture);
    rc = sd_capture_finish(r->capture, status, &counts);
    r->capture = NULL;
    r->has_lost = rc < 0 || counts.lost || counts.write_error || r->sampled.unwritten;
    r->has_rest = rc < 0;
    r->n_running = counts.n_running;
    r->said_losses = counts.lost ? SD_LOSS_BIT(EVENTS) : 0;
    if (rc < 0 || counts.write_error)
        r->said_losses |= SD_LOSS_BIT(EVENTS) | SD_LOSS_BIT(DAMAGE);
    say_losses(r, rc, &counts);
    say_running(r, &counts);
}

void sd_recording_discard(const struct sd_recording *r)
{
    struct sd_buf live = { 0 };

    unlink(r->naming.capture);
    sd_buf_printf(&live, "%s.live", r->naming.capture);
    if (r->has_rest && !live.bad)
        sd_folder_remove(sd_buf_string(&live));
    sd_buf_release(&live);
}

void sd_recording_say_kept(const struct sd_recording *r)
{
    const char *path = r->naming.capture;

    if (r->has_rest)
        sd_say("%s; the capture is kept: %s and %s.live", sd_fail_text(), path, path);
    else
        sd_say("%s; the capture is kept: %s", sd_fail_text(), path);
}

void sd_recording_abandon(struct sd_recording *r)
{
    sd_collector_set_stop(&r->chosen);
    if (r->writer)
        sd_writer_leave(r->writer);
    if (r->capture)
        sd_capture_abandon(r->capture);
    r->writer = NULL;
    r->capture = NULL;
}

uint64_t sd_recording_peak(struct sd_recording *r, pid_t pid)
{
    return folded_peak(r->capture, pid);
}
