// SPDX-License-Identifier: BSD-3-Clause
// bgp_session.c - see bgp_session.h
#include "netlink/bgp_session.h"

#include <errno.h>
#include <stdio.h>

#include "netlink/netns.h"

#define BGP_PORT 179
#define ESTABLISHED 1 // enum of linux/tcp.h's states

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The kernel prints each 32-bit word of an address in host byte order.
static bool read_address(const char *hex, struct ip_addr *a)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    unsigned n = 0;

    *a = (struct ip_addr){0};
    for (; n < 32 && hex_digit(hex[n]) >= 0; n++) {
        uint32_t word;
        memcpy(&word, a->b + n / 8 * 4, 4);
        word = word << 4 | (uint32_t)hex_digit(hex[n]);
        memcpy(a->b + n / 8 * 4, &word, 4);
    }
    a->family = n == 8 ? IP4 : n == 32 ? IP6 : IP_NONE;
    if (a->family == IP6 && !memcmp(a->b, mapped, 12)) {
        memcpy(a->b, a->b + 12, 4);
        memset(a->b + 4, 0, 12);
        a->family = IP4;
    }
    return a->family && !hex[n];
}

bool bgp_session_parse(const char *line, struct ip_addr *peer)
{
    char remote[33];
    unsigned local_port, remote_port, status;

    // sl local_address rem_address st …
    return sscanf(line, "%*u: %*32[0-9A-F]:%x %32[0-9A-F]:%x %x", &local_port, remote, &remote_port,
                  &status) == 4 &&
           status == ESTABLISHED && (local_port == BGP_PORT || remote_port == BGP_PORT) &&
           read_address(remote, peer);
}

int bgp_sessions(int netns_fd, struct ip_addr *peer, unsigned max)
{
    static const char *const path[] = {"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"};
    unsigned n = 0;

    for (unsigned i = 0; i < 2; i++) {
        int back = netns_enter(netns_fd);
        if (back < 0)
            return back;
        FILE *f = fopen(path[i], "re");
        int e = errno;
        netns_leave(back);
        if (!f && i && e == ENOENT) // no IPv6
            return (int)n;
        if (!f)
            return -e;
        for (char line[256]; n < max && fgets(line, sizeof line, f);)
            n += bgp_session_parse(line, &peer[n]);
        fclose(f);
    }
    return (int)n;
}
