/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_MODEL_MEASURED_MACHINE_H
#define SD_CLI_MODEL_MEASURED_MACHINE_H
/* measured_machine: measures the best that this machine can do, once
 * (machine/machine.h). */
#include <stdint.h>

#include "cli/verb.h"
#include "machine/machine.h"

/* What was kept, or else what is measured now, and kept. */
int sd_measured_machine_known(bool is_fresh, struct sd_machine *m);
/* Prints it; the exit status. */
int sd_measured_machine_info(const struct sd_command *c, bool is_fresh, bool is_json);
#endif
