/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_LEARN_VERB_DOCTOR_H
#define SD_CLI_LEARN_VERB_DOCTOR_H
/* verb_doctor: finds out what works here and now, as a list of findings.
 *
 * Each is one line: what was looked at, how it stands, what was found, and, where
 * something is in the way, the one command that helps.  They are printed, or written as
 * JSON, in the order in which they were found. */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/out.h"
#include <sys/types.h>

enum sd_finding_kind {
    SD_FINDING_FACT, /* neither good nor bad */
    SD_FINDING_GOOD,
    SD_FINDING_LACK, /* something cannot be done, the rest can */
    SD_FINDING_BAD,  /* what was asked for cannot be done */
};

struct sd_finding {
    enum sd_finding_kind kind;
    const char *name;   /* "permission", "python" */
    const char *text;   /* in the arena */
    const char *remedy; /* the same; "" when nothing helps or nothing must */
};

enum { SD_FINDINGS_MAX = 64 };
struct sd_doctor_findings { /* all zero is a fresh one */
    struct sd_arena arena;
    struct sd_finding items[SD_FINDINGS_MAX];
    size_t n;
    bool is_bad; /* one of them is BAD */
};

/* Behind SD_FINDINGS_MAX nothing is added. */
void sd_doctor_findings_add(struct sd_doctor_findings *f, enum sd_finding_kind kind,
                            const char *name, const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void sd_doctor_findings_release(struct sd_doctor_findings *f);

/* This machine, this user, this installation (doctor_machine.c). */
void sd_doctor_machine(struct sd_doctor_findings *f);
/* A process, from the right to read it to its stacks (doctor_process.c). */
void sd_doctor_process(struct sd_doctor_findings *f, pid_t pid);
#endif
