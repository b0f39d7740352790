/* SPDX-License-Identifier: MIT */
#ifndef SD_LIB_LIB_H
#define SD_LIB_LIB_H
/* lib: what the files behind <sonde.h> share. */

/* What a section reads: what its caller asked for, or, where that was everything, what
 * the run chose (sections' option `measure`). */
unsigned sd_lib_measure(unsigned asked);
#endif
