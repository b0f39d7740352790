/* SPDX-License-Identifier: MIT */
#include "cli/export.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "analyse/analyse.h"
#include "base/error.h"
#include "cli/path.h"
#include "formats/format.h"
#include "report/report.h"

int sd_export_check(const char *path, const char *also)
{
    struct sd_buf known = { 0 };
    enum sd_picture kind;
    int rc;

    if (sd_format_for(path) || sd_picture_of(path, &kind))
        return 0;
    for (size_t i = 0; sd_formats[i]; i++)
        sd_buf_printf(&known, "%s, ", sd_formats[i]->suffix);
    rc = sd_fail(SD_EUSAGE,
                 "nothing here writes a file like %s; there are %s%s.svg, .png, "
                 ".jpeg and .pdf",
                 path, also, sd_buf_string(&known));
    sd_buf_release(&known);
    return rc;
}

int sd_export_open(struct sd_export_file *f, const char *path,
                   enum sd_create_flags create)
{
    int rc;

    *f = (struct sd_export_file){ .path = path, .fd = STDOUT_FILENO };
    if (strcmp(path, "-") != 0) {
        rc = sd_file_create(path, create, &f->fd);
        if (rc == SD_EEXISTS)
            return sd_fail(rc,
                           "%s is there already; choose another name, or --force "
                           "to overwrite it",
                           path);
        if (rc < 0)
            return rc;
    }
    sd_out_to_fd(&f->out, f->fd);
    return 0;
}

int sd_export_close(struct sd_export_file *f, int rc)
{
    int flushed = rc < 0 ? 0 : sd_out_flush(&f->out);

    if (flushed < 0)
        rc = sd_fail_in(flushed, "%s", f->fd == STDOUT_FILENO ? "stdout" : f->path);
    sd_out_release(&f->out);
    if (f->fd == STDOUT_FILENO)
        return rc;
    if (close(f->fd) < 0 && rc == 0)
        rc = sd_fail_errno(errno, "cannot write %s", f->path);
    if (rc < 0)
        unlink(f->path);
    return rc;
}

int sd_export_plot(const struct sd_profile *p, const struct sd_plot_wish *wish,
                   const char *path, struct sd_out *out)
{
    struct sd_view_series series = { 0 };
    struct sd_arena arena = { 0 };
    enum sd_picture kind;
    int rc;

    if (!sd_picture_of(path, &kind))
        return sd_fail(SD_EUSAGE,
                       "a plot is a picture: -o wants .svg, .png, .jpeg or .pdf, not "
                       "%s",
                       path);
    rc = sd_analyse_curves(p, wish->metric, &arena, &series);
    if (rc == 0)
        rc = sd_report_plot(out, kind, &series, wish->width, wish->height);
    sd_arena_release(&arena);
    return rc;
}

static int write_as(const struct sd_profile *p, const char *capture,
                    const struct sd_format *format, const char *to, struct sd_out *out)
{
    const struct sd_plot_wish wish = { "rss", 1000, 500 };
    const struct sd_filter all = { 0 };

    if (format)
        return format->write(p, capture, &all, out);
    return sd_export_plot(p, &wish, to, out);
}

int sd_export(const char *capture, const char *to, const char *name,
              enum sd_create_flags create)
{
    const struct sd_format *format = name ? sd_format_named(name) : sd_format_for(to);
    struct sd_profile *p = NULL;
    struct sd_export_file file;
    int rc;

    if (name && !format)
        return sd_fail(SD_EUSAGE, "there is no format \"%s\"", name);
    if (!format && sd_path_has_suffix(to, ".sonde"))
        return sd_fail(SD_EUSAGE,
                       "convert writes no captures, it writes other formats (--list); "
                       "a copy under another name is made by: cp %s %s",
                       capture, to);
    if (!format) {
        rc = sd_export_check(to, "");
        if (rc < 0)
            return rc;
    }
    rc = sd_profile_load(capture, NULL, &p);
    if (rc < 0)
        return rc;
    rc = sd_export_open(&file, to, create);
    if (rc == 0)
        rc = sd_export_close(&file, write_as(p, capture, format, to, &file.out));
    sd_profile_free(p);
    return rc;
}
