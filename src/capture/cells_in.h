/* SPDX-License-Identifier: MIT */
#ifndef SD_CAPTURE_CELLS_IN_H
#define SD_CAPTURE_CELLS_IN_H
/* cells_in: reads the file of a live table (cells.h) from another process. */
#include "capture/chunk.h"
#include "capture/folder.h"

/* The slot number that stands for a table in its stream's name. */
#define SD_CELLS_SLOT UINT32_MAX

/* Copies segment i into buf (SD_CHUNK_RAW_MAX bytes) as the payload of the chunk whose
 * header it makes.  False when nothing is in it. */
bool sd_cells_in_segment(const struct sd_live_in *in, uint32_t i, uint8_t *buf,
                         struct sd_chunk_head *head);
#endif
