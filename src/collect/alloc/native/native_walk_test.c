/* SPDX-License-Identifier: MIT */
#include "collect/alloc/native/native_walk.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "collect/alloc/native/call_frames.h"
#include "collect/alloc/native/code_objects.h"
#include "collect/alloc/native/code_places.h"
#include "collect/alloc/native/symbol_names.h"

enum { DEPTH = 64 };

/* Every place of a stack, as the C library unwinds it, has a rule here, too. */
static __attribute__((noinline)) int look_at_stack(const void *a, const void *b)
{
    void *stack[DEPTH];
    int n = backtrace(stack, DEPTH);

    for (int i = 0; i < n - 1; i++) {
        uintptr_t at = (uintptr_t)stack[i] - 1;
        const struct sd_code_object *o = sd_code_object_at(at);
        struct sd_frame_rule rule;

        CHECK(o && at >= o->start && at < o->end);
        CHECK(sd_call_frames_find(&o->loaded, o->table, at, &rule));
        CHECK(rule.base != SD_FRAME_NONE && rule.start && rule.start <= at);
    }
    CHECK(n > 3);
    return memcmp(a, b, 1);
}

TEST(call_frames_have_rules_for_all_places_of_a_stack)
{
    char letters[] = "ba";

    qsort(letters, 2, 1, look_at_stack); /* through the C library */
}

TEST(call_frames_have_no_rule_outside_of_functions)
{
    const struct sd_code_object *o = sd_code_object_at((uintptr_t)look_at_stack);
    struct sd_frame_rule rule;

    CHECK(o && o->table);
    CHECK(!sd_call_frames_find(&o->loaded, o->table, o->loaded.base + 1, &rule));
    CHECK(!sd_call_frames_find(&o->loaded, o->table, UINTPTR_MAX, &rule));
    CHECK(!sd_call_frames_find(&o->loaded, 0, (uintptr_t)look_at_stack, &rule));
    CHECK(!sd_call_frames_find(&o->loaded, (uintptr_t)&rule, (uintptr_t)look_at_stack,
                               &rule));
    CHECK(sd_code_object_at((uintptr_t)&rule) == NULL);
}

/* What stands at the table's head is a stranger's. */
TEST(call_frames_survive_any_table)
{
    const struct sd_code_object *o = sd_code_object_at((uintptr_t)look_at_stack);
    uint64_t random = 88172645463325252u;
    size_t bytes = 4096;
    uint8_t *copy = malloc(bytes);
    Elf64_Phdr segment = { .p_type = PT_LOAD, .p_flags = PF_R, .p_memsz = bytes };
    struct sd_loaded fake = { .segments = &segment, .n_segments = 1 };
    struct sd_frame_rule rule;

    CHECK(copy);
    fake.base = (uintptr_t)copy;
    for (int round = 0; round < 2000; round++) {
        memcpy(copy, (const void *)o->table, bytes);
        for (int i = 0; i < 20; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            copy[random % (i < 10 ? 64 : bytes)] = (uint8_t)(random >> 32);
        }
        sd_call_frames_find(&fake, (uintptr_t)copy, (uintptr_t)copy + random % bytes,
                            &rule);
    }
    free(copy);
}

TEST(symbol_names_are_those_of_the_file)
{
    const struct sd_code_object *o = sd_code_object_at((uintptr_t)look_at_stack);
    char name[SD_SYMBOL_NAME], file[4096];
    size_t n = sd_symbol_name(o, (uintptr_t)look_at_stack, name);

    CHECK(n == strlen("look_at_stack") && memcmp(name, "look_at_stack", n) == 0);
    CHECK(sd_symbol_name(o, (uintptr_t)look_at_stack + 1, name) == 0);
    n = sd_symbol_file(o, file, sizeof file - 1);
    file[n] = '\0';
    CHECK(n > 5 && strstr(file, "/unit"));
}

TEST(code_places_know_functions_once)
{
    const struct sd_code_place *a =
        sd_code_place_at((uintptr_t)look_at_stack + 4, true);
    const struct sd_code_place *b =
        sd_code_place_at((uintptr_t)look_at_stack + 8, true);
    struct sd_native_function f;

    CHECK(a && b && a != b && a->function == b->function);
    CHECK(a == sd_code_place_at((uintptr_t)look_at_stack + 4, false));
    f = sd_native_function(a->function);
    CHECK(f.name_n == strlen("look_at_stack") &&
          memcmp(f.name, "look_at_stack", f.name_n) == 0);
    CHECK(sd_code_place_at((uintptr_t)&f, true)->function == SD_FUNCTION_UNKNOWN);
    sd_code_places_update();
    CHECK(sd_code_place_at((uintptr_t)look_at_stack + 4, true)->function ==
          a->function);
}
