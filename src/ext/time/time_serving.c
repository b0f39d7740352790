/* SPDX-License-Identifier: MIT */
#include "ext/time/time_serving.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "collect/time/time_parcel.h"

static PyObject *sides_list(const struct sd_time_request *r)
{
    PyObject *list = PyList_New(r->n_sides);

    for (uint32_t i = 0; list && i < r->n_sides; i++) {
        const struct sd_time_parcel_side *s = &r->sides[i];
        PyObject *one = Py_BuildValue("(NNNK)", PyUnicode_DecodeFSDefault(s->statement),
                                      PyUnicode_DecodeFSDefault(s->setup),
                                      PyUnicode_DecodeFSDefault(s->size),
                                      (unsigned long long)s->loops);

        if (!one)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, one);
    }
    return list;
}

static PyObject *request_dict(const struct sd_time_request *r)
{
    return Py_BuildValue(
        "{sNsNsOsOsOsOsdsKsKsK}", "sides", sides_list(r), "size_name",
        PyUnicode_DecodeFSDefault(r->size_name), "process_time",
        r->is_cpu_time ? Py_True : Py_False, "gc",
        r->collects_garbage ? Py_True : Py_False, "as_timeit",
        r->is_as_timeit ? Py_True : Py_False, "memory",
        r->wants_memory ? Py_True : Py_False, "budget", (double)r->budget_ns * 1e-9,
        "number", (unsigned long long)r->loops, "repeat", (unsigned long long)r->repeat,
        "seed", (unsigned long long)r->seed);
}

static PyObject *request_of(const void *p, size_t n)
{
    struct sd_time_request r;
    struct sd_arena arena = { 0 };
    int rc = sd_time_parcel_request(p, n, &arena, &r);
    PyObject *made;

    if (rc == SD_EFORMAT)
        rc =
            sd_fail(SD_EFORMAT, "the extension is of another version than sonde; build "
                                "both anew (make)");
    made = rc < 0 ? sd_ext_raise(rc) : request_dict(&r);
    sd_arena_release(&arena);
    return made;
}

PyObject *sd_time_serving_request(PyObject *module, PyObject *number)
{
    long fd = PyLong_AsLong(number);
    off_t size = fd >= 0 ? lseek((int)fd, 0, SEEK_END) : -1;
    PyObject *made;
    uint8_t *p;

    (void)module;
    if (fd == -1 && PyErr_Occurred())
        return NULL;
    if (size <= SD_TIME_PARCEL_AT)
        return PyErr_Format(PyExc_ValueError, "descriptor %ld holds no request", fd);
    p = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, (int)fd, 0);
    if (p == MAP_FAILED)
        return PyErr_SetFromErrno(PyExc_OSError);
    made = request_of(p + SD_TIME_PARCEL_AT, (size_t)size - SD_TIME_PARCEL_AT);
    munmap(p, (size_t)size);
    return made;
}

/* Replaces what the file held. */
static int write_result(int fd, const struct sd_time_result *r)
{
    struct sd_buf bytes = { 0 };
    int rc = 0;

    sd_time_parcel_put_result(&bytes, r);
    if (bytes.bad) {
        PyErr_NoMemory();
        rc = -1;
    } else if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
               sd_write_all(fd, bytes.p, bytes.n) < 0) {
        PyErr_SetFromErrno(PyExc_OSError);
        rc = -1;
    }
    sd_buf_release(&bytes);
    return rc;
}

static struct sd_time_result fresh_result(void)
{
    return (struct sd_time_result){ .pid = (uint64_t)getpid(),
                                    .allocated_bytes = SD_TIME_UNKNOWN,
                                    .peak_bytes = SD_TIME_UNKNOWN };
}

PyObject *sd_time_serving_refuse(PyObject *module, PyObject *args)
{
    struct sd_time_result r = fresh_result();
    int fd;

    (void)module;
    if (!PyArg_ParseTuple(args, "iI:time_refuse", &fd, &r.refusal) ||
        write_result(fd, &r) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyObject *sd_time_serving_memory(PyObject *module, PyObject *args)
{
    struct sd_time_result r = fresh_result();
    long long allocated, peak;
    int fd;

    (void)module;
    if (!PyArg_ParseTuple(args, "iLL:time_memory", &fd, &allocated, &peak))
        return NULL;
    r.allocated_bytes = allocated;
    r.peak_bytes = peak;
    if (write_result(fd, &r) < 0)
        return NULL;
    Py_RETURN_NONE;
}

int sd_time_serving_share(struct sd_time_run *r, int fd, uint32_t me)
{
    struct sd_time_turns *t =
        mmap(NULL, SD_TIME_PARCEL_AT, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (t == MAP_FAILED) {
        PyErr_SetFromErrno(PyExc_OSError);
        return -1;
    }
    if (t->n < 2 || t->n > SD_TIME_TURNS_MAX || me >= t->n) {
        munmap(t, SD_TIME_PARCEL_AT);
        return 0; /* it is alone */
    }
    r->turns = t;
    r->me = me;
    return 0;
}

int sd_time_serving_write(const struct sd_time_run *r, int fd)
{
    struct sd_time_result result = fresh_result();
    int rc;

    result.start_ticks = 0;
    result.n_sides = r->n_sides;
    result.batches = r->batches;
    result.n_batches = r->n_batches;
    result.loops = sd_alloc((r->n_sides + 1) * sizeof *result.loops);
    if (!result.loops) {
        PyErr_NoMemory();
        return -1;
    }
    for (uint32_t i = 0; i < r->n_sides; i++)
        result.loops[i] = r->sides[i].loops;
    rc = write_result(fd, &result);
    sd_free(result.loops);
    return rc;
}
