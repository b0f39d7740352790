/* SPDX-License-Identifier: MIT */
#ifndef SD_PROCESS_NATIVE_DW_H
#define SD_PROCESS_NATIVE_DW_H
/* dw: loads the functions of elfutils (libdw, libdwfl, libelf) that unwind and name
 * native code, when the first native stack is needed.  The program runs where they are
 * not installed, and a sampler without native frames pays nothing for them.
 *
 * libstdc++ reads the names of C++ functions, and of Rust's that are written the same
 * way.  Without it names stay as the linker has them. */
#ifdef HAVE_DW
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stddef.h>

#define SD_DW_FUNCTIONS(F)                                                             \
    F(dwarf_cfi_addrframe)                                                             \
    F(dwfl_addrmodule)                                                                 \
    F(dwfl_attach_state)                                                               \
    F(dwfl_begin)                                                                      \
    F(dwfl_build_id_find_debuginfo)                                                    \
    F(dwfl_end)                                                                        \
    F(dwfl_frame_pc)                                                                   \
    F(dwfl_getthread_frames)                                                           \
    F(dwfl_lineinfo)                                                                   \
    F(dwfl_module_dwarf_cfi)                                                           \
    F(dwfl_module_eh_cfi)                                                              \
    F(dwfl_module_getelf)                                                              \
    F(dwfl_module_getsrc)                                                              \
    F(dwfl_module_getsym_info)                                                         \
    F(dwfl_module_getsymtab)                                                           \
    F(dwfl_module_info)                                                                \
    F(dwfl_report_begin_add)                                                           \
    F(dwfl_report_end)                                                                 \
    F(dwfl_report_module)                                                              \
    F(dwfl_thread_state_registers)                                                     \
    F(elf_memory)                                                                      \
    F(elf_version)

struct sd_dw {
    void *library, *cxx; /* owned; cxx may be NULL */
#define SD_DW_MEMBER(name) __typeof__(name) *name;
    SD_DW_FUNCTIONS(SD_DW_MEMBER)
#undef SD_DW_MEMBER
    /* elfutils 0.188 and later, else NULL: a register in a frame. */
    int (*frame_register)(Dwfl_Frame *state, unsigned number, Dwarf_Word *value);
    /* Of libstdc++, or NULL. */
    char *(*demangle)(const char *mangled, char *to, size_t *n, int *status);
    /* libc's own: some results of these libraries are the caller's to free. */
    void (*drop)(void *p);
};

/* SD_ELACKS with a sentence that names the package. */
int sd_dw_open(struct sd_dw *d);
void sd_dw_close(struct sd_dw *d);
#endif
#endif
