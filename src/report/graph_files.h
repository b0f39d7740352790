/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_GRAPH_FILES_H
#define SD_REPORT_GRAPH_FILES_H
/* graph_files: graph.css and graph.js as they stand in the source, ended by a 0; the
 * build makes the C file (tools/embed). */
extern const char sd_graph_css[], sd_graph_js[];
#endif
