/* SPDX-License-Identifier: MIT */
#include "collect/alloc/thread_starts.h"

#include <stdint.h>

#include "base/mem.h"
#include "collect/alloc/recorder.h"

struct start {
    void *(*run)(void *);
    void *argument;
    struct sd_alloc_birth birth;
};

/* The first function of the thread, gone when the program's own begins. */
static void *begin(void *of)
{
    struct start s = *(struct start *)of;

    sd_free(of);
    sd_alloc_created_by(&s.birth);
    return s.run(s.argument);
}

static struct sd_alloc_birth birth_now(void)
{
    struct sd_alloc_birth birth = { 0 };
    struct sd_alloc_thread *t = sd_alloc_enter();

    if (t) {
        sd_alloc_creator(t, &birth);
        sd_alloc_leave(t);
    }
    return birth;
}

int sd_thread_starts_create(sd_thread_create *create, pthread_t *thread,
                            const pthread_attr_t *attributes, void *(*run)(void *),
                            void *argument)
{
    struct sd_alloc_birth birth = birth_now();
    struct start *s = birth.stack ? sd_alloc(sizeof *s) : NULL;
    int rc;

    if (!s) /* without memory the thread counts as nobody's */
        return create(thread, attributes, run, argument);
    *s = (struct start){ run, argument, birth };
    rc = create(thread, attributes, begin, s);
    if (rc)
        sd_free(s);
    return rc;
}
