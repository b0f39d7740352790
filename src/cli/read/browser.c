/* SPDX-License-Identifier: MIT */
#include "cli/read/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
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

enum { LOOKS = 20, LOOK_NS = 50 * 1000 * 1000, NO_SUCH_COMMAND = 127 };

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

static int open_with(const char *command, const char *file)
{
    const char *listed = getenv("BROWSER");
    struct sd_buf line = { 0 };
    sigset_t none;
    pid_t pid;

    put_command(&line, command, file);
    if (line.bad) {
        sd_buf_release(&line);
        return sd_no_memory();
    }
    pid = fork();
    if (pid == 0) {
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (!listed || !*listed)
            hush();
        execl("/bin/sh", "sh", "-c", sd_buf_string(&line), (char *)NULL);
        _exit(NO_SUCH_COMMAND);
    }
    sd_buf_release(&line);
    if (pid < 0)
        return sd_fail_errno(errno, "cannot start %s", command);
    return has_failed(pid)
               ? sd_fail(SD_ELACKS, "%s did not open the page; open it yourself: %s",
                         command, file)
               : 0;
}

int sd_browser_open(const char *page)
{
    struct sd_arena a = { 0 };
    const char *command = browser(&a);
    int rc =
        command
            ? open_with(command, page)
            : sd_fail(SD_ELACKS,
                      "no browser was found (tried $BROWSER and xdg-open); open the "
                      "page yourself: %s",
                      page);

    sd_arena_release(&a);
    return rc;
}
