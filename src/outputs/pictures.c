/* SPDX-License-Identifier: MIT */
#include "outputs/pictures.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "outputs/outputs.h"

enum { FLAME_WIDTH = 1200, PLOT_WIDTH = 1000, PLOT_HEIGHT = 500 };

extern const struct sd_output sd_output_plot;

/* Of the suffixes of a plot. */
static const enum sd_picture kinds[SD_SUFFIXES_MAX] = {
    SD_PICTURE_SVG, SD_PICTURE_PNG, SD_PICTURE_JPEG, SD_PICTURE_JPEG, SD_PICTURE_PDF
};

bool sd_picture_of(const char *path, enum sd_picture *kind)
{
    const char *const *suffix = sd_output_suffix_of(&sd_output_plot, path);

    if (suffix)
        *kind = kinds[suffix - sd_output_plot.suffixes];
    return suffix != NULL;
}

int sd_picture_write_drawing(const struct sd_drawing *d, enum sd_picture kind,
                             struct sd_picture_size size, struct sd_out *out)
{
    unsigned width = size.width ? size.width : PLOT_WIDTH;

    sd_assert(d->shape != SD_SHAPE_TABLE && d->shape != SD_SHAPE_GRAPH);
    switch (d->shape) {
    case SD_SHAPE_SERIES:
        return sd_report_plot(out, kind, &d->series, width,
                              size.height ? size.height : PLOT_HEIGHT);
    case SD_SHAPE_GROWTH:
        return sd_report_growth(out, kind, &d->growth, width);
    case SD_SHAPE_BARS:
        return sd_report_bars(out, kind, &d->bars, width);
    case SD_SHAPE_ROOFLINE:
        return sd_report_roofline(out, kind, &d->roofline, width);
    case SD_SHAPE_MAP:
        return sd_report_map(out, kind, &d->map);
    case SD_SHAPE_FLAME:
        sd_report_flame(out, &d->flame, size.width ? size.width : FLAME_WIDTH);
        return 0;
    case SD_SHAPE_TABLE:
    case SD_SHAPE_GRAPH:
    case SD_SHAPE_STACKS:
    case SD_SHAPE_SOURCE:
    case SD_SHAPES:
        break; /* not drawn here */
    }
    return 0;
}

static int draw(const struct sd_profile *p, const struct sd_view_request *r,
                const char *view, enum sd_picture kind, struct sd_picture_size size,
                struct sd_out *out)
{
    struct sd_view v = { 0 };
    int rc = sd_views_draw(p, r, view, &v);

    if (rc == 0)
        rc = sd_picture_write_drawing(&v.drawings[0], kind, size, out);
    sd_view_release(&v);
    return rc;
}

int sd_picture_write_flame(const struct sd_profile *p, const struct sd_view_request *r,
                           struct sd_picture_size size, struct sd_out *out)
{
    return draw(p, r, "flame", SD_PICTURE_SVG, size, out);
}

int sd_picture_write_plot(const struct sd_profile *p, const struct sd_view_request *r,
                          const char *path, struct sd_picture_size size,
                          struct sd_out *out)
{
    enum sd_picture kind;

    if (!sd_picture_of(path, &kind))
        return sd_fail(
            SD_EUSAGE,
            "a plot is a picture: write it to .svg, .png, .jpeg or .pdf, not to %s",
            path);
    return draw(p, r, "plot", kind, size, out);
}

int sd_picture_write_growth(const struct sd_profile *p, const struct sd_view_request *r,
                            const char *path, struct sd_picture_size size,
                            struct sd_out *out)
{
    enum sd_picture kind = SD_PICTURE_SVG;

    if (strcmp(path, "-") != 0 && !sd_picture_of(path, &kind))
        return sd_fail(SD_EUSAGE,
                       "a picture is written to .svg, .png, .jpeg or .pdf, not to %s",
                       path);
    return draw(p, r, "growth", kind, size, out);
}

/* --- As outputs */

/* A style that is not given shows functions: lines make the picture wide, not wiser. */
static int write_flame(const struct sd_output_job *job, struct sd_out *out)
{
    const struct sd_stack_style *style = job->style;
    struct sd_view_request r = { .stacks.by = SD_CALLS_BY_FUNCTION };

    if (style)
        r = (struct sd_view_request){
            .stacks = { .choice = { .metric = style->metric,
                                    .has_idle = style->has_idle,
                                    .is_gil_only = style->is_gil_only },
                        .by = style->is_by_function ? SD_CALLS_BY_FUNCTION
                                                    : SD_CALLS_BY_LINE },
            .has_process_boxes = style->has_processes,
            .has_thread_boxes = style->has_threads,
            .has_full_files = style->has_full_files,
            .has_no_lines = style->has_no_lines,
        };
    return sd_picture_write_flame(job->profile, &r, (struct sd_picture_size){ 0 }, out);
}

static int write_plot(const struct sd_output_job *job, struct sd_out *out)
{
    static const struct sd_view_request all;

    return sd_picture_write_plot(job->profile, &all, job->to,
                                 (struct sd_picture_size){ 0 }, out);
}

const struct sd_output sd_output_flamegraph = {
    .name = "flamegraph",
    .suffixes = { ".svg" },
    .summary = "the flame graph of samples or traced calls",
    .loses = "the order of time, every metric but one, boxes too small to see, lines, "
             "sections, readings",
    .needs = SD_HOLDS_STACKS,
    .shows_functions = true,
    .write = write_flame,
};

const struct sd_output sd_output_plot = {
    .name = "plot",
    .suffixes = { ".svg", ".png", ".jpeg", ".jpg", ".pdf" },
    .summary = "memory over time, as a plot",
    .loses = "everything but the readings of memory",
    .needs = SD_HOLDS_READINGS,
    .write = write_plot,
};
