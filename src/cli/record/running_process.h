/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_RECORD_RUNNING_PROCESS_H
#define SD_CLI_RECORD_RUNNING_PROCESS_H
/* running_process: records a process that runs already, until it ends, time is up or
 * somebody ends us. */
#include "cli/record/process_watch.h"
#include "cli/record/recording.h"

struct sd_running_process {
    pid_t pid;
    uint64_t duration_ns;     /* to record; 0: until it ends */
    struct sd_program target; /* its command line and "NAME-PID" */
    struct sd_process_watch watch;
    uint64_t started_ns, ended_ns; /* of the recording */
};

/* Takes hold of it: sd_running_process_leave is due from then on.  SD_EGONE,
 * SD_EACCESS, SD_EUSAGE with a sentence. */
int sd_running_process_hold(struct sd_running_process *r, pid_t pid);
/* Its words and its name; says when it is stopped. */
int sd_running_process_find(struct sd_running_process *r, struct sd_arena *a);
/* "10", "500ms" or "unlimited", which is 0; SD_EUSAGE with a sentence. */
int sd_running_process_duration(const char *word, uint64_t *ns);
/* What works inside a program cannot be put into it: SD_EUSAGE with a sentence, of the
 * collectors as they were typed. */
int sd_running_process_check(const struct sd_recording *rec, const char *with);
/* Fills and finishes the recording, whose file is made.  `draw` is called now and then
 * with `of`, NULL: nobody looks. */
int sd_running_process_record(struct sd_running_process *r, struct sd_recording *rec,
                              void (*draw)(const void *of), const void *of);
void sd_running_process_leave(struct sd_running_process *r);
#endif
