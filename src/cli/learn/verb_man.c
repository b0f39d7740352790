/* SPDX-License-Identifier: MIT */
/* verb_man: prints manual pages, made from the same tables as the help. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/learn/verb_help.h"
#include "cli/path.h"
#include "cli/read/export.h"
#include "cli/say.h"
#include "sonde.h"

enum { OPT_OUTPUT };
static const struct sd_option options[] = {
    [OPT_OUTPUT] = { "output", SD_TEXT, NULL,
                     "write every page into this directory, which is made if absent",
                     'o', "DIR" },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

/* Text as roff reads it: no line may begin with a control character, a backslash is
 * said by name, and a dash is one that can be copied and pasted. */
static void put_roff(struct sd_out *out, const char *s)
{
    bool is_first = true;

    for (; *s; s++) {
        if (is_first && (*s == '.' || *s == '\''))
            sd_out_text(out, "\\&");
        if (*s == '\\')
            sd_out_text(out, "\\e");
        else if (*s == '-')
            sd_out_text(out, "\\-");
        else
            sd_out_write(out, s, 1);
        is_first = *s == '\n';
    }
}

static void put_paragraphs(struct sd_out *out, const char *s)
{
    while (*s) {
        const char *end = strstr(s, "\n");
        size_t n = end ? (size_t)(end - s) : strlen(s);
        char *line = sd_strndup(s, n);

        sd_out_text(out, n ? "" : ".PP\n");
        if (!line && !out->err)
            out->err = ENOMEM;
        if (line && n) {
            put_roff(out, line);
            sd_out_text(out, end && end[1] && end[1] != '\n' ? "\n.br\n" : "\n");
        }
        sd_free(line);
        s += n + (end != NULL);
    }
}

static void put_heading(struct sd_out *out, const char *page, const char *summary)
{
    sd_out_printf(out, ".TH \"%s\" 1 \"\" \"sonde %s\" \"Sonde\"\n.SH NAME\n", page,
                  SONDE_VERSION);
    put_roff(out, page);
    sd_out_text(out, " \\- ");
    put_roff(out, summary);
    sd_out_text(out, "\n");
}

static void put_options(struct sd_out *out, const struct sd_verb *verb,
                        const struct sd_option_table *table)
{
    struct sd_buf text = { 0 };

    if (!table->options || !table->options->name)
        return;
    sd_help_table_title(&text, verb, table);
    sd_out_printf(out, ".SS %s\n", sd_made(out, &text));
    for (const struct sd_option *o = table->options; o->name; o++) {
        sd_out_text(out, ".TP\n.B ");
        sd_buf_clear(&text);
        sd_help_option_spelling(&text, table, o);
        put_roff(out, sd_made(out, &text));
        sd_out_text(out, "\n");
        sd_buf_clear(&text);
        sd_help_option_explained(&text, o);
        put_roff(out, sd_made(out, &text));
        sd_out_text(out, "\n");
    }
    sd_buf_release(&text);
}

static void put_verb_page(struct sd_out *out, const struct sd_verb *verb)
{
    struct sd_option_table tables[SD_TABLES_MAX];
    size_t n = sd_verb_tables(verb, tables);
    struct sd_buf text = { 0 };

    sd_buf_printf(&text, "sonde-%s", verb->name);
    put_heading(out, sd_made(out, &text), verb->summary);
    sd_out_printf(out, ".SH SYNOPSIS\n.B sonde %s\n", verb->name);
    put_roff(out, verb->usage);
    sd_out_text(out, "\n.SH DESCRIPTION\n");
    sd_buf_clear(&text);
    sd_verb_paragraphs(&text, verb);
    put_paragraphs(out, sd_made(out, &text));
    sd_out_text(out, ".SH OPTIONS\n");
    for (size_t i = 0; i < n; i++)
        put_options(out, verb, &tables[i]);
    sd_out_text(out, ".SH EXAMPLES\n.nf\n");
    sd_buf_clear(&text);
    sd_verb_example_lines(&text, verb);
    put_roff(out, sd_made(out, &text));
    sd_out_text(out, ".fi\n.SH EXIT STATUS\n");
    put_roff(
        out,
        verb->takes_program
            ? "That of the program; when it dies of a signal, so does sonde. Before "
              "the program starts: 2 for bad arguments, 1 for other failures.\n"
            : "0 on success, 2 for bad arguments, 1 for other failures.\n");
    sd_out_text(out, ".SH SEE ALSO\n.BR sonde (1)\n");
    sd_buf_release(&text);
}

static void put_main_page(struct sd_out *out)
{
    const struct sd_option_table common = { sd_common_options, NULL, false };
    struct sd_verb v = { 0 };

    put_heading(out, "sonde", "one profiler for Python and machine-learning programs");
    sd_out_text(out, ".SH SYNOPSIS\n.B sonde\n\\fIVERB\\fR [\\fIOPTION\\fR...] ...\n");
    sd_out_text(out, ".SH VERBS\n");
    for (int group = SD_GROUP_RECORD; group <= SD_GROUP_LEARN; group++) {
        sd_out_printf(out, ".SS %s\n", sd_group_titles[group]);
        for (size_t i = 0; sd_verb_at(i, &v); i++) {
            if ((int)v.group != group)
                continue;
            sd_out_printf(out, ".TP\n.BR sonde\\-%s (1)\n", v.name);
            put_roff(out, v.summary);
            sd_out_text(out, "\n");
        }
    }
    sd_out_text(out, ".SH OPTIONS\n");
    put_options(out, &v, &common);
    sd_out_text(out, ".SH ENVIRONMENT\n");
    put_roff(out, "SONDE_PYTHON, else VIRTUAL_ENV, chooses the interpreter; "
                  "SONDE_PACKAGE says where "
                  "Sonde's Python package is; NO_COLOR and FORCE_COLOR decide about "
                  "colour.\n");
}

static int write_page(struct sd_arena *a, const char *dir, const struct sd_verb *verb)
{
    const char *path = verb ? sd_arena_printf(a, "%s/sonde-%s.1", dir, verb->name)
                            : sd_arena_printf(a, "%s/sonde.1", dir);
    struct sd_export_file file;
    int rc = path ? sd_export_open(&file, path, SD_CREATE_OVER) : sd_no_memory();

    if (rc < 0)
        return rc;
    if (verb)
        put_verb_page(&file.out, verb);
    else
        put_main_page(&file.out);
    fchmod(file.fd, 0644); /* a manual is for everybody */
    return sd_export_close(&file, 0);
}

static int write_all(const char *dir)
{
    struct sd_arena arena = { 0 };
    struct sd_verb v;
    int rc = 0;

    if (mkdir(dir, 0777) < 0 && errno != EEXIST)
        return sd_fail_errno(errno, "cannot make the directory %s", dir);
    rc = write_page(&arena, dir, NULL);
    for (size_t i = 0; rc == 0 && sd_verb_at(i, &v); i++)
        rc = write_page(&arena, dir, &v);
    sd_arena_release(&arena);
    return rc;
}

static int run(const struct sd_command *c)
{
    const char *dir = c->values[OPT_OUTPUT].text;
    struct sd_verb verb;
    struct sd_out out;
    int rc = 0;

    if (c->n_words > 1)
        return sd_say_failure(sd_fail(
            SD_EUSAGE, "man prints one page at a time; for example: sonde man report"));
    if (!dir && c->n_words)
        rc = sd_verb_find(c->words[0], &verb);
    if (rc < 0 && sd_path_is_dir(c->words[0])) {
        dir = c->words[0];
        rc = 0;
    } else if (rc < 0 && !sd_verb_nearest(c->words[0]))
        rc = sd_fail(rc,
                     "there is no folder and no verb \"%s\"; `sonde man -o %s` makes "
                     "the folder, `sonde --help` lists the verbs",
                     c->words[0], c->words[0]);
    if (dir)
        rc = write_all(dir);
    if (rc < 0 || dir)
        return rc < 0 ? sd_say_failure(rc) : 0;
    sd_out_to_fd(&out, STDOUT_FILENO);
    if (c->n_words)
        put_verb_page(&out, &verb);
    else
        put_main_page(&out);
    return sd_finish_stdout(&out, 0);
}

const struct sd_verb sd_verb_man = {
    .name = "man",
    .group = SD_GROUP_LEARN,
    .summary = "prints manual pages",
    .usage = "[VERB | DIR]",
    .about = "Prints the manual page of a verb, or of sonde itself, for man to show. "
             "With a directory all pages are written into it.",
    .examples = "sonde man run | man -l -\n"
                "sonde man -o ~/.local/share/man/man1    # all of them\n",
    .options = options,
    .run = run,
};
