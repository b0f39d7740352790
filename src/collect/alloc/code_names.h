/* SPDX-License-Identifier: MIT */
#ifndef SD_ALLOC_CODE_NAMES_H
#define SD_ALLOC_CODE_NAMES_H
/* code_names: what a code object is called, read as plain memory. */
struct sd_alloc_code_name;

/* Needs no lock of the interpreter: a frame of this thread holds the code object. */
void sd_code_name(const void *code, struct sd_alloc_code_name *name);
#endif
