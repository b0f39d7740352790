/* SPDX-License-Identifier: MIT */
#include "process/native/elf.h"

#include <elf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test.h"

/* Looked up by name below; visible, so that it is in the symbol table. */
__attribute__((visibility("default"), used)) uint64_t sd_elf_test_mark = 0x1234567890;

static pid_t start_child(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return pid;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* The first mapping of the file that is mapped at `address`. */
static const struct sd_mapping *first_mapping(const struct sd_maps *m, uint64_t address)
{
    const struct sd_mapping *in = sd_maps_find(m, address);
    size_t i;

    for (i = 0; in && i < m->n; i++)
        if (m->items[i].inode == in->inode && strcmp(m->items[i].path, in->path) == 0)
            return &m->items[i];
    return NULL;
}

TEST(elf_symbol_is_found_where_the_process_has_it)
{
    pid_t pid = start_child();
    struct sd_remote r;
    struct sd_maps maps = { 0 };
    const struct sd_mapping *m;
    struct sd_elf e = { 0 };
    struct sd_elf_place at;
    uint64_t bias, v;

    CHECK(sd_remote_open(&r, pid) == 0);
    CHECK(sd_maps_read(&maps, pid) == 0);
    m = first_mapping(&maps, (uintptr_t)sd_elf_open);
    CHECK(m && sd_elf_open(&e, &r, m) == 0);
    CHECK(sd_elf_bias(&e, m, &bias));
    CHECK(sd_elf_symbol(&e, "sd_elf_test_mark", &at) && at.size >= 8);
    CHECK(bias + at.address == (uintptr_t)&sd_elf_test_mark);
    CHECK(sd_remote_u64(&r, bias + at.address, &v) == 0 && v == 0x1234567890);
    memcpy(&v, sd_elf_bytes(&e, at.address, 8), 8);
    CHECK(v == 0x1234567890);
    CHECK(!sd_elf_symbol(&e, "sd_elf_test_mar", &at));
    CHECK(sd_elf_section(&e, ".text", &at) && at.size > 0);
    CHECK(!sd_elf_section(&e, ".nothing", &at));
    CHECK(!sd_elf_bytes(&e, UINT64_MAX - 4, 8));
    sd_elf_close(&e);
    sd_maps_release(&maps);
    sd_remote_close(&r);
    end_child(pid);
}

/* libc's own symbols, found in the memory of a process without any file. */
TEST(elf_symbol_is_found_in_memory_alone)
{
    pid_t pid = start_child();
    struct sd_remote r;
    struct sd_maps maps = { 0 };
    const struct sd_mapping *m;
    struct sd_elf_place at;

    CHECK(sd_remote_open(&r, pid) == 0);
    CHECK(sd_maps_read(&maps, pid) == 0);
    m = first_mapping(&maps, (uintptr_t)&environ ? (uintptr_t)getenv : 0);
    CHECK(m != NULL);
    if (strstr(m->path, "libc.so")) { /* a sanitizer may have its own getenv */
        CHECK(sd_elf_symbol_in(&r, m->start, "getenv", &at));
        CHECK(at.address == (uintptr_t)getenv);
        CHECK(!sd_elf_symbol_in(&r, m->start, "no such function", &at));
    }
    CHECK(!sd_elf_symbol_in(&r, (uintptr_t)&sd_elf_test_mark, "getenv", &at));
    sd_maps_release(&maps);
    sd_remote_close(&r);
    end_child(pid);
}

TEST(elf_file_that_is_not_the_mapped_one_is_not_taken)
{
    pid_t pid = start_child();
    struct sd_remote r;
    struct sd_maps maps = { 0 };
    struct sd_mapping m;
    struct sd_elf e;

    CHECK(sd_remote_open(&r, pid) == 0);
    CHECK(sd_maps_read(&maps, pid) == 0);
    m = *first_mapping(&maps, (uintptr_t)sd_elf_open);
    m.start = (uintptr_t)&m & ~(uint64_t)4095; /* the stack holds something else */
    m.end = m.start + 4096;
    CHECK(sd_elf_open(&e, &r, &m) == SD_EABSENT);
    sd_maps_release(&maps);
    sd_remote_close(&r);
    end_child(pid);
}

static void ask_everything(const struct sd_elf *e)
{
    struct sd_mapping m = { .start = 0x1000, .end = 0x2000, .path = "" };
    struct sd_elf_place at;
    uint64_t bias;

    sd_elf_bias(e, &m, &bias);
    sd_elf_section(e, ".PyRuntime", &at);
    sd_elf_symbol(e, "_PyRuntime", &at);
    sd_elf_bytes(e, 0x1000, 100);
}

/* Each byte of the headers in turn says something impossible; under the sanitizers a
 * read outside the file would be seen. */
TEST(elf_with_any_broken_header_is_read_within_its_bounds)
{
    char path[] = "/tmp/sonde-elf-XXXXXX";
    struct sd_elf whole, e;
    uint8_t *copy;
    size_t n = 4096, i;
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    CHECK(sd_elf_open_path(&whole, "/proc/self/exe") == 0);
    copy = sd_alloc(n);
    memcpy(copy, whole.file.p, n);
    for (i = 0; i < sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr); i++) {
        uint8_t kept = copy[i];

        copy[i] = 0xff;
        CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, copy, n, 0) == (ssize_t)n);
        if (sd_elf_open_path(&e, path) == 0) {
            ask_everything(&e);
            sd_elf_close(&e);
        }
        copy[i] = kept;
    }
    for (i = 0; i < 200; i++) {
        CHECK(ftruncate(fd, (off_t)i) == 0);
        if (sd_elf_open_path(&e, path) == 0) {
            ask_everything(&e);
            sd_elf_close(&e);
        }
    }
    sd_elf_close(&whole);
    sd_free(copy);
    close(fd);
    unlink(path);
}

TEST(elf_is_refused_where_there_is_none)
{
    struct sd_elf e;

    CHECK(sd_elf_open_path(&e, "/etc/passwd") == SD_EFORMAT);
    CHECK(sd_elf_open_path(&e, "/no/such/file") == SD_EABSENT);
    CHECK(e.file.p == NULL);
}
