/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_PY_INSIDE_H
#define SD_EXT_PY_INSIDE_H
/* py_inside: the collectors of collectors.def that run in a Python program. */

/* Starts those that the run asks for and that do not run yet; cheap when there are
 * none.  They end with the interpreter. */
void sd_ext_start_inside(void);
/* Asks the interpreter to stop them, after a broken assert (sd_session_be_guest). */
void sd_ext_stop_inside_soon(void);
#endif
