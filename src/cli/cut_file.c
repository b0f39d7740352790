/* SPDX-License-Identifier: MIT */
#include "cli/cut_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, N_LINE = 64 };

/* All below runs in a handler: system calls, and no more than the stack. */

static const char *read_hex(const char *s, uint64_t *value)
{
    *value = 0;
    for (;; s++) {
        if (*s >= '0' && *s <= '9')
            *value = *value * 16 + (uint64_t)(*s - '0');
        else if (*s >= 'a' && *s <= 'f')
            *value = *value * 16 + (uint64_t)(*s - 'a' + 10);
        else
            return s;
    }
}

/* "7f12-7f34 r--p 0000 08:01 123 /lib/x.so": is it of this address, and such a one? */
static bool is_mapped_to_read(const char *line, uint64_t address)
{
    uint64_t from, to;

    line = read_hex(line, &from);
    if (*line++ != '-')
        return false;
    line = read_hex(line, &to);
    return address >= from && address < to && strncmp(line, " r--p ", 6) == 0;
}

static bool is_of_read_file(uint64_t address)
{
    char bytes[PAGE], line[N_LINE + 1];
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t n_line = 0;
    bool is_found = false;
    ssize_t n;

    while (fd >= 0 && !is_found && (n = read(fd, bytes, sizeof bytes)) > 0)
        for (ssize_t i = 0; i < n && !is_found; i++) {
            if (bytes[i] != '\n') {
                if (n_line < N_LINE)
                    line[n_line++] = bytes[i];
                continue;
            }
            line[n_line] = 0;
            is_found = is_mapped_to_read(line, address);
            n_line = 0;
        }
    if (fd >= 0)
        close(fd);
    return is_found;
}

bool sd_cut_file_mend(const siginfo_t *info)
{
    uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1);
    int saved = errno;
    bool is_mended = info->si_code == BUS_ADRERR && is_of_read_file(page) &&
                     mmap((void *)page, PAGE, PROT_READ,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;

    errno = saved;
    return is_mended;
}

/* What cannot be mended comes again, and ends the program as ever. */
static void on_bus(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (!sd_cut_file_mend(info))
        signal(number, SIG_DFL);
}

void sd_cut_file_watch(void)
{
    struct sigaction how = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };

    sigaction(SIGBUS, &how, NULL);
}
