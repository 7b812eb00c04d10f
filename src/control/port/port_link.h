// SPDX-License-Identifier: BSD-3-Clause
// port_link.h - follows the links of ports, and reopens those whose device came back
//
// Started after port_manager; control role.
#ifndef PORT_PORT_LINK_H
#define PORT_PORT_LINK_H

struct event_base;

int port_link_init(struct event_base *loop); // starts polling all links; 0 or -errno
void port_link_fini(void);

#endif
