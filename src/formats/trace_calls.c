/* SPDX-License-Identifier: MIT */
#include "formats/trace_calls.h"

#include <string.h>

#include "base/mem.h"

enum { NUMBERS_MAX = 128 };

int sd_trace_calls_init(struct sd_trace_calls *t, const struct sd_profile *p)
{
    *t = (struct sd_trace_calls){ .p = p };
    t->sites = sd_zalloc((p->n_sites + 1) * sizeof *t->sites);
    t->tracks = sd_zalloc((p->n_tracks + 1) * sizeof *t->tracks);
    return t->sites && t->tracks ? 0 : sd_no_memory();
}

void sd_trace_calls_release(struct sd_trace_calls *t)
{
    sd_buf_release(&t->texts);
    sd_free(t->sites);
    sd_free(t->tracks);
    *t = (struct sd_trace_calls){ 0 };
}

/* --- What is made once */

static void keep(struct sd_trace_calls *t, struct sd_trace_text *text,
                 const struct sd_out *made)
{
    text->at = t->texts.n;
    text->n = (uint32_t)made->pending.n;
    sd_buf_add(&t->texts, made->pending.p, made->pending.n);
    t->texts.bad |= made->pending.bad;
}

/* `{"name":"f","cat":"python","ph":"X"`, and `,"args":{...`, which stay open. */
static void make_site(struct sd_trace_calls *t, sd_site_id id)
{
    const struct sd_site *site = &t->p->sites[id.at];
    struct sd_out made;
    struct sd_json j;

    sd_out_to_memory(&made);
    sd_json_init(&j, &made, false);
    j.keeps_less = true; /* as in all of the trace */
    sd_json_object(&j);
    sd_json_key_string(&j, "name", site->name);
    sd_json_key_string(&j, "cat", site->is_native ? "native" : "python");
    sd_json_key_string(&j, "ph", "X");
    t->sites[id.at].n_first = (uint32_t)made.pending.n;
    sd_json_key_object(&j, "args");
    if (site->file)
        sd_json_key_string(&j, "filename", site->file);
    if (site->line)
        sd_json_key_uint(&j, "line", site->line);
    keep(t, &t->sites[id.at], &made);
    sd_out_release(&made);
}

/* `,"pid":7,"tid":8,"ts":` */
static void make_track(struct sd_trace_calls *t, sd_track_id id)
{
    uint32_t process = sd_profile_process_of(t->p, id).at;
    uint32_t thread = sd_profile_thread_of(t->p, id).at;
    struct sd_out made;

    sd_out_to_memory(&made);
    sd_out_printf(
        &made, ",\"pid\":%llu,\"tid\":%llu,\"ts\":",
        (unsigned long long)(process == UINT32_MAX ? 0 : t->p->tracks[process].number),
        (unsigned long long)t->p->tracks[thread].number);
    keep(t, &t->tracks[id.at], &made);
    sd_out_release(&made);
}

/* --- Events */

/* hot: a number, two digits at a time, from behind; where it begins. */
static char *put_digits(char *end, uint64_t n)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";

    for (; n >= 100; n /= 100)
        memcpy(end -= 2, pairs + 2 * (n % 100), 2);
    if (n >= 10)
        memcpy(end -= 2, pairs + 2 * n, 2);
    else
        *--end = (char)('0' + n);
    return end;
}

/* hot: nanoseconds as microseconds, all digits, none of them rounded. */
static char *put_us(char *to, uint64_t ns)
{
    char digits[24], *end = digits + sizeof digits, *begin;
    unsigned fraction = (unsigned)(ns % 1000);
    size_t n;

    begin = put_digits(end, ns / 1000);
    n = (size_t)(end - begin);
    memcpy(to, begin, n);
    to += n;
    if (fraction) {
        *to++ = '.';
        *to++ = (char)('0' + fraction / 100);
        *to++ = (char)('0' + fraction / 10 % 10);
        *to++ = (char)('0' + fraction % 10);
    }
    return to;
}

/* The end of its text, and of the event.  Only where a call is not whole is there
 * anything to say of it: what a person should see stands in args, since viewers show
 * nothing else; but a part of a call is no other function to those that compare them.
 */
static void put_args(const struct sd_trace_calls *t, struct sd_out *out,
                     const struct sd_trace_text *site, uint32_t flags)
{
    const uint8_t *args = t->texts.p + site->at + site->n_first;
    size_t n = site->n - site->n_first;

    sd_out_write(out, args, n);
    if (flags & SD_SPAN_UNFINISHED) {
        sd_out_text(out, args[n - 1] == '{' ? "" : ",");
        sd_out_text(out, "\"end\":\"unfinished\"}}");
    } else if (flags & (SD_SPAN_PAUSED | SD_SPAN_RESUMED)) {
        sd_out_text(out, "},\"part\":true}");
    } else {
        sd_out_write(out, "}}", 2);
    }
}

void sd_trace_calls_put(struct sd_trace_calls *t, struct sd_json *j,
                        const struct sd_event *e)
{
    struct sd_trace_text *site = &t->sites[e->site.at];
    struct sd_trace_text *track = &t->tracks[e->track.at];
    char numbers[NUMBERS_MAX], *to = numbers;

    if (!site->n)
        make_site(t, e->site);
    if (!track->n)
        make_track(t, e->track);
    if (t->texts.bad) {
        j->out->pending.bad = true;
        return;
    }
    to = put_us(to, e->from_ns);
    memcpy(to, ",\"dur\":", 7);
    to = put_us(to + 7, e->to_ns - e->from_ns);
    sd_out_write(j->out, "\n", 1);
    sd_json_item(j);
    sd_out_write(j->out, t->texts.p + site->at, site->n_first);
    sd_out_write(j->out, t->texts.p + track->at, track->n);
    sd_out_write(j->out, numbers, (size_t)(to - numbers));
    put_args(t, j->out, site, e->flags);
}
