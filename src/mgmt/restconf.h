// SPDX-License-Identifier: BSD-3-Clause
// restconf.h - the router's management interface: RFC 8040 over a UNIX socket; control role
#ifndef MGMT_RESTCONF_H
#define MGMT_RESTCONF_H

#include <stddef.h>

int restconf_start(const char *socket_path, char *err, size_t err_size);
void restconf_stop(void);

#endif
