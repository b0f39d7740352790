/* SPDX-License-Identifier: MIT */
#include "collect/alloc/thread_starts.h"

#include <stdint.h>

#include "base/mem.h"
#include "collect/alloc/recorder.h"

struct start {
    void *(*run)(void *);
    void *argument;
    uint32_t creator;
};

/* The first function of the thread, gone when the program's own begins. */
static void *begin(void *of)
{
    struct start s = *(struct start *)of;

    sd_free(of);
    sd_alloc_created_by(s.creator);
    return s.run(s.argument);
}

static uint32_t creator_now(void)
{
    struct sd_alloc_thread *t = sd_alloc_enter();
    uint32_t stack = t ? sd_alloc_creator(t) : 0;

    if (t)
        sd_alloc_leave(t);
    return stack;
}

int sd_thread_starts_create(sd_thread_create *create, pthread_t *thread,
                            const pthread_attr_t *attributes, void *(*run)(void *),
                            void *argument)
{
    uint32_t creator = creator_now();
    struct start *s = creator ? sd_alloc(sizeof *s) : NULL;
    int rc;

    if (!s) /* without memory the thread counts as nobody's */
        return create(thread, attributes, run, argument);
    *s = (struct start){ run, argument, creator };
    rc = create(thread, attributes, begin, s);
    if (rc)
        sd_free(s);
    return rc;
}
