/* SPDX-License-Identifier: MIT */
/* dump_json: prints a snapshot as JSON. */
#include "base/encoding/json.h"
#include "capture/record.h"
#include "cli/live/verb_dump.h"
#include "cli/record/attach.h"

static void put_locals(struct sd_json *j, const struct sd_snapshot_frame *f)
{
    sd_json_array(j);
    for (size_t i = 0; i < f->n_locals; i++) {
        sd_json_object(j);
        sd_json_key_string(j, "name", f->locals[i].name);
        sd_json_key_uint(j, "addr", f->locals[i].address);
        sd_json_key_bool(j, "arg", f->locals[i].is_argument);
        sd_json_key_string(j, "repr", f->locals[i].text);
        sd_json_end(j);
    }
    sd_json_end(j);
}

/* is_last: the outermost, which the interpreter itself has called. */
static void put_frame(struct sd_json *j, const struct sd_snapshot_frame *f,
                      const struct sd_dump_style *style, bool is_last)
{
    sd_json_object(j);
    sd_json_key_string(j, "name", style->is_qualified ? f->qualname : f->name);
    sd_json_key_string(j, "qualname", f->qualname);
    sd_json_key_string(j, "filename", f->file);
    sd_json_key_string(j, "module", f->module);
    sd_json_key_string(j, "short_filename",
                       sd_attach_file(f->file, style->has_full_files));
    sd_json_key_uint(j, "line", (uint64_t)f->line);
    sd_json_key(j, "locals");
    if (style->has_locals)
        put_locals(j, f);
    else
        sd_json_null(j);
    sd_json_key_bool(j, "is_entry", f->is_entry);
    sd_json_key_bool(j, "is_shim_entry", is_last);
    sd_json_key_bool(j, "moved", f->has_moved);
    sd_json_end(j);
}

static void put_mark(struct sd_json *j, const char *name)
{
    sd_json_object(j);
    sd_json_key_string(j, "name", name);
    sd_json_key_string(j, "qualname", name);
    sd_json_key_string(j, "filename", "");
    sd_json_key_string(j, "module", NULL);
    sd_json_key_string(j, "short_filename", "");
    sd_json_key_uint(j, "line", 0);
    sd_json_key_string(j, "locals", NULL);
    sd_json_key_bool(j, "is_entry", false);
    sd_json_key_bool(j, "is_shim_entry", false);
    sd_json_key_bool(j, "moved", false);
    sd_json_end(j);
}

/* py-spy's object of the process a thread belongs to; it leaves it null itself. */
static void put_process(struct sd_json *j, const struct sd_sampler *s, size_t member)
{
    const struct sd_tree *tree = sd_sampler_tree(s);
    const struct sd_tree_member *m = &tree->members[member];

    sd_json_key_object(j, "process_info");
    sd_json_key_uint(j, "pid", (uint64_t)m->pid);
    sd_json_key(j, "parent");
    if (m->parent == SIZE_MAX)
        sd_json_null(j);
    else
        sd_json_uint(j, (uint64_t)tree->members[m->parent].pid);
    sd_json_key_string(j, "name", m->name);
    sd_json_key_string(j, "python", sd_sampler_version(s, member));
    sd_json_end(j);
}

static void put_thread(struct sd_json *j, const struct sd_snapshot_thread *x,
                       const struct sd_sampler *s, const struct sd_dump_style *style)
{
    bool is_stopped = x->flags & SD_SAMPLE_STOPPED;

    sd_json_object(j);
    sd_json_key_uint(j, "pid", (uint64_t)x->pid);
    sd_json_key_uint(j, "thread_id", x->ident);
    sd_json_key_string(j, "thread_name", *x->name ? x->name : NULL);
    sd_json_key_uint(j, "os_thread_id", (uint64_t)x->tid);
    sd_json_key_bool(j, "active", !is_stopped && !(x->flags & SD_SAMPLE_IDLE));
    sd_json_key_bool(j, "owns_gil", x->flags & SD_SAMPLE_GIL);
    sd_json_key_bool(j, "waits_gil", x->flags & SD_SAMPLE_WAITS_GIL);
    sd_json_key_bool(j, "stopped", is_stopped);
    sd_json_key_bool(j, "partial", x->flags & SD_SAMPLE_PARTIAL);
    sd_json_key_array(j, "frames");
    if (x->flags & SD_SAMPLE_PARTIAL)
        put_mark(j, "[partial]");
    for (size_t i = 0; i < x->n_frames; i++)
        put_frame(j, &x->frames[i], style, i + 1 == x->n_frames);
    if (x->is_cut)
        put_mark(j, "[more frames]");
    sd_json_end(j);
    put_process(j, s, x->member);
    sd_json_end(j);
}

void sd_dump_json(struct sd_out *out, const struct sd_snapshot *p,
                  const struct sd_sampler *s, const struct sd_dump_style *style)
{
    struct sd_json j;

    sd_json_init(&j, out, true);
    sd_json_array(&j);
    for (size_t i = 0; i < p->n_threads; i++)
        put_thread(&j, &p->threads[i], s, style);
    sd_json_end(&j);
    sd_out_text(out, "\n");
}
