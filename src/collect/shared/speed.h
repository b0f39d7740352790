/* SPDX-License-Identifier: MIT */
#ifndef SD_COLLECT_SHARED_SPEED_H
#define SD_COLLECT_SHARED_SPEED_H
/* speed: measures how fast the machine is just now.
 *
 * A processor that is shared runs the same code at full speed now and at half of it
 * then: the other half of its core is busy, its caches are another's.  What was
 * measured once is then wrong by as much as everything is slower or quicker.  So a
 * small loop is timed beside it, and again when the measure is used; how long a thing
 * takes in units of the loop changes little.
 *
 * The loop is a small interpreter: it loads, stores and jumps as those do whose speed
 * is asked.  It needs no Python and may run anywhere. */
#include <stdint.h>

/* Ticks of the loop: the shortest of five, so that it was not interrupted and the
 * processor knew it; about 3 us altogether. */
uint64_t sd_speed_loop(void);
#endif
