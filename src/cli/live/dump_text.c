/* SPDX-License-Identifier: MIT */
/* dump_text: prints a snapshot in py-spy's layout. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "capture/record.h"
#include "cli/live/verb_dump.h"
#include "cli/record/attach.h"
#include "cli/say.h"

enum { RULE = 80 };

struct printing {
    struct sd_out *out;
    const struct sd_snapshot *snapshot;
    const struct sd_tree *tree;
    const struct sd_sampler *sampler;
    const struct sd_dump_style *style;
};

/* Colours are those of SGR: 33 yellow, 36 cyan, ... */
static void put(struct printing *p, const char *colour, const char *text)
{
    struct sd_buf shown = { 0 };

    sd_text_escape(&shown, text, strlen(text));
    if (p->style->text.colour)
        sd_out_printf(p->out, "\033[%sm%s\033[0m", colour, sd_made(p->out, &shown));
    else
        sd_out_text(p->out, sd_made(p->out, &shown));
    sd_buf_release(&shown);
}

static void put_number(struct printing *p, const char *colour, long long n)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", n);
    put(p, colour, text);
}

/* --- Processes */

static void put_command(struct printing *p, pid_t pid)
{
    char *text = sd_attach_command(pid);

    if (text)
        put(p, "0", text);
    sd_free(text);
}

static void put_executable(struct printing *p, pid_t pid)
{
    char path[64], exe[PATH_MAX + 1];
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    n = readlink(path, exe, sizeof exe - 1);
    if (n <= 0)
        return;
    exe[n] = 0;
    sd_out_text(p->out, " (");
    put(p, "2", exe);
    sd_out_text(p->out, ")");
}

static void put_process(struct printing *p, size_t member)
{
    const struct sd_tree_member *m = &p->tree->members[member];

    sd_out_text(p->out, "Process ");
    put_number(p, "1;33", m->pid);
    sd_out_text(p->out, ": ");
    put_command(p, m->pid);
    sd_out_text(p->out, "\nPython v");
    put(p, "1", sd_sampler_version(p->sampler, member));
    put_executable(p, m->pid);
    sd_out_text(p->out, "\n");
    if (m->parent != SIZE_MAX) {
        sd_out_text(p->out, "Parent Process ");
        put_number(p, "1;33", p->tree->members[m->parent].pid);
        sd_out_text(p->out, ": ");
        put_command(p, p->tree->members[m->parent].pid);
        sd_out_text(p->out, "\n");
    }
    sd_out_text(p->out, "\n");
}

/* --- Threads */

static const char *state_of(const struct sd_snapshot_thread *x)
{
    if (x->flags & SD_SAMPLE_STOPPED)
        return x->flags & SD_SAMPLE_GIL ? "stopped+gil" : "stopped";
    if (x->flags & SD_SAMPLE_WAITS_GIL)
        return "waits for gil";
    if (x->flags & SD_SAMPLE_IDLE)
        return x->flags & SD_SAMPLE_GIL ? "idle+gil" : "idle";
    return x->flags & SD_SAMPLE_GIL ? "active+gil" : "active";
}

static void put_thread_head(struct printing *p, const struct sd_snapshot_thread *x)
{
    sd_out_text(p->out, "Thread ");
    put_number(p, "1;33", x->tid ? (long long)x->tid : (long long)x->ident);
    sd_out_text(p->out, " (");
    put(p, x->flags & SD_SAMPLE_IDLE ? "2" : "32", state_of(x));
    sd_out_text(p->out, ")");
    if (*x->name) {
        sd_out_text(p->out, ": \"");
        put(p, "1", x->name);
        sd_out_text(p->out, "\"");
    }
    sd_out_text(p->out, "\n");
}

static void put_locals(struct printing *p, const struct sd_snapshot_frame *f,
                       bool is_argument, const char *title)
{
    bool has_title = false;

    for (size_t i = 0; i < f->n_locals; i++) {
        if (f->locals[i].is_argument != is_argument)
            continue;
        if (!has_title)
            sd_out_printf(p->out, "        %s%s:\n", title,
                          f->has_moved ? " (it ran on while they were read)" : "");
        has_title = true;
        sd_out_text(p->out, "            ");
        put(p, "0", f->locals[i].name);
        sd_out_text(p->out, ": ");
        put(p, "0", f->locals[i].text);
        sd_out_text(p->out, "\n");
    }
}

static void put_frame(struct printing *p, const struct sd_snapshot_frame *f)
{
    sd_out_text(p->out, "    ");
    put(p, "32", p->style->is_qualified ? f->qualname : f->name);
    sd_out_text(p->out, " (");
    put(p, "36", sd_attach_file(f->file, p->style->has_full_files));
    if (f->line) {
        sd_out_text(p->out, ":");
        put_number(p, "2", f->line);
    }
    sd_out_text(p->out, ")\n");
    put_locals(p, f, true, "Arguments");
    put_locals(p, f, false, "Locals");
}

static void put_thread(struct printing *p, const struct sd_snapshot_thread *x)
{
    put_thread_head(p, x);
    if (x->flags & SD_SAMPLE_PARTIAL)
        sd_out_text(p->out, "    [partial]\n");
    for (size_t i = 0; i < x->n_frames; i++)
        put_frame(p, &x->frames[i]);
    if (x->is_cut)
        sd_out_text(p->out, "    [more frames]\n");
}

static bool has_threads(const struct sd_snapshot *p, size_t member)
{
    for (size_t i = 0; i < p->n_threads; i++)
        if (p->threads[i].member == member)
            return true;
    return false;
}

static void put_rule(struct printing *p)
{
    size_t width = p->style->text.width ? p->style->text.width : RULE;

    sd_out_text(p->out, "\n");
    while (width-- > 0)
        sd_out_text(p->out, "-");
    sd_out_text(p->out, "\n");
}

void sd_dump_text(struct sd_out *out, const struct sd_snapshot *snapshot,
                  const struct sd_sampler *s, const struct sd_dump_style *style)
{
    struct printing p = { out, snapshot, sd_sampler_tree(s), s, style };
    bool is_first = true;

    for (size_t m = 0; m < p.tree->n; m++) {
        if (!has_threads(snapshot, m))
            continue;
        if (!is_first)
            put_rule(&p);
        is_first = false;
        put_process(&p, m);
        for (size_t i = snapshot->n_threads; i-- > 0;)
            if (snapshot->threads[i].member == m)
                put_thread(&p, &snapshot->threads[i]);
    }
}
