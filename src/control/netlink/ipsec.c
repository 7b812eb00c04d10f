// SPDX-License-Identifier: BSD-3-Clause
// ipsec.c - see ipsec.h
//
// Sends one request on its own socket while the caller waits: a few dozen microseconds.
#include "netlink/ipsec.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/xfrm.h>
#include <string.h>
#include <sys/time.h>

#include "netlink/netlink_attr.h"
#include "netlink/netns.h"

struct policies {
    bool any, forwarded;
};

static int read_counts(const struct nlmsghdr *h, void *there)
{
    const char *p = mnl_nlmsg_get_payload(h);
    const struct nlattr *a;
    struct xfrmu_spdinfo info = {0};
    bool bad = false;

    attr_each(a, p + sizeof(uint32_t), message_end(h)) {
        if (attr_type(a) == XFRMA_SPD_INFO && attr_len(a) >= sizeof info)
            memcpy(&info, attr_payload(a), sizeof info);
    }
    *(struct policies *)there = (struct policies){
        .any = bad || info.incnt || info.outcnt || info.fwdcnt, .forwarded = info.fwdcnt};
    return MNL_CB_STOP;
}

static struct policies ask_policies(struct mnl_socket *nl)
{
    const struct timeval patience = {.tv_sec = 1};
    char buf[4096] __attribute__((aligned(8))) = {0};
    struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
    struct policies there = {.any = true};

    h->nlmsg_type = XFRM_MSG_GETSPDINFO;
    h->nlmsg_flags = NLM_F_REQUEST;
    mnl_nlmsg_put_extra_header(h, sizeof(uint32_t));
    if (setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) ||
        mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) || mnl_socket_sendto(nl, h, h->nlmsg_len) < 0)
        return there;
    ssize_t n = mnl_socket_recvfrom(nl, buf, sizeof buf);
    if (n > 0)
        mnl_cb_run(buf, (size_t)n, 0, mnl_socket_get_portid(nl), read_counts, &there);
    return there;
}

bool netlink_has_ipsec(int netns_fd, bool *forwarded)
{
    int back = netns_enter(netns_fd);

    *forwarded = false;
    if (back < 0)
        return true;
    struct mnl_socket *nl = mnl_socket_open2(NETLINK_XFRM, SOCK_CLOEXEC);
    bool none = !nl && errno == EPROTONOSUPPORT; // this kernel has no IPsec
    netns_leave(back);
    struct policies there = nl ? ask_policies(nl) : (struct policies){.any = !none};
    if (nl)
        mnl_socket_close(nl);
    *forwarded = there.forwarded;
    return there.any;
}
