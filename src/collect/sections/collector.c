/* SPDX-License-Identifier: MIT */
/* The collector `sections`: the program opens them; a run says what they read. */
#include <stdatomic.h>

#include "collect/inside.h"
#include "collect/sections/section_block.h"
#include "collect/sections/sections.h"

extern const struct sd_collector_about sd_about_sections;
extern const struct sd_inside sd_inside_sections;

/* By the blocks that run (section_block), and by the run; 0: they did not choose. */
static _Atomic unsigned chosen_by_blocks, chosen;

unsigned sd_section_measure_or(unsigned fallback)
{
    unsigned measure = atomic_load_explicit(&chosen_by_blocks, memory_order_relaxed);

    if (!measure)
        measure = atomic_load_explicit(&chosen, memory_order_relaxed);
    return measure ? measure : fallback;
}

static int start(const struct sd_option_value *values)
{
    unsigned measure = 0;
    int rc = 0;

    if (values[0].is_given)
        rc = sd_section_measure_parse(values[0].text, &measure);
    if (rc == 0)
        atomic_store(&chosen, measure);
    return rc;
}

void sd_section_choose(unsigned measure) { atomic_store(&chosen_by_blocks, measure); }

static void stop(void) { atomic_store(&chosen, 0); }

const struct sd_inside sd_inside_sections = {
    .about = &sd_about_sections,
    .start = start,
    .stop = stop,
    .block = &sd_section_block,
};
