/* SPDX-License-Identifier: MIT */
/* listen: chooses the front on CPython 3.8 to 3.11. */
#include "cpython/compat.h"

#include "collect/calls/front.h"

#if SD_HAS_MONITORING
void sd_calls_tell_missing(void) {}
#else
#include "base/error.h"
#include "collect/calls/front_eval.h"
#include "collect/calls/front_profile.h"
#include "collect/calls/sessions.h"

/* With C functions the profile function hears all; the eval-frame function then only
 * finds the threads that start later.  Threads that were heard by that one, for others
 * who want no C functions, need the profile function as well. */
static int listen_with_c(bool is_for_all)
{
    int rc = sd_front_eval_set(is_for_all ? SD_EVAL_THREADS : SD_EVAL_OFF);

    if (rc < 0)
        return rc;
    if (is_for_all)
        sd_front_profile_on(SD_PROFILE_ALL);
    else if (sd_calls_follows())
        sd_front_profile_on(SD_PROFILE_THREAD);
    else
        sd_front_profile_off(SD_PROFILE_THREAD);
    return 0;
}

static int listen_to(unsigned events)
{
    if (events & SD_CALLS_BOUNDED)
        return sd_fail(SD_ELACKS,
                       "bounded overhead (--bounded) needs sys.monitoring, which "
                       "Python 3.12 and later have; drop it, or use a newer Python");
    if (events & SD_CALLS_C)
        return listen_with_c(events & SD_CALLS_ALL || sd_calls_sessions_are_mixed());
    sd_front_profile_off(SD_PROFILE_ALL);
    return sd_front_eval_set(events & SD_CALLS_PYTHON ? SD_EVAL_CALLS : SD_EVAL_OFF);
}

/* A thread that gets another object may have been the last to hold a Profile, which
 * then stops in the midst of this and turns the fronts to what is wanted without it. */
int sd_calls_listen(unsigned events)
{
    int rc = listen_to(events);

    while (rc == 0 && events != sd_calls_sessions_want()) {
        events = sd_calls_sessions_want();
        rc = listen_to(events);
    }
    return rc;
}

void sd_calls_tell_missing(void)
{
    sd_front_eval_tell();
    sd_front_profile_tell();
}
#endif
