/* SPDX-License-Identifier: MIT */
/* doctor_process: checks whether a process can be sampled. */
#include <string.h>

#include "base/error.h"
#include "capture/record.h"
#include "cli/learn/verb_doctor.h"
#include "cli/live/snapshot.h"
#include "cli/record/attach.h"
#include "process/diagnose.h"
#include "process/python/python_threads.h"
#include "process/python/runtime.h"
#include "process/remote.h"

static const char *state_word(char state)
{
    switch (state) {
    case 'R':
        return "running";
    case 'S':
    case 'I':
        return "sleeping";
    case 'D':
        return "waiting for a device";
    case 'T':
    case 't':
        return "stopped";
    case 'Z':
        return "ended";
    }
    return "not known";
}

static bool may_read(struct sd_doctor_findings *f, pid_t pid)
{
    struct sd_diagnosis d;

    sd_diagnose(&d, pid);
    if (d.what != SD_HINDRANCE_NO_SUCH)
        sd_doctor_findings_add(f, SD_FINDING_FACT, "process", "",
                               "%d (%s), %s, of uid %u%s%s", (int)pid, d.name,
                               state_word(d.state), d.its_uid,
                               d.is_container ? ", in a container" : "",
                               d.is_other_user_ns ? ", in another user namespace" : "");
    if (d.what != SD_HINDRANCE_NO_SUCH)
        sd_doctor_findings_add(
            f, SD_FINDING_FACT, "rights", "",
            "we are uid %u %s SYS_PTRACE, ptrace_scope %s", d.our_uid,
            d.is_root ? "with" : "without",
            d.ptrace_scope < 0
                ? "none"
                : (const char *[]){ "0", "1", "2", "3" }[d.ptrace_scope & 3]);
    sd_doctor_findings_add(
        f, d.what == SD_HINDRANCE_NONE ? SD_FINDING_GOOD : SD_FINDING_BAD, "permission",
        d.remedy, "%s", d.sentence);
    return d.what == SD_HINDRANCE_NONE;
}

static void look_at_threads(struct sd_doctor_findings *f, const struct sd_remote *r,
                            const struct sd_runtime *rt)
{
    struct sd_python_threads threads = { 0 };
    size_t n_native = 0;

    if (sd_python_threads_read(&threads, r, rt) == 0) {
        for (size_t i = 0; i < threads.n; i++)
            n_native += threads.items[i].tid > 0;
        sd_doctor_findings_add(f, SD_FINDING_GOOD, "threads", "",
                               "%zu Python thread%s, %zu known to the system",
                               threads.n, threads.n == 1 ? "" : "s", n_native);
    } else {
        sd_doctor_findings_add(f, SD_FINDING_LACK, "threads", "",
                               "the list changes too fast to be read");
    }
    sd_python_threads_release(&threads);
}

static bool has_python(struct sd_doctor_findings *f, pid_t pid)
{
    struct sd_remote r = SD_REMOTE_NONE;
    struct sd_runtime rt;
    int rc = sd_remote_open(&r, pid);

    if (rc == 0)
        rc = sd_runtime_find(&rt, &r, NULL);
    if (rc < 0) {
        sd_doctor_findings_add(f, SD_FINDING_BAD, "python", "", "%s", sd_fail_text());
    } else {
        sd_doctor_findings_add(f, SD_FINDING_GOOD, "python", "", "CPython %s",
                               rt.version);
        sd_doctor_findings_add(f, SD_FINDING_FACT, "runtime", "", "at 0x%llx in %s",
                               (unsigned long long)rt.address, rt.file);
        sd_doctor_findings_add(f, SD_FINDING_GOOD, "layout", "",
                               rt.is_checked
                                   ? "known, and it fits what the process holds"
                                   : "known; no function runs that it could be "
                                     "checked with");
        look_at_threads(f, &r, &rt);
    }
    sd_remote_close(&r);
    return rc == 0;
}

static void look_at_stack(struct sd_doctor_findings *f, pid_t pid)
{
    const struct sd_sampler_options options = { .skips_children = true };
    const struct sd_snapshot_request request = { .consistency = SD_CONSISTENCY_AUTO };
    struct sd_snapshot shot = { 0 };
    struct sd_sampler *s = NULL;
    int rc = sd_attach_open(&s, pid, &options);

    if (rc == 0)
        rc = sd_snapshot_take(&shot, s, &request);
    if (rc < 0) {
        sd_doctor_findings_add(f, SD_FINDING_BAD, "stack", "", "%s", sd_fail_text());
    } else if (shot.n_threads == 0) {
        sd_doctor_findings_add(f, SD_FINDING_LACK, "stack", "",
                               "no thread runs Python now");
    } else {
        const struct sd_snapshot_thread *x = &shot.threads[shot.n_threads - 1];
        const struct sd_snapshot_frame *inner = &x->frames[0];

        sd_doctor_findings_add(f, SD_FINDING_GOOD, "stack", "",
                               "read: %zu functions, the innermost %s (%s:%d)%s",
                               x->n_frames, inner->name,
                               sd_attach_file(inner->file, false), (int)inner->line,
                               x->flags & SD_SAMPLE_PARTIAL ? ", partial" : "");
    }
    sd_snapshot_release(&shot);
    sd_sampler_free(s, NULL);
}

void sd_doctor_process(struct sd_doctor_findings *f, pid_t pid)
{
    if (may_read(f, pid) && has_python(f, pid))
        look_at_stack(f, pid);
    sd_doctor_findings_add(
        f, f->is_bad ? SD_FINDING_BAD : SD_FINDING_GOOD, "result", "",
        f->is_bad ? "it cannot be sampled" : "it can be sampled: sonde top --pid %d",
        (int)pid);
}
