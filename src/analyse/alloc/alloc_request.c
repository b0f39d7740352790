/* SPDX-License-Identifier: MIT */
#include "analyse/alloc/alloc_request.h"

#include "analyse/alloc/alloc_words.h"
#include "base/error.h"
#include "base/text.h"

static const char *needs_of(const struct sd_alloc_request *r,
                            const struct sd_filter *filter)
{
    if (r->which == SD_WHICH_TEMPORARY)
        return "--temporary";
    if (r->which == SD_WHICH_GROWING)
        return "--growing";
    if (r->which == SD_WHICH_LIVE)
        return "--at";
    if (r->by == SD_ROWS_BY_SIZE)
        return "--by size";
    if (r->by == SD_ROWS_BY_THREAD)
        return "--by thread";
    if (filter->section)
        return "--section";
    if (r->has_from || filter->from_ns)
        return "--from";
    return filter->to_ns ? "--to" : NULL;
}

/* NULL, or why no process recorded any. */
static const char *why_none(const struct sd_profile *p)
{
    const struct sd_note *refusal = sd_alloc_words_refusal(p, NULL);

    return refusal && p->allocs.n_processes == 0 ? refusal->text : NULL;
}

int sd_alloc_request_check_which(const struct sd_profile *p, enum sd_alloc_which which)
{
    bool is_full = p->allocs.mode == SD_ALLOCS_FULL;
    const char *why = why_none(p);

    if (why)
        return sd_fail(SD_EABSENT, "no allocations were recorded: %s", why);
    if (!p->allocs.is_recorded)
        return sd_fail(SD_EABSENT, "no allocations were recorded; record them with: "
                                   "sonde alloc");
    if ((which == SD_WHICH_TEMPORARY && !is_full) ||
        (which == SD_WHICH_GROWING && p->allocs.mode == SD_ALLOCS_AGGREGATE))
        return sd_fail(SD_EABSENT,
                       "this view needs every allocation, and the recording has only "
                       "sums or samples; record with: sonde alloc --mode full");
    return 0;
}

static int has_sums(const char *name, const char *need)
{
    return sd_fail(SD_EUSAGE,
                   "%s needs every allocation, and %s has only sums (--mode "
                   "aggregate); record with: sonde alloc --mode full",
                   need, name);
}

int sd_alloc_request_check_plot(const struct sd_profile *p, const char *name)
{
    return p->allocs.mode == SD_ALLOCS_AGGREGATE ? has_sums(name, "--plot") : 0;
}

int sd_alloc_request_check(const struct sd_profile *p, const char *name,
                           const struct sd_alloc_request *r,
                           const struct sd_filter *filter)
{
    const char *need = needs_of(r, filter);
    const char *why = why_none(p);
    char at[SD_TEXT_MAX], length[SD_TEXT_MAX];

    if (why)
        return sd_fail(SD_EABSENT, "%s holds no allocations: %s", name, why);
    if (!p->allocs.is_recorded)
        return sd_fail(SD_EABSENT,
                       "%s holds no allocations; record them with: sonde alloc", name);
    if (r->which == SD_WHICH_LIVE && filter->alloc.at_ns > p->run_end_ns &&
        p->allocs.mode != SD_ALLOCS_AGGREGATE)
        return sd_fail(SD_EUSAGE, "--at %s is past the end: the capture is %s long",
                       sd_text_duration(at, (int64_t)filter->alloc.at_ns),
                       sd_text_duration(length, (int64_t)p->run_end_ns));
    if (p->allocs.mode == SD_ALLOCS_AGGREGATE && need)
        return has_sums(name, need);
    if (p->allocs.mode == SD_ALLOCS_SAMPLE && r->which == SD_WHICH_TEMPORARY)
        return sd_fail(SD_EUSAGE,
                       "--temporary needs every allocation, and %s has only samples "
                       "(--mode sample); record with: sonde alloc --mode full",
                       name);
    return 0;
}
