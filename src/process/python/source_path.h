/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_PYTHON_SOURCE_PATH_H
#define SD_PROCESS_PYTHON_SOURCE_PATH_H
/* source_path: finds the absolute path of a file that a program names by a relative
 * one.
 *
 * `python app.py` calls its own functions those of "app.py", and the same functions,
 * imported by a worker it spawns, those of "/home/me/app.py".  To be one row they need
 * one name.  A relative name is one below the folder in which the process was started,
 * which the kernel does not keep: there is the folder it is in now, and the one that
 * its first environment calls PWD.  A name is made absolute where the file is in one
 * of them, and left as it is where both have one, and not the same. */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* False: it is absolute, no file ("<string>"), not found, or found twice. */
bool sd_source_path(pid_t pid, const char *file, char *out, size_t size);

/* "/a/b" and "../c/./d.py" are "/a/c/d.py", without a look at what is there, as
 * os.path.abspath does it.  False: too long. */
bool sd_source_join(const char *folder, const char *file, char *out, size_t size);
#endif
