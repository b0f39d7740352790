/* SPDX-License-Identifier: MIT */
#ifndef SD_EXT_TIME_TIME_SERVING_H
#define SD_EXT_TIME_TIME_SERVING_H
/* time_serving: the measuring process of `sonde time`: reads what is asked
 * (collect/time/time_parcel.h) and writes what was measured. */
#include "collect/time/time_run.h"
#include "ext/ext.h"

/* time_request(fd) -> dict */
PyObject *sd_time_serving_request(PyObject *module, PyObject *fd);
/* time_refuse(fd, refusal): why is said already */
PyObject *sd_time_serving_refuse(PyObject *module, PyObject *args);
/* time_memory(fd, allocated, peak): of one execution */
PyObject *sd_time_serving_memory(PyObject *module, PyObject *args);

/* Takes turns with other processes, by the word in that file; `me` of `n`.  The mapping
 * stays until the process ends.  -1 with an exception. */
int sd_time_serving_share(struct sd_time_run *r, int fd, uint32_t me);
/* Writes its batches; -1 with an exception. */
int sd_time_serving_write(const struct sd_time_run *r, int fd);
#endif
