/* SPDX-License-Identifier: MIT */
#include "cli/interpreter.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/package.h"
#include "cli/path.h"

int sd_interpreter_find(struct sd_arena *a, const char *named, const char **path)
{
    static const char *const usual[] = { "python3", "python" };
    const char *venv = getenv("VIRTUAL_ENV");

    if (named) {
        *path = sd_path_find_program(a, named);
        if (!*path)
            return sd_fail(SD_EABSENT, "no interpreter to run at %s (--python)", named);
        return 0;
    }
    if (venv && *venv) {
        const char *python = sd_arena_printf(a, "%s/bin/python", venv);

        if (python && sd_path_is_program(python)) {
            *path = python;
            return 0;
        }
    }
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        *path = sd_path_find_program(a, usual[i]);
        if (*path)
            return 0;
    }
    return sd_fail(SD_EABSENT, "no python3 on PATH; name one with --python");
}

bool sd_interpreter_is_python(const char *command)
{
    const char *name = sd_path_base(command);

    if (strncmp(name, "python", 6) == 0)
        name += 6;
    else if (strncmp(name, "pypy", 4) == 0)
        name += 4;
    else
        return false;
    while (isdigit((unsigned char)*name) || *name == '.')
        name++;
    return *name == '\0';
}

/* The child's side: only the question's answer gets through. */
static void ask_in_child(const char *python, int answer)
{
    const char *question =
        "import _imp; print(chr(10).join(_imp.extension_suffixes()))";
    int null = open("/dev/null", O_RDWR);

    dup2(null, STDIN_FILENO);
    dup2(null, STDERR_FILENO);
    dup2(answer, STDOUT_FILENO);
    execl(python, python, "-E", "-S", "-c", question, (char *)NULL);
    _exit(127);
}

/* Asks the interpreter how the names of its extensions end, one a line. */
static int ask_suffixes(const char *python, char *text, size_t size)
{
    size_t n = 0;
    ssize_t got;
    int ends[2], status;
    pid_t pid;

    text[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) < 0)
        return sd_fail_errno(errno, "cannot ask %s for its version", python);
    pid = fork();
    if (pid == 0)
        ask_in_child(python, ends[1]);
    close(ends[1]);
    while (pid > 0 && n < size - 1 && (got = read(ends[0], text + n, size - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    close(ends[0]);
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return sd_fail_errno(errno, "cannot ask %s for its version", python);
    return 0;
}

static int has_no_extension(struct sd_arena *a, const char *python, const char *package)
{
    struct sd_buf there = { 0 };
    int rc;

    sd_package_extensions(a, package, &there);
    rc = sd_fail(SD_ELACKS,
                 "there is no Sonde extension for %s (there are: %s); choose another "
                 "interpreter with --python, or build one for it (make)",
                 python, there.n ? sd_buf_string(&there) : "none");
    sd_buf_release(&there);
    return rc;
}

int sd_interpreter_fits(struct sd_arena *a, const char *python, const char *package)
{
    const char *named = getenv("SONDE_PACKAGE");
    char suffixes[1024], *rest = NULL;
    int rc;

    if (!package && named && *named)
        return sd_fail(SD_ELACKS, "SONDE_PACKAGE names no package of Sonde: %s", named);
    if (!package)
        return sd_fail(SD_ELACKS, "Sonde's Python package is not beside the program; "
                                  "set SONDE_PACKAGE to the directory that holds it");
    rc = ask_suffixes(python, suffixes, sizeof suffixes);
    if (rc < 0)
        return rc;
    for (char *s = strtok_r(suffixes, "\n", &rest); s;
         s = strtok_r(NULL, "\n", &rest)) {
        const char *file = sd_arena_printf(a, "%s/_sonde%s", package, s);

        if (file && sd_path_exists(file))
            return 0;
    }
    return has_no_extension(a, python, package);
}
