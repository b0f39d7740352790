/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_SAY_H
#define SD_CLI_SAY_H
/* say: prints messages for the user.
 *
 * stdout carries data only; everything else goes to stderr as one or two sentences
 * after "sonde: ".  Nothing that goes wrong with stderr (closed, a broken pipe) is
 * worth failing for, so those writes are not checked. */
#include <stdbool.h>

#include "base/out.h"
#include "cli/verb.h"
#include "outputs/remarks.h"
#include "report/report.h"

enum sd_loudness { SD_QUIET, SD_NORMAL, SD_VERBOSE };

/* "sonde: ", the sentence, a new line; on stderr, in one write. */
void sd_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Says each of the remarks that it takes. */
extern const struct sd_remarks sd_said_remarks;

/* Says the sentence of the failure and returns the exit status: 2 for bad
 * arguments, 1 for other failures. */
int sd_say_failure(int rc);

enum sd_loudness sd_loudness_of(const struct sd_command *c);

/* How text on this descriptor should look: --color, NO_COLOR, FORCE_COLOR, TERM, and
 * the terminal's width. */
struct sd_text_style sd_style_for(const struct sd_command *c, int fd);

/* Is the person's terminal able to show more than ASCII? */
bool sd_speaks_utf8(void);

/* The text that was made in `b`, for writing to `out`.  Where there was no memory to
 * make it, `out` fails, so that no output is silently short. */
const char *sd_made(struct sd_out *out, struct sd_buf *b);

/* Flushes what was written to stdout; the exit status: `status`, or 1 with a sentence
 * when it could not be written. */
int sd_finish_stdout(struct sd_out *out, int status);
#endif
