/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_RUNTIME_VERIFY_H
#define SD_PROCESS_RUNTIME_VERIFY_H
/* runtime_verify: whether a process really looks as a layout says.  runtime.c's own.
 *
 * The process runs on while we look, so a single contradiction proves nothing; the
 * check is tried again until it holds or has failed too often to be chance. */
#include "process/remote.h"
#include "process/python/runtime.h"

/* Completes what only the process can tell (code_type, tid_offset, the bit of a str's
 * kind) and checks it.  0; SD_EABSENT, with a sentence, when no interpreter runs (yet);
 * SD_EFORMAT, with a sentence, when it does not fit; SD_EGONE. */
int sd_runtime_verify(struct sd_runtime *rt, const struct sd_remote *r);
#endif
