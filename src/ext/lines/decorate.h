/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_LINES_DECORATE_H
#define SD_EXT_LINES_DECORATE_H
/* decorate: finds the code objects behind whatever @profile decorates. */
#include "ext/ext.h"

/* codes_of(object): a list of the code objects of a function, a method of any kind, a
 * property, a partial, or all of a class.  Empty: it has none. */
PyObject *sd_decorate_codes_of(PyObject *module, PyObject *o);
/* profile(object): chooses them for the capture, if that wants lines; gives the object
 * back. */
PyObject *sd_decorate_profile(PyObject *module, PyObject *o);
/* Does what --debug-above says where the capture wants lines. */
void sd_decorate_watch_limit(void);
#endif
