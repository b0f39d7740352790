/* SPDX-License-Identifier: MIT */
#include "profile/filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "profile/profile_define.h"

enum { NOT_ASKED, PASSES, FAILS };

void sd_screen_init(struct sd_screen *s, const struct sd_filter *filter)
{
    *s = (struct sd_screen){ .filter = filter,
                             .has_section = filter && filter->section };
}

int sd_screen_section(struct sd_screen *s, const struct sd_profile *p,
                      const struct sd_event *e)
{
    struct sd_interval i = { e->from_ns, e->to_ns, 1 };

    sd_assert(s->has_section);
    if (e->kind != SD_EVENT_SPAN ||
        strcmp(p->sites[e->site.at].path, s->filter->section) != 0)
        return 0;
    s->saw_section = true;
    return sd_intervals_add(&s->open, SD_SCREEN_INTERVALS, i);
}

struct sd_window sd_screen_window(const struct sd_screen *s)
{
    struct sd_window w = { .is_set = true, .to_ns = UINT64_MAX };

    if (!s->filter || !(s->has_section || s->filter->from_ns || s->filter->to_ns))
        return (struct sd_window){ 0 };
    w.from_ns = s->filter->from_ns;
    if (s->filter->to_ns)
        w.to_ns = s->filter->to_ns;
    if (s->open.n > 0) {
        uint64_t first = s->open.items[0].from_ns;
        uint64_t last = s->open.items[s->open.n - 1].to_ns;

        w.from_ns = first > w.from_ns ? first : w.from_ns;
        w.to_ns = last < w.to_ns ? last : w.to_ns;
    }
    return w;
}

/* --- Tracks */

/* "1234" is a process and all in it; "1234/1235" one thread, or one task. */
static bool is_number_of(const struct sd_profile *p, sd_track_id t, const char *wanted)
{
    sd_track_id process = sd_profile_process_of(p, t);
    char text[48];

    if (process.at == UINT32_MAX)
        return false;
    snprintf(text, sizeof text, "%" PRIu64, p->tracks[process.at].number);
    if (strcmp(text, wanted) == 0)
        return true;
    snprintf(text, sizeof text, "%" PRIu64 "/%" PRIu64, p->tracks[process.at].number,
             p->tracks[t.at].number);
    return strcmp(text, wanted) == 0;
}

static bool is_named(const struct sd_profile *p, sd_track_id t, const char *wanted)
{
    sd_track_id process = sd_profile_process_of(p, t);
    const char *name = p->tracks[t.at].name;

    if (name && strstr(name, wanted))
        return true;
    name = process.at == UINT32_MAX ? NULL : p->tracks[process.at].name;
    return name && strstr(name, wanted);
}

bool sd_filter_takes_track(const struct sd_profile *p, sd_track_id t,
                           const char *wanted)
{
    return is_number_of(p, t, wanted) || is_named(p, t, wanted);
}

/* --- Remembering */

static int remember(uint8_t **answers, size_t *n, size_t need)
{
    size_t cap = *n;
    uint8_t *grown;

    if (need < *n)
        return 0;
    grown = sd_grow_array(*answers, &cap, need + 1, 1);
    if (!grown)
        return sd_no_memory();
    memset(grown + *n, NOT_ASKED, cap - *n);
    *answers = grown;
    *n = cap;
    sd_assert(need < *n);
    return 0;
}

static int track_passes(struct sd_screen *s, const struct sd_profile *p, sd_track_id t)
{
    const char *wanted = s->filter->track;
    int rc = remember(&s->tracks, &s->n_tracks, t.at);

    if (rc < 0)
        return rc;
    if (s->tracks[t.at] == NOT_ASKED)
        s->tracks[t.at] = sd_filter_takes_track(p, t, wanted) ? PASSES : FAILS;
    s->saw_track |= s->tracks[t.at] == PASSES;
    return s->tracks[t.at] == PASSES;
}

int sd_screen_tracks(struct sd_screen *s, const struct sd_profile *p)
{
    int rc = 0;

    for (uint32_t i = 0; s->filter && s->filter->track && i < p->n_tracks && rc >= 0;
         i++)
        rc = track_passes(s, p, (sd_track_id){ i });
    return rc < 0 ? rc : 0;
}

/* A function is known by its file and its qualified name as much as by its name.  1, 0
 * or negative. */
static int find(const struct sd_matcher *match, const struct sd_site *site)
{
    int rc = sd_matcher_find(match, site->path);

    if (rc != 0 || site->kind != SD_SITE_FUNCTION)
        return rc;
    rc = sd_matcher_find(match, site->file);
    return rc != 0 ? rc : sd_matcher_find(match, site->label);
}

static int site_passes(struct sd_screen *s, const struct sd_profile *p, sd_site_id id)
{
    int rc = remember(&s->sites, &s->n_sites, id.at);

    sd_assert(id.at < p->n_sites);
    if (rc < 0)
        return rc;
    if (s->sites[id.at] == NOT_ASKED) {
        rc = find(s->filter->match, &p->sites[id.at]);
        if (rc < 0)
            return rc;
        s->sites[id.at] = rc ? PASSES : FAILS;
    }
    return s->sites[id.at] == PASSES;
}

/* A stack passes when one of its frames does.  The walk towards the root stops at the
 * first frame that passes or has been answered; then all on the way know. */
static int stack_passes(struct sd_screen *s, const struct sd_profile *p, sd_stack_id id)
{
    uint32_t end = id.at;
    uint8_t answer = FAILS;
    int rc = 0;

    if (id.at == UINT32_MAX)
        return 0;
    rc = remember(&s->stacks, &s->n_stacks, id.at);
    sd_assert(id.at < p->n_stacks);
    while (rc == 0 && answer == FAILS && end != UINT32_MAX) {
        if (s->stacks[end] != NOT_ASKED) {
            answer = s->stacks[end];
            break;
        }
        rc = site_passes(s, p, p->stacks[end].site);
        answer = rc == 1 ? PASSES : FAILS;
        end = p->stacks[end].parent.at;
        rc = rc < 0 ? rc : 0;
    }
    if (rc < 0)
        return rc;
    for (uint32_t at = id.at; at != end; at = p->stacks[at].parent.at)
        s->stacks[at] = answer;
    return answer == PASSES;
}

int sd_screen_passes_stack(struct sd_screen *s, const struct sd_profile *p,
                           sd_track_id track, sd_stack_id stack)
{
    int rc = s->filter && s->filter->track ? track_passes(s, p, track) : 1;

    return rc == 1 && s->filter && s->filter->match ? stack_passes(s, p, stack) : rc;
}

/* Lines are not told apart by time either. */
static int lines_pass(struct sd_screen *s, const struct sd_profile *p,
                      const struct sd_event *e)
{
    int rc = s->filter->track ? track_passes(s, p, e->track) : 1;

    return rc == 1 && s->filter->match ? site_passes(s, p, e->site) : rc;
}

/* Of these no more is known than who called whom. */
static int pairs_pass(struct sd_screen *s, const struct sd_profile *p,
                      const struct sd_event *e)
{
    int rc = s->filter->track ? track_passes(s, p, e->track) : 1;

    if (rc != 1 || !s->filter->match)
        return rc;
    rc = site_passes(s, p, e->site);
    if (rc == 0 && e->flags != UINT32_MAX)
        rc = site_passes(s, p, (sd_site_id){ e->flags });
    return rc;
}

int sd_screen_passes(struct sd_screen *s, const struct sd_profile *p,
                     const struct sd_event *e)
{
    const struct sd_filter *f = s->filter;
    int rc = 1;

    if (!f)
        return 1;
    if (e->kind == SD_EVENT_CALLS) /* added up over the whole run: no moment of it can
                                      leave them out here (call_window does, where a
                                      timeline was recorded) */
        return sd_screen_passes_stack(s, p, e->track, e->stack);
    if (e->kind == SD_EVENT_PAIRS || e->kind == SD_EVENT_WHOLE_PAIRS)
        return pairs_pass(s, p, e);
    if (e->kind == SD_EVENT_LINES)
        return lines_pass(s, p, e);
    if (e->to_ns < f->from_ns || (f->to_ns && e->from_ns > f->to_ns))
        return 0;
    if (s->has_section && !sd_intervals_touch(&s->open, e->from_ns, e->to_ns))
        return 0;
    if (f->track)
        rc = track_passes(s, p, e->track);
    if (rc == 1 && f->match && e->kind == SD_EVENT_SPAN)
        rc = site_passes(s, p, e->site);
    if (rc == 1 && f->match && e->kind == SD_EVENT_SAMPLE)
        rc = stack_passes(s, p, e->stack);
    return rc;
}

/* A few names of what there is, so that the next try can be right.  The site that
 * stands for lost names is no section. */
static void list_sections(const struct sd_profile *p, struct sd_buf *b)
{
    uint32_t lost = sd_find_lost_site(p);
    size_t n = 0;

    for (size_t i = 0; i < p->n_sites; i++) {
        if (p->sites[i].kind != SD_SITE_SECTION || i == lost || n++ >= 5)
            continue;
        sd_buf_text(b, b->n ? ", " : "");
        sd_text_escape(b, p->sites[i].path, strlen(p->sites[i].path));
    }
    if (n > 5)
        sd_buf_printf(b, " and %zu more", n - 5);
}

int sd_screen_check(const struct sd_screen *s, const struct sd_profile *p)
{
    struct sd_buf known = { 0 };
    int rc = 0;

    if (!s->filter)
        return 0;
    if (s->has_section && !s->saw_section) {
        list_sections(p, &known);
        rc = known.n
                 ? sd_fail(SD_EUSAGE, "no section '%s' was recorded; there are %s",
                           s->filter->section, sd_buf_string(&known))
                 : sd_fail(SD_EUSAGE,
                           "no section '%s' was recorded; the capture has no sections",
                           s->filter->section);
        sd_buf_release(&known);
    } else if (s->filter->track && !s->saw_track) {
        rc = sd_fail(SD_EUSAGE,
                     "the recording has no process or thread \"%s\"; `sonde info` "
                     "lists those it has",
                     s->filter->track);
    }
    return rc;
}

void sd_screen_release(struct sd_screen *s)
{
    sd_intervals_release(&s->open);
    sd_free(s->sites);
    sd_free(s->tracks);
    sd_free(s->stacks);
    *s = (struct sd_screen){ 0 };
}
