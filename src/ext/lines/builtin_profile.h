/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_LINES_BUILTIN_PROFILE_H
#define SD_EXT_LINES_BUILTIN_PROFILE_H
/* builtin_profile: gives a program `profile` without an import while the capture wants
 * lines.
 *
 * `profile` among the builtins, as under kernprof: a decorator that chooses, and for
 * whom asks all that kernprof's has besides (`with profile:`, profile.print_stats(),
 * ...), of which the package is imported only then.
 *
 * A finder stands first in sys.meta_path until the program imports line_profiler
 * itself, whose `profile` does nothing unless kernprof says so: here we say it.  It is
 * an object of its own, since the import system asks every finder for names that it
 * need not have: `profile` would answer with an import.  Where the memory of lines is
 * wanted, another one stands there for memory_profiler, whose `profile` would count
 * the same lines by itself: it becomes ours. */
#include "ext/ext.h"

/* Nothing, where the capture wants no lines; never raises. */
void sd_offer_profile(void);
#endif
