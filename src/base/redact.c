/* SPDX-License-Identifier: MIT */
#include "base/redact.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/assert.h"

static const char STARS[] = "***";

/* Parts of a name that are enough, at the end of one: "token" catches hf_token and
 * accessToken, but neither --tokenizer nor --max-tokens. */
static const char *const telling[] = {
    "password", "passwd", "passphrase",  "pwd",           "token",  "secret",
    "apikey",   "bearer", "credentials", "authorization", "cookie", "credential",
};
/* Words that make a following "key" a secret one: api-key, but not sort-key. */
static const char *const before_key[] = {
    "api", "access", "private", "secret", "auth", "signing", "encryption", "account",
};
/* How access keys begin that say what they are, and how long such a word is at
 * least. */
static const struct {
    const char *prefix;
    size_t at_least;
} beginnings[] = {
    { "sk-", 20 },   { "sk_live_", 16 },    { "rk_live_", 16 }, { "ghp_", 20 },
    { "gho_", 20 },  { "ghu_", 20 },        { "ghs_", 20 },     { "ghr_", 20 },
    { "hf_", 20 },   { "github_pat_", 20 }, { "glpat-", 16 },   { "xoxb-", 16 },
    { "xoxp-", 16 }, { "xoxa-", 16 },       { "xoxs-", 16 },    { "AKIA", 20 },
    { "ASIA", 20 },  { "AIza", 30 },        { "eyJ", 40 },      { "npm_", 20 },
    { "pypi-", 30 }, { "dop_v1_", 30 },     { "nvapi-", 20 },   { "r8_", 30 },
};

static bool is_word_byte(char c) { return isalnum((unsigned char)c) || c == '_'; }
static bool is_name_byte(char c) { return is_word_byte(c) || c == '-'; }

static bool ends_with(const char *s, size_t n, const char *end)
{
    size_t m = strlen(end);

    return n >= m && strncasecmp(s + n - m, end, m) == 0;
}

bool sd_redact_name(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof telling / sizeof telling[0]; i++)
        if (ends_with(name, n, telling[i]))
            return true;
    if (!ends_with(name, n, "key"))
        return false;
    n -= strlen("key");
    if (n > 0 && (name[n - 1] == '-' || name[n - 1] == '_'))
        n--;
    for (size_t i = 0; i < sizeof before_key / sizeof before_key[0]; i++)
        if (ends_with(name, n, before_key[i]))
            return true;
    return false;
}

/* Bytes at the start of `s` that are an access key, or 0. */
static size_t known_key(const char *s, size_t n)
{
    size_t run = 0;

    while (run < n && (is_name_byte(s[run]) || s[run] == '.'))
        run++;
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (run >= beginnings[i].at_least &&
            strncmp(s, beginnings[i].prefix, strlen(beginnings[i].prefix)) == 0)
            return run;
    return 0;
}

/* Bytes at the start of `s` from "://" up to and with the '@' of a URL that carries a
 * password, or 0. */
static size_t url_login(const char *s, size_t n, size_t *colon)
{
    *colon = 0;
    if (n < 4 || memcmp(s, "://", 3) != 0)
        return 0;
    for (size_t i = 3; i < n; i++) {
        if (s[i] == '@')
            return *colon ? i + 1 : 0;
        if (strchr("/ \t\n\"'?#", s[i]))
            return 0;
        if (s[i] == ':' && !*colon)
            *colon = i;
    }
    return 0;
}

/* The value that follows a telling name at `s`: "=xyz", ": xyz", "='x y'".  *skip is
 * where it begins; returns its length, or 0 when none follows. */
static size_t value_after(const char *s, size_t n, size_t *skip)
{
    const char *stops = " \t\n&,;)}]\"'";
    size_t at = 0, from;

    while (at < n && strchr(" \"'", s[at]))
        at++;
    if (at == n || (s[at] != '=' && s[at] != ':'))
        return 0;
    at++;
    while (at < n && strchr(" \"'=", s[at])) {
        if (strchr("\"'", s[at]))
            stops = s[at] == '"' ? "\"" : "'";
        at++;
    }
    /* "Authorization: Bearer xyz": the scheme is no secret, what follows it is. */
    if (n - at > 7 && strncasecmp(s + at, "bearer ", 7) == 0)
        at += 7;
    else if (n - at > 6 && strncasecmp(s + at, "basic ", 6) == 0)
        at += 6;
    from = at;
    while (at < n && !strchr(stops, s[at]))
        at++;
    *skip = from;
    return at - from;
}

void sd_redact_text(struct sd_buf *to, const char *s, size_t n)
{
    size_t at = 0, name, login, colon, skip = 0, value;

    while (at < n) {
        login = url_login(s + at, n - at, &colon);
        if (login) {
            sd_buf_add(to, s + at, colon + 1);
            sd_buf_text(to, STARS);
            sd_buf_text(to, "@");
            at += login;
            continue;
        }
        if (!is_word_byte(s[at])) {
            sd_buf_u8(to, (uint8_t)s[at++]);
            continue;
        }
        name = known_key(s + at, n - at);
        if (name) {
            sd_buf_text(to, STARS);
            at += name;
            continue;
        }
        while (at + name < n && is_name_byte(s[at + name]))
            name++;
        sd_buf_add(to, s + at, name);
        value = sd_redact_name(s + at, name)
                    ? value_after(s + at + name, n - at - name, &skip)
                    : 0;
        at += name;
        if (value) {
            sd_buf_add(to, s + at, skip);
            sd_buf_text(to, STARS);
            at += skip + value;
        }
    }
    sd_assert(at == n); /* every byte is in the result, or behind the stars */
}

void sd_quote_word(struct sd_buf *to, const char *s, size_t n)
{
    bool is_plain = n > 0;

    for (size_t i = 0; i < n; i++)
        if (!is_word_byte(s[i]) && !strchr("-./=:,+@%*", s[i]))
            is_plain = false;
    if (is_plain) {
        sd_buf_add(to, s, n);
        return;
    }
    sd_buf_text(to, "'");
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\'')
            sd_buf_text(to, "'\\''");
        else
            sd_buf_u8(to, (uint8_t)s[i]);
    }
    sd_buf_text(to, "'");
}

/* "--hf-token": the word after it is a secret. */
static bool announces_secret(const char *word)
{
    return word[0] == '-' && !strchr(word, '=') && sd_redact_name(word, strlen(word));
}

void sd_redact_command(struct sd_buf *to, char *const *argv)
{
    struct sd_buf word = { 0 };

    for (size_t i = 0; argv[i]; i++) {
        if (i)
            sd_buf_text(to, " ");
        if (i && announces_secret(argv[i - 1]) && argv[i][0] != '-') {
            sd_buf_text(to, STARS);
            continue;
        }
        sd_buf_clear(&word);
        sd_redact_text(&word, argv[i], strlen(argv[i]));
        if (word.bad) { /* half a word may be half a secret */
            to->bad = true;
            break;
        }
        sd_quote_word(to, sd_buf_string(&word), word.n);
    }
    sd_buf_release(&word);
}
