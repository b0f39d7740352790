/* SPDX-License-Identifier: MIT */
/* firefox_meta: writes the header of a Firefox profile, and the memory of its processes
 * over time. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/firefox/firefox_parts.h"

enum { FORM = 60 };

/* --- Memory */

const struct sd_series *sd_firefox_memory_of(const struct sd_firefox *w,
                                             sd_track_id process)
{
    return process.at == SD_FIREFOX_NONE ? NULL
                                         : sd_profile_series(w->p, process, "rss");
}

/* The viewer adds the counts up. */
static void put_memory_samples(struct sd_firefox *w, const struct sd_series *s)
{
    int64_t last = 0;

    sd_firefox_object(w, "samples");
    sd_firefox_array(w, "time");
    for (uint32_t i = 0; i < s->n_buckets; i++)
        sd_json_real(&w->j, (double)s->buckets[i].to_ns / 1e6);
    sd_json_end(&w->j);
    sd_firefox_array(w, "count");
    for (uint32_t i = 0; i < s->n_buckets; i++) {
        sd_json_real(&w->j, (double)s->buckets[i].max - (double)last);
        last = s->buckets[i].max;
    }
    sd_json_end(&w->j);
    sd_firefox_end(w, s->n_buckets);
}

static void put_memory(struct sd_firefox *w, size_t thread, sd_track_id process)
{
    sd_json_object(&w->j);
    sd_firefox_text(w, "name", "rss");
    sd_firefox_text(w, "category", "Memory");
    sd_firefox_text(w, "description", "resident memory of the process");
    sd_firefox_pid(w, process);
    sd_firefox_int(w, "mainThreadIndex", (int64_t)thread);
    put_memory_samples(w, sd_firefox_memory_of(w, process));
    sd_json_end(&w->j);
}

/* Once for each process, beside its first thread. */
void sd_firefox_put_memories(struct sd_firefox *w)
{
    sd_firefox_array(w, "counters");
    for (size_t i = 0; i < w->n_threads; i++) {
        sd_track_id process = sd_profile_process_of(w->p, w->threads[i].track);

        if (!sd_firefox_memory_of(w, process) || !w->is_shown[process.at])
            continue;
        w->is_shown[process.at] = false;
        put_memory(w, i, process);
    }
    sd_json_end(&w->j);
}

/* --- Meta */

static double interval_ms(const struct sd_firefox *w)
{
    double ns = 0, n = 0;

    for (size_t i = 0; i < w->sampled.n; i++)
        for (size_t k = 0; k < w->sampled.threads[i].n; k++) {
            ns += (double)w->sampled.threads[i].taken[k].wall_ns;
            n += w->sampled.threads[i].taken[k].n;
        }
    return ns > 0 ? ns / n / 1e6 : 1;
}

static void put_categories(struct sd_firefox *w)
{
    static const char *const names[][2] = {
        [SD_FIREFOX_PYTHON] = { "Python", "yellow" },
        [SD_FIREFOX_NATIVE] = { "Native", "blue" },
        [SD_FIREFOX_OTHER] = { "Other", "grey" },
    };

    sd_firefox_array(w, "categories");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        sd_json_object(&w->j);
        sd_firefox_text(w, "name", names[i][0]);
        sd_firefox_text(w, "color", names[i][1]);
        sd_firefox_array(w, "subcategories");
        sd_json_string(&w->j, "Other");
        sd_json_end(&w->j);
        sd_json_end(&w->j);
    }
    sd_json_end(&w->j);
}

static void put_field(struct sd_firefox *w, const char *key, const char *label)
{
    sd_json_object(&w->j);
    sd_firefox_text(w, "key", key);
    sd_firefox_text(w, "label", label);
    sd_firefox_text(w, "format", "string");
    sd_json_end(&w->j);
}

static void put_marker_schema(struct sd_firefox *w)
{
    sd_firefox_array(w, "markerSchema");
    sd_json_object(&w->j);
    sd_firefox_text(w, "name", "Section");
    sd_firefox_text(w, "tooltipLabel", "{marker.name}");
    sd_firefox_text(w, "tableLabel", "{marker.data.path}");
    sd_firefox_text(w, "chartLabel", "{marker.name}");
    sd_firefox_array(w, "display");
    sd_json_string(&w->j, "marker-chart");
    sd_json_string(&w->j, "marker-table");
    sd_json_string(&w->j, "timeline-overview");
    sd_json_end(&w->j);
    sd_firefox_array(w, "fields");
    put_field(w, "path", "Path");
    put_field(w, "task", "Task");
    put_field(w, "end", "End");
    sd_json_end(&w->j);
    sd_json_end(&w->j);
    sd_json_end(&w->j);
}

static void put_units(struct sd_firefox *w)
{
    sd_firefox_object(w, "sampleUnits");
    sd_firefox_text(w, "time", "ms");
    sd_firefox_text(w, "eventDelay", "ms");
    sd_firefox_text(w, "threadCPUDelta", "\xc2\xb5s");
    sd_json_end(&w->j);
}

void sd_firefox_put_meta(struct sd_firefox *w)
{
    const char *command = sd_profile_meta(w->p, "command");

    sd_firefox_object(w, "meta");
    sd_json_key(&w->j, "interval");
    sd_json_real(&w->j, interval_ms(w));
    sd_firefox_ms(w, "startTime", w->p->real_zero_ns);
    sd_firefox_int(w, "profilingStartTime",
                   0); /* else a capture without events has no range */
    sd_json_key(&w->j, "profilingEndTime"); /* a sample at the end itself is outside */
    sd_json_real(&w->j, (double)w->p->run_end_ns / 1e6 + interval_ms(w));
    sd_firefox_int(w, "processType", 0);
    put_categories(w);
    sd_firefox_text(w, "product", command ? command : "Python");
    sd_firefox_int(w, "stackwalk", 1);
    sd_firefox_int(w, "version", 30);
    sd_firefox_int(w, "preprocessedProfileVersion", FORM);
    sd_firefox_bool(w, "symbolicated", true);
    sd_firefox_bool(w, "symbolicationNotSupported", true);
    sd_firefox_bool(w, "usesOnlyOneStackType", true);
    sd_firefox_bool(w, "sourceCodeIsNotOnSearchfox", true);
    sd_firefox_bool(w, "keepProfileThreadOrder", true);
    sd_firefox_text(w, "importedFrom", "Sonde");
    sd_firefox_text(w, "platform", "Linux");
    put_units(w);
    put_marker_schema(w);
    sd_json_end(&w->j);
}
