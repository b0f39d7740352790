/* SPDX-License-Identifier: MIT */
#include "report/page/html_page.h"

#include <string.h>

#include "base/assert.h"
#include "base/encoding/base64.h"
#include "base/encoding/gzip.h"
#include "base/error.h"
#include "base/mem.h"
#include "report/page/page_shapes.h"
#include "report/svg/page_files.h"
#include "report/svg/xml.h"

/* --- Data */

static int compress(const struct sd_buf *from, struct sd_out *to)
{
    struct sd_gzip *g = sd_alloc(sizeof *g);

    if (!g)
        return sd_no_memory();
    sd_gzip_begin(g, to);
    sd_gzip_write(g, from->p, from->n);
    sd_gzip_end(g);
    sd_free(g);
    return to->pending.bad ? sd_no_memory() : 0;
}

static int make_data(const struct sd_page *page, double least, struct sd_out *to)
{
    struct sd_buf raw = { 0 };
    int rc = sd_page_data(page, least, &raw);

    if (rc == 0)
        rc = compress(&raw, to);
    sd_buf_release(&raw);
    return rc;
}

/* Less and less of it until there is room. */
static int fit_data(const struct sd_page *page, size_t room, bool is_base64,
                    struct sd_out *to)
{
    double least = 0;

    for (;;) {
        int rc = make_data(page, least, to);
        size_t n = is_base64 ? sd_base64_size(to->pending.n) : to->pending.n;

        if (rc < 0 || n <= room || least > 1)
            return rc;
        sd_out_release(to);
        sd_out_to_memory(to);
        least = least > 0 ? 2 * least : 1 / SD_PAGE_SCREEN;
    }
}

/* --- The frame */

static void put_title(struct sd_out *out, const struct sd_page *page)
{
    sd_xml_text(out, page->title, strlen(page->title));
}

static void put_data(struct sd_out *out, const struct sd_out *data)
{
    if (!data) /* served */
        return;
    sd_out_text(out, "<script type=\"application/x-sonde\" id=\"data\">");
    sd_base64_write(out, data->pending.p, data->pending.n);
    sd_out_text(out, "</script>");
}

static const char title_mark[] = "<!--sonde:title-->";
static const char plain_mark[] = "<!--sonde:plain-->";
static const char data_mark[] = "<!--sonde:data-->";

static bool is_at(const char *at, const char *mark)
{
    return strncmp(at, mark, strlen(mark)) == 0;
}

/* A part of the built page, in which each mark gives way to what it stands for. */
static void put_part(struct sd_out *out, const char *at, const char *end,
                     const struct sd_page *page, const struct sd_out *data)
{
    for (const char *next; (next = strstr(at, "<!--sonde:")) && next < end; at = next) {
        sd_out_write(out, at, (size_t)(next - at));
        if (is_at(next, title_mark)) {
            put_title(out, page);
            next += strlen(title_mark);
        } else if (is_at(next, plain_mark)) {
            sd_page_put_plain(out, page);
            next += strlen(plain_mark);
        } else if (is_at(next, data_mark)) {
            put_data(out, data);
            next += strlen(data_mark);
        } else {
            sd_out_write(out, next++, 1);
        }
    }
    sd_out_write(out, at, (size_t)(end - at));
}

static void put_page(struct sd_out *out, const struct sd_page *page,
                     const struct sd_out *data)
{
    put_part(out, sd_page_html, sd_page_html + strlen(sd_page_html), page, data);
}

/* What the page has besides its data. */
static size_t frame_bytes(const struct sd_page *page)
{
    struct sd_out counted, none;
    size_t n;

    sd_out_to_count(&counted, UINT64_MAX);
    sd_out_to_memory(&none);
    put_page(&counted, page, &none);
    n = (size_t)sd_out_counted(&counted);
    sd_out_release(&counted);
    return n;
}

int sd_page_write(const struct sd_page *page, struct sd_out *out)
{
    size_t frame = frame_bytes(page);
    struct sd_out data;
    int rc;

    sd_out_to_memory(&data);
    rc = fit_data(page, frame < SD_PAGE_BYTES ? SD_PAGE_BYTES - frame : 0, true, &data);
    if (rc == 0)
        put_page(out, page, &data);
    sd_out_release(&data);
    return rc;
}

int sd_page_pack(const struct sd_page *page, size_t room, struct sd_out *to)
{
    return fit_data(page, room, false, to);
}

/* --- Served */

static const char policy_mark[] = "http-equiv=\"Content-Security-Policy\" content=\"";
static const char nothing[] = "default-src 'none'";

/* Where the policy of the built page begins; its length in *n. */
static const char *find_policy(size_t *n)
{
    const char *at = strstr(sd_page_html, policy_mark);

    sd_assert(at);
    at += strlen(policy_mark);
    *n = strcspn(at, "\"");
    sd_assert(strncmp(at, nothing, strlen(nothing)) == 0);
    return at;
}

/* A page from a file asks nobody; a served one asks where it came from. */
void sd_page_served_policy(struct sd_buf *to)
{
    size_t n;
    const char *policy = find_policy(&n);

    sd_buf_printf(to, "%s; connect-src 'self'%.*s", nothing, (int)(n - strlen(nothing)),
                  policy + strlen(nothing));
}

void sd_page_write_served(struct sd_out *out)
{
    static const struct sd_page page = { .title = "sonde", .program = "sonde" };
    struct sd_buf wanted = { 0 };
    size_t n;
    const char *policy = find_policy(&n);

    sd_page_served_policy(&wanted);
    put_part(out, sd_page_html, policy, &page, NULL);
    sd_out_text(out, sd_buf_string(&wanted));
    put_part(out, policy + n, sd_page_html + strlen(sd_page_html), &page, NULL);
    sd_buf_release(&wanted);
}
