// SPDX-License-Identifier: BSD-3-Clause
// tap_list.c - reads and replaces the list of TAPs
//
// The new list is written beside the old one and renamed over it, so that a crash leaves one or the
// other. The reader skips lines that it cannot parse.
#include "tap/tap.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/vec.h"

size_t tap_list_read(const char *path, struct tap_list_entry **entry)
{
    VEC(struct tap_list_entry) list = {0};
    struct stat st;
    int fd = file_open(path, FILE_MAX, &st);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    char line[128];

    while (f && fgets(line, sizeof line, f)) {
        struct tap_list_entry e = {0};
        char end;
        int n = sscanf(line, "%63s %15s%c%d", e.netns, e.name, &end, &e.ifindex);
        if (n < 3 || end != (n == 4 ? ' ' : '\n'))
            continue;
        if (!strcmp(e.netns, "-"))
            e.netns[0] = 0;
        *vec_push(&list) = e;
    }
    if (f)
        fclose(f);
    *entry = list.item;
    return list.n;
}

int tap_list_write(const char *path, const struct tap_list_entry *entry, size_t n)
{
    struct text t = {0};

    for (size_t i = 0; i < n; i++)
        text_printf(&t, "%s %s %d\n", entry[i].netns[0] ? entry[i].netns : "-", entry[i].name,
                    entry[i].ifindex);
    int r = file_prepare(path, &t);
    text_free(&t);
    return r ? r : file_keep(path);
}
