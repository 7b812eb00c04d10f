// SPDX-License-Identifier: BSD-3-Clause
// port_sensor.h - how hot a port's device is: by Linux' sensors, else by the optical module itself;
// control role
#ifndef PORT_PORT_SENSOR_H
#define PORT_PORT_SENSOR_H

#include <stddef.h>
#include <stdint.h>

// Degrees Celsius. Linux has sensors of a device that one of its drivers has (`devargs` names a PCI
// device, or `netdev` is its kernel interface); a device that DPDK has alone may let the module be
// read. 0, or -ENODATA: neither tells.
int port_sensor_read(uint16_t port, const char *devargs, const char *netdev, int *celsius);

// The parts. `sysfs` is "/sys", or a recorded tree.
int port_sensor_of_host(const char *sysfs, const char *devargs, const char *netdev, int *celsius);
// What a module's EEPROM says (SFF-8472: SFP; SFF-8636, SFF-8436: QSFP); `type` as DPDK numbers
// them.
int port_sensor_of_module(uint32_t type, const uint8_t *eeprom, size_t n, int *celsius);

#endif
