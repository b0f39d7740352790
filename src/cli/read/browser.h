/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_READ_BROWSER_H
#define SD_CLI_READ_BROWSER_H
/* browser: opens a page in the user's browser: the program that BROWSER names, or
 * xdg-open. */

/* SD_ELACKS with a sentence that says where the page is, when no
 * browser opens it. */
int sd_browser_open(const char *page);
#endif
