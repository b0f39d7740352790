/* SPDX-License-Identifier: MIT */
/* mprof_read: reads the .dat files of mprof, line by line.  Numbers are read digit by
 * digit: what the program's locale says of points and commas stays out of it. */
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/mprof.h"

enum {
    NANO_DIGITS = 9,
    SHOWN_BYTES = 40, /* of a line that is refused */
};
#define WHOLE_MAX INT64_C(9000000000) /* MiB or seconds: the year 2255 */

/* What is left of a line: words with one space between. */
struct words {
    const char *at, *end;
};

struct reading {
    struct sd_mprof *into;
    uint64_t line; /* its number */
};

void sd_mprof_init(struct sd_mprof *m) { *m = (struct sd_mprof){ 0 }; }

void sd_mprof_release(struct sd_mprof *m)
{
    sd_arena_release(&m->arena);
    sd_free(m->readings);
    sd_free(m->calls);
    sd_mprof_init(m);
}

/* --- Words and numbers */

/* False: there is none. */
static bool take_word(struct words *w, struct words *word)
{
    const char *space;

    if (w->at >= w->end)
        return false;
    space = memchr(w->at, ' ', (size_t)(w->end - w->at));
    *word = (struct words){ w->at, space ? space : w->end };
    w->at = space ? space + 1 : w->end;
    return word->at < word->end;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* "-12.345678" times 1e9; further digits are cut off. */
static bool take_nano(struct words *w, int64_t *out)
{
    struct words word;
    bool is_negative;
    int64_t whole = 0, part = 0;
    int n_whole = 0, n_part = 0;

    if (!take_word(w, &word))
        return false;
    is_negative = *word.at == '-';
    word.at += is_negative;
    for (; word.at < word.end && is_digit(*word.at) && whole <= WHOLE_MAX; n_whole++)
        whole = whole * 10 + (*word.at++ - '0');
    if (word.at < word.end && *word.at == '.')
        for (word.at++; word.at < word.end && is_digit(*word.at); word.at++)
            if (n_part < NANO_DIGITS) {
                part = part * 10 + (*word.at - '0');
                n_part++;
            }
    for (; n_part < NANO_DIGITS; n_part++)
        part *= 10;
    sd_assert(part >= 0 && part < 1000000000);
    if (n_whole == 0 || word.at < word.end || whole > WHOLE_MAX)
        return false;
    *out = (whole * 1000000000 + part) * (is_negative ? -1 : 1);
    return true;
}

static bool take_time(struct words *w, uint64_t *ns)
{
    int64_t nano;

    if (!take_nano(w, &nano) || nano < 0)
        return false;
    *ns = (uint64_t)nano;
    return true;
}

static bool take_whole(struct words *w, uint64_t most, uint64_t *out)
{
    struct words word;
    uint64_t n = 0;

    if (!take_word(w, &word))
        return false;
    for (; word.at < word.end && is_digit(*word.at) && n <= most; word.at++)
        n = n * 10 + (uint64_t)(*word.at - '0');
    *out = n;
    return word.at == word.end && n <= most;
}

/* --- Lines */

static int add_reading(struct sd_mprof *m, const struct sd_mprof_reading *r)
{
    struct sd_mprof_reading *grown =
        sd_grow_array(m->readings, &m->cap_readings, m->n_readings + 1, sizeof *grown);

    if (!grown)
        return sd_no_memory();
    m->readings = grown;
    grown[m->n_readings++] = *r;
    return 0;
}

static int add_call(struct sd_mprof *m, struct sd_mprof_call c)
{
    struct sd_mprof_call *grown =
        sd_grow_array(m->calls, &m->cap_calls, m->n_calls + 1, sizeof *grown);

    if (!grown)
        return sd_no_memory();
    m->calls = grown;
    c.name = sd_arena_string(&m->arena, c.name, c.n_name);
    if (!c.name)
        return sd_no_memory();
    grown[m->n_calls++] = c;
    return 0;
}

/* Each of these takes what follows the word of its line.  1: it was taken; 0: it says
 * something else; < 0. */
static int take_command(struct words *w, struct sd_mprof *m)
{
    if (m->command)
        return 1; /* of a run that was appended: the first is the file's */
    m->command = sd_arena_string(&m->arena, w->at, (size_t)(w->end - w->at));
    return m->command ? 1 : sd_no_memory();
}

static int take_reading(struct words *w, struct sd_mprof *m)
{
    struct sd_mprof_reading r = { .pid = 0 };

    if (!take_nano(w, &r.memory) || !take_time(w, &r.at_ns))
        return 0;
    return add_reading(m, &r) < 0 ? SD_ENOMEM : 1;
}

static int take_child(struct words *w, struct sd_mprof *m)
{
    struct sd_mprof_reading r = { .pid = 0 };

    if (!take_whole(w, INT32_MAX, &r.pid) || !take_nano(w, &r.memory) ||
        !take_time(w, &r.at_ns))
        return 0;
    r.pid += r.pid == 0; /* numbered from 0 by old versions: no pid is 0 */
    return add_reading(m, &r) < 0 ? SD_ENOMEM : 1;
}

static int take_call(struct words *w, struct sd_mprof *m)
{
    struct sd_mprof_call c = { .level = 0 };
    struct words name;
    uint64_t level = 0;

    if (!take_word(w, &name) || name.end - name.at > UINT16_MAX ||
        !take_nano(w, &c.before) || !take_time(w, &c.from_ns) ||
        !take_nano(w, &c.after) || !take_time(w, &c.to_ns))
        return 0;
    c.has_level = w->at < w->end;
    if (c.has_level && !take_whole(w, INT32_MAX, &level))
        return 0;
    c.name = name.at;
    c.n_name = (uint32_t)(name.end - name.at);
    c.level = (uint32_t)level;
    if (c.to_ns < c.from_ns) /* the clock was set back */
        c.to_ns = c.from_ns;
    return add_call(m, c) < 0 ? SD_ENOMEM : 1;
}

static const struct line_kind {
    const char *word; /* with its space */
    const char *says;
    int (*take)(struct words *w, struct sd_mprof *m);
} kinds[] = {
    { "MEM ", "MiB and a time", take_reading },
    { "CHLD ", "a process, MiB and a time", take_child },
    { "FUNC ", "a name, MiB and a time, twice, and a level", take_call },
    { "CMDLINE ", "a command", take_command },
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static bool begins(const char *at, const char *end, const char *word)
{
    size_t n = strlen(word);

    return (size_t)(end - at) >= n && memcmp(at, word, n) == 0;
}

static int refuse(const struct reading *r, const struct line_kind *kind, const char *at,
                  const char *end)
{
    struct sd_buf line = { 0 };
    size_t n = (size_t)(end - at);
    int rc;

    sd_text_escape(&line, at, n < SHOWN_BYTES ? n : SHOWN_BYTES);
    rc = kind ? sd_fail(SD_EFORMAT,
                        "line %llu is broken: after %sthere should be %s, not \"%s\"",
                        (unsigned long long)r->line, kind->word, kind->says,
                        sd_buf_string(&line))
              : sd_fail(SD_EFORMAT, "this is no file of mprof: line %llu is \"%s\"",
                        (unsigned long long)r->line, sd_buf_string(&line));
    sd_buf_release(&line);
    return rc;
}

/* A word that mprof does not know may be of a later version. */
static bool is_unknown(const char *at, const char *end)
{
    const char *from = at;

    while (at < end && *at >= 'A' && *at <= 'Z')
        at++;
    return at > from && at < end && *at == ' ';
}

static int take_line(const struct reading *r, const char *at, const char *end,
                     bool is_ended)
{
    struct words w;
    size_t i = 0;
    int took = 1;

    if (at == end) {
        r->into->has_empty_line = true;
        return 0;
    }
    while (i < N_KINDS && !begins(at, end, kinds[i].word))
        i++;
    w = (struct words){ at + (i < N_KINDS ? strlen(kinds[i].word) : 0), end };
    if (i < N_KINDS)
        took = kinds[i].take(&w, r->into);
    else
        took = is_unknown(at, end);
    if (took == 0 && !is_ended) { /* whoever wrote it was killed */
        r->into->is_cut = true;
        return 0;
    }
    return took < 0    ? took
           : took == 1 ? 0
                       : refuse(r, i < N_KINDS ? &kinds[i] : NULL, at, end);
}

bool sd_mprof_is(const void *p, size_t n)
{
    const char *at = p;

    for (size_t i = 0; i < N_KINDS; i++)
        if (begins(at, at + n, kinds[i].word))
            return true;
    return false;
}

int sd_mprof_read(const void *p, size_t n, struct sd_mprof *into)
{
    const char *at = p, *end = at + n;
    struct reading r = { .into = into };
    int rc = 0;

    while (at < end && rc == 0) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *last = stop ? stop : end;

        r.line++;
        rc = take_line(&r, at, last > at && last[-1] == '\r' ? last - 1 : last,
                       stop != NULL);
        at = stop ? stop + 1 : end;
    }
    sd_assert(rc < 0 || at == end);
    return rc;
}

/* --- Files */

static int read_file(const char *path, struct sd_mprof *into)
{
    struct sd_map map = { 0 };
    int rc = sd_map_file(&map, path);

    if (rc < 0)
        return rc;
    rc = sd_mprof_read(map.p, map.n, into);
    sd_map_release(&map);
    return rc == SD_EFORMAT ? sd_fail_in(rc, "%s", path) : rc;
}

int sd_mprof_load(const char *path, struct sd_mprof *into)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    struct sd_buf beside = { 0 };
    struct sd_map map = { 0 };
    int rc = read_file(path, into);

    if (rc < 0 || !dot)
        return rc;
    sd_buf_printf(&beside, "%.*s_ts%s", (int)(dot - path), path, dot);
    if (beside.bad)
        rc = sd_no_memory();
    else if (sd_map_file(&map, sd_buf_string(&beside)) == 0) {
        sd_map_release(&map);
        rc = read_file(sd_buf_string(&beside), into);
    }
    sd_buf_release(&beside);
    return rc;
}
