/* SPDX-License-Identifier: MIT */
/* firefox_tables: writes columns, keys and strings of a Firefox profile. */
#include <string.h>

#include "formats/firefox/firefox_parts.h"

void sd_firefox_text(struct sd_firefox *w, const char *key, const char *text)
{
    sd_json_key(&w->j, key);
    sd_json_string(&w->j, text);
}

void sd_firefox_int(struct sd_firefox *w, const char *key, int64_t n)
{
    sd_json_key(&w->j, key);
    sd_json_int(&w->j, n);
}

void sd_firefox_bool(struct sd_firefox *w, const char *key, bool is_true)
{
    sd_json_key(&w->j, key);
    sd_json_bool(&w->j, is_true);
}

void sd_firefox_null(struct sd_firefox *w, const char *key)
{
    sd_json_key(&w->j, key);
    sd_json_null(&w->j);
}

void sd_firefox_ms(struct sd_firefox *w, const char *key, uint64_t ns)
{
    sd_json_key(&w->j, key);
    sd_json_real(&w->j, (double)ns / 1e6);
}

void sd_firefox_object(struct sd_firefox *w, const char *key)
{
    sd_json_key(&w->j, key);
    sd_json_object(&w->j);
}

void sd_firefox_array(struct sd_firefox *w, const char *key)
{
    sd_json_key(&w->j, key);
    sd_json_array(&w->j);
}

void sd_firefox_end(struct sd_firefox *w, size_t n)
{
    sd_firefox_int(w, "length", (int64_t)n);
    sd_json_end(&w->j);
}

void sd_firefox_column(struct sd_firefox *w, const char *key, size_t n,
                       sd_firefox_cell *at)
{
    sd_firefox_array(w, key);
    for (size_t i = 0; i < n && w->j.out->err == 0; i++) {
        int64_t v = at(w, i);

        if (v == SD_FIREFOX_BLANK)
            sd_json_null(&w->j);
        else
            sd_json_int(&w->j, v);
    }
    sd_json_end(&w->j);
}

void sd_firefox_falses(struct sd_firefox *w, const char *key, size_t n)
{
    sd_firefox_array(w, key);
    for (size_t i = 0; i < n && w->j.out->err == 0; i++)
        sd_json_bool(&w->j, false);
    sd_json_end(&w->j);
}

uint32_t sd_firefox_intern(struct sd_firefox *w, struct sd_intern *texts,
                           const char *text)
{
    uint32_t id = 0;

    if (sd_intern(texts, text, strlen(text), &id) < 0)
        w->is_bad = true;
    return id;
}

int64_t sd_firefox_string(struct sd_firefox *w, const char *text)
{
    return sd_firefox_intern(w, &w->strings, text);
}
