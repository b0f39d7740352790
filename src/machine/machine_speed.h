/* SPDX-License-Identifier: MIT */
#ifndef SD_MACHINE_MACHINE_SPEED_H
#define SD_MACHINE_MACHINE_SPEED_H
/* machine_speed: the best speed that this machine ever showed, in ticks of the small
 * loop of collect/shared/speed.  It stands in the user's cache beside what `sonde info
 * --machine` measured. */
#include <stdint.h>

/* 0: it was never measured, or is not known. */
int64_t sd_machine_speed_load(void);
/* Keeps it when it is better than what is there.  That it cannot be kept is no failure:
 * the next measurement is the first again. */
void sd_machine_speed_keep(int64_t ticks);
#endif
