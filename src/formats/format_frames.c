/* SPDX-License-Identifier: MIT */
#include "formats/format_frames.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

/* Texts of a profile are interned, so equal ones are the same pointer; short files are
 * ends of those and may be equal without that. */
struct frame_key {
    const char *name, *file;
    uint64_t line;
};

static uint32_t shown_line(const struct sd_stack_style *style, const struct sd_stack *s,
                           const struct sd_site *site)
{
    if (style->has_no_lines)
        return 0;
    return style->is_by_function ? site->line : s->line;
}

static int add_frame(struct sd_frames *f, const struct sd_format_frame *frame)
{
    struct sd_format_frame *items =
        sd_grow_array(f->items, &f->cap, f->n + 1, sizeof *items);

    if (!items)
        return sd_no_memory();
    f->items = items;
    items[f->n++] = *frame;
    return 0;
}

/* The pointer of the first short file of this text. */
static int unify(struct sd_intern *files, const char **file)
{
    uint32_t id;
    int rc;

    if (!*file)
        return 0;
    rc = sd_intern(files, *file, strlen(*file), &id);
    if (rc == 0)
        *file = files->items[id].p;
    return rc;
}

static int find_frame(struct sd_frames *f, struct sd_intern *keys,
                      struct sd_intern *files, const struct sd_profile *p, size_t stack,
                      const struct sd_stack_style *style)
{
    const struct sd_stack *s = &p->stacks[stack];
    const struct sd_site *site = &p->sites[s->site.at];
    const char *shown = style->has_full_files ? site->file : sd_site_short_file(site);
    struct sd_format_frame frame = { site->name, shown, shown_line(style, s, site),
                                     s->site };
    struct frame_key key = { site->name, shown, frame.line };
    int rc = unify(files, &key.file);

    if (rc == 0)
        rc = sd_intern(keys, &key, sizeof key, &f->of_stack[stack]);
    if (rc == 0 && f->of_stack[stack] == f->n)
        rc = add_frame(f, &frame);
    return rc;
}

int sd_format_frames_make(const struct sd_profile *p,
                          const struct sd_stack_style *style, struct sd_frames *out)
{
    struct sd_arena arena = { 0 };
    struct sd_intern keys = { .arena = &arena }, files = { .arena = &arena };
    struct sd_stack_style shown = *style;
    int rc;

    /* Traced calls know no executed lines. */
    shown.is_by_function |= sd_profile_evidence(p, style->metric) != SD_SAMPLES;
    *out = (struct sd_frames){ 0 };
    out->of_stack = sd_alloc((p->n_stacks + 1) * sizeof *out->of_stack);
    rc = out->of_stack ? 0 : sd_no_memory();
    for (size_t i = 0; i < p->n_stacks && rc == 0; i++)
        rc = find_frame(out, &keys, &files, p, i, &shown);
    sd_intern_release(&keys);
    sd_intern_release(&files);
    sd_arena_release(&arena);
    if (rc < 0)
        sd_format_frames_release(out);
    return rc;
}

void sd_format_frames_release(struct sd_frames *f)
{
    sd_free(f->items);
    sd_free(f->of_stack);
    *f = (struct sd_frames){ 0 };
}

bool sd_format_frames_wants(const struct sd_stack_style *style, uint32_t flags)
{
    if ((flags & SD_SAMPLE_IDLE) && !style->has_idle)
        return false;
    return !style->is_gil_only || (flags & SD_SAMPLE_GIL);
}

void sd_format_frames_thread_name(struct sd_buf *to, const struct sd_profile *p,
                                  sd_track_id t, bool has_process)
{
    const struct sd_track *track = &p->tracks[t.at];
    sd_track_id process = sd_profile_process_of(p, t);
    const char *name = track->name ? track->name : "";

    if (process.at == t.at) {
        sd_buf_printf(to, "process %" PRIu64, track->number);
        return;
    }
    if (has_process && process.at != UINT32_MAX)
        sd_buf_printf(to, "Process %" PRIu64 " ", p->tracks[process.at].number);
    sd_buf_printf(to, "Thread %" PRIu64 " \"", track->number);
    sd_text_escape(to, name, strlen(name));
    sd_buf_text(to, "\"");
}
