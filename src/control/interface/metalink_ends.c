// SPDX-License-Identifier: BSD-3-Clause
// metalink_ends.c - the two interfaces of a metalink: their names, MAC addresses and VLANs
//
// Control creates and deletes them in pairs. An index is reused once no forwarder can have frames
// of the former metalink (src/data/table/metalink.h).
#include "interface/iface_manager.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "table/grace.h"
#include "table/iface.h"
#include "table/metalink.h"
#include "table/port.h"

static uint64_t vacant[METALINK_MAX]; // grace tickets; then no frames of the former one remain

// Returns 0 .. METALINK_MAX - 1, or METALINK_MAX if all are taken.
static unsigned metalink_index_take(void)
{
    const struct port *p = port_get(PORT_METALINK);

    for (int again = 0; again < 2; again++) {
        for (unsigned k = 0; k < METALINK_MAX; k++)
            if (!port_iface(p, 0, metalink_vlan(k, 0)) && !port_iface(p, 0, metalink_vlan(k, 1)) &&
                (!vacant[k] || grace_over(vacant[k])))
                return k;
        grace_wait();
    }
    return METALINK_MAX;
}

// Derived from the name, so that it is the same after a restart; the ends of a metalink always
// differ.
static void metalink_mac(uint8_t mac[6], const char *name, unsigned end)
{
    uint64_t hash = hash_bytes(name, strlen(name), 0);

    memcpy(mac, &hash, 6);
    mac[0] = 0x02; // locally administered, unicast
    mac[5] = (uint8_t)((mac[5] & 0xfe) | end);
}

static void metalink_end_name(char out[16], const char *name, unsigned end)
{
    snprintf(out, 16, "%.13s-%c", name, 'a' + (int)end);
}

static int metalink_end_add(const char *name, unsigned index, unsigned end, const char *vr,
                            uint16_t mtu, char *err, size_t err_size)
{
    struct iface wish = {.port = PORT_METALINK,
                         .vlan = metalink_vlan(index, end),
                         .tpid_be = htons(0x8100),
                         .mtu = mtu};

    metalink_end_name(wish.name, name, end);
    metalink_mac(wish.mac, name, end);
    return iface_add(&wish, IFACE_METALINK, mtu, vr, err, err_size);
}

int iface_manager_add_metalink(const char *name, const char *a, const char *b, uint16_t mtu,
                               char *err, size_t err_size)
{
    struct port *port = port_get(PORT_METALINK);
    unsigned index = metalink_index_take();
    char end[2][16];

    if (index == METALINK_MAX) {
        snprintf(err, err_size, "metalink %s: too many metalinks (at most %d)", name, METALINK_MAX);
        return -ENOSPC;
    }
    metalink_end_name(end[0], name, 0);
    metalink_end_name(end[1], name, 1);
    port->used = true; // visible to captures and traces
    snprintf(port->name, sizeof port->name, "metalink");
    int r = metalink_end_add(name, index, 0, a, mtu, err, err_size);
    if (r)
        return r;
    r = metalink_end_add(name, index, 1, b, mtu, err, err_size);
    if (r) {
        char ignored[200];
        iface_manager_del(end[0], ignored, sizeof ignored);
        return r;
    }
    iface_manager_end_changed(iface_find_name(end[0]));
    iface_manager_end_changed(iface_find_name(end[1]));
    return 0;
}

int iface_manager_del_metalink(const char *name, char *err, size_t err_size)
{
    char end[16];
    int r = 0;

    for (unsigned k = 0; k < 2; k++) {
        metalink_end_name(end, name, k);
        const struct iface *i = iface_find_name(end);
        if (i && i->kind == IFACE_METALINK)
            vacant[(i->vlan - METALINK_VLAN_FIRST) / 2] = grace_ticket();
        int s = iface_manager_del(end, err, err_size);
        r = r ? r : s;
    }
    return r;
}

int iface_manager_set_metalink_mtu(const char *name, uint16_t mtu, char *err, size_t err_size)
{
    char end[16];
    int r = 0;

    for (unsigned k = 0; k < 2 && !r; k++) {
        metalink_end_name(end, name, k);
        r = iface_manager_set_mtu(end, mtu, err, err_size);
    }
    return r;
}
