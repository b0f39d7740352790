/* SPDX-License-Identifier: MIT */
/* doctor_machine: checks the system, rights, package and libraries. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/learn/verb_doctor.h"
#include "cli/record/interpreter.h"
#include "cli/record/package.h"
#include "process/diagnose.h"
#include "process/remote.h"
#include "sonde.h"

enum { N_READS = 200 };

static const char scope_remedy[] = "sudo sysctl kernel.yama.ptrace_scope=0";

static void look_at_system(struct sd_doctor_findings *f)
{
    struct utsname u;

    sd_doctor_findings_add(f, SD_FINDING_FACT, "sonde", "", "%s", SONDE_VERSION);
    if (uname(&u) == 0)
        sd_doctor_findings_add(f, SD_FINDING_FACT, "system", "", "%s %s %s", u.sysname,
                               u.release, u.machine);
}

/* What holds for every process: asked by looking at our own parent. */
static void look_at_rights(struct sd_doctor_findings *f)
{
    struct sd_diagnosis d;
    pid_t us = getpid();

    sd_diagnose(&d, getppid());
    sd_doctor_findings_add(f, SD_FINDING_FACT, "user", "",
                           "uid %u, %s the capability SYS_PTRACE", (unsigned)geteuid(),
                           d.is_root ? "with" : "without");
    if (d.ptrace_scope < 0)
        sd_doctor_findings_add(f, SD_FINDING_GOOD, "ptrace_scope", "",
                               "none (no Yama): own processes can be read");
    else if (d.ptrace_scope == 0 || (d.is_root && d.ptrace_scope < 3))
        sd_doctor_findings_add(f, SD_FINDING_GOOD, "ptrace_scope", "",
                               "%d: %s can be read", d.ptrace_scope,
                               d.is_root ? "every process" : "own processes");
    else
        sd_doctor_findings_add(
            f, SD_FINDING_LACK, "ptrace_scope", d.ptrace_scope == 3 ? "" : scope_remedy,
            "%d: %s", d.ptrace_scope,
            d.ptrace_scope == 1
                ? "only programs that sonde itself has started can be read"
                : "other processes cannot be read");
    if (sd_remote_is_forbidden())
        sd_doctor_findings_add(
            f, SD_FINDING_LACK, "seccomp",
            "docker run --cap-add SYS_PTRACE --security-opt seccomp=unconfined",
            "sonde may not call process_vm_readv, so it reads /proc/PID/mem instead");
    if (sd_remote_inner_pid(us) != us)
        sd_doctor_findings_add(f, SD_FINDING_FACT, "container", "",
                               "we are in a pid namespace of our own");
}

static pid_t start_sleeper(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return pid;
}

/* Reads eight bytes of a child of ours: it has our memory at the same addresses. */
static void look_at_reads(struct sd_doctor_findings *f)
{
    static const uint64_t there = 42;
    pid_t pid = start_sleeper();
    struct sd_remote r;
    uint64_t v = 0, best = UINT64_MAX;
    int rc = pid > 0 ? sd_remote_open(&r, pid) : SD_EACCESS;

    for (int i = 0; rc == 0 && i < N_READS; i++) {
        uint64_t from = sd_clock_ns();

        rc = sd_remote_u64(&r, (uint64_t)(uintptr_t)&there, &v);
        if (sd_clock_ns() - from < best)
            best = sd_clock_ns() - from;
    }
    if (rc == 0 && v == there)
        sd_doctor_findings_add(f, SD_FINDING_GOOD, "reading", "",
                               "%.1f us for a small read of another process%s",
                               (double)best / 1e3, r.mem >= 0 ? ", through /proc" : "");
    else
        sd_doctor_findings_add(f, SD_FINDING_BAD, "reading", "", "a child of ours: %s",
                               sd_fail_text());
    if (pid > 0) {
        sd_remote_close(&r);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

static void look_at_package(struct sd_doctor_findings *f)
{
    const char *package = sd_package_find(&f->arena);
    struct sd_interpreter python;
    struct sd_buf extensions = { 0 };

    if (!package) {
        sd_doctor_findings_add(
            f, SD_FINDING_LACK, "package", "pip install sonde",
            "the Python package of sonde was not found, so sonde records "
            "nothing inside programs");
        return;
    }
    sd_package_extensions(&f->arena, package, &extensions);
    sd_doctor_findings_add(f, SD_FINDING_GOOD, "package", "", "%s (%s)", package,
                           sd_buf_string(&extensions));
    sd_buf_release(&extensions);
    if (sd_interpreter_find(&f->arena, NULL, &python) < 0)
        sd_doctor_findings_add(f, SD_FINDING_LACK, "interpreter", "", "%s",
                               sd_fail_text());
    else if (sd_interpreter_fits(&f->arena, python.path, package) < 0)
        sd_doctor_findings_add(f, SD_FINDING_LACK, "interpreter", "", "%s",
                               sd_fail_text());
    else
        sd_doctor_findings_add(f, SD_FINDING_GOOD, "interpreter", "",
                               "%s, and its extension is there", python.path);
}

static void look_at_libraries(struct sd_doctor_findings *f)
{
    static const struct {
        const char *name, *file, *use, *remedy;
    } libraries[] = {
        { "cairo", "libcairo.so.2", "plots as PNG and PDF",
          "sudo apt install libcairo2" },
        { "jpeg", "libjpeg.so.62", "plots as JPEG",
          "sudo apt install libjpeg62-turbo" },
        { "libdw", "libdw.so.1", "native functions (--native)",
          "sudo apt install libdw1" },
    };

    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        /* Stays open: what it allocated while loading would be lost, and we end soon.
         */
        void *library = dlopen(libraries[i].file, RTLD_LAZY | RTLD_LOCAL);

        if (library)
            sd_doctor_findings_add(f, SD_FINDING_GOOD, libraries[i].name, "",
                                   "there, for %s", libraries[i].use);
        else
            sd_doctor_findings_add(f, SD_FINDING_LACK, libraries[i].name,
                                   libraries[i].remedy, "not installed: no %s",
                                   libraries[i].use);
    }
#ifdef HAVE_NCURSES
    sd_doctor_findings_add(f, SD_FINDING_GOOD, "built in", "", "zstd, ncurses, PCRE2");
#else
    sd_doctor_findings_add(
        f, SD_FINDING_LACK, "built in", "",
        "zstd and PCRE2, but not ncurses: top prints tables, without a screen");
#endif
}

void sd_doctor_machine(struct sd_doctor_findings *f)
{
    look_at_system(f);
    look_at_rights(f);
    look_at_reads(f);
    look_at_package(f);
    look_at_libraries(f);
}
