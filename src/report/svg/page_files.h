/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_SVG_PAGE_FILES_H
#define SD_REPORT_SVG_PAGE_FILES_H
/* page_files: the scripts and styles for browsers, as they are in the source (flame.css
 * is sd_flame_css), each ended by a 0; the build makes the C file (tools/embed). */
extern const char sd_flame_css[], sd_flame_js[];
extern const char sd_graph_css[], sd_graph_js[];
extern const char sd_picture_js[]; /* stands before the script of either */
extern const char sd_page_html[];  /* the built page, web/dist/page.html */
#endif
