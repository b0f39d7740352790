/* SPDX-License-Identifier: MIT */
#ifndef SD_LINES_LINE_MARKS_H
#define SD_LINES_LINE_MARKS_H
/* line_marks: records fingerprints of the source files of chosen code.
 *
 * Who reads a capture later shows lines with their text, and must know whether the file
 * is still the one that ran: so its mark (base/mark.h) goes into the capture when the
 * first function of it is chosen.  To read a file may take long, and the interpreter's
 * lock is not held over it: other threads run meanwhile, and whoever calls this holds
 * on to nothing that they can take away. */
#include "cpython/compat.h"

/* Files that change from here on have no mark: nobody knows which of the two was
 * compiled. */
void sd_line_marks_begin(void);
/* Marks the file of this code object, unless that was done. */
void sd_line_mark_source(const PyCodeObject *code);
/* The capture has ended: another one wants its own. */
void sd_line_marks_forget(void);
#endif
