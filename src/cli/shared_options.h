/* SPDX-License-Identifier: MIT */
#ifndef SD_CLI_SHARED_OPTIONS_H
#define SD_CLI_SHARED_OPTIONS_H
/* shared_options: entries of option tables that mean the same in several verbs, so that
 * help and manual use the same words for them.  Each is an initialiser. */
#include "base/option.h"

#define SD_OPTION(...)                                                                 \
    {                                                                                  \
        __VA_ARGS__                                                                    \
    }

/* How a stack is read: cli/record/attach.h understands the three together. */
#define SD_OPTION_CONSISTENCY                                                          \
    SD_OPTION("consistency", SD_CHOICE, "auto",                                        \
              "how to keep a stack consistent while it is read: from outside, from "   \
              "the CPU of its thread, with the thread stopped, or not at all",         \
              0, "auto|follow|pause|none")
#define SD_OPTION_NONBLOCKING                                                          \
    SD_OPTION("nonblocking", SD_FLAG, NULL,                                            \
              "py-spy's name for --consistency auto, which stops no thread; "          \
              "--native still does",                                                   \
              0, NULL)
#define SD_OPTION_BLOCKING                                                             \
    SD_OPTION("blocking", SD_FLAG, NULL,                                               \
              "stop each thread while it is read: --consistency pause", 0, NULL)
#define SD_OPTION_NATIVE                                                               \
    SD_OPTION("native", SD_FLAG, NULL,                                                 \
              "show the C functions between Python functions, too; stops running "     \
              "threads for some tens of microseconds each time",                       \
              'n', NULL)
#define SD_OPTION_PYTHON_VERSION                                                       \
    SD_OPTION("python-version", SD_TEXT, NULL,                                         \
              "the version of Python, where it cannot be found out", 0, "X.Y")

/* How functions are shown. */
#define SD_OPTION_FULL_FILENAMES                                                       \
    SD_OPTION("full-filenames", SD_FLAG, NULL, "show whole paths of files", 0, NULL)
#define SD_OPTION_QUALIFIED                                                            \
    SD_OPTION("qualified", SD_FLAG, NULL,                                              \
              "show qualified names of functions (Python 3.11 and later)", 0, NULL)
#define SD_OPTION_ALL(what) SD_OPTION("all", SD_FLAG, NULL, what, 0, NULL)

/* What is started, and what is written. */
#define SD_OPTION_PYTHON                                                               \
    SD_OPTION("python", SD_TEXT, NULL,                                                 \
              "the interpreter of a script; without it that of the active virtual "    \
              "environment, or python3",                                               \
              0, "PY")
#define SD_OPTION_FORCE                                                                \
    SD_OPTION("force", SD_FLAG, NULL, "overwrite FILE if it already exists", 0, NULL)
#define SD_OPTION_WITH(otherwise)                                                      \
    SD_OPTION("with", SD_TEXT, NULL, "which collectors to use; " otherwise, 0,         \
              "NAME[,NAME...]")
/* Of --all, where files are written (formats/path_fold.h). */
#define SD_ALL_PATHS                                                                   \
    "write every path of traced calls, however large the file grows; without it a "    \
    "file stays below 20 MB: small paths are folded into their callers"
/* What pages are made without: cli/read/export.h understands the two together. */
#define SD_OPTION_SOURCE                                                               \
    SD_OPTION("source", SD_FLAG, "1",                                                  \
              "in a page (.html): with source of the program's own files", 0, NULL)
#define SD_OPTION_SHARE                                                                \
    SD_OPTION("share", SD_FLAG, NULL,                                                  \
              "in a page (.html): without source, host, folders and arguments, to be " \
              "shown to others",                                                       \
              0, NULL)
/* "off", "seal" or a time. */
#define SD_OPTION_SYNC                                                                 \
    SD_OPTION("sync", SD_TEXT, "1s",                                                   \
              "how much a power cut may cost: off, seal (each sealed part is "         \
              "flushed), or a time",                                                   \
              0, "off|seal|TIME")
#endif
