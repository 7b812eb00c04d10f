// SPDX-License-Identifier: BSD-3-Clause
// protocol.h - names of routing protocols, such as "bgp", by their rtnetlink number, including
// FRR's and BIRD's
#ifndef BASE_PROTOCOL_H
#define BASE_PROTOCOL_H

#include <stdbool.h>

#define PROTOCOL_NAME_SIZE 12
#define PROTOCOL_STATIC 4
#define PROTOCOL_FRR_STATIC 196

const char *
protocol_name(unsigned protocol,
              char buf[PROTOCOL_NAME_SIZE]); // number in buf if it has no name
int protocol_number(const char *name);                                      // 0..255, or -1
const char *protocol_names(void); // all names, for a message
// Does it match the protocol asked for? Static matches Linux's and FRR's.
bool protocol_is(unsigned protocol, int asked);

#endif
