/* SPDX-License-Identifier: MIT */
#include "cli/serve/address_file.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/out.h"
#include "cli/path.h"

/* The address is of our own making: nothing in it needs an escape. */
static void put_page(struct sd_out *out, const char *address)
{
    sd_out_printf(out,
                  "<!doctype html>\n"
                  "<meta charset=\"utf-8\">\n"
                  "<meta name=\"referrer\" content=\"no-referrer\">\n"
                  "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n"
                  "<title>sonde</title>\n"
                  "<p><a href=\"%s\">sonde</a></p>\n",
                  address, address);
}

static int write_file(const char *path, const char *address)
{
    struct sd_out out;
    int fd, rc = sd_file_create(path, SD_CREATE_NEW, &fd);

    if (rc < 0)
        return rc;
    sd_out_to_fd(&out, fd);
    put_page(&out, address);
    rc = sd_out_flush(&out);
    sd_out_release(&out);
    close(fd);
    return rc;
}

int sd_address_file_make(struct sd_address_file *f, const char *address)
{
    int rc;

    *f = (struct sd_address_file){ 0 };
    rc = sd_path_new_folder(&f->arena, "sonde-view", &f->folder);
    if (rc == 0) {
        f->path = sd_arena_printf(&f->arena, "%s/sonde.html", f->folder);
        rc = f->path ? write_file(f->path, address) : sd_no_memory();
    }
    if (rc < 0)
        sd_address_file_remove(f);
    return rc;
}

void sd_address_file_remove(struct sd_address_file *f)
{
    if (f->path)
        unlink(f->path);
    if (f->folder)
        rmdir(f->folder);
    sd_arena_release(&f->arena);
    *f = (struct sd_address_file){ 0 };
}
