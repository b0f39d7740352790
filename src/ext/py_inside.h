/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_PY_INSIDE_H
#define SD_EXT_PY_INSIDE_H
/* py_inside: the collectors of collectors.def that run in a Python program. */
#include "ext/ext.h"

struct sd_inside;

/* All of this build, ended by NULL. */
extern const struct sd_inside *const sd_ext_insides[];
/* Starts those that the run asks for and that do not run yet; cheap when there are
 * none.  They end with the interpreter. */
void sd_ext_start_inside(void);
/* Starts this one of them, as this text (collect/with.h) says, in a capture of our own
 * that was begun before.  Negative, with a sentence: it was not started. */
int sd_ext_start_one(const struct sd_inside *c, const char *with);
/* Has them called around each fork of the calling interpreter (os.register_at_fork);
 * `before` may be NULL. */
void sd_ext_watch_forks(PyMethodDef *before, PyMethodDef *in_child);
/* Asks the interpreter to stop them, after a broken assert (sd_session_be_guest). */
void sd_ext_stop_inside_soon(void);
#endif
