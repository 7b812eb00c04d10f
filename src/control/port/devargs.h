// SPDX-License-Identifier: BSD-3-Clause
// devargs.h - reading and completing DPDK device arguments
//
//     "net_af_packet0,iface=eth1"   driver net_af_packet, key iface
//     "0000:3b:00.0"                a PCI address
//
// Pure functions of the text, but for devargs_check. Any thread.
#ifndef PORT_DEVARGS_H
#define PORT_DEVARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Value of KEY in ",KEY=VALUE"; false when absent or longer than size - 1.
bool devargs_get(const char *devargs, const char *key, char *value, size_t size);
bool devargs_is_driver(
    const char *devargs,
    const char *driver); // "net_af_packet" of "net_af_packet7,…" and "net_af_packet-p0,…"
bool devargs_is_pci(const char *devargs, char *address,
                    size_t size); // "DDDD:BB:DD.F", also without the domain
// Kernel interface behind the device ("" if none): iface= of net_af_packet and net_af_xdp.
void devargs_kernel_link(const char *devargs, char *netdev, size_t size);
// Bytes a buffer must hold for net_af_packet's frames (framesz=, else its default); 0 for other
// drivers.
unsigned devargs_frame_size(const char *devargs);
// Places in all rings of a net_memif that lays them out and copies (role=client, the default,
// without zero-copy=yes), of so many queues; 0 for others.
unsigned devargs_memif_entries(const char *devargs, unsigned n_queues);
#define MEMIF_ENTRIES_MAX                                                                          \
    65536u // DPDK's driver numbers their buffers with 16 bits: two of more would share one, and
           // packets overwrite each other
// The Unix socket by which a device meets another program: it listens there, or calls who does.
enum devargs_socket {
    DEVARGS_SOCKET_NONE,
    DEVARGS_SOCKET_LISTENS, // net_memif role=server, net_vhost, net_virtio_user server=1
    DEVARGS_SOCKET_CALLS,   // net_memif, net_vhost client=1, net_virtio_user
};
// PATH: the file, or the name after '@' in the network namespace's abstract ones, as `ss -x` shows
// it; "" where there is none or it does not fit.
enum devargs_socket devargs_socket(const char *devargs, char *path, size_t size);
// The device's arguments with what a driver wants to know before it is made: queue pairs, frame
// size and ring of net_af_packet, queues of net_af_xdp, length of net_virtio_user's queues, unless
// they are given. 0 or -E2BIG.
int devargs_complete(const char *devargs, unsigned n_queues, uint16_t mtu, unsigned descriptors,
                     char *out, size_t size);

// Whether they do no more than a device may: files that they name lie in the stated directories
// (base/file.h, FILE_DEVICE), and nothing else looks like a file or a command. 0 or -errno with a
// sentence.
int devargs_check(const char *devargs, char *err, size_t err_size);

#endif
