/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_OWN_BLOCK_H
#define SD_EXT_OWN_BLOCK_H
/* own_block: a block of the program that has the one session of this process for
 * itself: memory.track, and what of sonde.record cannot run twice. */
#include "ext/ext.h"

/* A process has one session.  True, with an exception that says who has it and names
 * `what` ("track()"), where it is taken; `_busy` of the block, where there is one, is
 * the sentence for a block inside another. */
bool sd_own_block_is_taken(PyObject *self, const char *what);
/* Makes a capture of this name and joins it, or joins the one whose live folder is
 * given; `what` lasts.  *has_begun: sd_own_block_end is wanted, even after a failure.
 */
int sd_own_block_begin(const char *what, const char *path, const char *live_dir,
                       bool *has_begun);
/* Ends what began in the process `pid`; in one that was forked meanwhile, its own part.
 */
int sd_own_block_end(int32_t pid);
#endif
