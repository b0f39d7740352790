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

/* How a stack is read: cli/attach.h understands the three together. */
#define SD_OPTION_CONSISTENCY                                                          \
    SD_OPTION("consistency", SD_CHOICE, "auto",                                        \
              "how a stack is kept from changing while it is read: from outside, "     \
              "from the CPU of its thread, with the thread stopped, or not at all",    \
              0, "auto|follow|pause|none")
#define SD_OPTION_NONBLOCKING                                                          \
    SD_OPTION("nonblocking", SD_FLAG, NULL,                                            \
              "do not stop the program; it is not anyway, so this is --consistency "   \
              "auto",                                                                  \
              0, NULL)
#define SD_OPTION_BLOCKING                                                             \
    SD_OPTION("blocking", SD_FLAG, NULL,                                               \
              "stop each thread while it is read: --consistency pause", 0, NULL)
#define SD_OPTION_NATIVE                                                               \
    SD_OPTION("native", SD_FLAG, NULL,                                                 \
              "show the C functions between Python functions, too", 'n', NULL)
#define SD_OPTION_PYTHON_VERSION                                                       \
    SD_OPTION("python-version", SD_TEXT, NULL,                                         \
              "which Python it is, where that cannot be found out", 0, "X.Y")

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
    SD_OPTION("force", SD_FLAG, NULL, "overwrite FILE when it is there already", 0,    \
              NULL)
#define SD_OPTION_WITH(otherwise)                                                      \
    SD_OPTION("with", SD_TEXT, NULL, "which collectors to use; " otherwise, 0,         \
              "NAME[,NAME...]")
/* Of --all, where files are written (formats/path_fold.h). */
#define SD_ALL_PATHS                                                                   \
    "write every path of traced calls, however large the file grows; without it a "    \
    "file stays below 20 MB: small paths are folded into their callers"
/* "off", "seal" or a time. */
#define SD_OPTION_SYNC                                                                 \
    SD_OPTION("sync", SD_TEXT, "1s",                                                   \
              "how much a power cut may cost: off, seal (each sealed part is "         \
              "flushed), or a time",                                                   \
              0, "off|seal|TIME")
#endif
