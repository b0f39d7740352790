/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_SOURCE_AGE_H
#define SD_OUTPUTS_SOURCE_AGE_H
/* source_age: tells whether a source file is still what ran. */
#include "profile/profile.h"

/* Has it changed since the capture began?  By the marks that were recorded of it
 * (capture/line_cell.h), else by when it was modified.  A file that is not there has
 * not. */
bool sd_source_has_changed(const struct sd_profile *p, const char *file);
#endif
