// SPDX-License-Identifier: BSD-3-Clause
// protocol.h - the names of who makes routes, by rtnetlink's number: "bgp", "static", …
#ifndef BASE_PROTOCOL_H
#define BASE_PROTOCOL_H

#define PROTOCOL_NAME_SIZE 12

const char *protocol_name(unsigned protocol, char buf[PROTOCOL_NAME_SIZE]); // the number as text, in buf, of one without a name
int protocol_number(const char *name);                                      // 0..255, or -1

#endif
