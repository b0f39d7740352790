/* SPDX-License-Identifier: MIT */
/* verb_completions: prints completion scripts for shells, made from the same tables as
 * the help.  One writer for each shell; all walk verbs and options alike. */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/learn/verb_help.h"
#include "cli/say.h"
#include "outputs/outputs.h"

static const struct sd_option no_options[] = {
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

/* Adds `s` for the inside of single quotes, less what zsh's specs give a meaning. */
static void put_quoted(struct sd_out *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '\'')
            sd_out_text(out, "'\\''");
        else if (*s == '[' || *s == ']')
            sd_out_text(out, *s == '[' ? "(" : ")");
        else if (*s == ':')
            sd_out_text(out, "\\:");
        else
            sd_out_write(out, s, 1);
    }
}

static bool has_choices(const struct sd_option *o)
{
    return o->kind == SD_CHOICE || o->kind == SD_NAMES || o->kind == SD_FORMAT;
}

/* The words that it takes. */
static void put_choices(struct sd_out *out, const struct sd_option *o)
{
    if (o->kind != SD_FORMAT)
        for (const char *c = o->argument; *c; c++)
            sd_out_write(out, *c == '|' ? " " : c, 1);
    else
        for (const struct sd_output *const *f = sd_outputs; *f; f++)
            if ((*f)->write)
                sd_out_printf(out, "%s%s", f == sd_outputs ? "" : " ", (*f)->name);
}

typedef void put_option(struct sd_out *out, const struct sd_verb *verb,
                        const char *name, bool has_letter, const struct sd_option *o);

static void each_option(struct sd_out *out, const struct sd_verb *verb, put_option *put)
{
    struct sd_option_table tables[SD_TABLES_MAX];
    size_t n = sd_verb_tables(verb, tables);
    struct sd_buf name = { 0 };

    for (size_t i = 0; i < n; i++)
        for (const struct sd_option *o = tables[i].options; o && o->name; o++) {
            sd_buf_clear(&name);
            sd_help_option_long_name(&name, &tables[i], o);
            put(out, verb, sd_made(out, &name),
                o->letter && (!tables[i].prefix || tables[i].bare_too), o);
        }
    sd_buf_release(&name);
}

/* --- bash */

static void bash_option(struct sd_out *out, const struct sd_verb *verb,
                        const char *name, bool has_letter, const struct sd_option *o)
{
    (void)verb;
    sd_out_printf(out, " --%s", name);
    if (has_letter)
        sd_out_printf(out, " -%c", o->letter);
}

static void bash_choices(struct sd_out *out, const struct sd_verb *verb,
                         const char *name, bool has_letter, const struct sd_option *o)
{
    (void)has_letter;
    if (!has_choices(o))
        return;
    sd_out_printf(out, "        %s,--%s) words='", verb->name, name);
    put_choices(out, o);
    sd_out_text(out, "' ;;\n");
}

static void put_bash(struct sd_out *out)
{
    struct sd_verb v;

    sd_out_text(out, "# bash completion for sonde\n"
                     "_sonde() {\n"
                     "    local cur=${COMP_WORDS[COMP_CWORD]} verb= words=\n"
                     "    local prev=${COMP_WORDS[COMP_CWORD - 1]} i\n"
                     "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                     "        [[ ${COMP_WORDS[i]} != -* ]] && { verb=${COMP_WORDS[i]}; "
                     "break; }\n"
                     "    done\n"
                     "    COMPREPLY=()\n"
                     "    case $verb,$prev in\n");
    for (size_t i = 0; sd_verb_at(i, &v); i++)
        each_option(out, &v, bash_choices);
    sd_out_text(out, "    esac\n"
                     "    if [[ $words ]]; then\n"
                     "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                     "        return\n"
                     "    fi\n"
                     "    case $verb in\n"
                     "        '') words='--version");
    for (const struct sd_option *o = sd_common_options; o->name; o++)
        sd_out_printf(out, " --%s", o->name);
    for (size_t i = 0; sd_verb_at(i, &v); i++)
        sd_out_printf(out, " %s", v.name);
    sd_out_text(out, "' ;;\n");
    for (size_t i = 0; sd_verb_at(i, &v); i++) {
        sd_out_printf(out, "        %s) words='", v.name);
        each_option(out, &v, bash_option);
        sd_out_text(out, "' ;;\n");
    }
    sd_out_text(out, "    esac\n"
                     "    if [[ -z $verb || $cur == -* ]]; then\n"
                     "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                     "    fi\n"
                     "}\n"
                     "complete -o default -F _sonde sonde\n");
}

/* --- zsh */

static void zsh_option(struct sd_out *out, const struct sd_verb *verb, const char *name,
                       bool has_letter, const struct sd_option *o)
{
    (void)verb;
    (void)has_letter;
    sd_out_printf(out, " \\\n                '--%s%s[", name,
                  o->kind == SD_FLAG ? "" : "=");
    put_quoted(out, o->meaning);
    sd_out_text(out, "]");
    if (has_choices(o)) {
        sd_out_text(out, ":word:(");
        put_choices(out, o);
        sd_out_text(out, ")");
    } else if (o->kind != SD_FLAG) {
        sd_out_text(out, ":value:_files");
    }
    sd_out_text(out, "'");
}

static void put_zsh(struct sd_out *out)
{
    struct sd_verb v;

    sd_out_text(out, "#compdef sonde\n"
                     "_sonde() {\n"
                     "    local -a verbs\n"
                     "    verbs=(\n");
    for (size_t i = 0; sd_verb_at(i, &v); i++) {
        sd_out_printf(out, "        '%s:", v.name);
        put_quoted(out, v.summary);
        sd_out_text(out, "'\n");
    }
    sd_out_text(out, "    )\n"
                     "    if (( CURRENT == 2 )); then\n"
                     "        _describe verb verbs\n"
                     "        return\n"
                     "    fi\n"
                     "    local verb=$words[2]\n"
                     "    shift words; (( CURRENT-- ))\n"
                     "    case $verb in\n");
    for (size_t i = 0; sd_verb_at(i, &v); i++) {
        sd_out_printf(out, "        %s)\n            _arguments", v.name);
        each_option(out, &v, zsh_option);
        sd_out_text(out, " \\\n                '*:file:_files' ;;\n");
    }
    sd_out_text(out, "    esac\n}\n_sonde \"$@\"\n");
}

/* --- fish */

static void put_fish_text(struct sd_out *out, const char *s)
{
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\')
            sd_out_text(out, "\\");
        sd_out_write(out, s, 1);
    }
}

static void fish_option(struct sd_out *out, const struct sd_verb *verb,
                        const char *name, bool has_letter, const struct sd_option *o)
{
    sd_out_printf(out, "complete -c sonde -n '__fish_seen_subcommand_from %s' -l %s",
                  verb->name, name);
    if (has_letter)
        sd_out_printf(out, " -s %c", o->letter);
    if (has_choices(o)) {
        sd_out_text(out, " -x -a '");
        put_choices(out, o);
        sd_out_text(out, "'");
    } else if (o->kind != SD_FLAG && o->kind != SD_OPTIONAL) {
        sd_out_text(out, " -r");
    }
    sd_out_text(out, " -d '");
    put_fish_text(out, o->meaning);
    sd_out_text(out, "'\n");
}

static void put_fish(struct sd_out *out)
{
    struct sd_verb v;

    sd_out_text(out, "# fish completion for sonde\n");
    for (size_t i = 0; sd_verb_at(i, &v); i++) {
        sd_out_printf(out, "complete -c sonde -f -n __fish_use_subcommand -a %s -d '",
                      v.name);
        put_fish_text(out, v.summary);
        sd_out_text(out, "'\n");
        each_option(out, &v, fish_option);
    }
}

static int run(const struct sd_command *c)
{
    static const struct {
        const char *name;
        void (*put)(struct sd_out *out);
    } shells[] = { { "bash", put_bash }, { "zsh", put_zsh }, { "fish", put_fish } };
    struct sd_out out;

    if (c->n_words != 1)
        return sd_say_failure(sd_fail(
            SD_EUSAGE,
            "completions needs the name of a shell: sonde completions bash|zsh|fish"));
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(c->words[0], shells[i].name) != 0)
            continue;
        sd_out_to_fd(&out, STDOUT_FILENO);
        shells[i].put(&out);
        return sd_finish_stdout(&out, 0);
    }
    return sd_say_failure(sd_fail(
        SD_EUSAGE, "no completions for the shell \"%s\"; choose bash, zsh or fish",
        c->words[0]));
}

const struct sd_verb sd_verb_completions = {
    .name = "completions",
    .group = SD_GROUP_LEARN,
    .summary = "prints a script that lets the shell complete sonde's words",
    .usage = "bash|zsh|fish",
    .about = "Prints the completion script of a shell: verbs, options and the words "
             "they take, from the tables that --help reads.",
    .examples = "source <(sonde completions bash)\n"
                "sonde completions zsh > ~/.zfunc/_sonde\n"
                "sonde completions fish > ~/.config/fish/completions/sonde.fish\n",
    .options = no_options,
    .run = run,
};
