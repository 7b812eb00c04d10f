// SPDX-License-Identifier: BSD-3-Clause
// packet_fanout.c - keeps the kernel from reassembling fragments before net_af_packet
// DPDK's net_af_packet always joins its sockets with PACKET_FANOUT_FLAG_DEFRAG. With that flag the
// kernel reassembles IPv4 fragments before the ring sees them: the datagram is longer than a ring
// frame and arrives cut, and a router must not reassemble what it forwards (RFC 1812 §4.2.2.7). The
// flag cannot be cleared later. So the executable has its own setsockopt(), which the dynamic
// linker prefers to libc's; it removes only that flag of that option.
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int
set_option_without_defragmentation(int fd, int level, int name, const void *value,
                                   socklen_t len) __asm__("setsockopt");

int set_option_without_defragmentation(int fd, int level, int name, const void *value,
                                       socklen_t len)
{
    int fanout; // bits 0-15 group, 16-31 type and flags (packet(7))

    if (level == SOL_PACKET && name == PACKET_FANOUT && len == sizeof fanout) {
        memcpy(&fanout, value, sizeof fanout);
        fanout = (int)((unsigned)fanout & ~((unsigned)PACKET_FANOUT_FLAG_DEFRAG << 16));
        value = &fanout;
    }
    return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
}
