/* SPDX-License-Identifier: MIT */
#include "collect/alloc/process_recording.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "capture/log.h"
#include "capture/writer.h"
#include "collect/alloc/alloc_link.h"
#include "collect/alloc/natives.h"
#include "collect/alloc/options.h"
#include "collect/alloc/recorder.h"
#include "collect/session.h"

static struct {
    bool runs;
    bool watches_forks;
    unsigned layers;
} recording;

static void tell_facts(const struct sd_option_value *v)
{
    struct sd_log *l = sd_session_log();
    char bytes[24];

    if (!l)
        return;
    sd_log_meta(l, SD_META_ALLOC_MODE, v[SD_ALLOC_OPT_MODE].text);
    sd_log_meta(l, SD_META_ALLOC_LAYER, v[SD_ALLOC_OPT_LAYER].text);
    snprintf(bytes, sizeof bytes, "%lu", v[SD_ALLOC_OPT_SAMPLE_BYTES].number);
    if (sd_alloc_mode_of(&v[SD_ALLOC_OPT_MODE]) == SD_ALLOC_SAMPLED)
        sd_log_meta(l, SD_META_ALLOC_SAMPLE, bytes);
    if (v[SD_ALLOC_OPT_NATIVE].number)
        sd_log_meta(l, SD_META_ALLOC_NATIVE, "1");
    if (sd_alloc_recorder.only_tid)
        sd_log_meta(l, SD_META_ALLOC_ONE, "1");
}

static void after_fork_here(void) { sd_alloc_natives_after_fork(false); }

static void after_fork_in_child(void)
{
    sd_alloc_natives_after_fork(true);
    sd_alloc_recorder_after_fork();
}

static void watch_forks(void)
{
    if (recording.watches_forks)
        return;
    sd_session_watch_forks(); /* first: its handler in the child comes before ours */
    recording.watches_forks = pthread_atfork(sd_alloc_natives_before_fork,
                                             after_fork_here, after_fork_in_child) == 0;
}

int sd_process_recording_begin(const struct sd_option_value *v)
{
    int rc;

    sd_alloc_recorder.has_natives = v[SD_ALLOC_OPT_NATIVE].number != 0;
#if !defined(__x86_64__)
    if (sd_alloc_recorder.has_natives)
        return sd_fail(SD_EUSAGE,
                       "--native reads only the stacks of x86-64 processors, and this "
                       "machine has another; drop --native");
#endif
    watch_forks();
    sd_alloc_link_own();
    tell_facts(v);
    recording.layers = (unsigned)sd_alloc_layers_of(&v[SD_ALLOC_OPT_LAYER]);
    rc = sd_alloc_recorder_begin(
        sd_session_writer(),
        (enum sd_alloc_mode)sd_alloc_mode_of(&v[SD_ALLOC_OPT_MODE]), recording.layers,
        v[SD_ALLOC_OPT_SAMPLE_BYTES].number, v[SD_ALLOC_OPT_MAX_FILE].number);
    if (rc < 0)
        return rc;
    recording.runs = true;
    if (recording.layers & SD_LAYER_MALLOC)
        rc = sd_alloc_natives_start();
    if (rc < 0)
        sd_process_recording_end();
    else
        sd_alloc_recorder_go();
    return rc;
}

void sd_process_recording_end(void)
{
    if (!recording.runs)
        return;
    recording.runs = false;
    sd_alloc_recorder_stop();
    if (recording.layers & SD_LAYER_MALLOC)
        sd_alloc_natives_stop();
    sd_alloc_recorder_end();
}
