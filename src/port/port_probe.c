// SPDX-License-Identifier: BSD-3-Clause
// port_probe.c - finding the device that devargs name
//
// DPDK answers little more than -1 when a device cannot be attached. What it
// does say goes to its log; its first line, and what the machine knows of a PCI
// address, make the sentence for the operator.
#include "port/port_probe.h"

#include <errno.h>
#include <limits.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "core/eal.h"
#include "port/devargs.h"
#include "table/limits.h"

// Why a PCI device is out of DPDK's reach, if it is; "" else.
static void pci_reason(const char *devargs, char *why, size_t size)
{
    char address[24], path[96], target[PATH_MAX];

    why[0] = 0;
    if (!devargs_is_pci(devargs, address, sizeof address))
        return;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s", address);
    if (access(path, F_OK)) {
        snprintf(why, size, "there is no PCI device %s (lspci -D)", address);
        return;
    }
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/driver", address);
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0) {
        snprintf(why, size, "PCI device %s has no kernel driver: bind it to vfio-pci (dpdk-devbind.py -b vfio-pci %s)",
                 address, address);
        return;
    }
    target[n] = 0;
    const char *driver = strrchr(target, '/') ? strrchr(target, '/') + 1 : target;
    if (strcmp(driver, "vfio-pci") && strcmp(driver, "uio_pci_generic") && strcmp(driver, "igb_uio") &&
        strncmp(driver, "mlx", 3))
        snprintf(why, size, "PCI device %s belongs to the kernel's driver %.32s: bind it to vfio-pci "
                            "(dpdk-devbind.py -b vfio-pci %s)",
                 address, driver, address);
}

static void explain(const char *devargs, int e, char *err, size_t err_size)
{
    char why[200];
    const char *words = eal_complaint();

    pci_reason(devargs, why, sizeof why);
    if (!why[0] && e == EEXIST)
        snprintf(why, sizeof why, "a device of this name is attached already: give it another number");
    else if (!why[0] && (e == EINVAL || e == ENODEV || e == ENOENT || e == EFAULT))
        snprintf(why, sizeof why, "no DPDK driver knows it: is the name right?");
    snprintf(err, err_size, "device '%s' cannot be attached: %s%s%s%s", devargs, why[0] ? why : strerror(e),
             words[0] ? " (DPDK says: " : "", words, words[0] ? ")" : "");
}

int port_probe(const char *devargs, uint16_t *id, char *err, size_t err_size)
{
    bool before[RTE_MAX_ETHPORTS];

    for (uint16_t p = 0; p < RTE_MAX_ETHPORTS; p++)
        before[p] = rte_eth_dev_is_valid_port(p);
    eal_complaint_clear();
    int r = rte_dev_probe(devargs);
    if (r) {
        explain(devargs, r < 0 && r != -1 ? -r : rte_errno ? rte_errno : EINVAL, err, err_size);
        return r < 0 && r != -1 ? r : -EINVAL;
    }
    for (uint16_t p = 0; p < RTE_MAX_ETHPORTS; p++)
        if (rte_eth_dev_is_valid_port(p) && !before[p]) {
            *id = p;
            if (p < PORT_MAX)
                return 0;
            snprintf(err, err_size, "device '%s': there are as many ports as possible (%d)", devargs, PORT_MAX);
            port_unprobe(p);
            return -ENOSPC;
        }
    snprintf(err, err_size, "device '%s' is attached already, or is no network device", devargs);
    return -EEXIST;
}

void port_unprobe(uint16_t id)
{
    struct rte_eth_dev_info info;
    int r = rte_eth_dev_info_get(id, &info);

    if (!r)
        r = rte_eth_dev_close(id);
    // A device that closed itself with its last port (virtual ones) says -ENODEV or -EINVAL here: fine.
    if (!r)
        r = rte_dev_remove(info.device);
    if (r)
        log_debug("port_probe: remove: port=%u result=%d", id, r);
}
