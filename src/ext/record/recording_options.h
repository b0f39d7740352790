/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_RECORDING_OPTIONS_H
#define SD_EXT_RECORDING_OPTIONS_H
/* recording_options: which collectors a recording has, and with which options, as the
 * tables of the collectors (about.c) read them. */
#include "base/arena.h"
#include "base/buf.h"
#include "collect/collector.h"
#include "ext/ext.h"

enum { SD_RECORDING_MAX = 16 }; /* collectors of one recording */

struct sd_recording_choice {
    const struct sd_collector_about *about;
    struct sd_option_value *values; /* in `keep` */
};

struct sd_recording_plan {
    struct sd_arena keep;
    struct sd_buf with; /* as SONDE_WITH has it */
    struct sd_recording_choice all[SD_RECORDING_MAX];
    size_t n;
};

/* Reads the names of collectors (a sequence of str) and the keywords of sonde.record (a
 * dict).  -1 with an exception: nothing has to be released. */
int sd_recording_plan_read(PyObject *names, PyObject *keywords,
                           struct sd_recording_plan *out);
void sd_recording_plan_release(struct sd_recording_plan *plan);
/* option_kinds(collector) -> {name: "flag", "optional" or "value"}. */
PyObject *sd_recording_kinds(PyObject *module, PyObject *name);
#endif
