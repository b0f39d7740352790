/* SPDX-License-Identifier: MIT */
#include "process/native/unwind.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "process/native/unwind_parts.h"

#ifdef HAVE_DW

/* --- What elfutils asks for */

static pid_t next_thread(Dwfl *dwfl, void *of, void **thread)
{
    (void)dwfl, (void)of, (void)thread;
    return 0;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *of, void **thread)
{
    (void)dwfl, (void)tid;
    *thread = of;
    return true;
}

/* Read-only memory stands in the files. */
static bool read_from_file(struct sd_unwinder *u, uint64_t at, Dwarf_Word *to)
{
    const struct sd_unwind_module *m = sd_unwind_module_at(u, at);
    const uint8_t *p =
        m && m->file ? sd_elf_bytes(&m->file->elf, at - m->bias, sizeof *to) : NULL;

    if (p)
        memcpy(to, p, sizeof *to);
    return p != NULL;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr at, Dwarf_Word *to, void *of)
{
    struct sd_unwinder *u = of;
    const struct sd_stack_copy *c = u->copy;

    (void)dwfl;
    if (at >= c->from && at - c->from <= c->n && c->n - (at - c->from) >= sizeof *to) {
        memcpy(to, c->p + (at - c->from), sizeof *to);
        if (at + sizeof *to > u->top)
            u->top = at + sizeof *to;
        return true;
    }
    if (read_from_file(u, at, to))
        return true;
    u->ran_out |= c->is_cut && at >= c->from;
    return false;
}

static bool set_registers(Dwfl_Thread *thread, void *of)
{
    struct sd_unwinder *u = of;
    const uint64_t *r = u->copy->registers;

    if (!u->copy->has_only_sp)
        return u->dw->dwfl_thread_state_registers(thread, 0, SD_UNWIND_REGISTERS, r);
    return u->dw->dwfl_thread_state_registers(thread, SD_UNWIND_SP, 1,
                                              r + SD_UNWIND_SP) &&
           u->dw->dwfl_thread_state_registers(thread, SD_UNWIND_PC, 1,
                                              r + SD_UNWIND_PC);
}

/* --- The walk */

static bool add_frame(struct sd_unwinder *u, const struct sd_symbol *s, uint64_t sp)
{
    struct sd_unwound *frames =
        sd_grow_array(u->frames, &u->cap_frames, u->n_frames + 1, sizeof *frames);

    if (!frames)
        return false;
    u->frames = frames;
    frames[u->n_frames++] = (struct sd_unwound){ s, sp };
    return true;
}

/* An address to return to stands behind its call, which may be the last instruction of
 * a function that never returns. */
static int take_frame(Dwfl_Frame *state, void *of)
{
    struct sd_unwinder *u = of;
    const struct sd_symbol *s;
    Dwarf_Addr pc;
    Dwarf_Word sp = 0;
    bool is_exact;

    if (!u->dw->dwfl_frame_pc(state, &pc, &is_exact))
        return DWARF_CB_ABORT;
    if (!u->dw->frame_register || u->dw->frame_register(state, SD_UNWIND_SP, &sp) != 0)
        sp = 0;
    s = sd_unwind_symbol(u, is_exact ? pc : pc - 1);
    u->is_stopped =
        !s || u->n_frames == SD_UNWIND_MAX || !add_frame(u, s, sp) || !s->can_go_on;
    return u->is_stopped ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static enum sd_unwind_end walk(struct sd_unwinder *u, const struct sd_stack_copy *copy)
{
    int rc;

    u->copy = copy;
    u->n_frames = 0;
    u->top = copy->registers[SD_UNWIND_SP];
    u->ran_out = u->is_stopped = u->has_unknown_place = false;
    rc = u->dw->dwfl_getthread_frames(u->dwfl, u->remote->pid, take_frame, u);
    u->copy = NULL;
    if (rc == 0 && !u->is_stopped && u->n_frames && !u->ran_out)
        return SD_UNWIND_DONE;
    return u->ran_out ? SD_UNWIND_SHORT : SD_UNWIND_STOPPED;
}

enum sd_unwind_end sd_unwinder_run(struct sd_unwinder *u,
                                   const struct sd_stack_copy *copy, uint64_t now_ns,
                                   const struct sd_unwound **frames, size_t *n,
                                   uint64_t *top)
{
    enum sd_unwind_end end = SD_UNWIND_STOPPED;

    u->n_frames = 0;
    u->top = copy->registers[SD_UNWIND_SP];
    if (sd_unwind_look(u, now_ns, false) == 0) {
        end = walk(u, copy);
        /* A library that was loaded since we last looked is looked for once. */
        if (u->has_unknown_place) {
            uint64_t looked_ns = u->looked_ns;

            if (sd_unwind_look(u, now_ns, true) == 0 && u->looked_ns != looked_ns)
                end = walk(u, copy);
        }
    }
    *frames = u->frames;
    *n = u->n_frames;
    *top = u->top;
    return end;
}

/* --- Making */

int sd_unwind_check(void)
{
    struct sd_dw dw;
    int rc = sd_dw_open(&dw);

    if (rc == 0)
        sd_dw_close(&dw);
    return rc;
}

int sd_unwinder_new(struct sd_unwinder **out, const struct sd_remote *r,
                    struct sd_unwind_files *files)
{
    struct sd_unwinder *u = sd_zalloc(sizeof *u);

    *out = NULL;
    if (!u)
        return sd_no_memory();
    u->remote = r;
    u->files = files;
    u->dw = &files->dw;
    u->callbacks =
        (Dwfl_Callbacks){ .find_elf = sd_unwind_find_elf,
                          .find_debuginfo = u->dw->dwfl_build_id_find_debuginfo };
    u->thread_callbacks =
        (Dwfl_Thread_Callbacks){ .next_thread = next_thread,
                                 .get_thread = get_thread,
                                 .memory_read = read_memory,
                                 .set_initial_registers = set_registers };
    *out = u;
    return 0;
}

void sd_unwinder_free(struct sd_unwinder *u)
{
    if (!u)
        return;
    sd_unwind_forget(u);
    sd_free(u->modules);
    sd_maps_release(&u->maps);
    sd_table_release(&u->by_pc);
    sd_free(u->frames);
    sd_free(u);
}

#else

int sd_unwind_check(void)
{
    return sd_fail(SD_ELACKS, "this build cannot show native functions: it was made "
                              "without libdw-dev");
}

int sd_unwinder_new(struct sd_unwinder **out, const struct sd_remote *r,
                    struct sd_unwind_files *files)
{
    (void)r, (void)files;
    *out = NULL;
    return sd_unwind_check();
}

void sd_unwinder_free(struct sd_unwinder *u) { (void)u; }

enum sd_unwind_end sd_unwinder_run(struct sd_unwinder *u,
                                   const struct sd_stack_copy *copy, uint64_t now_ns,
                                   const struct sd_unwound **frames, size_t *n,
                                   uint64_t *top)
{
    (void)u, (void)now_ns;
    *frames = NULL;
    *n = 0;
    *top = copy->registers[SD_UNWIND_SP];
    return SD_UNWIND_STOPPED;
}
#endif
