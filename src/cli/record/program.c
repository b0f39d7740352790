/* SPDX-License-Identifier: MIT */
#include "cli/record/program.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/path.h"
#include "cli/record/interpreter.h"

/* "dir/train.py" gives "train". */
static const char *stem(struct sd_arena *a, const char *path)
{
    const char *base = sd_path_base(path);
    size_t n = strlen(base);

    if (sd_path_has_suffix(base, ".py") || sd_path_has_suffix(base, ".sh"))
        n -= 3;
    else if (sd_path_has_suffix(base, ".pyz"))
        n -= 4;
    return sd_arena_string(a, base, n);
}

/* "dir/" and "." are scripts too, as far as Python goes; they are called after the
 * directory. */
static const char *stem_of_dir(struct sd_arena *a, const char *path)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    path = sd_path_base(sd_arena_string(a, path, n));
    return strcmp(path, ".") == 0 || strcmp(path, "..") == 0 ? "main" : path;
}

static int check_dir(struct sd_arena *a, const char *path)
{
    const char *inside = sd_arena_printf(a, "%s/__main__.py", path);

    if (!inside || !sd_path_exists(inside))
        return sd_fail(SD_EABSENT, "%s is a directory without a __main__.py", path);
    return 0;
}

/* Python would say these too, but only after the recording has begun. */
static int check_script(struct sd_arena *a, const char *path)
{
    char head[4] = { 0 };
    struct stat st;
    ssize_t got;
    int fd;

    if (stat(path, &st) < 0)
        return sd_fail_errno(errno, "cannot run %s", path);
    if (S_ISDIR(st.st_mode))
        return check_dir(a, path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return sd_fail_errno(errno, "cannot run %s", path);
    got = S_ISREG(st.st_mode) ? read(fd, head, sizeof head) : 0;
    close(fd);
    if (got == sizeof head && memcmp(head, "\177ELF", sizeof head) == 0)
        return sd_fail(
            SD_EUSAGE,
            "%s is a program, not a Python script; run it with: sonde run -- %s", path,
            path);
    return 0;
}

static char **arguments(struct sd_arena *a, const char *first, int n, char **rest)
{
    char **argv = sd_arena_alloc(a, ((size_t)n + 2) * sizeof *argv);
    size_t at = 0;

    if (!argv)
        return NULL;
    if (first)
        argv[at++] = sd_arena_string(a, first, strlen(first));
    for (int i = 0; i < n; i++)
        argv[at++] = rest[i];
    return argv;
}

static int read_command(struct sd_arena *a, int n_words, char **words,
                        struct sd_program *out)
{
    if (n_words == 0)
        return sd_fail(
            SD_EUSAGE,
            "there is no command after --; for example: sonde run -- python train.py");
    out->path = sd_path_find_program(a, words[0]);
    if (!out->path)
        return sd_fail(SD_EABSENT, "cannot run %s: %s", words[0],
                       strchr(words[0], '/') ? "it is not there, or not executable"
                                             : "no such program on PATH");
    out->name = stem(a, words[0]);
    out->argv = arguments(a, NULL, n_words, words);
    out->is_python = sd_interpreter_is_python(words[0]);
    return out->argv ? 0 : sd_no_memory();
}

/* What follows -m or -c, joined to it or as the next word. */
static const char *argument_of(int n_words, char **words)
{
    if (words[0][2])
        return words[0] + 2;
    return n_words > 1 ? words[1] : NULL;
}

static int read_for_python(struct sd_arena *a, int n_words, char **words,
                           struct sd_program *out)
{
    const char *word = words[0], *argument;

    if (strcmp(word, "-") == 0) {
        out->name = "stdin";
        return 0;
    }
    if (word[0] != '-') {
        out->name = sd_path_is_dir(word) ? stem_of_dir(a, word) : stem(a, word);
        return check_script(a, word);
    }
    argument = argument_of(n_words, words);
    if (!argument)
        return sd_fail(SD_EUSAGE, word[1] == 'm' ? "-m needs the name of a module"
                                                 : "-c needs the code to run");
    out->name = word[1] == 'm' ? argument : "command";
    return 0;
}

int sd_program_read(struct sd_arena *a, int n_words, char **words, const char *python,
                    struct sd_program *out)
{
    struct sd_interpreter interpreter;
    int rc;

    *out = (struct sd_program){ 0 };
    if (n_words == 0)
        return sd_fail(SD_EUSAGE,
                       "no program to run; for example: sonde run train.py --epochs 2");
    if (strcmp(words[0], "--") == 0)
        return read_command(a, n_words - 1, words + 1, out);
    rc = read_for_python(a, n_words, words, out);
    if (rc < 0)
        return rc;
    rc = sd_interpreter_find(a, python, &interpreter);
    if (rc < 0)
        return rc;
    out->path = interpreter.path;
    out->environment = interpreter.environment;
    out->is_python = true;
    out->argv = arguments(a, out->path, n_words, words);
    return out->argv ? 0 : sd_no_memory();
}
