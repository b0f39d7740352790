/* SPDX-License-Identifier: MIT */
#include "cli/read/export.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/idle_samples.h"
#include "cli/path.h"
#include "cli/read/command_captures.h"
#include "cli/say.h"
#include "outputs/needs.h"
#include "outputs/outputs.h"
#include "outputs/tables.h"
#include "outputs/translated.h"

int sd_export_check_spares(const char *to, char **files, size_t n)
{
    struct stat written, read;

    if (strcmp(to, "-") == 0 || stat(to, &written) < 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (strcmp(files[i], "-") != 0 && stat(files[i], &read) == 0 &&
            read.st_dev == written.st_dev && read.st_ino == written.st_ino)
            return sd_fail(SD_EUSAGE,
                           "%s is an input file and would be overwritten; choose "
                           "another output name",
                           to);
    return 0;
}

/* Whoever types a name can also say --force, where that helps. */
static int tell_of_force(const struct sd_export_file *f, int rc)
{
    if (rc != SD_EEXISTS || f->create & SD_CREATE_OVER || !sd_path_is_regular(f->path))
        return rc;
    return sd_fail(rc,
                   "%s already exists; choose another name, or use --force to "
                   "overwrite it",
                   f->path);
}

int sd_export_open(struct sd_export_file *f, const char *path,
                   enum sd_create_flags create)
{
    int rc;

    *f = (struct sd_export_file){ .path = path,
                                  .create = create | SD_CREATE_SHOWN,
                                  .fd = STDOUT_FILENO };
    if (strcmp(path, "-") != 0) {
        rc = sd_file_create_beside(path, f->create, &f->beside, &f->fd);
        if (rc < 0)
            return tell_of_force(f, rc);
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
    if (rc == 0)
        rc = tell_of_force(f, sd_file_place(f->path, f->beside, f->create));
    if (rc < 0)
        unlink(f->beside);
    sd_free(f->beside);
    return rc;
}

int sd_export_try(const char *path, enum sd_create_flags create)
{
    struct sd_export_file f;
    int rc = sd_export_open(&f, path, create);

    if (rc < 0)
        return rc;
    sd_export_close(&f, SD_EABSENT); /* nothing is in it, and so it is removed */
    return 0;
}

int sd_export_privacy(const struct sd_option_value *source,
                      const struct sd_option_value *share,
                      const struct sd_output *output, unsigned *out)
{
    *out =
        (source->number ? 0 : SD_PAGE_NO_SOURCE) | (share->number ? SD_PAGE_SHARED : 0);
    if (*out == 0 || (output && output->is_page))
        return 0;
    return sd_fail(SD_EUSAGE, "%s works only with a page: -o report.html",
                   share->number ? "--share" : "--no-source");
}

/* --- From file to file */

/* Only the trace of a timeline has calls one by one, of which some may go.  `p` NULL:
 * the file is no capture. */
static int check_left_out(const struct sd_export_request *w, const struct sd_output *o,
                          const struct sd_profile *p)
{
    const char *word;

    if (!w->style || (!w->style->min_ns && !w->style->is_mine))
        return 0;
    word = w->style->is_mine ? "--mine" : "--min-duration";
    if (!p || !p->n_timeline_calls)
        return sd_fail(SD_EUSAGE,
                       "%s needs a timeline and %s has none; record one with: sonde "
                       "calls --timeline",
                       word, w->choice.from);
    if (!o->prefers_timeline)
        return sd_fail(SD_EUSAGE,
                       "%s needs a trace (.trace.json); %s does not hold single calls",
                       word, w->choice.to);
    return 0;
}

/* What was counted by lines is in files of lines and in tables alone. */
static bool lacks_lines(const struct sd_output *o, const struct sd_profile *p)
{
    bool lists_events = o->needs & SD_HOLDS_EVENTS && o->form != SD_TABLE_TEXT;

    if (!sd_profile_has(p, SD_LINES) || (lists_events && sd_holds_lines_alone(p)))
        return false;
    return lists_events || !(o->needs & SD_HOLDS_LINES);
}

/* Lists of events have all samples; a picture of readings has none. */
static bool leaves_idle_out(const struct sd_output *o, const struct sd_stack_style *s)
{
    return !(s && (s->has_idle || s->is_gil_only)) && o->needs & SD_HOLDS_STACKS;
}

static void say_what_is_missing(const struct sd_command *c,
                                const struct sd_export_request *w,
                                const struct sd_output *o, const struct sd_profile *p)
{
    if (o->is_page)
        return; /* it has all of them */
    if (leaves_idle_out(o, w->style))
        sd_idle_samples_say(c, p, NULL);
    if ((o->folds_paths || o->needs & SD_HOLDS_EVENTS) && lacks_lines(o, p))
        sd_say("the output does not hold the counted lines, only what else was "
               "recorded; write the lines with: sonde report %s --lines --csv",
               w->choice.from);
}

static int write_file(const struct sd_export_request *w, const struct sd_output *o,
                      const char *path, struct sd_contents *from)
{
    unsigned gives = from->profile ? 0 : w->choice.input->gives;
    const struct sd_output_job job = {
        .from = sd_input_path(path),
        .name = w->choice.from,
        .to = w->choice.to,
        .profile = from->profile,
        .calls = gives & SD_HOLDS_CALLS ? &from->calls : NULL,
        .lines = gives & SD_HOLDS_LINES ? &from->lines : NULL,
        .style = w->style,
        .privacy = w->privacy,
        .remarks = &sd_said_remarks,
    };
    struct sd_export_file file;
    int rc = sd_export_open(&file, job.to, w->create);

    return rc < 0 ? rc : sd_export_close(&file, sd_output_write(o, &job, &file.out));
}

static int write_loaded(const struct sd_command *c, const struct sd_export_request *w,
                        const char *path, struct sd_contents *from)
{
    const struct sd_output *o;
    int rc = sd_output_choice_find(&w->choice, from, &o);

    if (rc == 0)
        rc = check_left_out(w, o, from->profile);
    if (rc == 0)
        rc = write_file(w, o, path, from);
    if (rc < 0 || !from->profile)
        return rc;
    say_what_is_missing(c, w, o, from->profile);
    return !o->is_page && lacks_lines(o, from->profile);
}

/* `path` can be opened again; what was typed may not say so (translated.h). */
static int load_and_write(const struct sd_command *c, const struct sd_export_request *w,
                          const struct sd_input *input, const char *path)
{
    struct sd_command_loader loader;
    struct sd_contents from;
    int rc;

    sd_contents_init(&from);
    sd_command_loader_init(&loader, c, 0);
    rc = input->load(&loader.how, (char *[]){ (char *)path }, 1, &from);
    if (rc == 0 && from.profile) {
        sd_remark_losses(&sd_said_remarks, w->choice.from, from.profile, w->losses);
        if (w->style && w->style->is_qualified)
            sd_profile_qualify(from.profile);
    }
    if (rc == 0)
        rc = write_loaded(c, w, path, &from);
    sd_contents_release(&from);
    return rc;
}

int sd_export(const struct sd_command *c, const struct sd_export_request *w)
{
    const struct sd_input *input = w->choice.input;
    struct sd_translated files;
    int rc = input->gives & SD_HOLDS_EVENTS ? 0 : check_left_out(w, NULL, NULL);

    if (rc == 0)
        rc = sd_output_choice_check(&w->choice);
    if (rc == 0)
        rc = sd_translated_open(&files, input, &sd_said_remarks,
                                (char *[]){ (char *)w->choice.from }, 1);
    if (rc < 0)
        return rc;
    rc = load_and_write(c, w, input->translate ? &sd_input_capture : input,
                        files.paths[0]);
    sd_translated_close(&files);
    return rc;
}
