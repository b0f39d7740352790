/* SPDX-License-Identifier: MIT */
#ifndef SD_FORMATS_STACK_STYLE_H
#define SD_FORMATS_STACK_STYLE_H
/* stack_style: how stacks are written, and which of them.  All zero is what py-spy does
 * without options: threads that did something, the executed line of every frame, files
 * shortened. */
#include <stdbool.h>
#include <stdint.h>

struct sd_stack_style {
    bool has_idle;       /* idle samples too */
    bool is_gil_only;    /* only while the thread held the interpreter's lock */
    bool has_threads;    /* the thread is the first frame */
    bool has_processes;  /* the process is the first frame */
    bool has_full_files; /* files as the interpreter names them */
    bool has_no_lines;   /* no line numbers */
    bool is_qualified;   /* qualified names of functions: sd_profile_qualify */
    bool is_by_function; /* the first line of the function, not the executed one */
    const char *metric;  /* of what is counted; NULL: samples */
    uint64_t min_ns;     /* of a timeline: shorter calls are left out */
    bool is_mine;        /* of a timeline: calls of libraries are left out */
    bool has_all_paths;  /* of traced calls every path, however large the file gets */
};
#endif
