// SPDX-License-Identifier: BSD-3-Clause
// rtnetlink.c - sockets and requests of rtnetlink (rtnetlink.h)
//
// A socket belongs to the namespace in which it was opened, so the thread enters the namespace only
// to open it. A request waits for all its answers, up to the last one: an acknowledgement, or the
// end of a dump. rtnetlink_request_once() closes the socket afterwards.
#include "netlink/rtnetlink.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "netlink/netns.h"

struct mnl_socket *rtnetlink_open(int netns)
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

struct mnl_socket *rtnetlink_open_beside(int socket)
{
    int netns = ioctl(socket, SIOCGSKNS);
    struct mnl_socket *nl = netns < 0 ? NULL : rtnetlink_open(netns);

    if (netns >= 0)
        close(netns);
    return nl;
}

int rtnetlink_request(struct mnl_socket *nl, const struct nlmsghdr *h, mnl_cb_t row, void *ctx)
{
    char buf[32768] __attribute__((aligned(8))); // the kernel sends at most this much at once
    int r = mnl_socket_sendto(nl, h, h->nlmsg_len) < 0 ? MNL_CB_ERROR : MNL_CB_OK;

    while (r > MNL_CB_STOP) {
        ssize_t n = mnl_socket_recvfrom(nl, buf, sizeof buf);
        r = n < 0 ? MNL_CB_ERROR
                  : mnl_cb_run(buf, (size_t)n, 0, mnl_socket_get_portid(nl), row, ctx);
    }
    return r < 0 ? -errno : 0;
}

int rtnetlink_request_once(struct mnl_socket *nl, const struct nlmsghdr *h, mnl_cb_t row,
                           void *ctx)
{
    if (!nl)
        return errno ? -errno : -EIO;
    int r = rtnetlink_request(nl, h, row, ctx);
    mnl_socket_close(nl);
    return r;
}

struct nlmsghdr *rtnetlink_link(void *buf, uint16_t type, int ifindex)
{
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf);

    h->nlmsg_type = type;
    h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof *m);
    m->ifi_index = ifindex;
    return h;
}

struct nlmsghdr *rtnetlink_address(void *buf, uint16_t type, const struct ifaddrmsg *m)
{
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf);

    h->nlmsg_type = type;
    h->nlmsg_flags =
        NLM_F_REQUEST | NLM_F_ACK | (type == RTM_GETADDR ? NLM_F_DUMP : NLM_F_CREATE | NLM_F_EXCL);
    memcpy(mnl_nlmsg_put_extra_header(h, sizeof *m), m, sizeof *m);
    return h;
}
