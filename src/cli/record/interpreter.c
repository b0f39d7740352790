/* SPDX-License-Identifier: MIT */
#include "cli/record/interpreter.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/path.h"
#include "cli/record/package.h"
#include "cli/say.h"
#include "cpython/layout.h"

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

/* --- Questions to an interpreter */

/* The child's side: only the question's answer gets through, and nothing of the current
 * folder is imported: Python 3.13 looks there for modules before it runs a question. */
static void ask_in_child(const char *python, const char *question, int answer)
{
    int null = open("/dev/null", O_RDWR);

    dup2(null, STDIN_FILENO);
    dup2(null, STDERR_FILENO);
    dup2(answer, STDOUT_FILENO);
    execl(python, python, "-I", "-S", "-c", question, (char *)NULL);
    _exit(127);
}

/* What it prints when it runs the question. */
static int ask(const char *python, const char *question, struct sd_buf *answer)
{
    char text[4096];
    ssize_t got;
    int ends[2], why;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return sd_fail_errno(errno, "cannot start %s", python);
    pid = fork();
    why = errno;
    if (pid == 0)
        ask_in_child(python, question, ends[1]);
    close(ends[1]);
    while (pid > 0 && (got = read(ends[0], text, sizeof text)) > 0)
        sd_buf_add(answer, text, (size_t)got);
    close(ends[0]);
    if (pid < 0)
        return sd_fail_errno(why, "cannot start %s", python);
    waitpid(pid, NULL, 0); /* with SIGCHLD ignored there is nothing to wait for */
    return answer->bad ? sd_no_memory() : 0;
}

/* --- Which one */

/* A virtual environment is a folder with the interpreter in it. */
static int find_named(struct sd_arena *a, const char *named, const char *by,
                      const char **path)
{
    const char *inside = sd_arena_printf(a, "%s/bin/python", named);

    *path = sd_path_find_program(a, named);
    if (!*path && inside && sd_path_is_program(inside))
        return sd_fail(SD_EABSENT, "%s is a folder; name the interpreter in it: %s %s",
                       named, by, inside);
    if (!*path)
        return sd_fail(SD_EABSENT, "there is no interpreter at %s, which %s names",
                       named, by);
    return 0;
}

/* What is called python is one.  Another name may be one, too: it is asked. */
static int check_python(const char *path)
{
    struct sd_buf answer = { 0 };
    int rc = 0;

    if (sd_interpreter_is_python(path))
        return 0;
    rc = ask(path, "import sys; print('Python', sys.version)", &answer);
    if (rc == 0 && strncmp(sd_buf_string(&answer), "Python ", 7) != 0)
        rc = sd_fail(SD_EUSAGE,
                     "%s is not Python; --python needs an interpreter, such as "
                     "/usr/bin/python3; to run another command: sonde run -- %s",
                     path, path);
    sd_buf_release(&answer);
    return rc;
}

static int find(struct sd_arena *a, const char *named, const char **path)
{
    static const char *const usual[] = { "python3", "python" };
    const char *caller = getenv("SONDE_PYTHON"); /* of `python -m sonde` */
    const char *venv = getenv("VIRTUAL_ENV");

    if (named) {
        int rc = find_named(a, named, "--python", path);

        return rc < 0 ? rc : check_python(*path);
    }
    if (caller && *caller)
        return find_named(a, caller, "SONDE_PYTHON", path);
    if (venv && *venv) {
        const char *python = sd_arena_printf(a, "%s/bin/python", venv);

        if (python && sd_path_is_program(python)) {
            *path = python;
            return 0;
        }
    }
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        *path = sd_path_find_program(a, usual[i]);
        if (*path && venv && *venv)
            sd_say("there is no Python in %s, which VIRTUAL_ENV names, so sonde runs "
                   "%s instead; --python chooses another",
                   venv, *path);
        if (*path)
            return 0;
    }
    return sd_fail(SD_EABSENT,
                   "there is no python3 on PATH; name an interpreter with --python");
}

/* "NAME=VALUE", each ended by a 0, as a list. */
static char **list_of(struct sd_arena *a, const char *p, size_t n)
{
    size_t n_words = 0, at = 0;
    char **list, *copy = sd_arena_string(a, p, n);

    for (size_t i = 0; i < n; i++)
        n_words += p[i] == '\0';
    list = sd_arena_alloc(a, (n_words + 1) * sizeof *list);
    if (!copy || !list)
        return NULL;
    for (; at < n_words; at++, copy += strlen(copy) + 1)
        list[at] = copy;
    list[at] = NULL;
    return list;
}

/* Takes the Python behind a script, where that only finds it: one that adds arguments,
 * or says that it is the interpreter itself, is run as it is. */
static int look_behind(struct sd_arena *a, struct sd_interpreter *script)
{
    static const char question[] =
        "import posix, sys\n"
        "read = lambda name: open('/proc/self/' + name, 'rb').read()\n"
        "path = sys.executable.encode('utf-8', 'surrogateescape')\n"
        "is_plain = read('cmdline').count(b'\\0') == 5\n"
        "posix.write(1, path + b'\\0' + read('environ') if is_plain else b'')\n";
    struct sd_interpreter found = { NULL, NULL };
    struct sd_buf answer = { 0 };
    const char *path;
    size_t n;
    int rc = ask(script->path, question, &answer);

    path = sd_buf_string(&answer);
    n = strlen(path);
    if (rc == 0 && n < answer.n && sd_path_is_program(path) &&
        !sd_path_is_script(path)) {
        found.path = sd_arena_string(a, path, n);
        found.environment = list_of(a, path + n + 1, answer.n - n - 1);
        if (found.path && found.environment)
            *script = found;
        else
            rc = sd_no_memory();
    }
    sd_buf_release(&answer);
    return rc;
}

int sd_interpreter_find(struct sd_arena *a, const char *named,
                        struct sd_interpreter *out)
{
    int rc;

    *out = (struct sd_interpreter){ NULL, NULL };
    rc = find(a, named, &out->path);
    if (rc < 0 || !sd_path_is_script(out->path))
        return rc;
    return look_behind(a, out);
}

/* --- Does the extension fit */

/* Does the suffix of its extensions tell that there can be none?  A negative code with
 * a sentence then. */
static int refuse(const char *python, const char *suffix)
{
    bool is_free_threaded;
    uint32_t version = sd_version_of_suffix(suffix, &is_free_threaded);

    if (version && !sd_layout_of_version(version))
        return sd_fail(SD_ELACKS,
                       "%s is Python %u.%u, and Sonde's extension supports CPython %s; "
                       "choose another interpreter with --python",
                       python, version >> 24, version >> 16 & 255,
                       sd_layout_supported());
    if (version && is_free_threaded)
        return sd_fail(SD_ELACKS,
                       "%s is a free-threaded build, which Sonde's extension does not "
                       "support yet; choose another interpreter with --python",
                       python);
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
    struct sd_buf suffixes = { 0 };
    bool is_there = false;
    int rc;

    if (!package && named && *named)
        return sd_fail(SD_ELACKS,
                       "%s, which SONDE_PACKAGE names, holds no Python package of "
                       "Sonde; set SONDE_PACKAGE to the directory that does",
                       named);
    if (!package)
        return sd_fail(SD_ELACKS, "Sonde's Python package is not beside the program; "
                                  "set SONDE_PACKAGE to the directory that holds it");
    rc = ask(python, "import _imp; print(chr(10).join(_imp.extension_suffixes()))",
             &suffixes);
    for (const char *s = sd_buf_string(&suffixes); rc == 0 && !is_there && *s;) {
        size_t n = strcspn(s, "\n");
        const char *file = sd_arena_printf(a, "%s/_sonde%.*s", package, (int)n, s);

        is_there = n > 0 && file && sd_path_exists(file);
        s += n + (s[n] == '\n');
    }
    if (rc == 0 && !is_there)
        rc = refuse(python, sd_buf_string(&suffixes));
    sd_buf_release(&suffixes);
    if (rc < 0 || is_there)
        return rc;
    return has_no_extension(a, python, package);
}
