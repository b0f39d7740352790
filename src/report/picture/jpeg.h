/* SPDX-License-Identifier: MIT */
#ifndef SD_REPORT_PICTURE_JPEG_H
#define SD_REPORT_PICTURE_JPEG_H
/* jpeg: writes pixels to a JPEG file, through libjpeg, which is opened at its first
 * use. */
#include <stdint.h>

#include "base/out.h"

struct sd_pixels {
    const uint8_t *p; /* rows of 4 bytes each: blue, green, red, unused */
    unsigned width, height;
    int stride; /* bytes from row to row */
};

/* SD_ELACKS with a sentence that names the package. */
int sd_jpeg_write(struct sd_out *out, const struct sd_pixels *pixels);
#endif
