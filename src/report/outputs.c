/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "report/report.h"

const struct sd_output sd_outputs[] = {
#define OUTPUT(suffix, what, summary) { suffix, SD_OUTPUT_##what, summary },
#include "report/outputs.def"
#undef OUTPUT
    { NULL, SD_OUTPUT_CAPTURE, NULL },
};

const struct sd_output *sd_output_for(const char *path)
{
    const struct sd_output *best = NULL;
    size_t n = strlen(path);

    for (const struct sd_output *o = sd_outputs; o->suffix; o++) {
        size_t k = strlen(o->suffix);

        if (n >= k && strcasecmp(path + n - k, o->suffix) == 0 &&
            (!best || k > strlen(best->suffix)))
            best = o;
    }
    return best;
}

bool sd_picture_of(const char *path, enum sd_picture *kind)
{
    const struct sd_output *o = sd_output_for(path);

    if (!o)
        return false;
    switch (o->what) {
    case SD_OUTPUT_PICTURE_SVG:
        *kind = SD_PICTURE_SVG;
        return true;
    case SD_OUTPUT_PICTURE_PNG:
        *kind = SD_PICTURE_PNG;
        return true;
    case SD_OUTPUT_PICTURE_JPEG:
        *kind = SD_PICTURE_JPEG;
        return true;
    case SD_OUTPUT_PICTURE_PDF:
        *kind = SD_PICTURE_PDF;
        return true;
    case SD_OUTPUT_CAPTURE:
    case SD_OUTPUT_FORMAT:
    case SD_OUTPUT_PSTATS:
    case SD_OUTPUT_LPROF:
    case SD_OUTPUT_GRAPH:
    case SD_OUTPUT_TABLE:
        break;
    }
    return false;
}
