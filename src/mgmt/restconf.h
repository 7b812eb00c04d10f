// SPDX-License-Identifier: BSD-3-Clause
// restconf.h - the router's management interface: RFC 8040 over a UNIX socket; control role
#ifndef MGMT_RESTCONF_H
#define MGMT_RESTCONF_H

#include <stddef.h>

struct event_base;

int restconf_start(struct event_base *loop, const char *socket_path, char *err, size_t err_size);
void restconf_stop(void);

#endif
