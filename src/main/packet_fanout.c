// SPDX-License-Identifier: BSD-3-Clause
// packet_fanout.c - changes the options that net_af_packet sets on its sockets
//
// DPDK's net_af_packet always joins its fanout group with PACKET_FANOUT_FLAG_DEFRAG. With that flag
// the kernel reassembles IPv4 fragments before the ring sees them: the datagram is longer than a
// ring frame and arrives truncated, and a router must not reassemble packets that it forwards (RFC
// 1812 §4.2.2.7). The flag cannot be cleared later. So the executable has its own setsockopt(),
// which the dynamic linker prefers to libc's; it only removes that flag from that option.
//
// Packet sockets also receive frames that this host sends on the interface: its LLDP or ARP would
// look as if a neighbor had sent it. A filter drops them. PACKET_IGNORE_OUTGOING would not help:
// frames arrive through the group, not the socket.
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

static void leave_out_sent(int fd)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    struct sock_fprog all = {.len = sizeof code / sizeof *code, .filter = code};

    if (syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_ATTACH_FILTER, &all, sizeof all))
        log_warning("netdev: frames that this host sends are received, too: error=\"%m\"");
}

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
        leave_out_sent(fd);
    }
    return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
}
