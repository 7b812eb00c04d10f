// SPDX-License-Identifier: BSD-3-Clause
// devargs.c - reading and completing DPDK device arguments
#include "port/devargs.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool devargs_get(const char *devargs, const char *key, char *value, size_t size)
{
    size_t k = strlen(key);

    for (const char *p = strchr(devargs, ','); p; p = strchr(p, ',')) {
        p++;
        if (strncmp(p, key, k) || p[k] != '=')
            continue;
        size_t n = strcspn(p + k + 1, ",");
        if (n >= size)
            return false;
        memcpy(value, p + k + 1, n);
        value[n] = 0;
        return true;
    }
    return false;
}

bool devargs_is_driver(const char *devargs, const char *driver)
{
    size_t n = strlen(driver);

    if (strncmp(devargs, driver, n))
        return false;
    n += devargs[n] == '-' ? strcspn(devargs + n, ",") : strspn(devargs + n, "0123456789"); // "-p0": named after the port
    return !devargs[n] || devargs[n] == ',';
}

bool devargs_is_pci(const char *devargs, char *address, size_t size)
{
    unsigned domain = 0, bus, device, function;
    char end = 0;
    int n = sscanf(devargs, "%4x:%2x:%2x.%1x%c", &domain, &bus, &device, &function, &end);

    if (n < 4) {
        domain = 0;
        n = sscanf(devargs, "%2x:%2x.%1x%c", &bus, &device, &function, &end) + 1;
    }
    if (n < 4 || (n == 5 && end != ','))
        return false;
    snprintf(address, size, "%04x:%02x:%02x.%x", domain, bus, device, function);
    return true;
}

static bool is_packet_socket(const char *devargs)
{
    return devargs_is_driver(devargs, "net_af_packet") || devargs_is_driver(devargs, "eth_af_packet");
}

void devargs_netdev(const char *devargs, char *netdev, size_t size)
{
    netdev[0] = 0;
    if (is_packet_socket(devargs) || devargs_is_driver(devargs, "net_af_xdp"))
        if (!devargs_get(devargs, "iface", netdev, size))
            netdev[0] = 0;
}

// Appends ",KEY=VALUE" unless the key is given.
static size_t complete(char *out, size_t n, size_t size, const char *key, unsigned value)
{
    char given[32];

    if (n >= size || devargs_get(out, key, given, sizeof given))
        return n;
    return n + (size_t)snprintf(out + n, size - n, ",%s=%u", key, value);
}

#define FRAME_DEFAULT 2048u

// Frames of the packet socket's ring: payload, Ethernet and VLAN headers, the kernel's header; whole pages.
static unsigned frame_size(uint16_t mtu)
{
    unsigned size = mtu + 22u + 128u;

    return size <= FRAME_DEFAULT ? FRAME_DEFAULT : (size + 4095) / 4096 * 4096;
}

unsigned devargs_frame_size(const char *devargs)
{
    char given[16];

    if (!is_packet_socket(devargs))
        return 0;
    return devargs_get(devargs, "framesz", given, sizeof given) ? (unsigned)atoi(given) : FRAME_DEFAULT;
}

// The driver's own 512 frames are 2.5 ms at 200,000 packets/s: on a core that is shared, they overflow.
#define RING_BYTES (8u << 20)

static unsigned frame_count(unsigned frame, unsigned descriptors)
{
    unsigned n = RING_BYTES / frame;

    return n > descriptors ? n : descriptors;
}

// The driver's own 256 are less than a burst after a sleep may be. A power of two.
static unsigned queue_size(unsigned descriptors)
{
    return descriptors ? 1u << (31 - __builtin_clz(descriptors)) : 1024;
}

static bool is_given(const char *devargs, const char *key, const char *value)
{
    char given[16];

    return devargs_get(devargs, key, given, sizeof given) && !strcmp(given, value);
}

static bool memif_is_server(const char *devargs)
{
    return is_given(devargs, "role", "server") || is_given(devargs, "role", "master");
}

enum devargs_socket devargs_socket(const char *devargs, char *path, size_t size)
{
    bool memif = devargs_is_driver(devargs, "net_memif"), virtio = devargs_is_driver(devargs, "net_virtio_user");
    size_t at = memif && !is_given(devargs, "socket-abstract", "no"); // of the name, behind '@'
    bool listens = memif ? memif_is_server(devargs) : virtio ? is_given(devargs, "server", "1") : !is_given(devargs, "client", "1");

    path[0] = 0;
    if (!memif && !virtio && !devargs_is_driver(devargs, "net_vhost"))
        return DEVARGS_SOCKET_NONE;
    if (devargs_get(devargs, memif ? "socket" : virtio ? "path" : "iface", path + at, size - at))
        memcpy(path, "@", at);
    else if (memif)
        snprintf(path, size, "%s/run/memif.sock", at ? "@" : ""); // the driver's own
    return listens ? DEVARGS_SOCKET_LISTENS : DEVARGS_SOCKET_CALLS;
}

#define MEMIF_RING_DEFAULT 10 // log2

unsigned devargs_memif_places(const char *devargs, unsigned n_queues)
{
    char ring[8];
    int log2 = MEMIF_RING_DEFAULT;

    if (!devargs_is_driver(devargs, "net_memif") || memif_is_server(devargs) || is_given(devargs, "zero-copy", "yes"))
        return 0;
    if (devargs_get(devargs, "rsize", ring, sizeof ring))
        log2 = atoi(ring);
    return log2 < 0 || log2 > 14 ? 0 : n_queues << log2; // the driver refuses others
}

int devargs_complete(const char *devargs, unsigned n_queues, uint16_t mtu, unsigned descriptors, char *out,
                     size_t size)
{
    size_t n = (size_t)snprintf(out, size, "%s", devargs);

    if (is_packet_socket(devargs)) {
        unsigned frame = frame_size(mtu);
        if (n_queues > 1)
            n = complete(out, n, size, "qpairs", n_queues);
        if (frame > FRAME_DEFAULT) {
            n = complete(out, n, size, "framesz", frame);
            n = complete(out, n, size, "blocksz", frame);
        }
        n = complete(out, n, size, "framecnt", frame_count(frame, descriptors) & ~1u); // whole blocks of two
    } else if (devargs_is_driver(devargs, "net_af_xdp") && n_queues > 1) {
        n = complete(out, n, size, "queue_count", n_queues);
    } else if (devargs_is_driver(devargs, "net_virtio_user")) {
        n = complete(out, n, size, "queue_size", queue_size(descriptors));
    }
    return n < size ? 0 : -E2BIG;
}
