/* SPDX-License-Identifier: MIT */
/* stacks_json: writes stacks over time as JSON: columns of numbers that name each other
 * by place, because there are many of them. */
#include "report/json/shape_json.h"

static const char *kind_word(enum sd_flame_kind kind)
{
    return kind == SD_FLAME_LIBRARY  ? "library"
           : kind == SD_FLAME_NATIVE ? "native"
           : kind == SD_FLAME_MARK   ? "mark"
                                     : "own";
}

static void put_functions(struct sd_json *j, const struct sd_view_stacks *s)
{
    sd_json_key_array(j, "functions");
    for (size_t i = 0; i < s->n_functions; i++) {
        sd_json_object(j);
        sd_json_key_string(j, "function", s->functions[i].name);
        sd_json_key_string(j, "file", s->functions[i].file);
        sd_json_key_uint(j, "line", s->functions[i].line);
        sd_json_key_string(j, "kind", kind_word(s->functions[i].kind));
        sd_json_key_bool(j, "library", s->functions[i].is_library);
        sd_json_key_string(j, "module", s->modules[s->functions[i].module]);
        sd_json_end(j);
    }
    sd_json_end(j);
    sd_json_key_array(j, "threads");
    for (size_t i = 0; i < s->n_threads; i++) {
        sd_json_object(j);
        sd_json_key_uint(j, "pid", s->threads[i].process);
        sd_json_key_uint(j, "tid", s->threads[i].number);
        sd_json_key_string(j, "thread", s->threads[i].name);
        sd_json_end(j);
    }
    sd_json_end(j);
}

static void put_or_null(struct sd_json *j, uint32_t n)
{
    if (n == UINT32_MAX)
        sd_json_null(j);
    else
        sd_json_uint(j, n);
}

/* "key": [ row, ... ] of one member of an array of structs. */
#define PUT_COLUMN(j, key, put, rows, n, member)                                       \
    do {                                                                               \
        sd_json_key_array(j, key);                                                     \
        for (size_t row = 0; row < (n); row++)                                         \
            put(j, (rows)[row].member);                                                \
        sd_json_end(j);                                                                \
    } while (0)

static void put_frames(struct sd_json *j, const struct sd_view_stacks *s)
{
    sd_json_key_object(j, "frames");
    PUT_COLUMN(j, "parent", put_or_null, s->frames, s->n_frames, parent);
    PUT_COLUMN(j, "function", sd_json_uint, s->frames, s->n_frames, function);
    PUT_COLUMN(j, "line", sd_json_uint, s->frames, s->n_frames, line);
    PUT_COLUMN(j, "startup", sd_json_bool, s->frames, s->n_frames, is_startup);
    sd_json_end(j);
    sd_json_key_object(j, "places");
    PUT_COLUMN(j, "frame", put_or_null, s->places, s->n_places, frame);
    PUT_COLUMN(j, "thread", sd_json_uint, s->places, s->n_places, thread);
    PUT_COLUMN(j, "idle", sd_json_bool, s->places, s->n_places, is_idle);
    PUT_COLUMN(j, "gil", sd_json_bool, s->places, s->n_places, has_gil);
    sd_json_end(j);
}

static void put_sets(struct sd_json *j, const struct sd_view_stacks *s)
{
    sd_json_key_array(j, "sections");
    for (size_t i = 0; i < s->n_sections; i++)
        sd_json_string(j, s->sections[i]);
    sd_json_end(j);
    sd_json_key_array(j, "sets");
    for (size_t i = 0; i < s->n_sets; i++) {
        sd_json_array(j);
        for (uint32_t k = s->set_starts[i]; k < s->set_starts[i + 1]; k++)
            sd_json_uint(j, s->set_members[k]);
        sd_json_end(j);
    }
    sd_json_end(j);
}

void sd_report_stacks_json(struct sd_json *j, const struct sd_view_stacks *s)
{
    sd_json_key_string(j, "note", s->note);
    sd_json_key_string(j, "evidence", s->evidence);
    sd_json_key_uint(j, "slice_ns", s->slice_ns);
    put_functions(j, s);
    put_frames(j, s);
    put_sets(j, s);
    sd_json_key_object(j, "entries");
    PUT_COLUMN(j, "slice", sd_json_uint, s->entries, s->n_entries, slice);
    PUT_COLUMN(j, "place", sd_json_uint, s->entries, s->n_entries, place);
    PUT_COLUMN(j, "set", sd_json_uint, s->entries, s->n_entries, set);
    for (size_t k = 0; k < s->n_metrics; k++) {
        sd_json_key_array(j, s->metrics[k].name);
        for (size_t i = 0; i < s->n_entries; i++)
            sd_json_int(j, s->metrics[k].values[i]);
        sd_json_end(j);
    }
    sd_json_end(j);
    sd_json_key_object(j, "units");
    for (size_t k = 0; k < s->n_metrics; k++)
        sd_json_key_string(j, s->metrics[k].name, sd_cell_unit(s->metrics[k].kind));
    sd_json_end(j);
}
