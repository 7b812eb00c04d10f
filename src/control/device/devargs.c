// SPDX-License-Identifier: BSD-3-Clause
// devargs.c - reading, completing and checking DPDK device arguments
//
// DPDK attaches any device by a text, and some drivers run commands or open any file. So
// devargs_check() takes every key apart: it knows the keys that name a file, allows such files only
// in certain directories, and refuses a slash or a parenthesis in any other key or value.
#include "device/devargs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

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
    // A suffix like "-p0" names the port.
    n += devargs[n] == '-' ? strcspn(devargs + n, ",") : strspn(devargs + n, "0123456789");
    return !devargs[n] || devargs[n] == ',';
}

bool devargs_is_shared(const char *devargs)
{
    return devargs_is_driver(devargs, "net_af_packet") || devargs_is_driver(devargs, "net_null");
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

bool devargs_is_packet_socket(const char *devargs)
{
    return devargs_is_driver(devargs, "net_af_packet") ||
           devargs_is_driver(devargs, "eth_af_packet");
}

void devargs_kernel_link(const char *devargs, char *name, size_t size)
{
    name[0] = 0;
    if (devargs_is_packet_socket(devargs) || devargs_is_driver(devargs, "net_af_xdp"))
        if (!devargs_get(devargs, "iface", name, size))
            name[0] = 0;
}

// Appends ",KEY=VALUE" unless the key is given.
static size_t append_key(char *out, size_t n, size_t size, const char *key, unsigned value)
{
    char given[32];

    if (n >= size || devargs_get(out, key, given, sizeof given))
        return n;
    return n + (size_t)snprintf(out + n, size - n, ",%s=%u", key, value);
}

// The driver's default of 256 is less than the burst after a sleep can be. Must be a power of two.
static unsigned virtio_queue_size(unsigned descriptors)
{
    return descriptors ? 1u << (31 - __builtin_clz(descriptors)) : 1024;
}

static bool has_value(const char *devargs, const char *key, const char *value)
{
    char given[16];

    return devargs_get(devargs, key, given, sizeof given) && !strcmp(given, value);
}

static bool memif_is_server(const char *devargs)
{
    return has_value(devargs, "role", "server") || has_value(devargs, "role", "master");
}

enum devargs_socket devargs_socket(const char *devargs, char *path, size_t size)
{
    bool memif = devargs_is_driver(devargs, "net_memif"),
         virtio = devargs_is_driver(devargs, "net_virtio_user");
    size_t at = memif && !has_value(devargs, "socket-abstract", "no"); // 1: abstract name after '@'
    bool listens = memif    ? memif_is_server(devargs)
                   : virtio ? has_value(devargs, "server", "1")
                            : !has_value(devargs, "client", "1");

    path[0] = 0;
    if (!memif && !virtio && !devargs_is_driver(devargs, "net_vhost"))
        return DEVARGS_SOCKET_NONE;
    if (devargs_get(devargs, memif ? "socket" : virtio ? "path" : "iface", path + at, size - at))
        memcpy(path, "@", at);
    else if (memif)
        snprintf(path, size, "%s/run/memif.sock", at ? "@" : ""); // the driver's default
    return listens ? DEVARGS_SOCKET_LISTENS : DEVARGS_SOCKET_CALLS;
}

#define MEMIF_RING_DEFAULT 10 // log2

unsigned devargs_memif_entries(const char *devargs, unsigned n_queues)
{
    char ring[8];
    int log2 = MEMIF_RING_DEFAULT;

    if (!devargs_is_driver(devargs, "net_memif") || memif_is_server(devargs) ||
        has_value(devargs, "zero-copy", "yes"))
        return 0;
    if (devargs_get(devargs, "rsize", ring, sizeof ring))
        log2 = atoi(ring);
    return log2 < 0 || log2 > 14 ? 0 : n_queues << log2; // the driver refuses others
}

// DPDK's net_af_packet is not used; the name that follows it tells the devices apart.
static size_t hooked_device(const char *devargs, char *out, size_t size)
{
    const char *name = devargs + strlen("net_af_packet");

    return (size_t)snprintf(out, size, "net_null_packet%.*s,no-rx=1", (int)strcspn(name, ","),
                            name);
}

int devargs_complete(const char *devargs, unsigned n_queues, unsigned descriptors, char *out,
                     size_t size)
{
    size_t n = (size_t)snprintf(out, size, "%s", devargs);

    if (devargs_is_packet_socket(devargs)) {
        n = hooked_device(devargs, out, size);
    } else if (devargs_is_driver(devargs, "net_af_xdp") && n_queues > 1) {
        n = append_key(out, n, size, "queue_count", n_queues);
    } else if (devargs_is_driver(devargs, "net_virtio_user")) {
        n = append_key(out, n, size, "queue_size", virtio_queue_size(descriptors));
    }
    return n < size ? 0 : -E2BIG;
}

// --- allowed devargs ---

// Keys whose value names a file. Any other value that looks like a file or a call is refused:
// net_failsafe runs `exec(COMMAND)`.
static const struct path_key {
    const char *driver, *key;
} path_keys[] = {
    {"net_pcap", "rx_pcap"},     {"net_pcap", "tx_pcap"},    {"eth_pcap", "rx_pcap"},
    {"eth_pcap", "tx_pcap"},     {"net_memif", "socket"},    {"net_vhost", "iface"},
    {"net_virtio_user", "path"}, {"net_af_xdp", "xdp_prog"}, {"net_replay", "routes"},
    {"net_replay", "page"},
};

// Devices that do more than carry packets: net_failsafe runs commands, net_softnic scripts;
// net_ring's `internal` is an address in memory.
static const struct {
    const char *driver, *key; // NULL: any key
} forbidden_keys[] = {{"net_failsafe", NULL},
                      {"net_softnic", NULL},
                      {"net_ring", "internal"},
                      {"eth_ring", "internal"}};

static bool is_ethernet(const char *devargs)
{
    char address[16];
    size_t n = strcspn(devargs, ",");

    if (devargs_is_pci(devargs, address, sizeof address))
        return true;
    if (strncmp(devargs, "net_", 4) && strncmp(devargs, "eth_", 4)) // VMBus: a UUID
        return n == 36 && strspn(devargs, "0123456789abcdefABCDEF-") == n;
    size_t driver = strspn(devargs, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return driver == n ||
           (devargs[driver] == '-' && // named after the port
            driver + strspn(devargs + driver,
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-") ==
                n);
}

static bool key_names_file(const char *devargs, const char *key)
{
    for (unsigned i = 0; i < sizeof path_keys / sizeof *path_keys; i++)
        if (devargs_is_driver(devargs, path_keys[i].driver) && !strcmp(key, path_keys[i].key))
            return strcmp(path_keys[i].driver, "net_memif") ||
                   has_value(devargs, "socket-abstract", "no");
    return false;
}

static bool key_is_forbidden(const char *devargs, const char *key)
{
    for (unsigned i = 0; i < sizeof forbidden_keys / sizeof *forbidden_keys; i++)
        if (devargs_is_driver(devargs, forbidden_keys[i].driver) &&
            (!forbidden_keys[i].key || !strcmp(key, forbidden_keys[i].key)))
            return true;
    return false;
}

// Kernel devices for which virtio_user is made.
static bool is_vhost_device(const char *devargs, const char *key, const char *value)
{
    return devargs_is_driver(devargs, "net_virtio_user") && !strcmp(key, "path") &&
           (!strcmp(value, "/dev/vhost-net") ||
            (!strncmp(value, "/dev/vhost-vdpa-", 16) && !strchr(value + 16, '/')));
}

static bool is_abstract_socket(const char *devargs, const char *key)
{
    return devargs_is_driver(devargs, "net_memif") && !strcmp(key, "socket") &&
           !key_names_file(devargs, key);
}

static int check_key_value(const char *devargs, const char *key, const char *value, char *err,
                           size_t err_size)
{
    char places[512];

    if (key_is_forbidden(devargs, key)) {
        snprintf(
            err, err_size,
            "'devargs' has '%s', which could do anything to this host, expected another device",
            *key ? key : devargs);
        return -EPERM;
    }
    if (is_vhost_device(devargs, key, value) || is_abstract_socket(devargs, key))
        return 0;
    if (key_names_file(devargs, key)) {
        if (file_allowed_new(FILE_DEVICE, value))
            return 0;
        snprintf(err, err_size,
                 "'devargs' has '%s=%s', expected a file in %s; for another directory start "
                 "kamueed with --device-dir DIR",
                 key, value, file_places(FILE_DEVICE, places, sizeof places));
        return -EXDEV;
    }
    if (strpbrk(value, "/()") || strpbrk(key, "/()")) {
        snprintf(err, err_size,
                 "'devargs' has '%s%s%s', but this key must not name a file or command", key,
                 *value ? "=" : "", value);
        return -EPERM;
    }
    return 0;
}

int devargs_check(const char *devargs, char *err, size_t err_size)
{
    char places[16], *copy = strdup(devargs), *next = strchr(copy ? copy : "", ',');
    int r = 0;

    if (copy && !*file_places(FILE_DEVICE, places, sizeof places)) { // only in tests
        free(copy);
        return 0;
    }
    if (!copy || !is_ethernet(devargs)) {
        free(copy);
        snprintf(err, err_size,
                 "'devargs' is '%s', expected a PCI address or a device net_DRIVERNUMBER; for a "
                 "Linux interface use "
                 "'kernel-interface %s' instead of 'devargs %s'",
                 devargs, devargs, devargs);
        return -EINVAL;
    }
    if (!next)
        r = check_key_value(devargs, "", "", err, err_size);
    for (char *key = next ? next + 1 : NULL; key && !r; key = next) {
        next = strchr(key, ',');
        if (next)
            *next++ = 0;
        char *value = strchr(key, '=');
        if (value)
            *value++ = 0;
        r = check_key_value(devargs, key, value ? value : "", err, err_size);
    }
    free(copy);
    return r;
}
