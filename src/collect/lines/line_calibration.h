/* SPDX-License-Identifier: MIT */
#ifndef SD_LINES_LINE_CALIBRATION_H
#define SD_LINES_LINE_CALIBRATION_H
/* line_calibration: measures what counting a line costs, in the process whose lines are
 * counted.
 *
 * Between the end of a line and the moment in which the clock is read the interpreter
 * has work to do, and again before the next line begins: that is in the time of every
 * hit, and of a cheap line it is most.  What is done between the two readings is in no
 * line, but in the time of whoever called the function.  Reports take both off again
 * (profile/lines/line_cost.h), and so have to know them.
 *
 * They depend on the machine, the interpreter and on what is read at the end of a line.
 * So a small function of cheap lines, and one that calls another, are run with and
 * without being told of, by turns (collect/shared/bouts.h).  Before 3.12 every
 * instruction of a line that is told of is slower, and one line is taken for all: of
 * lines with many instructions too little is taken off.
 *
 * It takes 1 ms or so at the first session of a kind, and several with memory. */
#include "collect/lines/lines.h"

/* Sets the costs of a session that is about to start; they stay 0 where they cannot be
 * known, since another session is in the way and nothing was measured before.  Code of
 * ours runs here, and so a signal handler of the program may: when it raises, the
 * exception is left standing and -1 returned. */
int sd_line_calibrate(struct sd_line_session *s);
/* It has stopped, or somebody reads: sets them once more, by how fast the machine was
 * meanwhile.  What has not counted since says the same again.  Needs no Python. */
void sd_line_calibrated(struct sd_line_session *s);
#endif
