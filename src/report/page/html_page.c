/* SPDX-License-Identifier: MIT */
#include "report/page/html_page.h"

#include <string.h>

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
static int fit_data(const struct sd_page *page, size_t room, struct sd_out *to)
{
    double least = 0;

    for (;;) {
        int rc = make_data(page, least, to);

        if (rc < 0 || sd_base64_size(to->pending.n) <= room || least > 1)
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

/* A mark gives way to what it stands for. */
static void put_page(struct sd_out *out, const struct sd_page *page,
                     const struct sd_out *data)
{
    const char *at = sd_page_html;

    for (const char *next; (next = strstr(at, "<!--sonde:")); at = next) {
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
    sd_out_text(out, at);
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
    rc = fit_data(page, frame < SD_PAGE_BYTES ? SD_PAGE_BYTES - frame : 0, &data);
    if (rc == 0)
        put_page(out, page, &data);
    sd_out_release(&data);
    return rc;
}
