/* SPDX-License-Identifier: MIT */
#include "outputs/source_age.h"

#include <string.h>

#include "base/file.h"
#include "base/mark.h"
#include "capture/line_cell.h"

/* By the marks that were made of it, one for each run that had another.  False: there
 * is none, or no file. */
static bool is_marked(const struct sd_profile *p, const char *file, bool *has_changed)
{
    enum { N = sizeof SD_META_SOURCE - 1 };
    char now[SD_MARK_MAX];
    bool is = false;

    *has_changed = false;
    for (size_t i = 0; i < p->n_metas; i++) {
        const struct sd_meta *m = &p->metas[i];

        if (strncmp(m->key, SD_META_SOURCE, N) != 0 || strcmp(m->key + N, file) != 0)
            continue;
        if (!is && !sd_mark_of(file, now))
            return false;
        is = true;
        *has_changed |= strcmp(m->value, now) != 0;
    }
    return is;
}

/* Without a mark (there are many files, or it has changed while the program ran) one
 * that was changed after the program began may not be what ran. */
bool sd_source_has_changed(const struct sd_profile *p, const char *file)
{
    bool has;

    if (is_marked(p, file, &has))
        return has;
    return sd_file_modified_ns(file) > p->real_zero_ns;
}
