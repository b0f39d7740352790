/* SPDX-License-Identifier: MIT */
#include "machine/machine.h"

#include <string.h>

static const char *const words[] = {
#define MACHINE_NUMBER(name, word, meaning) word,
#include "machine/machine.def"
#undef MACHINE_NUMBER
};
static const char *const meanings[] = {
#define MACHINE_NUMBER(name, word, meaning) meaning,
#include "machine/machine.def"
#undef MACHINE_NUMBER
};

const char *sd_machine_word(enum sd_machine_number k) { return words[k]; }

const char *sd_machine_meaning(enum sd_machine_number k) { return meanings[k]; }

/* More than any machine does in a second: a number of a file that somebody wrote. */
#define RATE_MOST 1e18

bool sd_machine_is_whole(const struct sd_machine *m)
{
    const struct sd_machine_level *last =
        m->n_levels > 0 ? &m->levels[m->n_levels - 1] : NULL;

    for (int k = 0; k < SD_MACHINE_NUMBERS; k++)
        if (m->one_core[k] > RATE_MOST || m->all_cores[k] > RATE_MOST)
            return false;
    for (unsigned i = 0; i < m->n_levels; i++)
        if (m->levels[i].one_core > RATE_MOST || m->levels[i].all_cores > RATE_MOST)
            return false;
    return m->n_cores > 0 && m->one_core[SD_MACHINE_F32] > 0 &&
           m->all_cores[SD_MACHINE_F32] > 0 && last &&
           strcmp(last->name, "memory") == 0 && last->one_core > 0 &&
           last->all_cores > 0;
}

double sd_machine_peak(const struct sd_machine *m, const char *type)
{
    static const enum sd_machine_number larger[] = {
        [SD_MACHINE_I8] = SD_MACHINE_F32,   [SD_MACHINE_F16] = SD_MACHINE_F32,
        [SD_MACHINE_BF16] = SD_MACHINE_F32, [SD_MACHINE_F32] = SD_MACHINE_F32,
        [SD_MACHINE_F64] = SD_MACHINE_F64,
    };

    for (int k = 0; k < SD_MACHINE_NUMBERS; k++)
        if (strcmp(type, words[k]) == 0)
            return m->all_cores[k] > 0 ? m->all_cores[k] : m->all_cores[larger[k]];
    return m->all_cores[SD_MACHINE_F32];
}

double sd_machine_bandwidth(const struct sd_machine *m)
{
    return m->n_levels ? m->levels[m->n_levels - 1].all_cores : 0;
}
