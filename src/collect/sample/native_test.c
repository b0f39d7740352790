/* SPDX-License-Identifier: MIT */
#include "collect/sample/native.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/test.h"

/* Stacks are written innermost first, a word for each function: P a Python function, Q
 * one that C has called, e the evaluator, s the start of the interpreter, - plumbing,
 * a digit a function without a name that holds the mark of this Python function,
 * anything else a native function of that name. */
struct told {
    struct sd_native_stack stack;
    char text[512];
};

static struct sd_symbol symbol_of(char c)
{
    static const char names[][2] = { "a", "b", "c", "d" };
    struct sd_symbol s = { .name = c >= 'a' && c <= 'd' ? names[c - 'a'] : "?" };

    s.role = c == 'e'   ? SD_NATIVE_EVALUATOR
             : c == 's' ? SD_NATIVE_START
             : c == '-' ? SD_NATIVE_PLUMBING
                        : SD_NATIVE_PLAIN;
    return s;
}

static void merge(struct told *t, const char *natives, enum sd_unwind_end end,
                  const char *python, bool is_inner)
{
    static const struct sd_code code = { .name = "P" };
    struct sd_symbol symbols[32];
    struct sd_unwound calls[32] = { 0 };
    struct sd_shot_frame frames[32] = { 0 };
    size_t i, n = strlen(natives), m = strlen(python);

    for (i = 0; i < n; i++) {
        symbols[i] = symbol_of(natives[i]);
        calls[i] = (struct sd_unwound){ &symbols[i], 0 };
    }
    for (i = 0; i < m; i++) {
        frames[i].code = &code;
        frames[i].instr = i;
        frames[i].is_entry = python[i] == 'Q';
    }
    if (strpbrk(natives, "0123456789")) /* the stack grows down, 16 bytes a call */
        for (i = 0; i < n; i++) {
            calls[i].sp = 1000 + 16 * i;
            if (natives[i] >= '0' && natives[i] <= '9')
                frames[natives[i] - '0'].mark = calls[i].sp + 8;
        }
    CHECK(sd_native_merge(&t->stack, calls, n, end, frames, m, false, is_inner) == 0);
    t->text[0] = 0;
    for (i = 0; i < t->stack.n; i++) {
        const struct sd_shot_frame *f = &t->stack.frames[i];
        size_t at = strlen(t->text);

        if (f->code)
            snprintf(t->text + at, sizeof t->text - at, " %c%u", python[f->instr],
                     (unsigned)f->instr);
        else
            snprintf(t->text + at, sizeof t->text - at, " %s", f->native->name);
    }
}

#define MERGES(natives, end, python, is_inner, marked, wanted)                         \
    do {                                                                               \
        struct told t = { 0 };                                                         \
        merge(&t, natives, end, python, is_inner);                                     \
        CHECK(strcmp(t.text, wanted) == 0);                                            \
        CHECK(t.stack.is_marked == marked);                                            \
        sd_native_stack_release(&t.stack);                                             \
    } while (0)

TEST(native_functions_stand_where_they_were_called)
{
    /* Python called a, which called b, which called Python. */
    MERGES("-e-ba-e--s", SD_UNWIND_DONE, "QQ", false, false, " Q0 b a Q1");
    MERGES("cd-e-ba-e--s", SD_UNWIND_DONE, "QQ", false, false, " c d Q0 b a Q1");
    /* One evaluator that runs three functions, and one that runs two. */
    MERGES("de-c-es", SD_UNWIND_DONE, "PPQPQ", false, false, " d P0 P1 Q2 c P3 Q4");
}

TEST(native_functions_that_started_the_interpreter_are_not_shown)
{
    MERGES("ae-bsc", SD_UNWIND_DONE, "Q", false, false, " a Q0");
    /* A program that has Python in it is not the interpreter. */
    MERGES("ae-bc", SD_UNWIND_DONE, "Q", false, false, " a Q0 b c");
}

TEST(native_evaluator_that_has_no_frame_yet_takes_none_of_anothers)
{
    MERGES("e-ae-s", SD_UNWIND_DONE, "PQ", false, false, " a P0 Q1");
    MERGES("be-e-s", SD_UNWIND_DONE, "Q", false, false, " b Q0");
}

TEST(native_stack_that_ends_early_keeps_every_python_function)
{
    MERGES("ab", SD_UNWIND_STOPPED, "PQ", false, true,
           " a b [unwinding stopped] P0 Q1");
    MERGES("aeb", SD_UNWIND_STOPPED, "PQQ", false, true,
           " a P0 Q1 b [unwinding stopped] Q2");
    MERGES("", SD_UNWIND_STOPPED, "Q", false, true, " [unwinding stopped] Q0");
    MERGES("a", SD_UNWIND_SHORT, "Q", false, true, " a [unwinding stopped] Q0");
}

TEST(native_functions_without_named_evaluators_are_not_placed_by_guess)
{
    MERGES("ab-cd", SD_UNWIND_DONE, "PQQ", false, true,
           " a b [native frames not placed] P0 Q1 Q2");
    MERGES("abcd", SD_UNWIND_DONE, "Q", false, true, " [native frames not placed] Q0");
    /* More evaluators than Python can explain. */
    MERGES("aebeces", SD_UNWIND_DONE, "Q", false, true,
           " a [native frames not placed] Q0");
}

TEST(native_functions_are_placed_by_marks_where_names_are_lost)
{
    MERGES("ab1-c-3s", SD_UNWIND_DONE, "PQPQ", false, false, " a b P0 Q1 c P2 Q3");
    /* A call of the evaluator that has made no mark yet takes nothing. */
    MERGES("e-a1-s", SD_UNWIND_DONE, "PQ", false, false, " a P0 Q1");
    MERGES("a0b", SD_UNWIND_STOPPED, "Q", false, true, " a Q0 b [unwinding stopped]");
    MERGES("a0", SD_UNWIND_STOPPED, "Q", false, true, " a ? [unwinding stopped] Q0");
    MERGES("a0b2s", SD_UNWIND_DONE, "QPQ", false, false, " a Q0 b P1 Q2");
}

TEST(native_functions_outside_of_a_second_interpreter_are_the_first_ones)
{
    MERGES("aebecs", SD_UNWIND_DONE, "Q", true, false, " a Q0");
}

TEST(native_names_of_cpython_are_known)
{
    CHECK(sd_native_judge("_PyEval_EvalFrameDefault") == SD_NATIVE_EVALUATOR);
    CHECK(sd_native_judge("_PyEval_Vector") == SD_NATIVE_PLUMBING);
    CHECK(sd_native_judge("method_vectorcall_FASTCALL") == SD_NATIVE_PLUMBING);
    CHECK(sd_native_judge("Py_BytesMain") == SD_NATIVE_START);
    CHECK(sd_native_judge("builtin_sorted") == SD_NATIVE_PLAIN);
    CHECK(sd_native_judge("") == SD_NATIVE_PLAIN);
}

TEST(native_merge_without_memory_says_so_and_leaks_nothing)
{
    static const struct sd_symbol a = { .name = "a" };
    const struct sd_unwound one = { &a, 0 };
    struct sd_native_stack s = { 0 };

    sd_mem_fail_at(1, true);
    CHECK(sd_native_merge(&s, &one, 1, SD_UNWIND_DONE, NULL, 0, false, false) < 0);
    sd_mem_fail_at(0, false);
    sd_native_stack_release(&s);
}
