/* SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "capture/record.h"
#include "cli/attach.h"
#include "cli/dump.h"

static void put_text(struct sd_json *j, const char *key, const char *text)
{
    sd_json_key(j, key);
    sd_json_string(j, text);
}

static void put_bool(struct sd_json *j, const char *key, bool is_so)
{
    sd_json_key(j, key);
    sd_json_bool(j, is_so);
}

static void put_number(struct sd_json *j, const char *key, uint64_t n)
{
    sd_json_key(j, key);
    sd_json_uint(j, n);
}

static void put_locals(struct sd_json *j, const struct sd_snapshot_frame *f)
{
    sd_json_array(j);
    for (size_t i = 0; i < f->n_locals; i++) {
        sd_json_object(j);
        put_text(j, "name", f->locals[i].name);
        put_number(j, "addr", f->locals[i].address);
        put_bool(j, "arg", f->locals[i].is_argument);
        put_text(j, "repr", f->locals[i].text);
        sd_json_end(j);
    }
    sd_json_end(j);
}

/* is_last: the outermost, which the interpreter itself has called. */
static void put_frame(struct sd_json *j, const struct sd_snapshot_frame *f,
                      const struct sd_dump_style *style, bool is_last)
{
    sd_json_object(j);
    put_text(j, "name", style->is_qualified ? f->qualname : f->name);
    put_text(j, "qualname", f->qualname);
    put_text(j, "filename", f->file);
    put_text(j, "module", f->module);
    put_text(j, "short_filename", sd_attach_file(f->file, style->has_full_files));
    put_number(j, "line", (uint64_t)f->line);
    sd_json_key(j, "locals");
    if (style->has_locals)
        put_locals(j, f);
    else
        sd_json_null(j);
    put_bool(j, "is_entry", f->is_entry);
    put_bool(j, "is_shim_entry", is_last);
    put_bool(j, "moved", f->has_moved);
    sd_json_end(j);
}

static void put_mark(struct sd_json *j, const char *name)
{
    sd_json_object(j);
    put_text(j, "name", name);
    put_text(j, "qualname", name);
    put_text(j, "filename", "");
    put_text(j, "module", NULL);
    put_text(j, "short_filename", "");
    put_number(j, "line", 0);
    put_text(j, "locals", NULL);
    put_bool(j, "is_entry", false);
    put_bool(j, "is_shim_entry", false);
    put_bool(j, "moved", false);
    sd_json_end(j);
}

/* py-spy's object of the process a thread belongs to; it leaves it null itself. */
static void put_process(struct sd_json *j, const struct sd_sampler *s, size_t member)
{
    const struct sd_tree *tree = sd_sampler_tree(s);
    const struct sd_tree_member *m = &tree->members[member];

    sd_json_key(j, "process_info");
    sd_json_object(j);
    put_number(j, "pid", (uint64_t)m->pid);
    sd_json_key(j, "parent");
    if (m->parent == SIZE_MAX)
        sd_json_null(j);
    else
        sd_json_uint(j, (uint64_t)tree->members[m->parent].pid);
    put_text(j, "name", m->name);
    put_text(j, "python", sd_sampler_version(s, member));
    sd_json_end(j);
}

static void put_thread(struct sd_json *j, const struct sd_snapshot_thread *x,
                       const struct sd_sampler *s, const struct sd_dump_style *style)
{
    bool is_stopped = x->flags & SD_SAMPLE_STOPPED;

    sd_json_object(j);
    put_number(j, "pid", (uint64_t)x->pid);
    put_number(j, "thread_id", x->ident);
    put_text(j, "thread_name", *x->name ? x->name : NULL);
    put_number(j, "os_thread_id", (uint64_t)x->tid);
    put_bool(j, "active", !is_stopped && !(x->flags & SD_SAMPLE_IDLE));
    put_bool(j, "owns_gil", x->flags & SD_SAMPLE_GIL);
    put_bool(j, "waits_gil", x->flags & SD_SAMPLE_WAITS_GIL);
    put_bool(j, "stopped", is_stopped);
    put_bool(j, "partial", x->flags & SD_SAMPLE_PARTIAL);
    sd_json_key(j, "frames");
    sd_json_array(j);
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
