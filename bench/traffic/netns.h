// SPDX-License-Identifier: BSD-3-Clause
// netns.h - sockets in other network namespaces
//
// A socket always belongs to the namespace in which it was opened; so one program can send in one
// host's namespace, receive in another's and change routes in the router's, with one clock.
#ifndef BENCH_NETNS_H
#define BENCH_NETNS_H

#include <stdint.h>

// "NAMESPACE%DEVICE" of the command line.
struct netns_place {
    char namespace[64];
    char device[16];
};

void netns_parse(const char *text, struct netns_place *p);
// These end the program with a message on failure.
void netns_enter(const char *name);                        // a name of `ip netns`
int netns_packet_socket(const struct netns_place *p, int protocol_host,
                        int *ifindex); // AF_PACKET, bound; 0 = send only
void netns_mac(int fd, const struct netns_place *p,
               uint8_t mac[6]); // fd: any socket of its namespace
void netns_pin(int cpu); // pins the calling thread; -1 = does nothing

#endif
