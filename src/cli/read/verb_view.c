/* SPDX-License-Identifier: MIT */
/* verb_view: the verb `view`: shows a capture as a picture in the browser: the flame
 * graph of its samples, which can be searched and zoomed there, or its readings over
 * time when it has no samples.
 *
 * The picture is a file of its own that stays: a browser may read it long after we have
 * ended. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/redact.h"
#include "cli/path.h"
#include "cli/read/export.h"
#include "cli/say.h"
#include "outputs/remarks.h"

enum { LOOKS = 20, LOOK_NS = 50 * 1000 * 1000, NO_SUCH_COMMAND = 127 };

enum { OPT_IDLE };
static const struct sd_option options[] = {
    [OPT_IDLE] = { "idle", SD_FLAG, NULL, "draw samples of waiting threads too", 0,
                   NULL },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

/* "/tmp/sonde-view-XXXXXX/train.svg" */
static const char *new_file(struct sd_arena *a, const char *capture)
{
    const char *folder = getenv("TMPDIR"), *base = sd_path_base(capture);
    size_t n = strlen(base);
    char *made;

    if (sd_path_has_suffix(base, ".sonde"))
        n -= strlen(".sonde");
    made =
        sd_arena_printf(a, "%s/sonde-view-XXXXXX", folder && *folder ? folder : "/tmp");
    if (!made) {
        sd_no_memory();
        return NULL;
    }
    if (!mkdtemp(made)) {
        sd_fail_errno(errno, "cannot make a folder for the picture: %s", made);
        return NULL;
    }
    return sd_arena_printf(a, "%s/%.*s.svg", made, (int)n, base);
}

/* The first that BROWSER lists, else what the desktop opens files with; NULL: none. */
static const char *browser(struct sd_arena *a)
{
    const char *listed = getenv("BROWSER");

    if (listed && *listed)
        return sd_arena_string(a, listed, strcspn(listed, ":"));
    return sd_path_find_program(a, "xdg-open");
}

/* The command for a shell: BROWSER may have words of its own, and say with %s where the
 * file goes. */
static void put_command(struct sd_buf *to, const char *command, const char *file)
{
    const char *place = strstr(command, "%s");
    size_t head = place ? (size_t)(place - command) : strlen(command);

    sd_buf_printf(to, "exec %.*s%s", (int)head, command, place ? "" : " ");
    sd_quote_word(to, file, strlen(file));
    if (place)
        sd_buf_text(to, place + 2);
}

/* Has it failed soon after its start?  One that runs on is somebody's browser. */
static bool has_failed(pid_t pid)
{
    const struct timespec pause = { .tv_nsec = LOOK_NS };
    int status;

    for (int i = 0; i < LOOKS; i++) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* What xdg-open has to say of the programs it tried is nobody's request; that it failed
 * is said here.  A browser in the terminal keeps stdout. */
static void hush(void)
{
    int nowhere = open("/dev/null", O_WRONLY);

    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
}

static int open_in_browser(struct sd_arena *a, const char *file)
{
    const char *command = browser(a);
    struct sd_buf line = { 0 };
    pid_t pid;

    if (!command)
        return sd_fail(SD_ELACKS,
                       "no browser was found (BROWSER, xdg-open); the picture is in %s",
                       file);
    put_command(&line, command, file);
    if (line.bad) {
        sd_buf_release(&line);
        return sd_no_memory();
    }
    pid = fork();
    if (pid == 0) {
        if (!getenv("BROWSER"))
            hush();
        execl("/bin/sh", "sh", "-c", sd_buf_string(&line), (char *)NULL);
        _exit(NO_SUCH_COMMAND);
    }
    sd_buf_release(&line);
    if (pid < 0)
        return sd_fail_errno(errno, "cannot start %s", command);
    if (has_failed(pid))
        return sd_fail(SD_ELACKS, "%s did not open it; the picture is in %s", command,
                       file);
    return 0;
}

static int show(const struct sd_command *c, struct sd_arena *a, const char *capture)
{
    const struct sd_stack_style style = { .is_by_function = true,
                                          .has_idle = c->values[OPT_IDLE].number != 0 };
    const char *file = new_file(a, capture);
    char *folder;
    int rc;

    if (!file)
        return SD_EIO;
    rc = sd_export(
        c, &(struct sd_export_request){
               .choice = { .input = &sd_input_capture, .from = capture, .to = file },
               .style = &style,
               .create = SD_CREATE_NEW,
               .losses = SD_LOSSES_ALL,
           });
    if (rc < 0) {
        folder = sd_arena_string(a, file, strlen(file) - strlen(sd_path_base(file)));
        if (folder)
            rmdir(folder);
        return rc;
    }
    return open_in_browser(a, file);
}

static int run(const struct sd_command *c)
{
    struct sd_arena arena = { 0 };
    int rc;

    if (c->n_words != 1)
        rc = sd_fail(SD_EUSAGE, "view needs one capture: sonde view train.sonde");
    else
        rc = show(c, &arena, c->words[0]);
    sd_arena_release(&arena);
    return rc < 0 ? sd_say_failure(rc) : 0;
}

const struct sd_verb sd_verb_view = {
    .name = "view",
    .group = SD_GROUP_READ,
    .summary = "shows a capture in the browser: its flame graph",
    .usage = "[OPTION...] FILE",
    .about =
        "Makes a picture of the capture and opens it with BROWSER or xdg-open: the "
        "flame graph of its samples, which can be searched and zoomed, or its "
        "readings over time when it has no samples. The picture is one file "
        "without any request to the network; it stays in the folder of temporary "
        "files.",
    .examples = "sonde view train.sonde\n"
                "BROWSER=firefox sonde view train.sonde\n",
    .options = options,
    .run = run,
};
