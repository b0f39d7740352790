/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_PY_RECORDING_H
#define SD_EXT_PY_RECORDING_H
/* py_recording: `_sonde.Recording`, the base of what sonde.record returns: a `with`
 * block that is measured by collectors.
 *
 * Collectors that may run beside others keep what they measure in memory, so such
 * recordings nest, and many run at once (requests of a server).  Where a collector is
 * one that a process can run once only, the recording has the session of the process
 * for itself.  Where one runs outside (sample, rss), the program `sonde` is attached to
 * this process meanwhile and owns the capture, which the others join.
 *
 * __enter__ and __exit__ are C, so that what is recorded is the program's alone.  The
 * subclass has _begin(), which is called where there is a capture on disk and returns
 * (path, live folder), one of them None: the capture to be made, or the one to be
 * joined; _end(is_ours), when nothing is recorded any more (False: this is a process
 * that was forked inside the block); and _give_up(), when nothing is recorded after
 * all. */
#include "ext/ext.h"
#include "ext/record/recording_options.h"

struct sd_inside;

enum sd_recording_place {
    SD_RECORDING_IN_MEMORY,
    SD_RECORDING_OWN,      /* in a capture that this process owns */
    SD_RECORDING_ATTACHED, /* in one of the attached program */
};

struct sd_recording_part {
    const struct sd_inside *collector;
    void *state; /* of a block of it; NULL: it is the one of the process, or none */
    bool is_on;
};

struct sd_py_recording {
    PyObject_HEAD struct sd_recording_plan plan;
    enum sd_recording_place place;
    struct sd_recording_part parts[SD_RECORDING_MAX]; /* as in the plan */
    bool needs_session;                               /* the one of the process ... */
    bool has_session;                                 /* ... and has it */
    int32_t pid; /* of the process in which it records; 0: it does not */
    bool has_ended;
    uint64_t real_ns, started_ns, ended_ns; /* the last two by CLOCK_MONOTONIC */
};
#endif
