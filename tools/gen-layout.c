/* SPDX-License-Identifier: MIT */
/* gen-layout: prints the layout table of the CPython whose headers it is compiled with.
 *
 * tools/gen-layouts compiles it once per interpreter.  It is the only file that
 * includes CPython's internal headers; the program itself knows the printed numbers
 * alone.  A field that a version lacks is SD_NO_OFFSET in its table. */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define AT_LEAST(minor) (PY_VERSION_HEX >= 0x03000000 + ((minor) << 16))

#if AT_LEAST(9)
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#endif
#include "internal/pycore_gil.h"
#include "internal/pycore_pystate.h"
#if AT_LEAST(11)
#include "internal/pycore_code.h"
#include "internal/pycore_dict.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_moduleobject.h"
#if AT_LEAST(14)
#include "internal/pycore_interpframe.h"
#endif
#else
/* These two stand in no header of these versions; they have been so since 3.6. */
struct _dictkeysobject {
    Py_ssize_t dk_refcnt;
    Py_ssize_t dk_size;
    void *dk_lookup;
    Py_ssize_t dk_usable;
    Py_ssize_t dk_nentries;
    char dk_indices[];
};
#define PyModuleObject struct module_object
struct module_object {
    PyObject_HEAD PyObject *md_dict;
};
#endif
#if AT_LEAST(12)
#include "internal/pycore_long.h"
#endif

#ifdef Py_DEBUG
#error "the layout of a debug build is not the one that people run"
#endif

static void number(const char *name, unsigned long v)
{
    printf("    .%s = %lu,\n", name, v);
}

static void word(const char *name, const char *v)
{
    printf("    .%s = %s,\n", name, v);
}

#define AT(name, type, field) number(name, offsetof(type, field))
#define NO(name) word(name, "SD_NO_OFFSET")

/* Lowest bit of the kind in a str's state. */
static unsigned long kind_bit(void)
{
    PyASCIIObject o = { .state = { .kind = 1 } };
    unsigned state;

    memcpy(&state, &o.state, sizeof state);
    return (unsigned long)__builtin_ctz(state);
}

static void styles(void)
{
#if AT_LEAST(13)
    word("frames_style", "SD_FRAMES_DIRECT");
    word("instr_style", "SD_INSTR_CURRENT");
#elif AT_LEAST(11)
    word("frames_style", "SD_FRAMES_CFRAME");
    word("instr_style", "SD_INSTR_PREVIOUS");
#else
    word("frames_style", "SD_FRAMES_OBJECTS");
    word("instr_style", AT_LEAST(10) ? "SD_INSTR_UNITS" : "SD_INSTR_BYTES");
#endif
    word("lines_style", AT_LEAST(11)   ? "SD_LINES_LOCATIONS"
                        : AT_LEAST(10) ? "SD_LINES_RANGES"
                                       : "SD_LINES_LNOTAB");
    word("bytecode_style", AT_LEAST(11) ? "SD_BYTECODE_INLINE" : "SD_BYTECODE_OBJECT");
    word("gil_style", AT_LEAST(12) ? "SD_GIL_INTERPRETER" : "SD_GIL_RUNTIME");
    word("long_style", AT_LEAST(12) ? "SD_LONG_TAG" : "SD_LONG_SIZE");
    word("keys_style", AT_LEAST(11) ? "SD_KEYS_LOG2" : "SD_KEYS_LOOKUP");
    word("instance_style", AT_LEAST(13)   ? "SD_INSTANCE_INLINE"
                           : AT_LEAST(12) ? "SD_INSTANCE_TAGGED"
                           : AT_LEAST(11) ? "SD_INSTANCE_BEFORE"
                                          : "SD_INSTANCE_OFFSET");
    /* From 3.14 on the low bits of a frame's code pointer say how it is counted. */
    word("code_mask", AT_LEAST(14) ? "~(uint64_t)7" : "UINT64_MAX");
#if AT_LEAST(15)
    number("owner_shim", FRAME_OWNED_BY_INTERPRETER);
    number("owner_last", FRAME_OWNED_BY_INTERPRETER);
#elif AT_LEAST(14)
    number("owner_shim", FRAME_OWNED_BY_INTERPRETER);
    number("owner_last", FRAME_OWNED_BY_CSTACK);
#elif AT_LEAST(12)
    number("owner_shim", FRAME_OWNED_BY_CSTACK);
    number("owner_last", FRAME_OWNED_BY_CSTACK);
#elif AT_LEAST(11)
    number("owner_shim", FRAME_OWNED_BY_FRAME_OBJECT + 1);
    number("owner_last", FRAME_OWNED_BY_FRAME_OBJECT);
#endif
    number("str_kind_bit", kind_bit());
#if AT_LEAST(11)
    number("frame_specials", FRAME_SPECIALS_SIZE);
#elif AT_LEAST(10)
    number("frame_executing", FRAME_EXECUTING);
#else
    number("frame_executing", 1);
#endif
}

static void sizes(void)
{
    number("runtime_size", sizeof(_PyRuntimeState));
    number("interp_size", sizeof(PyInterpreterState));
    number("gil_size", sizeof(struct _gil_runtime_state));
    number("thread_size", sizeof(PyThreadState));
#if AT_LEAST(11)
#if !AT_LEAST(13)
    number("cframe_size", sizeof(_PyCFrame));
#endif
    number("chunk_size", sizeof(_PyStackChunk));
    number("frame_size", offsetof(_PyInterpreterFrame, localsplus));
    number("code_size", offsetof(PyCodeObject, co_code_adaptive));
#else
    number("frame_size", offsetof(PyFrameObject, f_localsplus));
    number("code_size", sizeof(PyCodeObject));
#endif
    number("object_size", sizeof(PyObject));
    number("var_size", sizeof(PyVarObject));
    number("type_size", sizeof(PyHeapTypeObject));
    number("tuple_size", sizeof(PyTupleObject));
    number("list_size", sizeof(PyListObject));
    number("float_size", sizeof(PyFloatObject));
    number("long_size", sizeof(struct _longobject));
    number("bytes_size", sizeof(PyBytesObject));
    number("str_size", sizeof(PyUnicodeObject));
    number("dict_size", sizeof(PyDictObject));
    number("values_size", 16); /* it has as many items as there are keys */
    number("module_size", sizeof(PyModuleObject));
    number("keys_size", sizeof(struct _dictkeysobject));
}

static void runtime(void)
{
    AT("runtime_interpreters", _PyRuntimeState, interpreters.head);
#if AT_LEAST(9)
    AT("runtime_finalizing", _PyRuntimeState, _finalizing);
#else
    AT("runtime_finalizing", _PyRuntimeState, finalizing);
#endif
#if AT_LEAST(12)
    NO("runtime_holder");
#else
    AT("runtime_holder", _PyRuntimeState, gilstate.tstate_current);
#endif
}

static void interpreter(void)
{
    AT("interp_next", PyInterpreterState, next);
    AT("interp_id", PyInterpreterState, id);
#if AT_LEAST(11)
    AT("interp_threads", PyInterpreterState, threads.head);
#else
    AT("interp_threads", PyInterpreterState, tstate_head);
#endif
#if AT_LEAST(12)
    AT("interp_modules", PyInterpreterState, imports.modules);
    AT("interp_gil", PyInterpreterState, ceval.gil);
#else
    AT("interp_modules", PyInterpreterState, modules);
    NO("interp_gil");
#endif
#if AT_LEAST(9)
    AT("interp_collecting", PyInterpreterState, gc.collecting);
#else
    NO("interp_collecting");
#endif
    AT("gil_holder", struct _gil_runtime_state, last_holder);
    AT("gil_locked", struct _gil_runtime_state, locked);
}

static void thread(void)
{
    AT("thread_next", PyThreadState, next);
    AT("thread_interp", PyThreadState, interp);
    AT("thread_ident", PyThreadState, thread_id);
#if AT_LEAST(11)
    AT("thread_native", PyThreadState, native_thread_id);
    NO("thread_serial");
    AT("thread_chunk", PyThreadState, datastack_chunk);
    AT("thread_top", PyThreadState, datastack_top);
    AT("chunk_previous", _PyStackChunk, previous);
    AT("chunk_n_bytes", _PyStackChunk, size);
    AT("chunk_top", _PyStackChunk, top);
    AT("chunk_data", _PyStackChunk, data);
#else
    NO("thread_native");
    AT("thread_serial", PyThreadState, id);
    NO("thread_chunk");
    NO("thread_top");
    NO("chunk_previous");
    NO("chunk_n_bytes");
    NO("chunk_top");
    NO("chunk_data");
#endif
#if AT_LEAST(15)
    AT("thread_base_frame", PyThreadState, base_frame);
#else
    NO("thread_base_frame");
#endif
#if AT_LEAST(13)
    AT("thread_frame", PyThreadState, current_frame);
    NO("cframe_frame");
#elif AT_LEAST(11)
    AT("thread_frame", PyThreadState, cframe);
    AT("cframe_frame", _PyCFrame, current_frame);
#else
    AT("thread_frame", PyThreadState, frame);
    NO("cframe_frame");
#endif
}

static void frame(void)
{
#if AT_LEAST(13)
    AT("frame_code", _PyInterpreterFrame, f_executable);
    AT("frame_instr", _PyInterpreterFrame, instr_ptr);
#elif AT_LEAST(11)
    AT("frame_code", _PyInterpreterFrame, f_code);
    AT("frame_instr", _PyInterpreterFrame, prev_instr);
#else
    AT("frame_code", PyFrameObject, f_code);
    AT("frame_instr", PyFrameObject, f_lasti);
#endif
#if AT_LEAST(11)
    AT("frame_previous", _PyInterpreterFrame, previous);
    AT("frame_owner", _PyInterpreterFrame, owner);
    AT("frame_locals", _PyInterpreterFrame, localsplus);
#else
    AT("frame_previous", PyFrameObject, f_back);
    NO("frame_owner");
    AT("frame_locals", PyFrameObject, f_localsplus);
#endif
#if AT_LEAST(11)
    NO("frame_generator");
#else
    AT("frame_generator", PyFrameObject, f_gen);
#endif
#if AT_LEAST(11) && !AT_LEAST(12)
    AT("frame_is_entry", _PyInterpreterFrame, is_entry);
#else
    NO("frame_is_entry");
#endif
#if AT_LEAST(11)
    NO("frame_state");
#elif AT_LEAST(10)
    AT("frame_state", PyFrameObject, f_state);
#else
    AT("frame_state", PyFrameObject, f_executing);
#endif
    NO("frame_copy");
}

static void code(void)
{
    AT("code_filename", PyCodeObject, co_filename);
    AT("code_name", PyCodeObject, co_name);
    AT("code_first_line", PyCodeObject, co_firstlineno);
    AT("code_n_stack", PyCodeObject, co_stacksize);
    AT("code_n_args", PyCodeObject, co_argcount);
    AT("code_n_keyword_args", PyCodeObject, co_kwonlyargcount);
    AT("code_flags", PyCodeObject, co_flags);
#if AT_LEAST(11)
    AT("code_qualname", PyCodeObject, co_qualname);
    NO("code_bytes");
    AT("code_n_units", PyCodeObject, ob_base.ob_size);
    AT("code_bytecode", PyCodeObject, co_code_adaptive);
    AT("code_n_locals", PyCodeObject, co_nlocalsplus);
    AT("code_local_names", PyCodeObject, co_localsplusnames);
    NO("code_cell_names");
    NO("code_free_names");
#else
    NO("code_qualname");
    AT("code_bytes", PyCodeObject, co_code);
    NO("code_n_units");
    NO("code_bytecode");
    AT("code_n_locals", PyCodeObject, co_nlocals);
    AT("code_local_names", PyCodeObject, co_varnames);
    AT("code_cell_names", PyCodeObject, co_cellvars);
    AT("code_free_names", PyCodeObject, co_freevars);
#endif
#if AT_LEAST(10)
    AT("code_lines", PyCodeObject, co_linetable);
#else
    AT("code_lines", PyCodeObject, co_lnotab);
#endif
#if AT_LEAST(12)
    AT("code_frame_words", PyCodeObject, co_framesize);
    AT("code_version", PyCodeObject, co_version);
#else
    NO("code_frame_words");
    NO("code_version");
#endif
    NO("code_copies");
}

static void objects(void)
{
    AT("object_type", PyObject, ob_type);
    AT("var_n_items", PyVarObject, ob_size);
    AT("type_name", PyTypeObject, tp_name);
    AT("type_flags", PyTypeObject, tp_flags);
    AT("type_basic_size", PyTypeObject, tp_basicsize);
    AT("type_dict_offset", PyTypeObject, tp_dictoffset);
    AT("type_cached_keys", PyHeapTypeObject, ht_cached_keys);
    AT("tuple_items", PyTupleObject, ob_item);
    AT("list_items", PyListObject, ob_item);
    AT("float_value", PyFloatObject, ob_fval);
#if AT_LEAST(12)
    AT("long_tag", PyLongObject, long_value.lv_tag);
    AT("long_digits", PyLongObject, long_value.ob_digit);
#else
    AT("long_tag", struct _longobject, ob_base.ob_size);
    AT("long_digits", struct _longobject, ob_digit);
#endif
    AT("bytes_n", PyBytesObject, ob_base.ob_size);
    AT("bytes_data", PyBytesObject, ob_sval);
    AT("str_length", PyASCIIObject, length);
    AT("str_state", PyASCIIObject, state);
    number("str_ascii", sizeof(PyASCIIObject));
    number("str_compact", sizeof(PyCompactUnicodeObject));
    AT("dict_keys", PyDictObject, ma_keys);
    AT("dict_values", PyDictObject, ma_values);
#if AT_LEAST(13)
    AT("values_items", struct _dictvalues, values);
#else
    number("values_items", 0);
#endif
    AT("module_dict", PyModuleObject, md_dict);
}

static void keys(void)
{
#if AT_LEAST(11)
    AT("keys_log2_size", struct _dictkeysobject, dk_log2_size);
    AT("keys_log2_bytes", struct _dictkeysobject, dk_log2_index_bytes);
    AT("keys_kind", struct _dictkeysobject, dk_kind);
#else
    AT("keys_log2_size", struct _dictkeysobject, dk_size);
    NO("keys_log2_bytes");
    NO("keys_kind");
#endif
    AT("keys_n_entries", struct _dictkeysobject, dk_nentries);
    AT("keys_index", struct _dictkeysobject, dk_indices);
}

int main(void)
{
    printf("/* SPDX-License-Identifier: MIT */\n"
           "/* Generated by tools/gen-layouts from the headers of CPython %s. */\n"
           "#include \"cpython/layouts.h\"\n\n"
           "const struct sd_layout sd_layout_cp3%d = {\n",
           PY_VERSION, PY_MINOR_VERSION);
    printf("    .version = 0x%08x,\n", PY_VERSION_HEX);
    styles();
    sizes();
    runtime();
    interpreter();
    thread();
    frame();
    code();
    objects();
    keys();
    printf("};\n");
    return 0;
}
