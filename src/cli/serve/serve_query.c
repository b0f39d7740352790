/* SPDX-License-Identifier: MIT */
#include "cli/serve/serve_query.h"

#include <string.h>

#include "base/encoding/json_in.h"
#include "base/error.h"
#include "base/mem.h"

enum { KEY_MAX = 32 };

static int wrong(const char *key, const char *wanted)
{
    return sd_fail(SD_EUSAGE,
                   "the page's request is wrong: \"%s\" must be %s; reload the page",
                   key, wanted);
}

/* A copy in the arena; null is NULL. */
static int read_text(struct sd_serve_query *q, const struct sd_json_in *in,
                     const char *key, const char **out)
{
    *out = NULL;
    if (in->kind == SD_JSON_NULL)
        return 0;
    if (in->kind != SD_JSON_TEXT || memchr(in->text, 0, in->n))
        return wrong(key, "a text");
    *out = sd_arena_string(&q->arena, in->text, in->n);
    return *out ? 0 : sd_no_memory();
}

static int read_time(const struct sd_json_in *in, const char *key, uint64_t *out)
{
    if (in->kind == SD_JSON_NULL)
        return 0;
    if (in->kind != SD_JSON_WHOLE || in->whole < 0)
        return wrong(key, "a whole number of nanoseconds");
    *out = (uint64_t)in->whole;
    return 0;
}

static int read_flag(const struct sd_json_in *in, const char *key, bool *out)
{
    if (in->kind != SD_JSON_TRUE && in->kind != SD_JSON_FALSE)
        return wrong(key, "true or false");
    *out = in->kind == SD_JSON_TRUE;
    return 0;
}

static int read_by(const struct sd_json_in *in, enum sd_calls_by *out)
{
    static const char *const words[] = { [SD_CALLS_BY_FUNCTION] = "function",
                                         [SD_CALLS_BY_LINE] = "line",
                                         [SD_CALLS_BY_MODULE] = "module" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (in->kind == SD_JSON_TEXT && sd_json_in_is(in, words[i])) {
            *out = (enum sd_calls_by)i;
            return 0;
        }
    return wrong("by", "\"function\", \"line\" or \"module\"");
}

static int read_member(struct sd_serve_query *q, const char *key,
                       const struct sd_json_in *in)
{
    struct sd_view_request *r = &q->request;
    struct sd_sample_choice *choice = &r->stacks.choice;

    if (strcmp(key, "views") == 0)
        return read_text(q, in, key, &r->views);
    if (strcmp(key, "from_ns") == 0)
        return read_time(in, key, &r->selection.from_ns);
    if (strcmp(key, "to_ns") == 0)
        return read_time(in, key, &r->selection.to_ns);
    if (strcmp(key, "section") == 0)
        return read_text(q, in, key, &r->selection.section);
    if (strcmp(key, "track") == 0)
        return read_text(q, in, key, &r->selection.track);
    if (strcmp(key, "metric") == 0)
        return read_text(q, in, key, &choice->metric);
    if (strcmp(key, "by") == 0)
        return read_by(in, &r->stacks.by);
    if (strcmp(key, "idle") == 0)
        return read_flag(in, key, &choice->has_idle);
    if (strcmp(key, "gil") == 0)
        return read_flag(in, key, &choice->is_gil_only);
    if (strcmp(key, "mine") == 0)
        return read_flag(in, key, &choice->is_mine);
    return sd_fail(SD_EUSAGE,
                   "the page's request is wrong: there is no \"%s\"; reload the page",
                   key);
}

static int read_members(struct sd_serve_query *q, struct sd_json_in *in)
{
    char key[KEY_MAX];
    int rc = 0;

    while (rc == 0 && sd_json_in_next(in) == SD_JSON_KEY) {
        size_t n = in->n < KEY_MAX ? in->n : KEY_MAX - 1;

        memcpy(key, in->text, n);
        key[n] = '\0';
        sd_json_in_next(in);
        rc = read_member(q, key, in);
    }
    if (rc == 0 && in->kind != SD_JSON_CLOSE)
        rc = sd_json_in_wrong(in, "the query");
    return rc;
}

int sd_serve_query_read(struct sd_serve_query *q, const char *json, size_t n)
{
    struct sd_json_in in;
    int rc;

    *q = (struct sd_serve_query){ .request = { .has_both = true,
                                               .has_drawings = true,
                                               .may_have_process_boxes = true } };
    sd_json_in_init(&in, json, n);
    rc = sd_json_in_next(&in) == SD_JSON_OBJECT
             ? read_members(q, &in)
             : sd_fail(SD_EUSAGE, "the page's request is wrong: it must be a JSON "
                                  "object; reload the page");
    if (rc == 0 && q->request.selection.to_ns &&
        q->request.selection.to_ns <= q->request.selection.from_ns)
        rc = wrong("to_ns", "later than \"from_ns\"");
    sd_json_in_release(&in);
    q->request.metric = q->request.stacks.choice.metric;
    if (rc < 0)
        sd_serve_query_release(q);
    return rc;
}

void sd_serve_query_release(struct sd_serve_query *q)
{
    sd_arena_release(&q->arena);
    *q = (struct sd_serve_query){ 0 };
}
