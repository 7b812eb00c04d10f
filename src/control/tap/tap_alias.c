// SPDX-License-Identifier: BSD-3-Clause
// tap_alias.c - reads and writes the alias of a TAP (tap.h)
//
// Each request uses a socket of its own, in the namespace of the TAP. Any program that may change
// the TAP can write any bytes there, so an alias is escaped when it is read.
#include "tap/tap.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "base/plain.h"
#include "netlink/rtnetlink.h"

// Sends a request about the TAP and passes its answer to `row`. 0 or -errno.
static int request_alias(const struct tap *t, uint16_t type, const char *alias, mnl_cb_t row,
                         void *ctx)
{
    char buf[512] __attribute__((aligned(8)));
    struct nlmsghdr *h = rtnetlink_link(buf, type, t->ifindex);

    if (alias)
        mnl_attr_put(h, IFLA_IFALIAS, strlen(alias), alias);
    return rtnetlink_request_once(rtnetlink_open_beside(t->sock), h, row, ctx);
}

int tap_alias_set(const struct tap *t, const char *alias)
{
    return request_alias(t, RTM_SETLINK, alias, NULL, NULL);
}

// Any program that may change the TAP can write the alias: it need not even be text.
static int read_alias(const struct nlmsghdr *h, void *alias)
{
    const struct nlattr *a;

    mnl_attr_for_each (a, h, sizeof(struct ifinfomsg))
        if (mnl_attr_get_type(a) == IFLA_IFALIAS) {
            char found[TAP_ALIAS] = {0};
            size_t n = mnl_attr_get_payload_len(a);

            memcpy(found, mnl_attr_get_payload(a), n < TAP_ALIAS ? n : TAP_ALIAS - 1);
            plain_copy(alias, TAP_ALIAS, found);
        }
    return MNL_CB_OK;
}

void tap_alias_get(const struct tap *t, char alias[TAP_ALIAS])
{
    memset(alias, 0, TAP_ALIAS);
    if (t->sock >= 0)
        request_alias(t, RTM_GETLINK, NULL, read_alias, alias);
}
