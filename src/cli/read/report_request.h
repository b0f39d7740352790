/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_READ_REPORT_REQUEST_H
#define SD_CLI_READ_REPORT_REQUEST_H
/* report_request: checks the options of `report` and works out what they ask for. */
#include "cli/pattern.h"
#include "cli/read/export.h"
#include "cli/verb.h"
#include "outputs/pictures.h"
#include "outputs/tables.h"

/* A picture is a flame graph or a plot by what the capture has. */
enum sd_report_form {
    SD_FORM_TEXT = SD_TABLE_TEXT,
    SD_FORM_CSV = SD_TABLE_CSV,
    SD_FORM_JSON = SD_TABLE_JSON, /* up to here: tables */
    SD_FORM_PICTURE,
    SD_FORM_FLAME,
    SD_FORM_PLOT,
    SD_FORM_GROWTH,
    SD_FORM_GRAPH,
    SD_FORM_PAGE
};

/* What regular expressions are for. */
enum sd_report_pattern { SD_LOOK_ROWS, SD_LOOK_CALLS, SD_LOOK_FILTER, SD_LOOKS };

/* All that was asked for, understood.  It does not move: parts of it point to others.
 */
struct sd_report_request {
    const struct sd_command *command;
    const struct sd_option_value *v; /* the command's, by enum sd_report_option */
    enum sd_report_form form;
    struct sd_view_request views;
    struct sd_picture_size size;
    unsigned privacy;     /* of a page: enum sd_page_privacy */
    struct sd_buf names;  /* owned; of the views */
    const char *calls_of; /* whose callers and callees, as typed; NULL: all */
    struct sd_pattern *patterns[SD_LOOKS]; /* owned; NULL where nothing is looked for */
    struct sd_matcher matchers[SD_LOOKS];  /* that ask them */
    const struct sd_input *input;          /* what kind of files they are */
    char **words;                          /* the files */
    int n_words;
    char *const *paths; /* what is opened for them (outputs/translated.h) */
};

/* SD_EUSAGE with a sentence for what contradicts itself.  Released in either case. */
int sd_report_request_read(struct sd_report_request *a, const struct sd_command *c);
/* The form of tables; text where a picture was asked for. */
enum sd_table_form sd_report_request_table_form(const struct sd_report_request *a);
/* Opens what -o names, or stdout. */
int sd_report_request_open(const struct sd_report_request *a,
                           struct sd_export_file *file);
void sd_report_request_release(struct sd_report_request *a);
#endif
