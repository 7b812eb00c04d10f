// SPDX-License-Identifier: BSD-3-Clause
// tap_delete_batch.c - TAPs on their way out of the kernel, together
//
// rtnetlink deletes a group of devices by one message (RTM_DELLINK with
// IFLA_GROUP, `ip link del group N`), within one network namespace. The TAPs
// of each namespace are put into a group that is ours by its number, which is
// then deleted. Whatever goes wrong on this way is no error: closing a TAP that
// is not persistent deletes it as well, one by one.
#include "port/tap_delete_batch.h"

#include <libmnl/libmnl.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/vec.h"
#include "core/aside.h"
#include "netlink/netns.h"

#define GROUP 0x4b616d75u // "Kamu"
#define TOGETHER 64 // meanwhile the kernel holds its lock of all links, which control needs, too

struct deleted_tap {
    struct tap tap;
    int netns;   // of its socket
    ino_t inode; // of that namespace; 0 = not known
    bool asked;  // for, or tried to
    bool gone;   // from the kernel
};

typedef VEC(struct deleted_tap) deleted_taps;

static deleted_taps batch;
static bool running; // aside

void tap_delete_batch_add(struct tap *t)
{
    struct deleted_tap *g = vec_push(&batch);
    struct stat s;

    *g = (struct deleted_tap){.tap = *t, .netns = ioctl(t->sock, SIOCGSKNS)};
    if (g->netns >= 0 && !fstat(g->netns, &s))
        g->inode = s.st_ino;
    *t = (struct tap){.fd = -1, .sock = -1};
}

// One request about links, by index or by group (ifindex 0); 0 or -1.
static int request_link(struct mnl_socket *nl, uint16_t type, int ifindex)
{
    char buf[256];
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
    struct ifinfomsg *m;
    ssize_t n;

    h->nlmsg_type = type;
    h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    m = mnl_nlmsg_put_extra_header(h, sizeof *m);
    m->ifi_family = AF_UNSPEC;
    m->ifi_index = ifindex;
    mnl_attr_put_u32(h, IFLA_GROUP, GROUP);
    if (mnl_socket_sendto(nl, h, h->nlmsg_len) < 0)
        return -1;
    n = mnl_socket_recvfrom(nl, buf, sizeof buf);
    return n < 0                                                                      ? -1
           : mnl_cb_run(buf, (size_t)n, 0, mnl_socket_get_portid(nl), NULL, NULL) < 0 ? -1
                                                                                      : 0;
}

static struct mnl_socket *open_rtnetlink(int netns)
{
    int back = netns_enter(netns);
    struct mnl_socket *nl = back < 0 ? NULL : mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);

    netns_leave(back);
    if (nl && mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0) {
        mnl_socket_close(nl);
        return NULL;
    }
    return nl;
}

// Up to TOGETHER of those in a namespace.
static void delete_group(deleted_taps *taps, int netns, ino_t inode)
{
    struct mnl_socket *nl = open_rtnetlink(netns);
    struct deleted_tap *some[TOGETHER];
    size_t n = 0;

    vec_foreach (taps, g)
        if (g->inode == inode && !g->asked && n < TOGETHER)
            some[n++] = g;
    for (size_t i = 0; i < n; i++) {
        some[i]->asked = true;
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

    for (size_t i = 0; taps->n > 1 && i < taps->n; i++) // a single one goes by its end as fast
        if (taps->item[i].inode && !taps->item[i].asked)
            delete_group(taps, taps->item[i].netns, taps->item[i].inode);
    vec_foreach (taps, g) {
        if (g->gone)
            tap_close(&g->tap);
        else
            tap_delete(&g->tap);
        if (g->netns >= 0)
            close(g->netns);
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
