/* SPDX-License-Identifier: MIT */
#ifndef SD_LINES_COLLECTOR_H
#define SD_LINES_COLLECTOR_H
/* collector: the session that fills the capture of this process with lines, if the run
 * asks for them (SONDE_WITH). */
#include "cpython/compat.h"

#include <stdbool.h>
#include <stdint.h>

struct sd_line_code;
struct sd_line_session;

/* Does the run ask for them, whether this process could join it or not? */
bool sd_lines_are_asked(void);
/* And with the memory of each? */
bool sd_lines_are_asked_for_memory(void);
struct sd_lines_alarm { /* the limit of --debug-above */
    int64_t rss_bytes;  /* what was resident then */
    uint64_t limit_bytes;
    const char *then;              /* what to do; NULL: the debugger */
    const struct sd_line_code *by; /* that took it there; NULL: not known ... */
    uint32_t line;                 /* ... and at which line */
    bool is_elsewhere;             /* another thread's, which may be at it still */
};

/* Called above that limit, with the interpreter's lock, from the line after. */
typedef void sd_lines_deed(const struct sd_lines_alarm *p);
void sd_lines_above(sd_lines_deed *deed);
/* Chooses a code object for the capture, and marks its source file, during which other
 * threads may run.  1: it is new, 0: it was chosen already, or there is no such
 * session. */
int sd_lines_choose(PyCodeObject *code);
/* That session, or NULL. */
struct sd_line_session *sd_lines_captured(void);
#endif
