// SPDX-License-Identifier: BSD-3-Clause
// tap_delete_batch.c - see tap.h
//
// rtnetlink deletes a group of devices of one namespace with one message (RTM_DELLINK with
// IFLA_GROUP, `ip link del group N`). We put the TAPs of each namespace into a group with a number
// of our own and delete the group. A failure is no error: closing a TAP that is not persistent
// deletes it as well, one by one.
#include "tap/tap.h"

#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "core/aside.h"
#include "netlink/rtnetlink.h"

#define GROUP 0x4b616d75u // "Kamu"
#define TOGETHER 64 // the kernel locks all links meanwhile, and control needs them, too

struct deleted_tap {
    struct tap tap;
    ino_t inode; // of its socket's namespace; 0 = not known
    bool tried;  // deletion by its group
    bool gone;   // from the kernel
};

typedef VEC(struct deleted_tap) deleted_taps;

static deleted_taps batch;
static bool running; // aside

void tap_delete_batch_add(struct tap *t)
{
    struct deleted_tap *g = vec_push(&batch);
    struct stat s;

    int netns = ioctl(t->sock, SIOCGSKNS);

    *g = (struct deleted_tap){.tap = *t};
    if (netns >= 0 && !fstat(netns, &s))
        g->inode = s.st_ino;
    if (netns >= 0)
        close(netns);
    *t = (struct tap){.fd = -1, .sock = -1};
}

// Sends a request about our group, or puts the link `ifindex` into it. Returns 0 or -errno.
static int request_link(struct mnl_socket *nl, uint16_t type, int ifindex)
{
    char buf[256] __attribute__((aligned(8)));
    struct nlmsghdr *h = rtnetlink_link(buf, type, ifindex);

    mnl_attr_put_u32(h, IFLA_GROUP, GROUP);
    return rtnetlink_request(nl, h, NULL, NULL);
}

// Deletes up to TOGETHER TAPs of a namespace.
static void delete_group(deleted_taps *taps, const struct tap *first, ino_t inode)
{
    struct mnl_socket *nl = rtnetlink_open_beside(first->sock);
    struct deleted_tap *some[TOGETHER];
    size_t n = 0;

    vec_foreach (taps, g)
        if (g->inode == inode && !g->tried && n < TOGETHER)
            some[n++] = g;
    for (size_t i = 0; i < n; i++) {
        some[i]->tried = true;
        some[i]->gone = nl && !request_link(nl, RTM_SETLINK, some[i]->tap.ifindex);
    }
    if (!nl || request_link(nl, RTM_DELLINK, 0))
        for (size_t i = 0; i < n; i++)
            some[i]->gone = false;
    if (nl)
        mnl_socket_close(nl);
}

bool tap_delete_batch_has(const char *name)
{
    vec_foreach (&batch, g)
        if (!strcmp(g->tap.name, name))
            return true;
    return false;
}

bool tap_delete_batch_runs(void)
{
    return running;
}

static void delete_taps(void *arg)
{
    deleted_taps *taps = arg;

    for (size_t i = 0; taps->n > 1 && i < taps->n; i++) // tap_delete handles a single one
        if (taps->item[i].inode && !taps->item[i].tried)
            delete_group(taps, &taps->item[i].tap, taps->item[i].inode);
    vec_foreach (taps, g) {
        if (g->gone)
            tap_close(&g->tap);
        else
            tap_delete(&g->tap);
    }
    vec_free(taps);
}

void tap_delete_batch_run(void)
{
    deleted_taps taps = batch;

    batch = (deleted_taps){0};
    running = true;
    aside(delete_taps, &taps);
    running = false;
}
