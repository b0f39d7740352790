/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_DIAGNOSE_H
#define SD_PROCESS_DIAGNOSE_H
/* diagnose: finds out why a process cannot be read, and the one command that helps.
 *
 * The kernel says EPERM for half a dozen different reasons.  Each has its own remedy,
 * and the files of /proc tell them apart, mostly without any right at all. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sd_hindrance {
#define HINDRANCE(name, sentence, remedy) SD_HINDRANCE_##name,
#include "process/hindrances.def"
#undef HINDRANCE
};

struct sd_diagnosis {
    enum sd_hindrance what; /* SD_HINDRANCE_NONE: it can be read */
    pid_t pid;
    uint32_t our_uid, its_uid;
    int ptrace_scope;  /* of Yama; -1: no Yama */
    bool is_root;      /* we have CAP_SYS_PTRACE in our user namespace */
    bool is_container; /* it lives in another pid namespace */
    bool is_other_user_ns;
    char state;         /* of /proc/PID/stat */
    char name[64];      /* its comm */
    char sentence[256]; /* what stops us, whole */
    char remedy[256];   /* one command, or what to do; "" when nothing helps */
};

/* Always succeeds: what cannot be told is the hindrance UNKNOWN, with the error of the
 * kernel. */
void sd_diagnose(struct sd_diagnosis *d, pid_t pid);
/* Fails as the diagnosis says (SD_EGONE, SD_EACCESS, SD_EUSAGE), with sentence and
 * remedy; 0 when nothing hinders. */
int sd_diagnosis_fail(const struct sd_diagnosis *d);
#endif
