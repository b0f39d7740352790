/* SPDX-License-Identifier: MIT */
#include "cli/model/measured_machine.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/encoding/json.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/say.h"

enum { NOTES_MAX = 2, NOTE_MAX = 256 };

int sd_measured_machine_known(bool is_fresh, struct sd_machine *m)
{
    int rc;

    if (!is_fresh && sd_machine_load(m) == 0)
        return 0;
    rc = sd_machine_measure(m);
    if (rc < 0)
        return rc;
    if (sd_machine_keep(m) < 0)
        sd_say("cannot save the measured speeds of this machine, so the next run "
               "measures again: %s",
               sd_fail_text());
    return 0;
}

/* "152.4 GFLOP/s"; int8 has no floating point: "1.3 TOP/s". */
static void put_rate(struct sd_out *out, double rate, const char *unit)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P" };
    int i = 0;

    for (; rate >= 1000 && i < 5; i++)
        rate /= 1000;
    sd_out_printf(out, "%8.1f %s%s", rate, prefixes[i], unit);
}

static void put_numbers(struct sd_out *out, const struct sd_machine *m)
{
    for (int k = 0; k < SD_MACHINE_NUMBERS; k++) {
        const char *unit = k == SD_MACHINE_I8 ? "OP/s" : "FLOP/s";

        sd_out_printf(out, "%-11s", sd_machine_word((enum sd_machine_number)k));
        if (m->one_core[k] > 0) {
            put_rate(out, m->one_core[k], unit);
            sd_out_text(out, "  one core,");
            put_rate(out, m->all_cores[k], unit);
            sd_out_printf(out, "  all cores (%s)\n",
                          sd_machine_meaning((enum sd_machine_number)k));
        } else {
            sd_out_text(out, "     no instructions of its own\n");
        }
    }
}

static void put_levels(struct sd_out *out, const struct sd_machine *m)
{
    char size[SD_TEXT_MAX];

    for (unsigned i = 0; i < m->n_levels; i++) {
        const struct sd_machine_level *l = &m->levels[i];

        sd_out_printf(out, "%-11s", l->name);
        put_rate(out, l->one_core, "B/s");
        sd_out_text(out, "     one core,");
        put_rate(out, l->all_cores, "B/s");
        sd_out_text(out, "     all cores");
        if (l->bytes)
            sd_out_printf(out, " (%s)", sd_text_bytes(size, (int64_t)l->bytes));
        sd_out_text(out, "\n");
    }
    sd_out_printf(out, "%-11s", "triad");
    sd_out_printf(out, "%24s", "");
    put_rate(out, m->triad, "B/s");
    sd_out_text(out, "     all cores (a = b + s * c, as STREAM counts)\n");
}

/* What must be known of the figures; how many sentences there are. */
static int find_notes(const struct sd_machine *m, char notes[NOTES_MAX][NOTE_MAX])
{
    char read[SD_TEXT_MAX], caches[SD_TEXT_MAX];
    int n = 0;

    if (m->n_unsettled > 0)
        snprintf(notes[n++], NOTE_MAX,
                 "other programs were running: the best rounds of %u of the %u figures "
                 "differ by more than 2 %%; --fresh measures again",
                 m->n_unsettled, m->n_figures);
    if (m->bytes_read < 2 * m->cache_bytes)
        snprintf(notes[n++], NOTE_MAX,
                 "memory was measured with %s, and there are %s of caches: there was "
                 "no room for more, and some of it may be a cache's speed",
                 sd_text_bytes(read, (int64_t)m->bytes_read),
                 sd_text_bytes(caches, (int64_t)m->cache_bytes));
    return n;
}

static void put_text(struct sd_out *out, const struct sd_machine *m)
{
    char notes[NOTES_MAX][NOTE_MAX];
    int n_notes = find_notes(m, notes);
    time_t seconds = (time_t)m->measured_at;
    struct sd_buf cpu = { 0 };
    char text[64] = "";
    struct tm tm;

    if (localtime_r(&seconds, &tm))
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &tm);
    sd_text_escape(&cpu, m->cpu, strlen(m->cpu));
    sd_out_printf(out, "%-11s %s\n", "cpu", sd_made(out, &cpu));
    sd_out_printf(out, "%-11s %u usable, %s\n", "cores", m->n_cores, m->vectors);
    sd_out_printf(out, "%-11s %s\n", "measured", text);
    put_numbers(out, m);
    put_levels(out, m);
    for (int i = 0; i < n_notes; i++)
        sd_out_printf(out, "%-11s %s\n", "note", notes[i]);
    sd_buf_release(&cpu);
}

static void put_pair(struct sd_json *j, double one, double all)
{
    sd_json_key_real(j, "one_core", one);
    sd_json_key_real(j, "all_cores", all);
}

static void put_json(struct sd_out *out, const struct sd_machine *m)
{
    char notes[NOTES_MAX][NOTE_MAX];
    int n_notes = find_notes(m, notes);
    struct sd_json j;

    sd_json_init(&j, out, true);
    sd_json_object(&j);
    sd_json_key_string(&j, "cpu", m->cpu);
    sd_json_key_string(&j, "vectors", m->vectors);
    sd_json_key_uint(&j, "cores", m->n_cores);
    sd_json_key_uint(&j, "measured_at", m->measured_at);
    sd_json_key_object(&j, "operations_per_second");
    for (int k = 0; k < SD_MACHINE_NUMBERS; k++) {
        sd_json_key(&j, sd_machine_word((enum sd_machine_number)k));
        if (m->one_core[k] > 0) {
            sd_json_object(&j);
            put_pair(&j, m->one_core[k], m->all_cores[k]);
            sd_json_end(&j);
        } else {
            sd_json_null(&j);
        }
    }
    sd_json_end(&j);
    sd_json_key_array(&j, "bytes_per_second");
    for (unsigned i = 0; i < m->n_levels; i++) {
        sd_json_object(&j);
        sd_json_key_string(&j, "level", m->levels[i].name);
        sd_json_key_uint(&j, "bytes", m->levels[i].bytes);
        put_pair(&j, m->levels[i].one_core, m->levels[i].all_cores);
        sd_json_end(&j);
    }
    sd_json_end(&j);
    sd_json_key_real(&j, "triad", m->triad);
    sd_json_key_array(&j, "notes");
    for (int i = 0; i < n_notes; i++)
        sd_json_string(&j, notes[i]);
    sd_json_end(&j);
    sd_json_end(&j);
    sd_out_text(out, "\n");
}

int sd_measured_machine_info(const struct sd_command *c, bool is_fresh, bool is_json)
{
    struct sd_machine m;
    struct sd_out out;
    int rc;

    (void)c;
    rc = sd_measured_machine_known(is_fresh, &m);
    if (rc < 0)
        return sd_say_failure(rc);
    sd_out_to_fd(&out, STDOUT_FILENO);
    if (is_json)
        put_json(&out, &m);
    else
        put_text(&out, &m);
    return sd_finish_stdout(&out, 0);
}
