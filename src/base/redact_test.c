/* SPDX-License-Identifier: MIT */
#include "base/redact.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"

static bool text_becomes(const char *text, const char *expected)
{
    struct sd_buf b = { 0 };
    bool same;

    sd_redact_text(&b, text, strlen(text));
    same = strcmp(sd_buf_string(&b), expected) == 0;
    if (!same)
        fprintf(stderr, "\"%s\" became \"%s\"\n", text, sd_buf_string(&b));
    sd_buf_release(&b);
    return same;
}

static bool command_becomes(char *const *argv, const char *expected)
{
    struct sd_buf b = { 0 };
    bool same;

    sd_redact_command(&b, argv);
    same = strcmp(sd_buf_string(&b), expected) == 0;
    if (!same)
        fprintf(stderr, "became: %s\n", sd_buf_string(&b));
    sd_buf_release(&b);
    return same;
}

TEST(redact_hides_the_word_after_an_option_that_names_a_secret)
{
    char *argv[] = { "train.py", "--password", "hunter2", "--epochs", "2", NULL };

    CHECK(command_becomes(argv, "train.py --password *** --epochs 2"));
}

TEST(redact_hides_values_joined_to_their_names)
{
    CHECK(text_becomes("--api-key=abc", "--api-key=***"));
    CHECK(text_becomes("HF_TOKEN=abc", "HF_TOKEN=***"));
    CHECK(text_becomes("wandb.api_key=abc", "wandb.api_key=***"));
    CHECK(text_becomes("--accessToken=abc", "--accessToken=***"));
    CHECK(text_becomes("login(token='a b', n=3)", "login(token='***', n=3)"));
    CHECK(text_becomes("{\"secret\": \"abc\"}", "{\"secret\": \"***\"}"));
}

TEST(redact_hides_logins_and_keys_in_urls_and_headers)
{
    CHECK(text_becomes("postgres://me:pw@host/db", "postgres://me:***@host/db"));
    CHECK(text_becomes("http://h/?api_key=abc&n=1", "http://h/?api_key=***&n=1"));
    CHECK(text_becomes("http://host:8080/x", "http://host:8080/x"));
    CHECK(text_becomes("Authorization: Bearer abc.def", "Authorization: Bearer ***"));
}

TEST(redact_knows_how_access_keys_begin)
{
    CHECK(text_becomes("ghp_0123456789abcdefghij0123456789", "***"));
    CHECK(text_becomes("key AKIA0123456789ABCDEF!", "key ***!"));
    CHECK(text_becomes("hf_model", "hf_model"));
}

TEST(redact_leaves_ordinary_words_alone)
{
    char *argv[] = { "train.py",     "--tokenizer", "bpe",
                     "--max-tokens", "100",         "--lr=1e-3",
                     "--sort-key",   "name of it",  NULL };

    CHECK(command_becomes(argv, "train.py --tokenizer bpe --max-tokens 100 --lr=1e-3 "
                                "--sort-key 'name of it'"));
}

TEST(quote_word_keeps_a_word_one_word)
{
    struct sd_buf b = { 0 };

    sd_quote_word(&b, "it's", 4);
    CHECK(strcmp(sd_buf_string(&b), "'it'\\''s'") == 0);
    sd_buf_clear(&b);
    sd_quote_word(&b, "", 0);
    CHECK(strcmp(sd_buf_string(&b), "''") == 0);
    sd_buf_release(&b);
}
