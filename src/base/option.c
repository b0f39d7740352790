/* SPDX-License-Identifier: MIT */
#include "base/option.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

enum { NAME_MAX_BYTES = 96 }; /* of an option with prefix and dashes, for sentences */

size_t sd_options_count(const struct sd_option *options)
{
    size_t n = 0;

    while (options[n].name)
        n++;
    return n;
}

void sd_options_fall_back(const struct sd_option *options,
                          struct sd_option_value *values)
{
    for (; options->name; options++, values++) {
        *values = (struct sd_option_value){ 0 };
        if (options->fallback) {
            int rc = sd_option_read(options, options->fallback, values);

            sd_assert(rc == 0); /* fallbacks are ours */
        }
        values->is_given = false;
    }
}

/* ---- one value -------------------------------------------------------------- */

enum { TAKES_MAX = 160 };

/* "auto|on|off" as a person says it: "auto, on or off". */
static void say_choices(char out[TAKES_MAX], const char *choices)
{
    size_t at = 0;

    while (*choices && at < TAKES_MAX - 1) {
        size_t len = strcspn(choices, "|");
        const char *next = choices + len + (choices[len] == '|');
        const char *joint = !*next ? "" : strchr(next, '|') ? ", " : " or ";

        at += (size_t)snprintf(out + at, TAKES_MAX - at, "%.*s%s", (int)len, choices,
                               joint);
        choices = next;
    }
}

/* What an option takes, for sentences. */
static const char *takes(const struct sd_option *o, char out[TAKES_MAX])
{
    switch (o->kind) {
    case SD_NUMBER:
        return "a whole number such as 10";
    case SD_DURATION:
        return "a duration such as 100ms";
    case SD_SIZE:
        return "a size such as 64MiB";
    case SD_NAMES:
        return "names separated by commas";
    case SD_CHOICE:
        say_choices(out, o->argument);
        return out;
    case SD_TEXT:
    case SD_FORMAT:
    case SD_OPTIONAL:
    case SD_WORDS:
        snprintf(out, TAKES_MAX, "an argument (%s)",
                 o->argument ? o->argument : "TEXT");
        return out;
    case SD_FLAG:
        return "yes or no";
    }
    return "";
}

/* Which of "a|b|c" the word is; -1 when none. */
static int find_choice(const char *choices, const char *word)
{
    size_t n = strlen(word);

    sd_assert(choices && *choices); /* a table that has a choice lists its words */
    for (int i = 0;; i++) {
        size_t len = strcspn(choices, "|");

        if (len == n && memcmp(choices, word, n) == 0)
            return i;
        if (choices[len] == 0)
            return -1;
        choices += len + 1;
    }
}

static bool read_flag(const char *typed, uint64_t *number)
{
    static const char yes[] = "1|yes|on|true", no[] = "0|no|off|false";

    *number = find_choice(yes, typed) >= 0;
    return *number || find_choice(no, typed) >= 0;
}

static bool read_choice(const char *choices, const char *typed, uint64_t *number)
{
    int i = find_choice(choices, typed);

    *number = i < 0 ? 0 : (uint64_t)i;
    return i >= 0;
}

static bool read_number(const struct sd_option *o, const char *typed, uint64_t *number)
{
    switch (o->kind) {
    case SD_FLAG:
        return read_flag(typed, number);
    case SD_NUMBER:
        return sd_text_parse_number(typed, number);
    case SD_DURATION:
        return sd_text_parse_duration(typed, number);
    case SD_SIZE:
        return sd_text_parse_size(typed, number);
    case SD_CHOICE:
        return read_choice(o->argument, typed, number);
    case SD_TEXT:
    case SD_FORMAT:
    case SD_NAMES:
    case SD_OPTIONAL:
    case SD_WORDS:
        return true; /* any text will do */
    }
    return false;
}

/* What was said before stays; more of it than anyone means is refused. */
static int add_word(const char *shown, const char *typed, struct sd_option_value *value)
{
    size_t n = 0;

    while (value->is_given && value->words[n])
        n++;
    sd_assert(n <= SD_WORDS_MAX);
    if (n == SD_WORDS_MAX)
        return sd_fail(SD_EUSAGE, "%s can be given at most %d times", shown,
                       SD_WORDS_MAX);
    value->words[n] = typed;
    value->words[n + 1] = NULL;
    value->text = typed;
    value->is_given = true;
    return 0;
}

/* `shown` is the option as the user knows it: "--rss-every", "-n". */
static int read_value(const struct sd_option *o, const char *shown, const char *typed,
                      struct sd_option_value *value)
{
    uint64_t number = 0;
    char words[TAKES_MAX];

    if (!read_number(o, typed, &number))
        return sd_fail(SD_EUSAGE, "%s takes %s, not \"%s\"", shown, takes(o, words),
                       typed);
    if (o->kind == SD_WORDS)
        return add_word(shown, typed, value);
    *value = (struct sd_option_value){
        .number = number, .text = typed, .is_given = true, .place = value->place
    };
    return 0;
}

int sd_option_read(const struct sd_option *option, const char *typed,
                   struct sd_option_value *value)
{
    return read_value(option, option->name, typed, value);
}

/* ---- finding ---------------------------------------------------------------- */

/* Walks all options of all tables in the order of their values. */
struct walk {
    const struct sd_option_table *tables;
    size_t n_tables, table, at; /* the option is tables[table].options[at] */
    size_t index;               /* of its value */
};

static struct walk walk_from(const struct sd_option_table *tables, size_t n_tables)
{
    return (struct walk){ .tables = tables, .n_tables = n_tables };
}

/* The option it stands at, or NULL at the end; steps over the ends of tables. */
static const struct sd_option *walk_option(struct walk *w)
{
    while (w->table < w->n_tables) {
        const struct sd_option *o = &w->tables[w->table].options[w->at];

        if (o->name)
            return o;
        w->table++;
        w->at = 0;
    }
    return NULL;
}

static void walk_on(struct walk *w)
{
    w->at++;
    w->index++;
}

/* Is `name` this option, under its prefix or, where allowed, without? */
static bool is_named(const struct sd_option_table *table, const struct sd_option *o,
                     const char *name, size_t n)
{
    size_t prefix_n = table->prefix ? strlen(table->prefix) : 0;

    if ((!table->prefix || table->bare_too) && strlen(o->name) == n &&
        memcmp(o->name, name, n) == 0)
        return true;
    if (!table->prefix || n <= prefix_n + 1)
        return false;
    return memcmp(name, table->prefix, prefix_n) == 0 && name[prefix_n] == '-' &&
           strlen(o->name) == n - prefix_n - 1 &&
           memcmp(o->name, name + prefix_n + 1, n - prefix_n - 1) == 0;
}

/* The first option so named, and the place of its value. */
static const struct sd_option *find_name(struct walk w, const char *name, size_t n,
                                         size_t *index)
{
    const struct sd_option *o;

    for (; (o = walk_option(&w)); walk_on(&w)) {
        if (is_named(&w.tables[w.table], o, name, n)) {
            *index = w.index;
            return o;
        }
    }
    return NULL;
}

/* Letters belong to no prefix, so only tables that may be meant without one count. */
static const struct sd_option *find_letter(struct walk w, char letter, size_t *index)
{
    const struct sd_option *o;

    for (; (o = walk_option(&w)); walk_on(&w)) {
        const struct sd_option_table *table = &w.tables[w.table];

        if (o->letter == letter && letter && (!table->prefix || table->bare_too)) {
            *index = w.index;
            return o;
        }
    }
    return NULL;
}

/* ---- nearest ---------------------------------------------------------------- */

enum { WORD_MAX = 64, FAR = 1000 };

static int least(int a, int b) { return a < b ? a : b; }

/* Slips between two words: letters added, left out, changed, or two neighbours
 * swapped.  Row i of the usual table, three rows kept.  Words too long to be slips
 * of each other are far. */
static int distance(const char *a, const char *b)
{
    int rows[3][WORD_MAX + 1];
    size_t n = strlen(a), m = strlen(b);

    if (n > WORD_MAX || m > WORD_MAX)
        return FAR;
    _Static_assert((int)FAR > (int)WORD_MAX, "no two words are as far apart");
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int *row = rows[i % 3];
        const int *up = rows[(i - 1) % 3], *up2 = rows[(i + 1) % 3];

        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            row[j] =
                least(least(up[j], row[j - 1]) + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], up2[j - 2] + 1);
        }
    }
    return rows[n % 3][m];
}

/* How far `word` is from what was typed; FAR when nobody would mean it.  A word cut
 * short is near, however much is missing. */
static int how_far(const char *typed, const char *word)
{
    size_t n = strlen(typed);
    int d = distance(typed, word);

    if (n >= 2 && strncmp(typed, word, n) == 0)
        return 1;
    return d <= (n < 3 ? 1 : n < 6 ? 2 : 3) && d < (int)n ? d : FAR;
}

const char *sd_nearest(const char *typed, const char *const *words)
{
    const char *best = NULL;
    int best_far = FAR;

    for (; *words; words++) {
        int far = how_far(typed, *words);

        if (far < best_far) {
            best = *words;
            best_far = far;
        }
    }
    return best;
}

/* Asks a table's full and bare names alike; the nearest so far stays in `best`. */
static void keep_nearer(const struct sd_option_table *table, const struct sd_option *o,
                        const char *typed, int *best_far, char best[NAME_MAX_BYTES])
{
    char full[NAME_MAX_BYTES];
    int far;

    snprintf(full, sizeof full, "%s%s%s", table->prefix ? table->prefix : "",
             table->prefix ? "-" : "", o->name);
    far = how_far(typed, full);
    if (table->prefix && table->bare_too && how_far(typed, o->name) <= far) {
        far = how_far(typed, o->name);
        snprintf(full, sizeof full, "%s", o->name);
    }
    if (far < *best_far) {
        *best_far = far;
        memcpy(best, full, sizeof full);
    }
}

static int fail_unknown(struct walk w, const char *name, size_t n)
{
    char typed[WORD_MAX + 1], best[NAME_MAX_BYTES];
    int best_far = FAR;
    const struct sd_option *o;

    snprintf(typed, sizeof typed, "%.*s", (int)n, name);
    for (; (o = walk_option(&w)); walk_on(&w))
        keep_nearer(&w.tables[w.table], o, typed, &best_far, best);
    if (best_far < FAR)
        return sd_fail(SD_EUSAGE, "no option --%s; did you mean --%s?", typed, best);
    return sd_fail(SD_EUSAGE, "no option --%s", typed);
}

/* ---- the command line ------------------------------------------------------- */

struct parse {
    struct walk all; /* at the first option */
    int argc, at;    /* argv[at] is the next to read */
    char **argv;
    struct sd_option_value *values;
};

/* Takes the next word as the argument of `o`. */
static int read_next(struct parse *p, const struct sd_option *o, const char *shown,
                     struct sd_option_value *value)
{
    char words[TAKES_MAX];

    if (p->at >= p->argc)
        return sd_fail(SD_EUSAGE, "%s needs %s", shown, takes(o, words));
    return read_value(o, shown, p->argv[p->at++], value);
}

/* --no-NAME, for flags; false when it is none. */
static bool read_negated(struct parse *p, const char *name)
{
    const struct sd_option *o = NULL;
    size_t index;

    if (strncmp(name, "no-", 3) == 0)
        o = find_name(p->all, name + 3, strlen(name + 3), &index);
    if (!o || o->kind != SD_FLAG)
        return false;
    p->values[index] = (struct sd_option_value){ .is_given = true };
    return true;
}

/* --name, --name=value, --name value, --no-name */
static int read_long(struct parse *p, const char *name)
{
    size_t n = strcspn(name, "="), index;
    const char *attached = name[n] ? name + n + 1 : NULL;
    const struct sd_option *o = find_name(p->all, name, n, &index);
    char shown[NAME_MAX_BYTES];

    if (!o)
        return read_negated(p, name) ? 0 : fail_unknown(p->all, name, n);
    p->values[index].place = p->at;
    snprintf(shown, sizeof shown, "--%.*s", (int)n, name);
    if (o->kind == SD_FLAG && attached)
        return sd_fail(SD_EUSAGE, "%s takes no argument", shown);
    if (o->kind == SD_FLAG)
        attached = "1";
    if (o->kind == SD_OPTIONAL && !attached)
        attached = "";
    if (attached)
        return read_value(o, shown, attached, &p->values[index]);
    return read_next(p, o, shown, &p->values[index]);
}

/* -n5, -n 5.  Flags may share one dash, and the last letter may take an argument:
 * -vn5. */
static int read_short(struct parse *p, const char *letters)
{
    for (; *letters; letters++) {
        char shown[3] = { '-', *letters, 0 };
        size_t index;
        const struct sd_option *o = find_letter(p->all, *letters, &index);

        if (!o)
            return sd_fail(SD_EUSAGE, "no option %s", shown);
        p->values[index].place = p->at;
        if (o->kind == SD_FLAG || o->kind == SD_OPTIONAL) {
            read_value(o, shown, o->kind == SD_FLAG ? "1" : "", &p->values[index]);
            continue;
        }
        if (letters[1])
            return read_value(o, shown, letters + 1, &p->values[index]);
        return read_next(p, o, shown, &p->values[index]);
    }
    return 0;
}

/* A lone dash is a word: it stands for standard input. */
static bool is_word(const char *arg) { return arg[0] != '-' || arg[1] == 0; }

static int keep_rest(struct parse *p, int n_words)
{
    while (p->at < p->argc)
        p->argv[++n_words] = p->argv[p->at++];
    return n_words;
}

int sd_options_parse(const struct sd_option_table *tables, size_t n_tables,
                     enum sd_parse_flags flags, int argc, char **argv,
                     struct sd_option_value *values, int *n_words)
{
    struct parse p = { walk_from(tables, n_tables), argc, 1, argv, values };
    int words = 0, rc = 0;

    for (size_t i = 0; i < n_tables; i++) {
        sd_options_fall_back(tables[i].options, values);
        values += sd_options_count(tables[i].options);
    }
    while (p.at < argc && rc == 0) {
        char *arg = argv[p.at];

        if (is_word(arg)) {
            if (flags & SD_PARSE_STOP_AT_WORD) {
                words = keep_rest(&p, words);
                break;
            }
            argv[++words] = arg;
            p.at++;
            continue;
        }
        p.at++;
        if (strcmp(arg, "--") == 0)
            words = keep_rest(&p, words);
        else
            rc = arg[1] == '-' ? read_long(&p, arg + 2) : read_short(&p, arg + 1);
    }
    sd_assert(rc < 0 || argc < 1 || p.at == argc); /* every word was looked at */
    sd_assert(words == 0 || words < argc);
    if (words < argc - 1) /* so that the words can be handed to execv as they are */
        argv[words + 1] = NULL;
    *n_words = words;
    return rc;
}
