/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

/* A folder of the test's own, and names in it. */
static char folder[] = "/tmp/sonde-file-XXXXXX";

static void make_folder(void)
{
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    CHECK(mkdtemp(folder));
}

static const char *in_folder(const char *name)
{
    static char path[2][256];
    static int turn;

    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

/* Removes the folder and says how many files were in it. */
static int remove_folder(void)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    int n = 0;

    CHECK(d);
    while ((e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        CHECK(unlinkat(dirfd(d), e->d_name, 0) == 0);
        n++;
    }
    closedir(d);
    CHECK(rmdir(folder) == 0);
    return n;
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    CHECK(fd >= 0 && sd_write_all(fd, text, strlen(text)) == 0);
    close(fd);
}

static bool holds(const char *path, const char *text)
{
    char *p;
    size_t n;
    bool same;

    CHECK(sd_read_file(path, 1000, &p, &n) == 0);
    same = n == strlen(text) && strcmp(p, text) == 0;
    sd_free(p);
    return same;
}

TEST(a_file_maps_as_its_bytes)
{
    struct sd_map m;

    make_folder();
    write_file(in_folder("x"), "bytes");
    CHECK(sd_map_file(&m, in_folder("x")) == 0);
    CHECK(m.n == 5 && memcmp(m.p, "bytes", 5) == 0);
    sd_map_release(&m);
    CHECK(!m.p && m.n == 0);
    sd_map_release(&m);
    CHECK(remove_folder() == 1);
}

TEST(an_empty_file_maps_as_nothing)
{
    struct sd_map m = { (const uint8_t *)"", 7 };

    make_folder();
    write_file(in_folder("x"), "");
    CHECK(sd_map_file(&m, in_folder("x")) == 0 && m.n == 0);
    sd_map_release(&m);
    CHECK(remove_folder() == 1);
}

TEST(what_cannot_be_mapped_is_named_with_the_reason)
{
    struct sd_map m;

    make_folder();
    CHECK(sd_map_file(&m, in_folder("absent")) == SD_EABSENT);
    CHECK(strstr(sd_fail_text(), "/absent: No such file"));
    CHECK(sd_map_file(&m, folder) == SD_EFORMAT);
    CHECK(strstr(sd_fail_text(), "is a directory"));
    CHECK(mkfifo(in_folder("pipe"), 0600) == 0);
    CHECK(sd_map_file(&m, in_folder("pipe")) == SD_EFORMAT); /* and does not wait */
    CHECK(strstr(sd_fail_text(), "not a regular file"));
    CHECK(!m.p && m.n == 0);
    CHECK(remove_folder() == 1);
}

TEST(a_new_file_is_the_owners_alone_and_not_inherited)
{
    struct stat st;
    int fd;

    make_folder();
    CHECK(sd_file_create(in_folder("x"), SD_CREATE_NEW, &fd) == 0);
    CHECK(fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0600 && st.st_size == 0);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
    CHECK(remove_folder() == 1);
}

TEST(what_is_shown_around_has_the_mode_of_the_umask_or_of_what_it_replaces)
{
    mode_t was = umask(027);
    struct stat st;
    int fd;

    make_folder();
    CHECK(sd_file_create(in_folder("x"), SD_CREATE_SHOWN, &fd) == 0);
    CHECK(fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0640);
    close(fd);
    CHECK(chmod(in_folder("x"), 0604) == 0);
    CHECK(sd_file_create(in_folder("x"), SD_CREATE_OVER | SD_CREATE_SHOWN, &fd) == 0);
    CHECK(fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0604);
    close(fd);
    umask(was);
    CHECK(remove_folder() == 1);
}

TEST(an_existing_file_is_not_touched_and_the_sentence_says_what_to_do)
{
    int fd = 7;

    make_folder();
    write_file(in_folder("x.sonde"), "old");
    CHECK(sd_file_create(in_folder("x.sonde"), SD_CREATE_NEW, &fd) == SD_EEXISTS);
    CHECK(fd == -1);
    CHECK(strstr(sd_fail_text(),
                 "x.sonde already exists; choose another name or remove it"));
    CHECK(holds(in_folder("x.sonde"), "old"));
    CHECK(remove_folder() == 1);
}

TEST(a_replaced_file_lives_on_for_those_who_read_it)
{
    struct stat st;
    char byte;
    int old, fd;

    make_folder();
    write_file(in_folder("x"), "old");
    old = open(in_folder("x"), O_RDONLY | O_CLOEXEC);
    CHECK(sd_file_create(in_folder("x"), SD_CREATE_OVER, &fd) == 0);
    CHECK(fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0600);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    CHECK(sd_write_all(fd, "new", 3) == 0);
    CHECK(holds(in_folder("x"), "new"));
    CHECK(read(old, &byte, 1) == 1 && byte == 'o');
    close(old);
    close(fd);
    CHECK(remove_folder() == 1); /* no second name is left */
}

TEST(asked_to_replace_what_is_not_there_it_is_made)
{
    int fd;

    make_folder();
    CHECK(sd_file_create(in_folder("x"), SD_CREATE_OVER, &fd) == 0);
    close(fd);
    CHECK(remove_folder() == 1);
}

TEST(no_link_is_followed_whether_replacing_or_not)
{
    int fd;

    make_folder();
    write_file(in_folder("victim"), "old");
    CHECK(symlink("victim", in_folder("link")) == 0);
    CHECK(symlink("nowhere", in_folder("dangling")) == 0);
    CHECK(sd_file_create(in_folder("link"), SD_CREATE_NEW, &fd) == SD_EEXISTS);
    CHECK(sd_file_create(in_folder("link"), SD_CREATE_OVER, &fd) == SD_EEXISTS);
    CHECK(sd_file_create(in_folder("dangling"), SD_CREATE_NEW, &fd) == SD_EEXISTS);
    CHECK(sd_file_create(in_folder("dangling"), SD_CREATE_OVER, &fd) == SD_EEXISTS);
    CHECK(holds(in_folder("victim"), "old"));
    CHECK(remove_folder() == 3);
}

TEST(a_folder_in_the_place_of_the_file_is_told)
{
    int fd;

    make_folder();
    CHECK(sd_file_create(folder, SD_CREATE_NEW, &fd) == SD_EEXISTS);
    CHECK(strstr(sd_fail_text(), "is a directory; name a file in it"));
    CHECK(sd_file_create(folder, SD_CREATE_OVER, &fd) == SD_EEXISTS);
    CHECK(sd_file_create(in_folder("no/x"), SD_CREATE_OVER, &fd) == SD_EABSENT);
    CHECK(strstr(sd_fail_text(), "its directory does not exist"));
    CHECK(sd_file_create("/proc/x", SD_CREATE_OVER, &fd) == SD_EACCESS);
    CHECK(strstr(sd_fail_text(), "its directory does not accept new files"));
    CHECK(remove_folder() == 0);
}

TEST(a_replacement_that_fails_leaves_the_old_file)
{
    int fd, rc;

    make_folder();
    write_file(in_folder("x"), "old");
    sd_mem_fail_at(1, false);
    rc = sd_file_create(in_folder("x"), SD_CREATE_OVER, &fd);
    CHECK(sd_mem_fail_at(0, false) == 1); /* it asks but once */
    CHECK(rc == SD_ENOMEM && fd == -1);
    CHECK(holds(in_folder("x"), "old"));
    CHECK(remove_folder() == 1);
}

TEST(a_file_that_cannot_be_made_leaves_the_old_one)
{
    struct rlimit before, none;
    int fd, over, fresh;

    make_folder();
    write_file(in_folder("x"), "old");
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the lowest that is free */
    close(fd);
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = (struct rlimit){ (rlim_t)fd, before.rlim_max };
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    over = sd_file_create(in_folder("x"), SD_CREATE_OVER, &fd);
    fresh = sd_file_create(in_folder("y"), SD_CREATE_NEW, &fd);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(over == SD_EIO && fresh == SD_EIO && fd == -1);
    CHECK(strstr(sd_fail_text(), "cannot create "));
    CHECK(strstr(sd_fail_text(), "/y: Too many open files"));
    CHECK(holds(in_folder("x"), "old"));
    CHECK(remove_folder() == 1);
}

/* Begins a file as what is shown around is written, and writes half of it. */
static char *begin(const char *name, enum sd_create_flags flags)
{
    char *beside;
    int fd;

    CHECK(sd_file_create_beside(in_folder(name), flags, &beside, &fd) == 0);
    CHECK(beside && fcntl(fd, F_GETFD) & FD_CLOEXEC);
    CHECK(sd_write_all(fd, "new", 3) == 0);
    close(fd);
    return beside;
}

TEST(a_file_that_is_written_beside_has_no_name_until_it_is_whole)
{
    mode_t was = umask(027);
    struct stat st;
    char *beside;

    make_folder();
    beside = begin("x", SD_CREATE_SHOWN);
    CHECK(access(in_folder("x"), F_OK) < 0);
    CHECK(sd_file_place(in_folder("x"), beside, SD_CREATE_SHOWN) == 0);
    CHECK(holds(in_folder("x"), "new") && access(beside, F_OK) < 0);
    CHECK(stat(in_folder("x"), &st) == 0 && (st.st_mode & 07777) == 0640);
    sd_free(beside);
    beside = begin("y", SD_CREATE_NEW);
    CHECK(stat(beside, &st) == 0 && (st.st_mode & 07777) == 0600);
    CHECK(unlink(beside) == 0);
    sd_free(beside);
    umask(was);
    CHECK(remove_folder() == 1);
}

TEST(a_file_that_came_meanwhile_is_not_replaced_unless_asked)
{
    char *beside;
    int fd;

    make_folder();
    beside = begin("x", SD_CREATE_NEW);
    write_file(in_folder("x"), "old");
    CHECK(sd_file_place(in_folder("x"), beside, SD_CREATE_NEW) == SD_EEXISTS);
    CHECK(strstr(sd_fail_text(), "/x already exists"));
    CHECK(holds(in_folder("x"), "old") && holds(beside, "new"));
    CHECK(unlink(beside) == 0);
    sd_free(beside);
    CHECK(sd_file_create_beside(in_folder("x"), SD_CREATE_NEW, &beside, &fd) ==
          SD_EEXISTS);
    CHECK(!beside && fd == -1);
    beside = begin("x", SD_CREATE_OVER);
    CHECK(holds(in_folder("x"), "old"));
    CHECK(sd_file_place(in_folder("x"), beside, SD_CREATE_OVER) == 0);
    CHECK(holds(in_folder("x"), "new"));
    sd_free(beside);
    CHECK(sd_file_create_beside(in_folder("no/x"), SD_CREATE_NEW, &beside, &fd) ==
          SD_EABSENT);
    CHECK(!beside && fd == -1);
    CHECK(remove_folder() == 1);
}

TEST(several_files_beside_one_have_names_of_their_own)
{
    char *beside[3];

    make_folder();
    for (int i = 0; i < 3; i++)
        beside[i] = begin("x", SD_CREATE_NEW);
    for (int i = 0; i < 3; i++)
        sd_free(beside[i]);
    CHECK(remove_folder() == 3);
}

TEST(a_write_that_fails_keeps_the_systems_reason)
{
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

    CHECK(sd_write_all(fd, "x", 1) == SD_EFULL && errno == ENOSPC);
    CHECK(sd_write_all(fd, NULL, 0) == 0);
    close(fd);
    CHECK(sd_write_all(-1, "x", 1) == SD_EIO && errno == EBADF);
}

TEST(a_file_of_proc_is_read_whole_though_it_claims_no_size)
{
    char *p;
    size_t n;

    CHECK(sd_read_file("/proc/self/status", 1 << 20, &p, &n) == 0);
    CHECK(n > 100 && strlen(p) == n && strstr(p, "VmRSS"));
    sd_free(p);
}

TEST(a_file_is_read_up_to_the_limit_and_refused_beyond)
{
    char *p = (char *)1;
    size_t n = 9;

    make_folder();
    write_file(in_folder("x"), "12345");
    CHECK(sd_read_file(in_folder("x"), 5, &p, &n) == 0 && n == 5 && p[5] == 0);
    sd_free(p);
    CHECK(sd_read_file(in_folder("x"), 4, &p, &n) == SD_EFULL && !p && n == 0);
    CHECK(strstr(sd_fail_text(), "/x: the file is larger than 4 bytes"));
    CHECK(sd_read_file(in_folder("absent"), 4, &p, &n) == SD_EABSENT && !p);
    CHECK(sd_read_file(folder, 4, &p, &n) == SD_EIO && !p);
    CHECK(remove_folder() == 1);
}

TEST(reading_a_file_survives_every_allocation_that_fails)
{
    EACH_FAILURE(nth)
    {
        char *p;
        size_t n;
        int rc = sd_read_file("/proc/self/status", 1 << 20, &p, &n);

        CHECK(rc == 0 ? n > 100 : rc == SD_ENOMEM && !p && n == 0);
        sd_free(p);
    }
}
