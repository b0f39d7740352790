/* SPDX-License-Identifier: MIT */
#include "collect/shared/tree_tracks.h"

#include <string.h>

#include "base/assert.h"
#include "base/table.h"

static const char *command_of(const struct sd_tree_member *m)
{
    return m->command ? m->command : "";
}

uint64_t sd_tree_track_key(const struct sd_tree_member *m)
{
    const uint64_t id[2] = { (uint64_t)m->pid, m->start_ticks };
    uint64_t key = sd_hash(id, sizeof id, 0x70726f63u);

    key = sd_hash(command_of(m), strlen(command_of(m)), key);
    return sd_hash(m->name, strlen(m->name), key);
}

size_t sd_tree_track_room(const struct sd_tree *t, size_t member)
{
    size_t room = 0;

    for (int n = 0; member != SIZE_MAX && n < SD_TREE_ANCESTORS; n++) {
        const struct sd_tree_member *m = &t->members[member];

        sd_assert(m->parent == SIZE_MAX || m->parent < member); /* or it goes round */
        room += SD_ROOM_PROCESS;
        room += m->command ? SD_ROOM_STRING(strlen(m->command)) : 0;
        member = m->parent;
    }
    return room;
}

static uint32_t define_text(struct sd_log *l, const char *text)
{
    size_t n = strlen(text);
    uint64_t key = sd_hash(text, n, 0x74657874u);
    uint32_t id = n ? sd_log_known(l, key) : 0;

    return n && !id ? sd_log_define_string(l, key, text, n) : id;
}

static uint32_t define_one(struct sd_log *l, const struct sd_tree_member *m,
                           uint32_t parent)
{
    uint32_t name = define_text(l, m->name), command = define_text(l, command_of(m));

    return sd_log_define_process(l, sd_tree_track_key(m), parent, (uint64_t)m->pid,
                                 m->start_ticks, name, command);
}

uint32_t sd_tree_track(struct sd_log *l, const struct sd_tree *t, size_t member)
{
    size_t unknown[SD_TREE_ANCESTORS];
    uint32_t id = 0;
    int n = 0;

    sd_assert(member < t->n);
    for (; member != SIZE_MAX && n < SD_TREE_ANCESTORS;
         member = t->members[member].parent) {
        id = sd_log_known(l, sd_tree_track_key(&t->members[member]));
        if (id)
            break;
        unknown[n++] = member;
    }
    while (n > 0)
        id = define_one(l, &t->members[unknown[--n]], id);
    sd_assert(id != 0);
    return id;
}
