// SPDX-License-Identifier: BSD-3-Clause
// devargs.h - reading and completing DPDK device arguments
//
//     "net_af_packet0,iface=eth1"   driver net_af_packet, key iface
//     "0000:3b:00.0"                a PCI address
//
// Pure functions of the text, except devargs_check, which asks which directories are allowed.
// Called by the port managers and by the configuration's checks; any thread.
#ifndef DEVICE_DEVARGS_H
#define DEVICE_DEVARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Value of KEY in ",KEY=VALUE"; false when absent or longer than size - 1.
bool devargs_get(const char *devargs, const char *key, char *value, size_t size);
// "net_af_packet" is the driver of "net_af_packet7,…" and of "net_af_packet-p0,…".
bool devargs_is_driver(const char *devargs, const char *driver);
// Writes the address as "DDDD:BB:DD.F", also when devargs omits the domain.
bool devargs_is_pci(const char *devargs, char *address, size_t size);
// Can two processes have the device open, each with all its frames?
bool devargs_is_shared(const char *devargs);
// iface= of net_af_packet and net_af_xdp; "" for other drivers.
void devargs_kernel_link(const char *devargs, char *name, size_t size);
// Is it a kernel interface that our own driver uses (packet_socket/packet_socket.h)?
bool devargs_is_packet_socket(const char *devargs);
// Ring entries of a copying net_memif client with n_queues queues, all rings together; 0 for other
// devices.
unsigned devargs_memif_entries(const char *devargs, unsigned n_queues);
// The driver numbers its buffers with 16 bits: with more entries, two would share a buffer.
#define MEMIF_ENTRIES_MAX 65536u
// Use of a Unix socket that connects a device to another program.
enum devargs_socket {
    DEVARGS_SOCKET_NONE,
    DEVARGS_SOCKET_LISTENS, // net_memif role=server, net_vhost, net_virtio_user server=1
    DEVARGS_SOCKET_CALLS,   // net_memif, net_vhost client=1, net_virtio_user
};
// `path`: the file, or '@' and an abstract name as in `ss -x`; "" if there is none or it is too
// long.
enum devargs_socket devargs_socket(const char *devargs, char *path, size_t size);
// Adds parameters that a driver needs before it is probed, unless given: queues of net_af_xdp,
// queue length of net_virtio_user. For net_af_packet, the device that our own driver hooks. Returns
// 0 or -E2BIG.
int devargs_complete(const char *devargs, unsigned n_queues, unsigned descriptors, char *out,
                     size_t size);

// Refuses devices that could do more than carry packets: files outside the allowed directories
// (base/file.h, FILE_DEVICE), and values that look like a file or a command. Returns 0, or -errno
// with a message in `err`.
int devargs_check(const char *devargs, char *err, size_t err_size);

#endif
