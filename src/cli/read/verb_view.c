/* SPDX-License-Identifier: MIT */
/* verb_view: the verb `view`: shows files as a page in the browser.
 *
 * The page is a file of its own that stays: a browser may read it long after we have
 * ended.  Nobody else may read it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/path.h"
#include "cli/read/browser.h"
#include "cli/read/page_file.h"
#include "cli/say.h"
#include "cli/serve/serve.h"
#include "cli/shared_options.h"
#include "outputs/captures.h"
#include "outputs/inputs.h"

enum { OPT_OPEN, OPT_SERVE, OPT_PORT, OPT_IDLE, OPT_SOURCE, OPT_SHARE };
static const struct sd_option options[] = {
    [OPT_OPEN] = { "open", SD_FLAG, "1",
                   "open the page in the browser; without it print its path", 0, NULL },
    [OPT_SERVE] = { "serve", SD_FLAG, NULL,
                    "serve the page on 127.0.0.1 until Control-C: for large captures, "
                    "and for those that are still being written",
                    0, NULL },
    [OPT_PORT] = { "port", SD_NUMBER, NULL,
                   "with --serve: which port; without it any that is free", 0, "N" },
    [OPT_IDLE] = { "idle", SD_FLAG, NULL, "count samples of waiting threads at first",
                   0, NULL },
    [OPT_SOURCE] = SD_OPTION_SOURCE,
    [OPT_SHARE] = SD_OPTION_SHARE,
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

/* --- A new file */

struct page_path {
    char *folder;     /* "/tmp/sonde-view-XXXXXX" */
    const char *file; /* "<folder>/train.html" */
};

static int new_path(struct sd_arena *a, const char *shown, struct page_path *out)
{
    const char *base = sd_path_base(shown);
    size_t n;
    int rc;

    base = strcmp(base, "-") == 0 || !*base ? "stdin" : base;
    n = strlen(base) - (sd_path_has_suffix(base, ".sonde") ? strlen(".sonde") : 0);
    rc = sd_path_new_folder(a, "sonde-view", &out->folder);
    if (rc < 0)
        return rc;
    out->file = sd_arena_printf(a, "%s/%.*s.html", out->folder, (int)n, base);
    return out->file ? 0 : sd_no_memory();
}

static int write_file(const struct sd_page_file *f, const struct sd_input *input,
                      const char *path, int *status)
{
    struct sd_out out;
    int fd, rc = sd_file_create(path, SD_CREATE_NEW, &fd);

    if (rc < 0)
        return rc;
    sd_out_to_fd(&out, fd);
    rc = sd_page_file_write(f, input, &out, status);
    if (rc == 0 && *status == 0)
        rc = sd_out_flush(&out);
    sd_out_release(&out);
    if (close(fd) < 0 && rc == 0)
        rc = sd_fail_errno(errno, "cannot write %s", path);
    return rc;
}

/* Nothing is left of one that could not be finished. */
static int make(const struct sd_page_file *f, struct sd_arena *a, const char **path,
                int *status)
{
    struct page_path to = { 0 };
    const struct sd_input *input = NULL;
    int rc = sd_page_file_input(f, &input);

    if (rc == 0)
        rc = new_path(a, f->files[0], &to);
    if (rc == 0)
        rc = write_file(f, input, to.file, status);
    if ((rc < 0 || *status) && to.file)
        unlink(to.file);
    if ((rc < 0 || *status) && to.folder)
        rmdir(to.folder);
    *path = to.file;
    return rc;
}

/* --- All of it */

static int keep_stdin(const struct sd_command *c)
{
    int rc = 0;

    for (int i = 0; i < c->n_words && rc == 0; i++)
        if (strcmp(c->words[i], "-") == 0)
            rc = sd_stdin_keep();
    return rc;
}

/* Its address is printed in any case. */
static int serve(const struct sd_command *c, const struct sd_page_file *f)
{
    const struct sd_option_value *v = c->values;
    const struct sd_serve_request r = {
        .served = { .files = c->words, .n_files = (size_t)c->n_words, .page = f->page },
        .port = (uint16_t)v[OPT_PORT].number,
        .open = v[OPT_OPEN].number ? sd_browser_open : NULL,
    };

    return sd_serve(&r);
}

static int print_path(const char *path)
{
    struct sd_out out;

    sd_out_to_fd(&out, STDOUT_FILENO);
    sd_out_printf(&out, "%s\n", path);
    return sd_finish_stdout(&out, 0);
}

static int show(const struct sd_command *c, struct sd_arena *a, int *status)
{
    const struct sd_option_value *v = c->values;
    const struct sd_view_request opens = { .stacks.choice.has_idle =
                                               v[OPT_IDLE].number != 0 };
    const struct sd_page_file f = {
        .command = c,
        .files = c->words,
        .n_files = (size_t)c->n_words,
        .page = { .name = strcmp(c->words[0], "-") == 0 ? "stdin" : c->words[0],
                  .privacy = (v[OPT_SOURCE].number ? 0 : SD_PAGE_NO_SOURCE) |
                             (v[OPT_SHARE].number ? SD_PAGE_SHARED : 0),
                  .opens = &opens },
    };
    const char *path = NULL;
    int rc = keep_stdin(c);

    if (rc == 0 && v[OPT_SERVE].number)
        return serve(c, &f);
    if (rc == 0)
        rc = make(&f, a, &path, status);
    if (rc < 0 || *status)
        return rc;
    return v[OPT_OPEN].number ? sd_browser_open(path) : print_path(path);
}

static int check(const struct sd_command *c)
{
    const struct sd_option_value *port = &c->values[OPT_PORT];

    if (c->n_words < 1)
        return sd_fail(SD_EUSAGE, "view needs a file: sonde view train.sonde");
    if (port->is_given && !c->values[OPT_SERVE].number)
        return sd_fail(SD_EUSAGE, "--port needs --serve");
    if (port->is_given && (port->number < 1 || port->number > UINT16_MAX))
        return sd_fail(SD_EUSAGE, "--port must be 1 to %d", UINT16_MAX);
    return 0;
}

static int run(const struct sd_command *c)
{
    struct sd_arena arena = { 0 };
    int status = 0, rc = check(c);

    if (rc == 0)
        rc = show(c, &arena, &status);
    sd_arena_release(&arena);
    return rc < 0 ? sd_say_failure(rc) : status ? status : rc;
}

const struct sd_verb sd_verb_view = {
    .name = "view",
    .group = SD_GROUP_READ,
    .summary = "shows a file in the browser, as one page with all of it",
    .usage = "[OPTION...] FILE...",
    .about =
        "Makes a page of the file and opens it with BROWSER or xdg-open. The page has "
        "everything that the file holds, linked together: the timeline, flame "
        "graph, functions, source, call graph, sections, readings. FILE is a capture, "
        "of which several are merged, a pstats, .lprof or mprof file, or a model; "
        "\"-\" is stdin. The page is one file without any request to the network; it "
        "stays in a new folder of temporary files, where nobody else can read it. To "
        "keep it elsewhere: sonde report FILE -o report.html. With --serve the page "
        "comes "
        "from a server on this machine instead, which only the printed address opens.",
    .examples = "sonde view train.sonde\n"
                "sonde view worker-*.sonde\n"
                "sonde view resnet18.onnx\n"
                "sonde view --no-open train.sonde    # only its path\n"
                "sonde view --serve large.sonde      # also while it is written\n"
                "BROWSER=firefox sonde view train.sonde\n",
    .options = options,
    .run = run,
};
