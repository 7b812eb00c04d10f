// SPDX-License-Identifier: BSD-3-Clause
// kernel_link_found.c - see kernel_link.h
//
// The file is a log: "+ namespace index three-sysctls was-up MTU" when a port takes an interface,
// "- namespace index" when it gives it back. The next start rewrites it.
#include "device/kernel_link.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "netlink/netns.h"

struct found {
    uint64_t netns;
    int ifindex;
    int saved[3];
    int was_up, was_mtu;
};
static VEC(struct found) all;
static FILE *file;

static struct found *find_found(uint64_t netns, int ifindex)
{
    vec_foreach (&all, f)
        if (f->netns == netns && f->ifindex == ifindex)
            return f;
    return NULL;
}

static void read_line(const char *line)
{
    struct found f = {0};

    if (sscanf(line, "+ %" SCNu64 " %d %d %d %d %d %d", &f.netns, &f.ifindex, &f.saved[0],
               &f.saved[1], &f.saved[2], &f.was_up, &f.was_mtu) == 7) {
        if (!find_found(f.netns, f.ifindex))
            *vec_push(&all) = f;
    } else if (sscanf(line, "- %" SCNu64 " %d", &f.netns, &f.ifindex) == 2) {
        struct found *was = find_found(f.netns, f.ifindex);
        if (was)
            vec_del_swap(&all, was - all.item);
    }
}

static void write_line(const struct found *f)
{
    fprintf(file, "+ %" PRIu64 " %d %d %d %d %d %d\n", f->netns, f->ifindex, f->saved[0],
            f->saved[1], f->saved[2], f->was_up, f->was_mtu);
}

void kernel_link_found_init(const char *path)
{
    char line[200], id[NETNS_BOOT_ID];
    FILE *before = fopen(path, "re");

    netns_boot_id(id);
    if (before && fgets(line, sizeof line, before) && !strncmp(line, id, strlen(id)))
        while (fgets(line, sizeof line, before))
            read_line(line);
    if (before)
        fclose(before);
    file = fopen(path, "we");
    if (!file) {
        log_warning("kernel_link: settings of kernel interfaces cannot be restored after a "
                    "crash: path=%s error=\"%m\"", path);
        return;
    }
    fprintf(file, "%s\n", id);
    vec_foreach (&all, f)
        write_line(f);
    fflush(file);
}

void kernel_link_found_take(struct kernel_link *n, uint64_t netns)
{
    struct found *was = netns ? find_found(netns, n->ifindex) : NULL;

    if (was) {
        memcpy(n->saved, was->saved, sizeof n->saved);
        n->was_up = was->was_up;
        n->was_mtu = was->was_mtu;
        return;
    }
    if (!file || !netns)
        return;
    was = vec_push(&all);
    *was = (struct found){.netns = netns, .ifindex = n->ifindex, .was_up = n->was_up,
                          .was_mtu = n->was_mtu};
    memcpy(was->saved, n->saved, sizeof was->saved);
    write_line(was);
    fflush(file);
}

void kernel_link_found_release(const struct kernel_link *n, uint64_t netns)
{
    struct found *was = find_found(netns, n->ifindex);

    if (!was)
        return;
    vec_del_swap(&all, was - all.item);
    if (file)
        fprintf(file, "- %" PRIu64 " %d\n", netns, n->ifindex);
    if (file)
        fflush(file);
}

void kernel_link_found_fini(void)
{
    vec_free(&all);
    if (file)
        fclose(file);
    file = NULL;
}
