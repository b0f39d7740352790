/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_FLAME_FILES_H
#define SD_REPORT_FLAME_FILES_H
/* flame_files: flame.css and flame.js as they stand in the source, ended by a 0; the
 * build makes the C file (tools/embed). */
extern const char sd_flame_css[], sd_flame_js[];
#endif
