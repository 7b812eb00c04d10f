// SPDX-License-Identifier: BSD-3-Clause
// port_sensor.h - temperature of a port's device: from Linux' sensors, else from its optical module
//
// Linux has sensors for a device with a kernel driver; for a device that only DPDK drives, the
// optical module may be readable. Called by port_stats.c; control role.
#ifndef DEVICE_PORT_SENSOR_H
#define DEVICE_PORT_SENSOR_H

#include <stddef.h>
#include <stdint.h>

// Reads degrees Celsius of the PCI device in `devargs`, or of the device behind kernel interface
// `link`. Returns 0 or -ENODATA.
int port_sensor_read(uint16_t port, const char *devargs, const char *link, int *celsius);

// The two sources. `sysfs` is "/sys" or a recorded tree.
int port_sensor_of_host(const char *sysfs, const char *devargs, const char *link, int *celsius);
// A module's EEPROM (SFF-8472: SFP; SFF-8636, SFF-8436: QSFP); `type` as DPDK numbers them.
int port_sensor_of_module(uint32_t type, const uint8_t *eeprom, size_t n, int *celsius);

#endif
