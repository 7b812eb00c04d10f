// SPDX-License-Identifier: BSD-3-Clause
// tap_rtnetlink.h - rtnetlink sockets in the namespace of a TAP
//
// For tap_address.c, tap_alias.c, tap_delete_batch.c, tap_link_local.c and tap_sysctl.c; control
// role, also aside.
#ifndef PORT_TAP_RTNETLINK_H
#define PORT_TAP_RTNETLINK_H

#include <libmnl/libmnl.h>
#include <linux/if_addr.h>

#include "port/tap.h"

#ifndef IFA_PROTO // Linux 5.18
#define IFA_PROTO 11
#endif
#define TAP_KERNEL_LL 3 // IFAPROT_KERNEL_LL: the origin of a link-local address that Linux has made

struct mnl_socket *tap_rtnetlink_open(const struct tap *t); // NULL with errno
struct mnl_socket *tap_rtnetlink_open_in(int netns);        // the same
// Sends a request and passes its answer to `row`, which may be NULL. 0, or -errno of the kernel.
int tap_rtnetlink_request(struct mnl_socket *nl, const struct nlmsghdr *h, mnl_cb_t row, void *ctx);

#endif
