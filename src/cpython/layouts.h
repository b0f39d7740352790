/* SPDX-License-Identifier: MIT */
#ifndef SD_CPYTHON_LAYOUTS_H
#define SD_CPYTHON_LAYOUTS_H
/* layouts: the generated tables, for layout.c and debug_offsets.c alone. */
#include "cpython/layout.h"

#define LAYOUT(minor) extern const struct sd_layout sd_layout_cp3##minor;
#include "cpython/layouts.def"
#undef LAYOUT
#endif
