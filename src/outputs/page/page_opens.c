/* SPDX-License-Identifier: MIT */
/* page_opens: what is selected when a page is opened, as its address has it behind the
 * #.  A page has the whole run: whoever asks for a part of it looks at that first. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "outputs/page/page_maker.h"

/* Letters that an address may have are themselves. */
static void put_value(struct sd_buf *to, const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-._~/:";

    for (; *s; s++)
        if (strchr(plain, *s))
            sd_buf_u8(to, (uint8_t)*s);
        else
            sd_buf_printf(to, "%%%02X", (unsigned)(uint8_t)*s);
}

static void put_part(struct sd_buf *to, const char *key, const char *value)
{
    if (!value || !*value)
        return;
    sd_buf_printf(to, "%s%s=", to->n ? "&" : "", key);
    put_value(to, value);
}

static void put_number(struct sd_buf *to, const char *key, uint64_t n)
{
    sd_buf_printf(to, "%s%s=%llu", to->n ? "&" : "", key, (unsigned long long)n);
}

/* --- Who */

/* A pid, or a pid and a tid: as threads are called in a page. */
static bool is_number(const char *who)
{
    return *who && who[strspn(who, "0123456789/")] == 0;
}

/* Part of a name is of one thread, or of one process. */
static int put_track(struct sd_page_maker *m, struct sd_buf *to, const char *who)
{
    const struct sd_stacks_thread *found = NULL;

    if (!who || is_number(who)) {
        put_part(to, "thread", who);
        return 0;
    }
    for (size_t i = 0; i < m->n_stacks; i++)
        for (size_t k = 0; k < m->stacks[i].n_threads; k++) {
            const struct sd_stacks_thread *t = &m->stacks[i].threads[k];

            if (!t->name || !strstr(t->name, who))
                continue;
            if (found && (found->number != t->number || found->process != t->process))
                return sd_fail(SD_EUSAGE,
                               "several threads match --track %s; a page opens with "
                               "one: --track %llu/%llu",
                               who, (unsigned long long)t->process,
                               (unsigned long long)t->number);
            found = t;
        }
    if (!found)
        return sd_fail(SD_EUSAGE,
                       "no thread shown in the page matches --track %s; `sonde report "
                       "--threads` lists the threads",
                       who);
    sd_buf_printf(to, "%sthread=%llu", to->n ? "&" : "",
                  (unsigned long long)found->process);
    if (!found->is_process)
        sd_buf_printf(to, "/%llu", (unsigned long long)found->number);
    return 0;
}

/* --- What */

/* A page that begins with empty tables would look as if nothing had been recorded. */
static bool waits_alone(const struct sd_page_maker *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n_stacks; i++)
        for (size_t k = 0; k < m->stacks[i].n_places; k++, n++)
            if (!m->stacks[i].places[k].is_idle)
                return false;
    return n > 0;
}

static void put_choices(const struct sd_page_maker *m, struct sd_buf *to,
                        const struct sd_view_request *r)
{
    static const char *const by[] = { [SD_CALLS_BY_FUNCTION] = NULL,
                                      [SD_CALLS_BY_LINE] = "line",
                                      [SD_CALLS_BY_MODULE] = "module" };

    put_part(to, "metric", r->stacks.choice.metric);
    put_part(to, "by", by[r->stacks.by]);
    put_part(to, "idle", r->stacks.choice.has_idle || waits_alone(m) ? "1" : NULL);
    put_part(to, "gilOnly", r->stacks.choice.is_gil_only ? "1" : NULL);
    put_part(to, "mine", r->stacks.choice.is_mine ? "1" : NULL);
}

/* The first of several is the one that is seen. */
static int put_view(struct sd_page_maker *m, struct sd_buf *to,
                    const struct sd_view_request *r)
{
    const char *name =
        r->views ? sd_arena_string(&m->arena, r->views, strcspn(r->views, ",")) : NULL;

    put_part(to, "view", name);
    return r->views && !name ? sd_no_memory() : 0;
}

int sd_page_open_with(struct sd_page_maker *m)
{
    static const struct sd_view_request usual;
    const struct sd_view_request *r = m->request->opens ? m->request->opens : &usual;
    const struct sd_filter *f = &r->selection;
    struct sd_buf to = { 0 };
    int rc = put_view(m, &to, r);

    if (f->from_ns || f->to_ns) {
        put_number(&to, "from", f->from_ns);
        put_number(&to, "to", f->to_ns ? f->to_ns : m->page.duration_ns);
    }
    put_part(&to, "section", f->section);
    m->page.opens_section = f->section;
    if (rc == 0)
        rc = put_track(m, &to, f->track);
    put_part(&to, "search", r->search);
    put_choices(m, &to, r);
    if (rc == 0 && to.n > 0) {
        m->page.opens =
            to.bad ? NULL : sd_arena_string(&m->arena, sd_buf_string(&to), to.n);
        rc = m->page.opens ? 0 : sd_no_memory();
    }
    sd_buf_release(&to);
    return rc;
}
