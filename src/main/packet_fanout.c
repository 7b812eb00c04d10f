// SPDX-License-Identifier: BSD-3-Clause
// packet_fanout.c - keeps the kernel from reassembling fragments before net_af_packet
//
// DPDK's net_af_packet joins its sockets with PACKET_FANOUT_HASH |
// PACKET_FANOUT_FLAG_DEFRAG and offers no way to say otherwise. With that flag
// the kernel puts IPv4 fragments together before the ring sees them; the
// datagram is then longer than a ring frame, arrives cut, and a router must not
// reassemble what it forwards anyway (RFC 1812 §4.2.2.7). The flag cannot be taken back from a
// socket that has it. So the executable has its own setsockopt(): the dynamic
// linker gives it precedence over libc's, the driver's call comes here, and only
// that flag of that option is changed on the way to the kernel.
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int setsockopt(int fd, int level, int name,
                                                      const void *value, socklen_t len)
{
    int fanout; // bits 0-15 group, 16-31 type and flags (packet(7))

    if (level == SOL_PACKET && name == PACKET_FANOUT && len == sizeof fanout) {
        memcpy(&fanout, value, sizeof fanout);
        fanout = (int)((unsigned)fanout & ~((unsigned)PACKET_FANOUT_FLAG_DEFRAG << 16));
        value = &fanout;
    }
    return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
}
