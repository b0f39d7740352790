/* SPDX-License-Identifier: MIT */
#ifndef SD_PROFILE_CELL_NAMES_H
#define SD_PROFILE_CELL_NAMES_H
/* cell_names: cells of a notebook in a profile.
 *
 * The recorder writes facts: "cell.name:FILE" is what a cell is called that was
 * compiled under the name FILE, and "cell.text:NAME" its text.  Facts that list files,
 * one a line (folders end in a slash), tell which frames are the shell's:
 *
 *     frames.shell     wherever they are outermost, with what they call of libraries
 *     frames.core      and so is all that leads to these
 *     frames.display   these too, though the cell calls them: they show its value
 *     frames.base      and so is all that leads to these, cells too: a statement of a
 *                      cell is what was recorded
 *     frames.runner    an event loop or a thread: only themselves, where outermost
 *
 * Whoever reads a profile of a cell has written none of them. */
#include "profile/profile.h"

/* Does what the facts say; to be done last.  Samples and calls in the shell alone are
 * left out, allocations there are those of "[notebook]".  0 or SD_ENOMEM. */
int sd_cell_names_settle(struct sd_profile *p);
/* The text of the cell of this name; NULL: it is no cell, or came without. */
const char *sd_cell_names_source(const struct sd_profile *p, const char *file);
#endif
