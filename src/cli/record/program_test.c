/* SPDX-License-Identifier: MIT */
#include "cli/record/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/test.h"
#include "cli/record/interpreter.h"

static int read_words(struct sd_arena *a, char **words, struct sd_program *t)
{
    char folder[] = "/tmp/sonde-test-XXXXXX";
    const char *python;
    int n = 0, rc;

    CHECK(mkdtemp(folder));
    python = sd_arena_printf(a, "%s/python3", folder); /* by its name it is one */
    CHECK(symlink("/bin/sh", python) == 0);
    while (words[n])
        n++;
    rc = sd_program_read(a, n, words, python, t);
    unlink(python);
    rmdir(folder);
    return rc;
}

TEST(target_of_a_module_and_of_code_is_called_after_them)
{
    char *module[] = { "-m", "pkg.mod", "x", NULL }, *code[] = { "-cpass", NULL };
    char *input[] = { "-", "x", NULL };
    struct sd_arena a = { 0 };
    struct sd_program t;

    CHECK(read_words(&a, module, &t) == 0 && strcmp(t.name, "pkg.mod") == 0);
    CHECK(strstr(t.argv[0], "/python3") && strcmp(t.argv[1], "-m") == 0);
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
    struct sd_program t;

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
    struct sd_program t;

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
    struct sd_interpreter found;

    CHECK(sd_interpreter_find(&a, "/no/python", &found) == SD_EABSENT);
    CHECK(strstr(sd_fail_text(), "/no/python"));
    CHECK(sd_interpreter_find(&a, "/bin/sh", &found) == SD_EUSAGE);
    CHECK(strstr(sd_fail_text(), "/bin/sh is not Python"));
    CHECK(sd_interpreter_fits(&a, "/bin/true", NULL) == SD_ELACKS);
    CHECK(sd_interpreter_fits(&a, "/bin/true", "/nowhere") == SD_ELACKS);
    sd_arena_release(&a);
}

/* A script that is found as the interpreter; it answers as a Python would. */
static const char *write_script(struct sd_arena *a, const char *folder,
                                const char *text)
{
    const char *path = sd_arena_printf(a, "%s/python3", folder);
    FILE *f = fopen(path, "w");

    CHECK(f && fputs(text, f) >= 0);
    fclose(f);
    CHECK(chmod(path, 0700) == 0);
    return path;
}

TEST(interpreter_behind_a_script_is_found_with_its_environment)
{
    char folder[] = "/tmp/sonde-test-XXXXXX";
    struct sd_interpreter found;
    struct sd_arena a = { 0 };
    const char *script;

    CHECK(mkdtemp(folder));
    script = write_script(&a, folder, "#!/bin/sh\nprintf '/bin/true\\0A=1\\0B=\\0'\n");
    CHECK(sd_interpreter_find(&a, script, &found) == 0);
    CHECK(strcmp(found.path, "/bin/true") == 0);
    CHECK(strcmp(found.environment[0], "A=1") == 0);
    CHECK(strcmp(found.environment[1], "B=") == 0 && !found.environment[2]);
    unlink(script);
    rmdir(folder);
    sd_arena_release(&a);
}

TEST(interpreter_that_is_a_script_and_says_nothing_is_run_as_it_is)
{
    static const char *const texts[] = { "#!/bin/sh\n", "#!/bin/sh\necho no\n",
                                         "#!/bin/sh\nprintf \"$0\\0A=1\\0\"\n",
                                         "#!/no/such/shell\n" };
    char folder[] = "/tmp/sonde-test-XXXXXX";
    struct sd_interpreter found;
    struct sd_arena a = { 0 };
    const char *script = NULL;

    CHECK(mkdtemp(folder));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        script = write_script(&a, folder, texts[i]);
        CHECK(sd_interpreter_find(&a, script, &found) == 0);
        CHECK(strcmp(found.path, script) == 0 && !found.environment);
    }
    unlink(script);
    rmdir(folder);
    sd_arena_release(&a);
}
