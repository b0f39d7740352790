/* SPDX-License-Identifier: MIT */
#include "outputs/line_json.h"

/* What was measured with the telling takes the place of the others with --raw. */
static const char *const names[SD_LINE_VALUES] = {
    [SD_LINE_HITS] = "hits",
    [SD_LINE_TIME] = "time_ns",
    [SD_LINE_CHILD_TIME] = "child_time_ns",
    [SD_LINE_TRACING] = "tracing_ns",
    [SD_LINE_MIN] = "min_ns",
    [SD_LINE_MAX] = "max_ns",
    [SD_LINE_CPU_TIME] = "cpu_time_ns",
    [SD_LINE_READ] = "readings",
    [SD_LINE_INCREMENT] = "increment_bytes",
    [SD_LINE_MEMORY] = "memory_bytes",
    [SD_LINE_PEAK] = "peak_bytes",
};

static void put_int(struct sd_json *j, const char *key, int64_t v)
{
    sd_json_key(j, key);
    if (v == SD_LINE_NONE)
        sd_json_null(j);
    else
        sd_json_int(j, v);
}

void sd_line_json_begin(struct sd_json *j, const struct sd_line_json *f)
{
    sd_json_object(j);
    sd_json_key(j, "function");
    sd_json_text(j, f->name, f->n_name);
    sd_json_key(j, "file");
    sd_json_text(j, f->file, f->n_file);
    put_int(j, "first_line", f->first);
    put_int(j, "time_ns", f->time_ns);
    if (f->tracing_ns != SD_LINE_NONE)
        put_int(j, "tracing_ns", f->tracing_ns);
    sd_json_key_array(j, "lines");
}

void sd_line_json_row(struct sd_json *j, int64_t line,
                      const int64_t values[SD_LINE_VALUES],
                      enum sd_line_json_nulls nulls)
{
    sd_json_object(j);
    put_int(j, "line", line);
    for (int i = 0; i < SD_LINE_VALUES; i++)
        if (names[i] && (nulls == SD_LINE_JSON_NULLS || values[i] != SD_LINE_NONE))
            put_int(j, names[i], values[i]);
    sd_json_end(j);
}

void sd_line_json_end(struct sd_json *j)
{
    sd_json_end(j);
    sd_json_end(j);
}
