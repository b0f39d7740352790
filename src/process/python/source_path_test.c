/* SPDX-License-Identifier: MIT */
#include "process/python/source_path.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"

static bool joins(const char *folder, const char *file, const char *expected)
{
    char out[64];

    return sd_source_join(folder, file, out, sizeof out) && strcmp(out, expected) == 0;
}

TEST(source_path_is_joined_as_abspath_does_it)
{
    char out[8];

    CHECK(joins("/a/b", "c.py", "/a/b/c.py"));
    CHECK(joins("/a/b", "./c//d.py", "/a/b/c/d.py"));
    CHECK(joins("/a/b/", "../c.py", "/a/c.py"));
    CHECK(joins("/a", "../../../c.py", "/c.py"));
    CHECK(joins("/", "c.py", "/c.py"));
    CHECK(joins("/a", "..c/.d", "/a/..c/.d"));
    CHECK(!sd_source_join("/a", "too_long.py", out, sizeof out));
}

/* Two folders, and a process that was started in the one and is now in the other. */
struct setting {
    char root[64], one[80], two[80];
    pid_t pid;
    int leave;
};

static void put_file(const char *folder, const char *name)
{
    char path[128];
    int fd;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    CHECK(fd >= 0);
    close(fd);
}

static void be_process(const struct setting *s, int say, int read_from)
{
    char pwd[128], *const words[] = { "sh", "-c", "echo; read x", NULL };
    char *const environment[] = { pwd, NULL };

    snprintf(pwd, sizeof pwd, "PWD=%s", s->one);
    if (chdir(s->two) == 0 && dup2(read_from, 0) == 0 && dup2(say, 1) == 1)
        execve("/bin/sh", words, environment);
    _exit(1);
}

static void set_up(struct setting *s)
{
    int say[2], leave[2];
    char c;

    strcpy(s->root, "/tmp/sonde-source-XXXXXX");
    CHECK(mkdtemp(s->root) != NULL);
    snprintf(s->one, sizeof s->one, "%s/one", s->root);
    snprintf(s->two, sizeof s->two, "%s/two", s->root);
    CHECK(mkdir(s->one, 0700) == 0 && mkdir(s->two, 0700) == 0);
    CHECK(pipe(say) == 0 && pipe(leave) == 0);
    s->pid = fork();
    if (s->pid == 0) {
        close(leave[1]);
        be_process(s, say[1], leave[0]);
    }
    close(say[1]);
    close(leave[0]);
    CHECK(read(say[0], &c, 1) == 1); /* it has begun */
    close(say[0]);
    s->leave = leave[1];
}

static void tear_down(struct setting *s)
{
    char command[128];

    close(s->leave);
    waitpid(s->pid, NULL, 0);
    snprintf(command, sizeof command, "rm -r %s", s->root);
    CHECK(system(command) == 0);
}

TEST(source_path_is_found_where_the_process_was_started_or_is)
{
    struct setting s;
    char path[PATH_MAX], expected[128];

    set_up(&s);
    CHECK(!sd_source_path(s.pid, "a.py", path, sizeof path));
    CHECK(!sd_source_path(s.pid, "<string>", path, sizeof path));
    CHECK(!sd_source_path(s.pid, "/bin/sh", path, sizeof path));
    put_file(s.one, "a.py");
    snprintf(expected, sizeof expected, "%s/a.py", s.one);
    CHECK(sd_source_path(s.pid, "./a.py", path, sizeof path));
    CHECK(strcmp(path, expected) == 0);
    put_file(s.two, "b.py");
    snprintf(expected, sizeof expected, "%s/b.py", s.two);
    CHECK(sd_source_path(s.pid, "b.py", path, sizeof path));
    CHECK(strcmp(path, expected) == 0);
    tear_down(&s);
}

TEST(source_path_that_may_be_either_of_two_stays_relative)
{
    struct setting s;
    char path[PATH_MAX];

    set_up(&s);
    put_file(s.one, "a.py");
    put_file(s.two, "a.py");
    CHECK(!sd_source_path(s.pid, "a.py", path, sizeof path));
    tear_down(&s);
}
