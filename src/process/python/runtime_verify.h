/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_PYTHON_RUNTIME_VERIFY_H
#define SD_PROCESS_PYTHON_RUNTIME_VERIFY_H
/* runtime_verify: checks that a process really has a layout, for runtime.c.
 *
 * The process runs on while we look, so a single contradiction proves nothing; the
 * check is tried again until it holds or has failed too often to be chance. */
#include "process/python/runtime.h"
#include "process/remote.h"

/* Completes what only the process can tell (code_type, tid_offset, the bit of a str's
 * kind) and checks it.  0; SD_EABSENT, with a sentence, when no interpreter runs (yet);
 * SD_EFORMAT, with a sentence, when it does not fit; SD_EGONE. */
int sd_runtime_verify(struct sd_runtime *rt, const struct sd_remote *r);
#endif
