// SPDX-License-Identifier: BSD-3-Clause
// tap_alias.c - what an operator calls an interface: the TAP's alias
#include "port/tap_alias.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netlink/netns.h"

// A socket in the TAP's namespace, or NULL with errno.
static struct mnl_socket *open_rtnetlink(const struct tap *t)
{
    int netns = ioctl(t->sock, SIOCGSKNS), back = netns < 0 ? -1 : netns_enter(netns);
    struct mnl_socket *nl = back < 0 ? NULL : mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);

    netns_leave(back);
    if (netns >= 0)
        close(netns);
    if (nl && mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) < 0) {
        mnl_socket_close(nl);
        return NULL;
    }
    return nl;
}

// Sends a request about the TAP and gives its answer to `row`. 0 or -errno.
static int request_alias(const struct tap *t, uint16_t type, const char *alias, mnl_cb_t row,
                         void *ctx)
{
    char buf[32768];
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
    struct mnl_socket *nl = open_rtnetlink(t);
    struct ifinfomsg *m;

    if (!nl)
        return errno ? -errno : -EIO;
    h->nlmsg_type = type;
    h->nlmsg_flags = NLM_F_REQUEST | (row ? 0 : NLM_F_ACK);
    m = mnl_nlmsg_put_extra_header(h, sizeof *m);
    m->ifi_family = AF_UNSPEC;
    m->ifi_index = t->ifindex;
    if (alias)
        mnl_attr_put(h, IFLA_IFALIAS, strlen(alias), alias);
    ssize_t n =
        mnl_socket_sendto(nl, h, h->nlmsg_len) < 0 ? -1 : mnl_socket_recvfrom(nl, buf, sizeof buf);
    int r = n < 0 || mnl_cb_run(buf, (size_t)n, 0, mnl_socket_get_portid(nl), row, ctx) < 0 ? -errno
                                                                                            : 0;
    mnl_socket_close(nl);
    return r;
}

int tap_alias_set(const struct tap *t, const char *alias)
{
    return request_alias(t, RTM_SETLINK, alias, NULL, NULL);
}

static int read_alias(const struct nlmsghdr *h, void *alias)
{
    const struct nlattr *a;

    mnl_attr_for_each(a, h, sizeof(struct ifinfomsg))
        if (mnl_attr_get_type(a) == IFLA_IFALIAS) {
            size_t n = mnl_attr_get_payload_len(a);

            memcpy(alias, mnl_attr_get_payload(a), n < TAP_ALIAS ? n : TAP_ALIAS - 1);
        }
    return MNL_CB_OK;
}

void tap_alias_get(const struct tap *t, char alias[TAP_ALIAS])
{
    memset(alias, 0, TAP_ALIAS);
    if (t->sock >= 0)
        request_alias(t, RTM_GETLINK, NULL, read_alias, alias);
}
