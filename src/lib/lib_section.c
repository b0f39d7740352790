/* SPDX-License-Identifier: MIT */
/* lib_section: begins and ends sections for <sonde.h>: each thread has a stack of open
 * ones.
 *
 * Slots of the stack are made when first needed, kept for the next section of the same
 * depth, and freed with their thread.  A slot holds a copy of the name: the caller's
 * text may be gone before the section ends, and a program may use millions of different
 * names without our keeping any of them. */
#include "sonde.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "capture/log.h"
#include "collect/sections/sections.h"
#include "lib/lib.h"

enum {
    DEPTH_MAX = 256,
    NAME_INLINE = 64,
    NAME_MAX_BYTES = 1000, /* of a longer name the rest is left out */
};

_Static_assert((unsigned)SONDE_TIME == SD_MEASURE_TIME &&
                   (unsigned)SONDE_MEMORY == SD_MEASURE_MEMORY &&
                   (unsigned)SONDE_PEAK == SD_MEASURE_PEAK &&
                   (unsigned)SONDE_IO == SD_MEASURE_IO &&
                   (unsigned)SONDE_NETWORK == SD_MEASURE_NETWORK &&
                   (unsigned)SONDE_CPU == SD_MEASURE_THREAD_CPU,
               "public and internal measures are the same bits");

struct sonde_section { /* a slot */
    struct sd_section core;
    struct sd_section_name name;
    sonde_section *outer, *inner; /* slots one less and one more deep; owned by outer */
    char *long_text;              /* owned; NAME_MAX_BYTES, or NULL */
    char text[NAME_INLINE];
};

/* initial-exec: found without a call, and without memory being made for it. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    sonde_section *first; /* owned; NULL: no section yet */
    sonde_section *top;   /* innermost open one, or NULL */
    uint32_t depth;
} open_here;

static pthread_key_t at_thread_end;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static bool has_key;
static _Atomic uint64_t n_too_deep;

/* --- Slots ----------------------------------------------------------------------- */

/* The thread is gone: sections left open stay open in the capture, which says so; only
 * their regions of memory must not outlive them. */
static void free_slots(void *first)
{
    sonde_section *s = first;

    for (s = open_here.top; s; s = s->outer)
        if (s->core.measure & SD_MEASURE_PEAK)
            sd_peak_close(&s->core.region);
    for (s = first; s;) {
        sonde_section *next = s->inner;

        sd_free(s->long_text);
        sd_free(s);
        s = next;
    }
    open_here.first = open_here.top = NULL;
    open_here.depth = 0;
}

static void make_key(void)
{
    has_key = pthread_key_create(&at_thread_end, free_slots) == 0;
}

static sonde_section *new_slot(sonde_section *outer)
{
    sonde_section *s;

    pthread_once(&key_once, make_key);
    s = has_key ? sd_zalloc(sizeof *s) : NULL;
    if (!s)
        return NULL;
    s->outer = outer;
    if (outer) {
        outer->inner = s;
    } else {
        open_here.first = s;
        pthread_setspecific(at_thread_end, s);
    }
    return s;
}

static void note_too_deep(void)
{
    struct sd_log *l;

    if (atomic_fetch_add(&n_too_deep, 1) > 0)
        return;
    l = sd_session_log();
    if (l)
        sd_log_note(l, SD_NOTE_LOSS,
                    "sections nested more than 256 deep were not recorded");
}

/* The slot above the innermost open section; NULL when there is none to be had. */
static sonde_section *next_slot(void)
{
    sonde_section *s = open_here.top ? open_here.top->inner : open_here.first;

    if (open_here.depth == DEPTH_MAX) {
        note_too_deep();
        return NULL;
    }
    return s ? s : new_slot(open_here.top);
}

/* --- Names ----------------------------------------------------------------------- */

static void set_name(sonde_section *s, const char *name)
{
    size_t n = strnlen(name, NAME_MAX_BYTES);
    char *text = s->text;

    if (n > sizeof s->text) {
        if (!s->long_text)
            s->long_text = sd_alloc(NAME_MAX_BYTES);
        text = s->long_text ? s->long_text : s->text;
        n = s->long_text ? n : sizeof s->text;
    }
    memcpy(text, name, n);
    sd_section_name_init(&s->name, s->outer ? &s->outer->name : NULL, text,
                         (uint32_t)n);
}

/* --- Sections -------------------------------------------------------------------- */

sonde_section *sonde_section_begin(const char *name, unsigned measure)
{
    sonde_section *s;

    if (!sd_session_has_capture() || !name)
        return NULL;
    s = next_slot();
    if (!s)
        return NULL;
    set_name(s, name);
    open_here.top = s;
    open_here.depth++;
    sd_section_begin(&s->core, &s->name, sd_lib_measure(measure), 0);
    return s;
}

static bool is_open_here(const sonde_section *s)
{
    const sonde_section *at;

    for (at = open_here.top; at; at = at->outer)
        if (at == s)
            return true;
    return false;
}

void sonde_section_end(sonde_section *s)
{
    sonde_section *top;

    if (!s || !is_open_here(s))
        return;
    do {
        top = open_here.top;
        sd_section_end(&top->core, false);
        open_here.top = top->outer;
        open_here.depth--;
    } while (top != s);
}

void sonde_section_leave(sonde_section **s) { sonde_section_end(*s); }

void sonde_mark(const char *name)
{
    struct sd_section_name mark;

    if (!name || !sd_session_has_capture())
        return;
    sd_section_name_init(&mark, open_here.top ? &open_here.top->name : NULL, name,
                         (uint32_t)strnlen(name, NAME_MAX_BYTES));
    sd_section_mark(&mark);
}
