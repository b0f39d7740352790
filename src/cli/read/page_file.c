/* SPDX-License-Identifier: MIT */
#include "cli/read/page_file.h"

#include "base/error.h"
#include "base/file.h"
#include "cli/model/model_source.h"
#include "cli/read/command_captures.h"
#include "cli/say.h"
#include "outputs/translated.h"

int sd_page_file_input(const struct sd_page_file *f, const struct sd_input **out)
{
    for (size_t i = 0; i < f->n_files; i++) {
        const struct sd_input *input = sd_input_of(f->files[i], ~0u, &sd_input_capture);

        if (i == 0)
            *out = input;
        else if (input != *out)
            return sd_fail(SD_EUSAGE, "%s is %s and %s is %s; look at them separately",
                           f->files[0], (*out)->title, f->files[i], input->title);
    }
    if (*out == &sd_input_model && f->n_files > 1)
        return sd_fail(SD_EUSAGE, "view shows one model at a time");
    return 0;
}

/* --- Captures */

static int put_captures(const struct sd_page_file *f, const struct sd_input *input,
                        struct sd_out *out)
{
    struct sd_translated files;
    struct sd_profile *p = NULL;
    int rc = sd_translated_open(&files, input, &sd_said_remarks, f->files, f->n_files);

    if (rc < 0)
        return rc;
    rc = sd_load_named(f->command, f->n_files, files.paths, f->files, f->page.filter,
                       SD_LOAD_SLICES, &p);
    if (rc == 0)
        rc = sd_page_put_profile(&f->page, p, files.paths, f->n_files, out);
    sd_profile_free(p);
    sd_translated_close(&files);
    return rc;
}

/* --- Calls or lines alone */

static int put_stats(const struct sd_page_file *f, const struct sd_input *input,
                     struct sd_out *out)
{
    static const struct sd_loader how;
    struct sd_page_request page = f->page;
    struct sd_contents from;
    int rc;

    sd_contents_init(&from);
    page.recorded_ns = sd_file_modified_ns(f->files[0]);
    rc = input->load(&how, f->files, f->n_files, &from);
    if (rc == 0)
        rc = input->gives & SD_HOLDS_CALLS ? sd_page_put_calls(&page, &from.calls, out)
                                           : sd_page_put_lines(&page, &from.lines, out);
    sd_contents_release(&from);
    return rc;
}

/* --- Models */

static int put_model(const struct sd_page_file *f, struct sd_out *out, int *status)
{
    const struct sd_view_request views = { .model_metric = SD_BY_MACS };
    static const char *const no_inputs[] = { NULL };
    const struct sd_model_target target = { .target = f->files[0],
                                            .inputs = no_inputs };
    struct sd_model_costs costs;
    struct sd_model model;
    int rc = sd_model_get(f->command, &target, &model, status);

    if (rc < 0 || *status)
        return rc;
    rc = sd_model_costs(&model, SD_COUNT_MACS, &costs);
    if (rc == 0) {
        rc = sd_page_put_model(&f->page, &costs, &views, out);
        sd_model_costs_release(&costs);
    }
    sd_model_release(&model);
    return rc;
}

int sd_page_file_write(const struct sd_page_file *f, const struct sd_input *input,
                       struct sd_out *out, int *status)
{
    *status = 0;
    if (input == &sd_input_model)
        return put_model(f, out, status);
    return sd_input_gives_profile(input) ? put_captures(f, input, out)
                                         : put_stats(f, input, out);
}
