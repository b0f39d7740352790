/* SPDX-License-Identifier: MIT */
#include "machine/machine_identity.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/table.h"
#include "machine/machine.h"
#include "machine/machine_limits.h"
#include "machine/machine_loops.h"
#include "machine/machine_processor.h"

/* The machine's id is not for others' eyes (machine-id(5)): what is kept is made of it.
 * Where there is none, as in many containers, its name must do. */
static void read_host(struct sd_machine *m)
{
    static const char path[] = "/etc/machine-id";
    enum { SEED = 0x736f6e64 };
    struct utsname name = { 0 };
    char *text = NULL;
    size_t n = 0;

    if (access(path, R_OK) == 0 && sd_read_file(path, 4096, &text, &n) < 0)
        text = NULL;
    if (!text || n < 32)
        uname(&name);
    snprintf(m->host, sizeof m->host, "%016llx",
             (unsigned long long)(text && n >= 32
                                      ? sd_hash(text, 32, SEED)
                                      : sd_hash(name.nodename, strlen(name.nodename),
                                                SEED)));
    sd_free(text);
}

unsigned sd_machine_cpus(int cpus[SD_MACHINE_CORES])
{
    cpu_set_t set;
    unsigned n = 0;

    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) < 0 || CPU_COUNT(&set) == 0)
        CPU_SET(0, &set);
    for (int cpu = 0; cpu < CPU_SETSIZE && n < SD_MACHINE_CORES; cpu++)
        if (CPU_ISSET((size_t)cpu, &set))
            cpus[n++] = cpu;
    return n;
}

void sd_machine_identify(struct sd_machine *m)
{
    struct sd_machine_limits limits;
    int cpus[SD_MACHINE_CORES];

    *m = (struct sd_machine){ 0 };
    if (!sd_machine_processor(m->cpu))
        snprintf(m->cpu, sizeof m->cpu, "unknown");
    read_host(m);
    sd_machine_limits("", &limits);
    m->n_cores = sd_machine_cpus(cpus);
    if (limits.cores > 0 && limits.cores < m->n_cores)
        m->n_cores = limits.cores;
    snprintf(m->vectors, sizeof m->vectors, "%s",
             sd_machine_kernel(SD_MACHINE_F32).vectors);
}
