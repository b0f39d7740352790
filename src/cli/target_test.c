/* SPDX-License-Identifier: MIT */
#include "cli/target.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"
#include "cli/interpreter.h"

static int read_words(struct sd_arena *a, char **words, struct sd_target *t)
{
    int n = 0;

    while (words[n])
        n++;
    return sd_target_read(a, n, words, "/bin/sh", t); /* stands for a Python */
}

TEST(target_of_a_module_and_of_code_is_called_after_them)
{
    char *module[] = { "-m", "pkg.mod", "x", NULL }, *code[] = { "-cpass", NULL };
    char *input[] = { "-", "x", NULL };
    struct sd_arena a = { 0 };
    struct sd_target t;

    CHECK(read_words(&a, module, &t) == 0 && strcmp(t.name, "pkg.mod") == 0);
    CHECK(strcmp(t.argv[0], "/bin/sh") == 0 && strcmp(t.argv[1], "-m") == 0);
    CHECK(strcmp(t.argv[3], "x") == 0 && !t.argv[4] && t.is_python);
    CHECK(read_words(&a, code, &t) == 0 && strcmp(t.name, "command") == 0);
    CHECK(read_words(&a, input, &t) == 0 && strcmp(t.name, "stdin") == 0);
    sd_arena_release(&a);
}

TEST(target_that_is_not_there_is_refused_by_name)
{
    char *script[] = { "no/such.py", NULL }, *dir[] = { "/", NULL };
    char *elf[] = { "/proc/self/exe", NULL }, *none[] = { NULL };
    char *command[] = { "--", "no-such-command", NULL }, *nothing[] = { "--", NULL };
    char *half[] = { "-m", NULL };
    struct sd_arena a = { 0 };
    struct sd_target t;

    CHECK(read_words(&a, script, &t) == SD_EABSENT);
    CHECK(strstr(sd_fail_text(), "no/such.py"));
    CHECK(read_words(&a, dir, &t) == SD_EABSENT);
    CHECK(read_words(&a, elf, &t) == SD_EUSAGE);
    CHECK(read_words(&a, none, &t) == SD_EUSAGE);
    CHECK(read_words(&a, command, &t) == SD_EABSENT);
    CHECK(read_words(&a, nothing, &t) == SD_EUSAGE);
    CHECK(read_words(&a, half, &t) == SD_EUSAGE);
    sd_arena_release(&a);
}

TEST(target_command_keeps_its_own_words)
{
    char *words[] = { "--", "sh", "-c", "true", NULL };
    struct sd_arena a = { 0 };
    struct sd_target t;

    CHECK(read_words(&a, words, &t) == 0 && strcmp(t.argv[0], "sh") == 0);
    CHECK(strchr(t.path, '/') && !t.is_python && strcmp(t.name, "sh") == 0);
    sd_arena_release(&a);
}

TEST(interpreters_are_known_by_their_names)
{
    CHECK(sd_interpreter_is_python("python"));
    CHECK(sd_interpreter_is_python("/usr/bin/python3.11"));
    CHECK(sd_interpreter_is_python("pypy3"));
    CHECK(!sd_interpreter_is_python("python-config"));
    CHECK(!sd_interpreter_is_python("pytest"));
}

TEST(interpreter_that_is_named_must_be_there)
{
    struct sd_arena a = { 0 };
    const char *path;

    CHECK(sd_interpreter_find(&a, "/no/python", &path) == SD_EABSENT);
    CHECK(strstr(sd_fail_text(), "/no/python"));
    CHECK(sd_interpreter_find(&a, "/bin/sh", &path) == 0);
    CHECK(sd_interpreter_fits(&a, "/bin/true", NULL) == SD_ELACKS);
    CHECK(sd_interpreter_fits(&a, "/bin/true", "/nowhere") == SD_ELACKS);
    sd_arena_release(&a);
}
