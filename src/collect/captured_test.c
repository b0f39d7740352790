/* SPDX-License-Identifier: MIT */
#include "collect/captured_test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"
#include "capture/reader.h"

enum { IDS = 1 << 16 };

struct chunk { /* its definitions, by id */
    const struct sd_record *of[IDS];
};

static char dir[64];
static char path[96];

/* --- Resolving ids */

static const void *defined(const struct chunk *c, uint32_t id, int type)
{
    CHECK(id < IDS);
    if (!id)
        return NULL;
    CHECK(c->of[id] && c->of[id]->type == type); /* defined in this chunk, before use */
    return c->of[id];
}

static void add_string(const struct chunk *c, uint32_t id, char *to, size_t room)
{
    const struct sd_rec_string *s = defined(c, id, SD_REC_STRING);
    size_t n = strlen(to);

    if (s)
        snprintf(to + n, room - n, "%.*s", (int)s->n, s->text);
}

static void add_path(const struct chunk *c, uint32_t id, char *to, size_t room)
{
    const struct sd_rec_site *s = defined(c, id, SD_REC_SITE);

    if (!s)
        return;
    if (s->parent) {
        add_path(c, s->parent, to, room);
        strncat(to, ":", room - strlen(to) - 1);
    }
    add_string(c, s->name, to, room);
}

/* "outer:10;inner:11" */
static void add_stack(const struct chunk *c, uint32_t id, char *to, size_t room)
{
    const struct sd_rec_stack *s = defined(c, id, SD_REC_STACK);
    size_t n;

    if (!s)
        return;
    add_stack(c, s->parent, to, room);
    if (s->parent)
        strncat(to, ";", room - strlen(to) - 1);
    add_path(c, s->site, to, room);
    n = strlen(to);
    snprintf(to + n, room - n, ":%u", (unsigned)s->line);
}

static void set_track(const struct chunk *c, uint32_t id, struct captured_event *e)
{
    const struct sd_rec_track *t = defined(c, id, SD_REC_TRACK);
    const struct sd_rec_track *parent;

    CHECK(t != NULL);
    e->track_kind = t->kind;
    e->number = t->number;
    add_string(c, t->name, e->track, sizeof e->track);
    while (t->kind != SD_TRACK_PROCESS)
        CHECK(t = defined(c, t->parent, SD_REC_TRACK));
    e->process = t->number;
    parent = defined(c, t->parent, SD_REC_TRACK);
    e->parent_process = parent ? parent->number : 0;
}

static void set_values(const struct chunk *c, uint32_t id, const int64_t *values,
                       struct captured_event *e)
{
    const struct sd_rec_shape *s = defined(c, id, SD_REC_SHAPE);
    uint32_t n = s ? s->n : 0;

    CHECK(n <= CAPTURED_VALUES);
    e->n_values = (int)n;
    for (uint32_t i = 0; i < n; i++) {
        const struct sd_rec_metric *m = defined(c, s->metrics[i], SD_REC_METRIC);
        char name[64] = "";

        add_string(c, m->name, name, sizeof name);
        e->metrics[i] = strdup(name);
        e->values[i] = values[i];
    }
}

/* --- Records */

static void add_line(char *to, size_t room, const char *text, size_t n)
{
    size_t at = strlen(to);

    snprintf(to + at, room - at, "%.*s\n", (int)n, text);
}

static void take_event(struct captured *all, const struct chunk *c,
                       const struct sd_record *r)
{
    struct captured_event *e = &all->events[all->n];

    e->type = r->type;
    if (r->type == SD_REC_OPEN) {
        const struct sd_rec_open *o = (const void *)r;

        add_path(c, o->site, e->path, sizeof e->path);
        set_track(c, o->track, e);
        e->from = e->to = o->time;
        e->span = o->span;
    } else if (r->type == SD_REC_SPAN) {
        const struct sd_rec_span *s = (const void *)r;

        add_path(c, s->site, e->path, sizeof e->path);
        set_track(c, s->track, e);
        set_values(c, s->shape, s->values, e);
        e->from = s->from;
        e->to = s->to;
        e->span = s->span;
        e->flags = s->flags;
    } else if (r->type == SD_REC_POINT) {
        const struct sd_rec_point *p = (const void *)r;

        set_track(c, p->track, e);
        set_values(c, p->shape, p->values, e);
        e->from = e->to = p->time;
    } else if (r->type == SD_REC_SAMPLE) {
        const struct sd_rec_sample *x = (const void *)r;

        add_stack(c, x->stack, e->path, sizeof e->path);
        set_track(c, x->track, e);
        set_values(c, x->shape, x->values, e);
        e->from = e->to = x->time;
        e->flags = x->flags;
    } else {
        return;
    }
    CHECK(++all->n < CAPTURED_EVENTS);
}

static void take(struct captured *all, struct chunk *c, const struct sd_record *r)
{
    const uint32_t *id = (const uint32_t *)(r + 1); /* every definition's first field */

    if ((r->type >= SD_REC_STRING && r->type <= SD_REC_SHAPE) ||
        r->type == SD_REC_STACK) {
        CHECK(*id < IDS);
        c->of[*id] = r;
    } else if (r->type == SD_REC_NOTE) {
        const struct sd_rec_note *n = (const void *)r;

        add_line(all->notes, sizeof all->notes, n->text, n->n);
    } else if (r->type == SD_REC_META) {
        const struct sd_rec_meta *m = (const void *)r;
        char text[512];

        snprintf(text, sizeof text, "%.*s=%.*s", (int)m->key_n, m->text,
                 (int)m->value_n, m->text + m->key_n);
        add_line(all->metas, sizeof all->metas, text, strlen(text));
    } else {
        take_event(all, c, r);
    }
}

struct captured *captured_read(const char *from)
{
    struct captured *all = calloc(1, sizeof *all);
    struct chunk *c = calloc(1, sizeof *c);
    struct sd_chunk_view view;
    struct sd_reader *r = NULL;

    CHECK(all && c && (all->events = calloc(CAPTURED_EVENTS, sizeof *all->events)));
    CHECK(sd_reader_open(from, &r) == 0);
    while (sd_reader_next(r, &view) > 0) {
        const struct sd_record *rec;
        uint32_t at = 0;

        memset(c, 0, sizeof *c);
        while ((rec = sd_chunk_view_next(&view, &at)))
            take(all, c, rec);
    }
    all->is_whole = sd_reader_complaint(r) == NULL;
    sd_reader_free(r);
    free(c);
    return all;
}

void captured_free(struct captured *c)
{
    for (size_t i = 0; i < c->n; i++)
        for (int k = 0; k < c->events[i].n_values; k++)
            free((char *)(uintptr_t)c->events[i].metrics[k]);
    free(c->events);
    free(c);
}

/* --- Questions */

static bool matches(const struct captured_event *e, int type, const char *of)
{
    return e->type == type && (!of || strcmp(e->path, of) == 0);
}

size_t captured_count(const struct captured *c, int type, const char *of)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        n += matches(&c->events[i], type, of);
    return n;
}

const struct captured_event *captured_find(const struct captured *c, int type,
                                           const char *of)
{
    for (size_t i = 0; i < c->n; i++)
        if (matches(&c->events[i], type, of))
            return &c->events[i];
    return NULL;
}

int64_t captured_value(const struct captured_event *e, const char *metric)
{
    for (int i = 0; i < e->n_values; i++)
        if (strcmp(e->metrics[i], metric) == 0)
            return e->values[i];
    return SD_VALUE_NONE;
}

/* --- Files */

const char *captured_path(void)
{
    snprintf(dir, sizeof dir, "/tmp/sonde-test-XXXXXX");
    CHECK(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/x.sonde", dir);
    return path;
}

static void remove_all_in(const char *folder)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    char one[512];

    while (d && (e = readdir(d))) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(one, sizeof one, "%s/%s", folder, e->d_name);
        if (unlink(one) < 0)
            remove_all_in(one);
    }
    if (d)
        closedir(d);
    rmdir(folder);
}

void captured_clean(void) { remove_all_in(dir); }
