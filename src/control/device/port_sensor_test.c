// SPDX-License-Identifier: BSD-3-Clause
// port_sensor_test.c - temperatures from recorded sysfs trees and EEPROMs
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "device/port_device.h"
#include "tests/unit.h"

#define MODULE_SFP 0x2 // RTE_ETH_MODULE_SFF_8472
#define MODULE_QSFP 0x3

static char root[] = "/tmp/port-sensor-XXXXXX";

static void put(const char *folder, const char *file, const char *content)
{
    struct text t = {0};

    text_printf(&t, "mkdir -p %s/%s && printf -- '%s' > %s/%s/%s", root, folder, content, root,
                folder, file);
    assert_int_equal(system(t.s), 0);
    text_free(&t);
}

unit_test(the_hottest_sensor_of_the_device_counts)
{
    int celsius = 0;

    put("bus/pci/devices/0000:3b:00.0/hwmon/hwmon3", "temp1_input", "61000\n");
    put("bus/pci/devices/0000:3b:00.0/hwmon/hwmon3", "temp2_input", "97500\n");
    put("bus/pci/devices/0000:3b:00.1/hwmon/hwmon4", "temp1_input", "garbage\n");
    put("class/net/eth1/device/hwmon/hwmon5", "temp1_input", "-5000\n");
    assert_int_equal(port_sensor_of_host(root, "0000:3b:00.0", "", &celsius), 0);
    assert_int_equal(celsius, 97);
    assert_int_equal(port_sensor_of_host(root, "3b:00.0,mprq_en=1", "", &celsius), 0);
    assert_int_equal(celsius, 97);
    assert_int_equal(port_sensor_of_host(root, "net_af_packet0,iface=eth1", "eth1", &celsius), 0);
    assert_int_equal(celsius, -5);
    assert_int_equal(port_sensor_of_host(root, "0000:3b:00.1", "", &celsius), -ENODATA);
    assert_int_equal(port_sensor_of_host(root, "0000:3b:00.2", "", &celsius), -ENODATA);
    assert_int_equal(port_sensor_of_host(root, "net_null0", "", &celsius), -ENODATA);
    assert_int_equal(port_sensor_of_host(root, "net_af_packet0,iface=eth*", "eth*", &celsius),
                     -ENODATA);
}

unit_test(a_module_tells_by_its_kind)
{
    uint8_t sfp[512] = {0}, qsfp[256] = {0};
    int celsius = 0;

    assert_int_equal(port_sensor_of_module(MODULE_SFP, sfp, sizeof sfp, &celsius), -ENODATA);
    sfp[256 + 96] = 42;
    sfp[256 + 97] = 128;
    assert_int_equal(port_sensor_of_module(MODULE_SFP, sfp, sizeof sfp, &celsius), 0);
    assert_int_equal(celsius, 42);
    qsfp[22] = 0xf6;
    assert_int_equal(port_sensor_of_module(MODULE_QSFP, qsfp, sizeof qsfp, &celsius), 0);
    assert_int_equal(celsius, -10);
    assert_int_equal(port_sensor_of_module(MODULE_SFP, sfp, 256, &celsius), -ENODATA);
    assert_int_equal(port_sensor_of_module(1, sfp, sizeof sfp, &celsius), -ENODATA);
}

int unit_end(void **state)
{
    struct text t = {0};

    text_printf(&t, "rm -r %s", root);
    int r = system(t.s);
    text_free(&t);
    return r;
}

int unit_begin(void **state)
{
    return !mkdtemp(root);
}
