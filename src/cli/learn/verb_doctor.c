/* SPDX-License-Identifier: MIT */
#include "cli/learn/verb_doctor.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/encoding/json.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/record/attach.h"
#include "cli/say.h"

enum { OPT_PID, OPT_JSON };
static const struct sd_option options[] = {
    [OPT_PID] = { "pid", SD_TEXT, NULL,
                  "whether this process can be sampled; without it: what this machine "
                  "allows",
                  'p', "PID" },
    [OPT_JSON] = { "json", SD_FLAG, NULL, "print one JSON object", 'j', NULL },
    { NULL, SD_FLAG, NULL, NULL, 0, NULL },
};

void sd_doctor_findings_add(struct sd_doctor_findings *f, enum sd_finding_kind kind,
                            const char *name, const char *remedy, const char *fmt, ...)
{
    struct sd_buf text = { 0 };
    va_list args;

    f->is_bad |= kind == SD_FINDING_BAD;
    if (f->n == SD_FINDINGS_MAX)
        return;
    va_start(args, fmt);
    sd_buf_vprintf(&text, fmt, args);
    va_end(args);
    f->items[f->n++] = (struct sd_finding){
        .kind = kind,
        .name = name,
        .text = sd_arena_string(&f->arena, sd_buf_string(&text), text.bad ? 0 : text.n),
        .remedy = sd_arena_string(&f->arena, remedy, strlen(remedy)),
    };
    sd_buf_release(&text);
}

void sd_doctor_findings_release(struct sd_doctor_findings *f)
{
    sd_arena_release(&f->arena);
    *f = (struct sd_doctor_findings){ 0 };
}

/* --- Printing */

static const char *word_of(enum sd_finding_kind kind)
{
    switch (kind) {
    case SD_FINDING_FACT:
        return "";
    case SD_FINDING_GOOD:
        return "ok";
    case SD_FINDING_LACK:
        return "lacks";
    case SD_FINDING_BAD:
        return "no";
    }
    return "";
}

static const char *colour_of(enum sd_finding_kind kind)
{
    return kind == SD_FINDING_GOOD ? "32" : kind == SD_FINDING_BAD ? "1;31" : "33";
}

static void put_text(struct sd_out *out, const struct sd_doctor_findings *f,
                     bool colour)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct sd_finding *x = &f->items[i];
        struct sd_buf text = { 0 };

        if (colour)
            sd_out_printf(out, "\033[%sm%-5s\033[0m ", colour_of(x->kind),
                          word_of(x->kind));
        else
            sd_out_printf(out, "%-5s ", word_of(x->kind));
        sd_text_escape(&text, x->text ? x->text : "", strlen(x->text ? x->text : ""));
        sd_out_printf(out, "%-13s %s\n", x->name, sd_made(out, &text));
        if (x->remedy && *x->remedy)
            sd_out_printf(out, "%-5s %-13s try: %s\n", "", "", x->remedy);
        sd_buf_release(&text);
    }
}

static void put_json(struct sd_out *out, const struct sd_doctor_findings *f)
{
    struct sd_json j;

    sd_json_init(&j, out, true);
    sd_json_object(&j);
    sd_json_key_bool(&j, "ok", !f->is_bad);
    sd_json_key_array(&j, "findings");
    for (size_t i = 0; i < f->n; i++) {
        const struct sd_finding *x = &f->items[i];

        sd_json_object(&j);
        sd_json_key_string(&j, "name", x->name);
        sd_json_key_string(&j, "status",
                           x->kind == SD_FINDING_FACT ? "fact" : word_of(x->kind));
        sd_json_key_string(&j, "text", x->text);
        sd_json_key_string(&j, "remedy", x->remedy && *x->remedy ? x->remedy : NULL);
        sd_json_end(&j);
    }
    sd_json_end(&j);
    sd_json_end(&j);
    sd_out_text(out, "\n");
}

static int run(const struct sd_command *c)
{
    const struct sd_option_value *v = c->values;
    struct sd_doctor_findings f = { 0 };
    struct sd_out out;
    pid_t pid = 0;
    int rc = 0, status;

    if (c->n_words > 0)
        rc =
            sd_fail(SD_EUSAGE, "doctor takes a process as --pid: sonde doctor --pid %s",
                    c->words[0]);
    if (rc == 0 && v[OPT_PID].text)
        rc = sd_attach_pid(v[OPT_PID].text, &pid);
    if (rc < 0)
        return sd_say_failure(rc);
    if (pid)
        sd_doctor_process(&f, pid);
    else
        sd_doctor_machine(&f);
    sd_out_to_fd(&out, STDOUT_FILENO);
    if (v[OPT_JSON].number)
        put_json(&out, &f);
    else
        put_text(&out, &f, sd_style_for(c, STDOUT_FILENO).colour);
    status = f.is_bad;
    sd_doctor_findings_release(&f);
    return sd_finish_stdout(&out, status);
}

const struct sd_verb sd_verb_doctor = {
    .name = "doctor",
    .group = SD_GROUP_LEARN,
    .summary = "says what can be measured here, and what is in the way",
    .usage = "[--pid PID] [--json]",
    .about = "With a process: whether it can be sampled; who may read it, which Python "
             "runs in it, how its runtime was found, how many threads it has, and "
             "whether a stack can be read. Without one: what this machine, this user "
             "and this installation allow. Where something is in the way, the command "
             "that helps stands below it.\n\n"
             "The exit status is 1 when the process cannot be sampled.",
    .examples = "sonde doctor\n"
                "sonde doctor --pid 1234\n"
                "sonde doctor --pid 1234 --json | jq .ok\n",
    .options = options,
    .run = run,
};
