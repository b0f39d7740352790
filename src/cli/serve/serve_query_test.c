/* SPDX-License-Identifier: MIT */
#include "cli/serve/serve_query.h"

#include <string.h>

#include "base/error.h"
#include "base/test.h"

static int read(struct sd_serve_query *q, const char *json)
{
    return sd_serve_query_read(q, json, strlen(json));
}

TEST(serve_query_reads_the_options_of_report)
{
    struct sd_serve_query q;

    CHECK(read(&q, "{\"views\": \"functions,sections\", \"from_ns\": 1000, \"to_ns\": "
                   "2000, \"section\": \"a:b\", \"track\": \"7/8\", \"metric\": "
                   "\"cpu\", \"by\": \"module\", \"idle\": true, \"gil\": false, "
                   "\"mine\": true}") == 0);
    CHECK(strcmp(q.request.views, "functions,sections") == 0);
    CHECK(q.request.selection.from_ns == 1000 && q.request.selection.to_ns == 2000);
    CHECK(strcmp(q.request.selection.section, "a:b") == 0);
    CHECK(strcmp(q.request.selection.track, "7/8") == 0);
    CHECK(strcmp(q.request.stacks.choice.metric, "cpu") == 0);
    CHECK(q.request.stacks.by == SD_CALLS_BY_MODULE);
    CHECK(q.request.stacks.choice.has_idle && q.request.stacks.choice.is_mine);
    CHECK(!q.request.stacks.choice.is_gil_only);
    sd_serve_query_release(&q);
}

TEST(serve_query_takes_null_for_what_is_not_selected)
{
    struct sd_serve_query q;

    CHECK(read(&q, "{\"views\": \"functions\", \"section\": null, \"to_ns\": null}") ==
          0);
    CHECK(!q.request.selection.section && q.request.selection.to_ns == 0);
    sd_serve_query_release(&q);
}

TEST(serve_query_refuses_what_it_does_not_know)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{\"views\": 3}",
        "{\"file\": \"/etc/passwd\"}",
        "{\"from_ns\": -1}",
        "{\"from_ns\": 5, \"to_ns\": 5}",
        "{\"by\": \"color\"}",
        "{\"idle\": 1}",
        "{\"section\": \"a\\u0000b\"}",
        "{\"views\": \"functions\"",
        "{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\": 1}"
    };
    struct sd_serve_query q;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK(read(&q, bad[i]) < 0);
        CHECK(strlen(sd_fail_text()) > 0);
    }
}
