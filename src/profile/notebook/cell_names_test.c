/* SPDX-License-Identifier: MIT */
#include "profile/notebook/cell_names.h"

#include <string.h>

#include "base/test.h"
#include "profile/profile_define.h"
#include "profile/samples.h"

#define CHECK_STR(got, wanted) CHECK(strcmp(got, wanted) == 0)

/* The stack of these files, each a function called as its file; the outermost first. */
static uint32_t stack_of(struct sd_profile *p, const char *const *files)
{
    uint32_t id = UINT32_MAX;

    for (; *files; files++) {
        struct sd_site_key key = {
            SD_SITE_FUNCTION, 0, 0, 1, UINT32_MAX, UINT32_MAX, 0
        };
        struct sd_stack stack = { .parent = { id }, .line = 1 };

        CHECK(sd_define_string(p, *files, strlen(*files), &key.name) == 0);
        CHECK(sd_define_string(p, *files, strlen(*files), &key.file) == 0);
        CHECK(sd_define_site(p, &key, &stack.site.at) == 0);
        CHECK(sd_define_stack(p, &stack, &id) == 0);
    }
    return id;
}

static void add(struct sd_profile *p, enum sd_evidence e, const char *const *files)
{
    const struct sd_sample_total which = { .stack = { stack_of(p, files) },
                                           .track = SD_NO_TRACK };

    CHECK(sd_totals_add(p, e, &which, NULL, NULL, 0) == 0);
}

static void add_fact(struct sd_profile *p, const char *key, const char *value)
{
    CHECK(sd_profile_add_meta(p, key, strlen(key), value, strlen(value)) == 0);
}

static struct sd_profile *notebook(void)
{
    struct sd_profile *p = sd_profile_new();

    CHECK(p);
    add_fact(p, "frames.shell", "/ipy/\n/kernel.py");
    add_fact(p, "frames.core", "/ipy/core.py");
    add_fact(p, "frames.display", "/ipy/show.py");
    add_fact(p, "frames.runner", "/lib/python3.9/asyncio/");
    add_fact(p, "cell.name:/tmp/7.py", "In [7]");
    add_fact(p, "cell.text:In [7]", "f()\n");
    return p;
}

/* How many totals are left, and the outermost file of the first. */
static const char *outermost(const struct sd_profile *p, enum sd_evidence e, size_t *n)
{
    const struct sd_stack_totals *t = &p->evidence[e].stacks;
    uint32_t id;

    *n = t->n;
    if (t->n == 0)
        return "";
    for (id = t->items[0].stack.at; p->stacks[id].parent.at != UINT32_MAX;)
        id = p->stacks[id].parent.at;
    return p->sites[p->stacks[id].site.at].file;
}

static const char *outermost_of(const char *const *files, size_t *n)
{
    static char file[100];
    struct sd_profile *p = notebook();

    add(p, SD_CALLS, files);
    CHECK(sd_cell_names_settle(p) == 0);
    strcpy(file, outermost(p, SD_CALLS, n));
    sd_profile_free(p);
    return file;
}

#define OUTERMOST(...) outermost_of((const char *const[]){ __VA_ARGS__, NULL }, &n)

TEST(a_stack_begins_with_the_cell)
{
    size_t n;

    CHECK_STR(OUTERMOST("/start.py", "/ipy/x.py", "/ipy/core.py", "/tmp/7.py", "/u.py"),
              "In [7]");
    CHECK(n == 1);
}

TEST(what_the_shell_does_itself_is_left_out)
{
    size_t n;

    OUTERMOST("/start.py", "/ipy/core.py", "/lib/python3.9/ast.py");
    CHECK(n == 0);
    OUTERMOST("/lib/python3.9/codeop.py");
    CHECK(n == 0);
    OUTERMOST("/lib/python3.9/asyncio/loop.py");
    CHECK(n == 0);
    OUTERMOST("/ipy/core.py", "/tmp/7.py", "/ipy/show.py", "/lib/python3.9/json.py");
    CHECK(n == 0);
}

TEST(tasks_and_what_a_value_says_of_itself_are_the_users)
{
    size_t n;

    CHECK_STR(
        OUTERMOST("/lib/python3.9/asyncio/loop.py", "/lib/python3.9/http.py", "/u.py"),
        "/lib/python3.9/http.py");
    CHECK_STR(OUTERMOST("/ipy/core.py", "/tmp/7.py", "/ipy/show.py", "/u.py"), "/u.py");
    CHECK_STR(OUTERMOST("/u.py", "/kernel.py"), "/u.py");
}

TEST(a_cell_calls_the_shell_like_any_library)
{
    size_t n;

    CHECK_STR(OUTERMOST("/ipy/core.py", "/tmp/7.py", "/ipy/display.py"), "In [7]");
    CHECK(n == 1);
}

TEST(totals_that_stay_keep_their_places)
{
    static const char *const mine[] = { "/tmp/7.py", NULL };
    static const char *const other[] = { "/ipy/core.py", NULL };
    struct sd_profile *p = notebook();
    size_t n;

    add(p, SD_SAMPLES, other);
    add(p, SD_SAMPLES, mine);
    CHECK(sd_cell_names_settle(p) == 0);
    add(p, SD_SAMPLES, mine);
    CHECK_STR(outermost(p, SD_SAMPLES, &n), "In [7]");
    CHECK(n == 1);
    sd_profile_free(p);
}

TEST(cells_have_their_text_and_others_none)
{
    struct sd_profile *p = notebook();

    CHECK_STR(sd_cell_names_source(p, "In [7]"), "f()\n");
    CHECK(sd_cell_names_source(p, "/tmp/7.py") == NULL);
    sd_profile_free(p);
}

TEST(a_program_without_a_notebook_stays_as_it_is)
{
    static const char *const files[] = { "/ipy/core.py", "/u.py", NULL };
    struct sd_profile *p = sd_profile_new();
    size_t n;

    add(p, SD_CALLS, files);
    CHECK(sd_cell_names_settle(p) == 0);
    CHECK_STR(outermost(p, SD_CALLS, &n), "/ipy/core.py");
    sd_profile_free(p);
}
