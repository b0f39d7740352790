/* SPDX-License-Identifier: MIT */
#include "cli/time/time_request.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/shared_options.h"

enum { PROCESSES_MAX = 1000, REPEAT_MAX = 1000000, KEPT_MAX = 32000 };
#define NUMBER_MAX ((uint64_t)1 << 50)

const struct sd_option sd_time_request_options[] = {
    [SD_TIME_OPT_NUMBER] = { "number", SD_NUMBER, NULL,
                             "how often the statement runs in one batch; with -n or -r "
                             "one process measures as timeit does",
                             'n', "N" },
    [SD_TIME_OPT_REPEAT] = { "repeat", SD_NUMBER, NULL,
                             "how many batches there are, each behind a set-up of its "
                             "own (default 5 with -n)",
                             'r', "R" },
    [SD_TIME_OPT_SETUP] = { "setup", SD_WORDS, NULL,
                            "run this once before the statement; repeat the option for "
                            "more lines",
                            's', "SETUP" },
    [SD_TIME_OPT_PROCESS] = { "process", SD_FLAG, NULL,
                              "measure the CPU time of the process instead of the time "
                              "that passes",
                              'p', NULL },
    [SD_TIME_OPT_UNIT] = { "unit", SD_CHOICE, NULL,
                           "the unit of times; without it the one that suits them", 'u',
                           "nsec|usec|msec|sec" },
    [SD_TIME_OPT_HISTOGRAM] = { "histogram", SD_FLAG, NULL,
                                "show how the times of batches are distributed, and "
                                "what made some of them long",
                                'v', NULL },
    [SD_TIME_OPT_BUDGET] = { "budget", SD_DURATION, "1.5s",
                             "measure each statement for so long; up to four times "
                             "that while processes do not agree",
                             0, "TIME" },
    [SD_TIME_OPT_PROCESSES] = { "processes", SD_NUMBER, "10",
                                "how many processes share the budget", 0, "N" },
    [SD_TIME_OPT_GC] = { "gc", SD_FLAG, NULL, "leave garbage collection on", 0, NULL },
    [SD_TIME_OPT_MEMORY] = { "memory", SD_FLAG, NULL,
                             "also show what one execution allocates", 0, NULL },
    [SD_TIME_OPT_AGAINST] = { "against", SD_WORDS, NULL,
                              "compare with this statement, measured in turn; repeat "
                              "the option for more",
                              0, "STATEMENT" },
    [SD_TIME_OPT_PYTHON] = { "python", SD_TEXT, NULL,
                             "the interpreter; the first of several is compared with "
                             "each of the others",
                             0, "PY[,PY...]" },
    [SD_TIME_OPT_VARY] = { "vary", SD_TEXT, NULL,
                           "measure with each of these values of a name, which set-up "
                           "and statement see, and say how the time grows",
                           0, "n=10,100,1000" },
    [SD_TIME_OPT_JSON] = { "json", SD_FLAG, NULL, "print the figures as JSON", 0,
                           NULL },
    [SD_TIME_OPT_OUTPUT] = { "output", SD_TEXT, NULL,
                             "also write a file: a capture (.sonde), .pyperf.json, or "
                             "anything that `sonde convert` makes of one; with --vary "
                             "an .svg of the growth",
                             'o', "FILE" },
    [SD_TIME_OPT_FORCE] = SD_OPTION_FORCE,
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

/* Words as lines of one text. */
static const char *join(struct sd_arena *a, char *const *words, size_t n)
{
    struct sd_buf b = { 0 };
    const char *made;

    for (size_t i = 0; i < n; i++) {
        sd_buf_text(&b, i ? "\n" : "");
        sd_buf_text(&b, words[i]);
    }
    made = n == 0 ? "pass" : b.bad ? NULL : sd_arena_string(a, sd_buf_string(&b), b.n);
    sd_buf_release(&b);
    return made;
}

static int read_statements(const struct sd_command *c, struct sd_time_ask *ask)
{
    const struct sd_option_value *v = c->values;
    const char *const *setup = v[SD_TIME_OPT_SETUP].words;
    const char *const *against = v[SD_TIME_OPT_AGAINST].words;
    size_t n_setup = 0;

    while (setup[n_setup])
        n_setup++;
    ask->statements[ask->n_statements++] =
        join(&ask->arena, c->words, (size_t)c->n_words);
    ask->setup = join(&ask->arena, (char *const *)setup, n_setup);
    if (!ask->statements[0] || !ask->setup)
        return sd_no_memory();
    for (size_t i = 0; against[i]; i++)
        ask->statements[ask->n_statements++] = against[i];
    return 0;
}

/* The parts between commas; how many, 0 when one is empty or they are too many. */
static size_t split(struct sd_arena *a, const char *text, const char **out)
{
    size_t n = 0;

    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");

        if (length == 0 || n == SD_TIME_SIDES_MAX)
            return 0;
        out[n] = sd_arena_string(a, at, length);
        if (!out[n++])
            return 0;
        at += length;
        if (!*at)
            return n;
    }
}

static int read_pythons(const struct sd_option_value *v, struct sd_time_ask *ask)
{
    const char *typed = v[SD_TIME_OPT_PYTHON].text;

    ask->n_pythons = 1;
    if (!typed)
        return 0;
    ask->n_pythons = split(&ask->arena, typed, ask->pythons);
    if (ask->n_pythons == 0 || ask->n_pythons > 8)
        return sd_fail(SD_EUSAGE,
                       "--python takes one to eight interpreters with commas between "
                       "them, not \"%s\"",
                       typed);
    return 0;
}

static bool is_name(const char *s, size_t n)
{
    if (n == 0 || isdigit((unsigned char)*s))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && s[i] != '_')
            return false;
    return true;
}

static bool is_number(const char *s)
{
    char *end;

    if (!isdigit((unsigned char)*s) && *s != '.' && *s != '-')
        return false;
    strtod(s, &end);
    return end != s && !*end && !strpbrk(s, "xXpP");
}

static int bad_vary(const char *typed)
{
    return sd_fail(SD_EUSAGE,
                   "--vary takes a name and numbers, for example n=10,100,1000, not "
                   "\"%s\"",
                   typed);
}

static int read_sizes(const struct sd_option_value *v, struct sd_time_ask *ask)
{
    const char *typed = v[SD_TIME_OPT_VARY].text, *equals;

    if (!typed)
        return 0;
    equals = strchr(typed, '=');
    if (!equals || !is_name(typed, (size_t)(equals - typed)))
        return bad_vary(typed);
    ask->size_name = sd_arena_string(&ask->arena, typed, (size_t)(equals - typed));
    ask->n_sizes = split(&ask->arena, equals + 1, ask->sizes);
    for (size_t i = 0; i < ask->n_sizes; i++)
        if (!is_number(ask->sizes[i]))
            return bad_vary(typed);
    if (!ask->size_name)
        return sd_no_memory();
    return ask->n_sizes ? 0 : bad_vary(typed);
}

/* As timeit's: with -n or -r. */
static int read_repeats(const struct sd_option_value *v, struct sd_time_ask *ask)
{
    const struct sd_option_value *n = &v[SD_TIME_OPT_NUMBER];
    const struct sd_option_value *r = &v[SD_TIME_OPT_REPEAT];

    ask->is_as_timeit = n->is_given || r->is_given;
    if (n->is_given && (n->number == 0 || n->number > NUMBER_MAX))
        return sd_fail(SD_EUSAGE, "-n takes a number from 1 on, not %s", n->text);
    if (r->is_given && (r->number == 0 || r->number > REPEAT_MAX))
        return sd_fail(SD_EUSAGE, "-r takes a number from 1 to %d, not %s", REPEAT_MAX,
                       r->text);
    if (ask->is_as_timeit && v[SD_TIME_OPT_PROCESSES].is_given)
        return sd_fail(SD_EUSAGE, "with -n or -r one process measures, as with timeit; "
                                  "drop them or --processes");
    if (ask->is_as_timeit && v[SD_TIME_OPT_BUDGET].is_given)
        return sd_fail(SD_EUSAGE, "-n and -r say how much is measured; drop them or "
                                  "--budget");
    ask->loops = n->number;
    ask->repeat = r->number;
    return 0;
}

static int read_budget(const struct sd_option_value *v, struct sd_time_ask *ask)
{
    ask->budget_ns = v[SD_TIME_OPT_BUDGET].number;
    ask->n_processes = v[SD_TIME_OPT_PROCESSES].number;
    if (ask->budget_ns < 1000000)
        return sd_fail(SD_EUSAGE, "--budget %s is too short; 1ms is the least",
                       v[SD_TIME_OPT_BUDGET].text);
    if (ask->n_processes == 0 || ask->n_processes > PROCESSES_MAX)
        return sd_fail(SD_EUSAGE, "--processes takes a number from 1 to %d, not %s",
                       PROCESSES_MAX, v[SD_TIME_OPT_PROCESSES].text);
    if (ask->is_as_timeit)
        ask->n_processes = 1;
    return 0;
}

/* What is compared is compared in one respect. */
static int check_together(const struct sd_time_ask *ask)
{
    bool has_against = ask->n_statements > 1, has_pythons = ask->n_pythons > 1;

    if (has_against && has_pythons)
        return sd_fail(SD_EUSAGE, "--against compares statements and --python "
                                  "interpreters; compare one or the other");
    if (ask->n_sizes && (has_against || has_pythons))
        return sd_fail(
            SD_EUSAGE,
            "--vary measures one statement in one interpreter; drop it or %s",
            has_against ? "--against" : "all but one of --python");
    return 0;
}

/* A capture cuts what is longer. */
static int check_lengths(const struct sd_time_ask *ask)
{
    size_t most = strlen(ask->setup);

    for (size_t i = 0; i < ask->n_statements; i++)
        most = strlen(ask->statements[i]) > most ? strlen(ask->statements[i]) : most;
    if (most <= KEPT_MAX)
        return 0;
    return sd_fail(SD_EUSAGE,
                   "a file keeps statements and set-up of up to %d bytes, and one has "
                   "%zu; put it into a module and import that, or leave -o out",
                   KEPT_MAX, most);
}

int sd_time_request_read(const struct sd_command *c, struct sd_time_ask *ask)
{
    const struct sd_option_value *v = c->values;
    int rc;

    *ask = (struct sd_time_ask){
        .is_cpu_time = v[SD_TIME_OPT_PROCESS].number != 0,
        .collects_garbage = v[SD_TIME_OPT_GC].number != 0,
        .wants_memory = v[SD_TIME_OPT_MEMORY].number != 0,
        .has_histogram = v[SD_TIME_OPT_HISTOGRAM].number != 0 ||
                         c->common[SD_COMMON_VERBOSE].number != 0,
        .is_json = v[SD_TIME_OPT_JSON].number != 0,
        .unit = v[SD_TIME_OPT_UNIT].text,
        .to = v[SD_TIME_OPT_OUTPUT].text,
        .create = v[SD_TIME_OPT_FORCE].number ? SD_CREATE_OVER : SD_CREATE_NEW,
    };
    rc = read_statements(c, ask);
    if (rc == 0)
        rc = read_pythons(v, ask);
    if (rc == 0)
        rc = read_sizes(v, ask);
    if (rc == 0)
        rc = read_repeats(v, ask);
    if (rc == 0)
        rc = read_budget(v, ask);
    if (rc == 0)
        rc = check_together(ask);
    if (rc == 0 && ask->to)
        rc = check_lengths(ask);
    return rc;
}

void sd_time_request_release(struct sd_time_ask *ask)
{
    sd_arena_release(&ask->arena);
    *ask = (struct sd_time_ask){ 0 };
}
