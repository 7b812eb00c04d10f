// SPDX-License-Identifier: BSD-3-Clause
// port_sensor.c - reads sensors in sysfs, else the EEPROM of an optical module
//
// Of several sensors of a device the hottest counts. A module's diagnostics are at a fixed place of
// its EEPROM, which depends on the standard (SFF-8472, SFF-8636); all zeros there mean that it has
// none.
#define ALLOW_EXPERIMENTAL_API // rte_eth_dev_get_module_info
#include "device/port_device.h"

#include <errno.h>
#include <glob.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <string.h>

#include "core/thread.h"
#include "device/devargs.h"

// --- Linux' sensors ---

// Reads the hottest sensor whose file matches; the files hold thousandths of a degree.
static int read_hottest(const char *pattern, int *celsius)
{
    glob_t found = {0};
    int best = INT32_MIN;

    if (glob(pattern, GLOB_NOSORT, NULL, &found)) {
        globfree(&found);
        return -ENODATA;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *f = fopen(found.gl_pathv[i], "re");
        int thousandths;

        if (!f)
            continue;
        if (fscanf(f, "%d", &thousandths) == 1 && thousandths / 1000 > best)
            best = thousandths / 1000;
        fclose(f);
    }
    globfree(&found);
    if (best == INT32_MIN)
        return -ENODATA;
    *celsius = best;
    return 0;
}

int port_sensor_of_host(const char *sysfs, const char *devargs, const char *link, int *celsius)
{
    char pattern[256], address[16];

    if (devargs_is_pci(devargs, address, sizeof address)) {
        snprintf(pattern, sizeof pattern, "%s/bus/pci/devices/%s/hwmon/hwmon*/temp*_input", sysfs,
                 address);
        return read_hottest(pattern, celsius);
    }
    if (!link[0] || strpbrk(link, "*?[\\"))
        return -ENODATA;
    snprintf(pattern, sizeof pattern, "%s/class/net/%s/device/hwmon/hwmon*/temp*_input", sysfs,
             link);
    return read_hottest(pattern, celsius);
}

// --- the optical module ---

#define SFF_8472_TEMPERATURE (256 + 96) // on the second page
#define SFF_8636_TEMPERATURE 22

int port_sensor_of_module(uint32_t type, const uint8_t *eeprom, size_t n, int *celsius)
{
    size_t at = type == RTE_ETH_MODULE_SFF_8472 ? SFF_8472_TEMPERATURE : SFF_8636_TEMPERATURE;

    if (type != RTE_ETH_MODULE_SFF_8472 && type != RTE_ETH_MODULE_SFF_8636 &&
        type != RTE_ETH_MODULE_SFF_8436)
        return -ENODATA;
    if (at + 2 > n || (!eeprom[at] && !eeprom[at + 1])) // no diagnostics: all zero
        return -ENODATA;
    *celsius = (int8_t)eeprom[at]; // the next byte has 256ths
    return 0;
}

static int read_module_temperature(uint16_t port, int *celsius)
{
    struct rte_eth_dev_module_info module;
    uint8_t data[RTE_ETH_MODULE_SFF_8636_MAX_LEN] = {0};
    struct rte_dev_eeprom_info eeprom = {.data = data};

    if (rte_eth_dev_get_module_info(port, &module) || module.eeprom_len > sizeof data)
        return -ENODATA;
    eeprom.length = module.eeprom_len;
    if (rte_eth_dev_get_module_eeprom(port, &eeprom))
        return -ENODATA;
    return port_sensor_of_module(module.type, data, eeprom.length, celsius);
}

int port_sensor_read(uint16_t port, const char *devargs, const char *link, int *celsius)
{
    thread_must_be(ROLE_CONTROL);
    return port_sensor_of_host("/sys", devargs, link, celsius)
               ? read_module_temperature(port, celsius)
               : 0;
}
