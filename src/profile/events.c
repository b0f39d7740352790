/* SPDX-License-Identifier: MIT */
#include "profile/events.h"

#include "base/mem.h"
#include "profile/decode.h"
#include "profile/filter.h"

struct sd_events {
    const struct sd_profile *p; /* borrowed */
    struct sd_reader *reader;   /* owned */
    struct sd_decoder decoder;
    struct sd_screen screen;
};

static int note_sections(struct sd_events *e)
{
    struct sd_event event;
    int rc;

    while ((rc = sd_decoder_next(&e->decoder, &event)) == 1) {
        rc = sd_screen_section(&e->screen, e->p, &event);
        if (rc < 0)
            return rc;
    }
    sd_decoder_rewind(&e->decoder);
    return rc;
}

int sd_events_open(const struct sd_profile *p, const char *path,
                   const struct sd_filter *filter, struct sd_events **out)
{
    struct sd_events *e = sd_zalloc(sizeof *e);
    int rc;

    *out = NULL;
    if (!e)
        return sd_no_memory();
    e->p = p;
    rc = sd_screen_init(&e->screen, filter);
    if (rc == 0)
        rc = sd_reader_open(path, &e->reader);
    if (rc == 0)
        rc = sd_decoder_init(&e->decoder, e->reader, NULL, p);
    if (rc == 0 && e->screen.has_section)
        rc = note_sections(e);
    if (rc < 0) {
        sd_events_free(e);
        return rc;
    }
    *out = e;
    return 0;
}

int sd_events_next(struct sd_events *e, struct sd_event *out)
{
    int rc;

    while ((rc = sd_decoder_next(&e->decoder, out)) == 1) {
        rc = sd_screen_passes(&e->screen, e->p, out);
        if (rc != 0)
            return rc;
    }
    return rc;
}

void sd_events_free(struct sd_events *e)
{
    if (!e)
        return;
    sd_decoder_release(&e->decoder);
    sd_screen_release(&e->screen);
    sd_reader_free(e->reader);
    sd_free(e);
}
