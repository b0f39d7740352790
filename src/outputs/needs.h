/* SPDX-License-Identifier: MIT */
#ifndef SD_OUTPUTS_NEEDS_H
#define SD_OUTPUTS_NEEDS_H
/* needs: what captures hold and outputs need (enum sd_holds), with the sentence that
 * says what is missing and how to record it. */
#include "formats/output.h"

/* What a profile holds, and what a collector of that name records. */
unsigned sd_holds_of_profile(const struct sd_profile *p);
unsigned sd_holds_of_collector(const char *name);
/* Were lines counted, and nothing else recorded? */
bool sd_holds_lines_alone(const struct sd_profile *p);

/* Fails with `code` and "<start> no sampled stacks, traced calls or allocated memory;
 * record them with: sonde run --with sample, sonde calls, or sonde alloc": `needs` is
 * what would do, any of it. */
int sd_needs_fail(int code, const char *start, unsigned needs);
#endif
