// SPDX-License-Identifier: BSD-3-Clause
// port_probe.c - finding, attaching and removing the device that devargs name
//
// DPDK returns little more than -1 when it cannot attach a device. The operator gets the first line
// of DPDK's log, together with sysfs's data on a PCI address.
#include "device/port_probe.h"

#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_version.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/capability.h"
#include "base/log.h"
#include "core/eal.h"
#include "device/devargs.h"
#include "table/limits.h"
#include "table/port.h"

// The last part of a link of a PCI device, which names its kernel driver or its IOMMU group; false:
// none.
static bool read_pci_link(const char *address, const char *link, char name[33])
{
    char path[96], target[PATH_MAX];

    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", address, link);
    ssize_t n = readlink(path, target, sizeof target - 1);
    target[n < 0 ? 0 : n] = 0;
    const char *slash = strrchr(target, '/');
    snprintf(name, 33, "%.32s", slash ? slash + 1 : target);
    return n > 0;
}

// Explains why DPDK cannot use a PCI device; "" = it can.
static void explain_pci_device(const char *devargs, char *why, size_t size)
{
    char address[24], path[96], driver[33];

    why[0] = 0;
    if (!devargs_is_pci(devargs, address, sizeof address))
        return;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s", address);
    if (access(path, F_OK)) {
        snprintf(why, size, "there is no PCI device %s (lspci -D)", address);
        return;
    }
    if (!read_pci_link(address, "driver", driver)) {
        snprintf(why, size,
                 "PCI device %s has no kernel driver: bind it to vfio-pci (dpdk-devbind.py -b "
                 "vfio-pci %s)",
                 address, address);
        return;
    }
    if (strcmp(driver, "vfio-pci") && strcmp(driver, "uio_pci_generic") &&
        strcmp(driver, "igb_uio") && strncmp(driver, "mlx", 3))
        snprintf(why, size,
                 "PCI device %s is bound to the kernel driver %s: bind it to vfio-pci "
                 "(dpdk-devbind.py -b vfio-pci %s)",
                 address, driver, address);
}

// Path such as "/dev/vfio/7", through which a program has the card.
static bool vfio_group(const char *address, char *path, size_t size)
{
    char group[33];

    return read_pci_link(address, "iommu_group", group) &&
           (size_t)snprintf(path, size, "/dev/vfio/%s", group) < size;
}

static bool is_withheld(const char *group)
{
    return access(group, R_OK | W_OK) && errno == EACCES;
}

void port_probe_explain_rights(const char *devargs, char *why, size_t size)
{
    static const struct {
        const char *driver, *words; // in DPDK's log when memory could not be locked
    } locks[] = {{"net_af_xdp", "umem"}};
    const char *words = eal_complaint();
    char address[24], group[64];
    bool is_pci = devargs_is_pci(devargs, address, sizeof address);

    why[0] = 0;
    for (unsigned i = 0; i < sizeof locks / sizeof *locks; i++)
        if (devargs_is_driver(devargs, locks[i].driver) && strstr(words, locks[i].words) &&
            capability_check_locking(locks[i].driver, why, size))
            return;
    if (devargs_is_driver(devargs, "net_af_xdp"))
        capability_check(CAPABILITY_SYS_ADMIN, "net_af_xdp", why, size);
    else if (is_pci && vfio_group(address, group, sizeof group) && is_withheld(group))
        snprintf(why, size,
                 "%s is not of uid %u, as which kamueed runs: udev's rule 70-kamuee.rules gives it "
                 "(chown)",
                 group, (unsigned)geteuid());
    else if (is_pci && strstr(words, "DMA"))
        capability_check_locking("a card", why, size);
}

static void explain_probe_failure(const char *devargs, int e, char *err, size_t err_size)
{
    char why[300];
    const char *words = eal_complaint();

    if (if_nametoindex(devargs)) {
        snprintf(err, err_size,
                 "%s is a kernel interface, not a DPDK device: use 'kernel-interface %s' instead "
                 "of 'devargs %s'",
                 devargs, devargs, devargs);
        return;
    }
    explain_pci_device(devargs, why, sizeof why);
    if (!why[0])
        port_probe_explain_rights(devargs, why, sizeof why);
    // Until DPDK 24.11, which looks for vfio again.
    if (!why[0] && RTE_VER_YEAR < 24 && port_probe_by_vfio(devargs) && !eal_has_vfio())
        snprintf(why, sizeof why,
                 "the kernel module vfio was loaded after kamueed had started: restart kamueed");
    if (!why[0])
        snprintf(why, sizeof why, "%s",
                 e == EEXIST ? "a device of this name is already attached: use another number"
                 : e == ENOMEM || e == EPERM || e == EACCES ? strerror(e)
                 : strstr(words, "failed to parse device")
                     ? "no DPDK driver supports it: check the name"
                 : strstr(words, "Driver cannot attach")
                     ? "the driver rejects its arguments: expected NAME,KEY=VALUE,..."
                     : "the driver rejects it");
    snprintf(err, err_size, "cannot attach device '%s': %s%s%s%s", devargs, why,
             words[0] ? " (DPDK says: " : "", words, words[0] ? ")" : "");
}

// Removes the socket that a killed program left. Several memifs of ours may share one.
static int clear_device_socket(const char *devargs, char *err, size_t err_size)
{
    char path[256], why[400];

    if (devargs_socket(devargs, path, sizeof path) != DEVARGS_SOCKET_LISTENS)
        return 0;
    if (devargs_is_driver(devargs, "net_virtio_user")) {
        snprintf(err, err_size,
                 "device '%s': with server=1 its driver blocks the router until the other end "
                 "connects: use "
                 "net_vhost0,iface=%s, and net_virtio_user at the other end",
                 devargs, path);
        return -ENOTSUP;
    }
    int r = port_socket_clear(path, why, sizeof why);
    if (!r && !devargs_is_driver(devargs, "net_memif") && port_socket_is_taken(path)) {
        snprintf(why, sizeof why,
                 "another program or port already listens on %s: use another path for the device",
                 path); // net_vhost would start without it
        r = -EADDRINUSE;
    }
    if (r)
        snprintf(err, err_size, "cannot attach device '%s': %s", devargs, why);
    return r;
}

// DPDK does not refuse the name of an attached device.
static int check_device_name_free(const char *devargs, const char *said, char *err, size_t err_size)
{
    char name[RTE_ETH_NAME_MAX_LEN];
    uint16_t other;

    snprintf(name, sizeof name, "%.*s", (int)strcspn(devargs, ","), devargs);
    if (rte_eth_dev_get_port_by_name(name, &other))
        return 0;
    snprintf(err, err_size, "device %.*s already belongs to %s: use another number",
             (int)strcspn(said, ","), said,
             other < PORT_DEVICE_MAX ? port_get(other)->name : "another port");
    return -EEXIST;
}

#define BOOT_S 300     // since the machine started
#define AWAIT_MS 10000 // longer than udev takes, shorter than the watchdog's limit
#define AWAIT_STEP_MS 100

static bool awaits_udev(const char *address)
{
    char group[64];

    return vfio_group(address, group, sizeof group) && is_withheld(group);
}

// At boot, udev starts a service for each card, in which driverctl binds it; then udev gives the
// device to our user. No unit can be ordered after that.
static void await_driverctl(const char *devargs)
{
    char address[24], override[64], why[200];
    struct timespec up;

    explain_pci_device(devargs, why, sizeof why);
    if (!devargs_is_pci(devargs, address, sizeof address) || (!why[0] && !awaits_udev(address)) ||
        clock_gettime(CLOCK_BOOTTIME, &up) || up.tv_sec > BOOT_S)
        return;
    snprintf(override, sizeof override, "/etc/driverctl.d/pci-%s", address);
    if (why[0] && access(override, F_OK))
        return;
    log_notice("port_probe: waiting for driverctl to bind a card, or udev to give it: device=%s",
               address);
    for (unsigned ms = 0; (why[0] || awaits_udev(address)) && ms < AWAIT_MS; ms += AWAIT_STEP_MS) {
        usleep(AWAIT_STEP_MS * 1000);
        explain_pci_device(devargs, why, sizeof why);
    }
}

int port_probe(const char *devargs, const char *said, uint16_t *id, char *err, size_t err_size)
{
    bool before[RTE_MAX_ETHPORTS];

    for (uint16_t p = 0; p < RTE_MAX_ETHPORTS; p++)
        before[p] = rte_eth_dev_is_valid_port(p);
    int r = check_device_name_free(devargs, said, err, err_size);
    if (!r)
        r = clear_device_socket(devargs, err, err_size);
    if (r)
        return r;
    await_driverctl(devargs);
    eal_complaint_clear();
    r = rte_dev_probe(devargs);
    if (r) {
        explain_probe_failure(said,
                              r < 0 && r != -1 ? -r
                              : rte_errno      ? rte_errno
                                               : EINVAL,
                              err, err_size);
        return r < 0 && r != -1 ? r : -EINVAL;
    }
    for (uint16_t p = 0; p < RTE_MAX_ETHPORTS; p++)
        if (rte_eth_dev_is_valid_port(p) && !before[p]) {
            *id = p;
            if (p < PORT_DEVICE_MAX)
                return 0;
            snprintf(err, err_size, "device '%s': too many ports (at most %d)", said,
                     PORT_DEVICE_MAX);
            port_probe_remove(p);
            return -ENOSPC;
        }
    snprintf(err, err_size, "device '%s' is already attached, or is not a network device", said);
    return -EEXIST;
}

bool port_probe_is_there(const char *devargs)
{
    char address[24], why[200];

    explain_pci_device(devargs, why, sizeof why);
    return devargs_is_pci(devargs, address, sizeof address) && !why[0];
}

bool port_probe_by_vfio(const char *devargs)
{
    char address[24], driver[33];

    return devargs_is_pci(devargs, address, sizeof address) &&
           read_pci_link(address, "driver", driver) && !strcmp(driver, "vfio-pci");
}

void port_probe_remove(uint16_t id)
{
    struct rte_eth_dev_info info;
    int r = rte_eth_dev_info_get(id, &info);

    if (!r)
        r = rte_eth_dev_close(id);
    // Virtual devices close with their last port and return -ENODEV or -EINVAL here.
    if (!r)
        r = rte_dev_remove(info.device);
    if (r)
        log_debug("port_probe: remove: port=%u result=%d", id, r);
}
