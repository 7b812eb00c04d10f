// SPDX-License-Identifier: BSD-3-Clause
// protocol.h - names of routing protocols by rtnetlink's number, FRR's and BIRD's among them: "bgp"
#ifndef BASE_PROTOCOL_H
#define BASE_PROTOCOL_H

#include <stdbool.h>

#define PROTOCOL_NAME_SIZE 12
#define PROTOCOL_STATIC 4
#define PROTOCOL_FRR_STATIC 196

const char *
protocol_name(unsigned protocol,
              char buf[PROTOCOL_NAME_SIZE]); // the number as text, in buf, of one without a name
int protocol_number(const char *name);                                      // 0..255, or -1
const char *protocol_names(void); // all of them, for a message
// Is it what somebody asks for? Static routes are Linux's own and FRR's.
bool protocol_is(unsigned protocol, int asked);

#endif
