// SPDX-License-Identifier: BSD-3-Clause
// tap.h - one TAP device of Linux: making, finding again, changing, deleting
//
// TAPs are persistent: however kamueed ends, they outlive it with their addresses and routes, and
// the next kamueed attaches to them. Only tap_delete() ends one. Those whose descriptors are kept
// (tap_keep.h) have their carrier meanwhile. Called by iface_tap.c, iface_manager.c and
// mirror_manager.c; control role.
#ifndef PORT_TAP_H
#define PORT_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAP_FLAGS (IFF_TAP | IFF_NO_PI | IFF_VNET_HDR)

struct tap {
    int fd;   // -1 = none; non-blocking, each frame behind a struct virtio_net_hdr (tap_frame.h)
    int sock; // for ioctls in the TAP's namespace (tap_socket.h)
    int ifindex;
    bool found;      // a former kamueed left it
    bool kept;       // and its descriptor was kept (tap_keep.h): it still has its carrier
    bool foreign;    // no TAP, but a device that somebody made: only read
    bool unstarted;  // new, and down until tap_start
    bool unfinished; // started, but for what tap_link_local_finish does
    char name[16];
};

// In the namespace `netns` (NETNS_OWN or of netns_open). 0, or -errno with a sentence: -EBUSY
// (another process has it), -EEXIST (the name is another kind of device's).
// A new one gets the ifindex `index`, or one that Linux chooses if that is 0 or taken.
int tap_open(struct tap *t, const char *name, int netns, int index, const uint8_t mac[6],
             uint16_t mtu, char *err, size_t err_size);
// The device with that name and index, which is no TAP: it stays as it is. 0 or -errno.
int tap_adopt(struct tap *t, const char *name, int ifindex, int netns);

struct tap_start {
    struct tap *tap;
    int netns;
    bool carrier;
    int error;         // then 0, or -errno
    int addr_gen_mode; // tap_start's own
};
// When its settings are made: sets the carrier, and a new TAP up; one that a former kamueed left
// stays up or down. Of many together, all are up before the first has an address
// (tap_link_local.h).
void tap_start(struct tap_start *s, size_t n);
void tap_close(struct tap *t);                       // leaves it in the kernel
void tap_delete(struct tap *t);                      // deletes it
void tap_clear_persist(const struct tap *t);         // from now on it goes with its last descriptor
bool tap_exists(const struct tap *t);                // false: the operator moved or deleted it
void tap_delete_orphan(const char *name, int netns); // of a former kamueed, if nobody has it now

struct tap_state { // in the kernel now
    char name[16];
    uint8_t mac[6];
    uint32_t mtu;
    bool up, carrier; // the kernel does not tell the carrier of a TAP that is down
};
int tap_read_state(const struct tap *t, struct tap_state *s); // 0, or -errno: it is gone
int tap_rename(const struct tap *t, const char *from);        // to t->name; 0 or -errno

// Renames a TAP back that was renamed while no kamueed ran, if index and MAC identify it and nobody
// has it.
void tap_restore_name(const char *name, int netns, int ifindex, const uint8_t mac[6]);

int tap_set_noarp(const struct tap *t); // no neighbors are resolved there: ARP and ND are off
// Of a TAP whose interface has `mtu`: from a device with less than 1280 Linux takes IPv6 away, with
// all addresses and routes, for good (forwarder/inject_large.c).
uint16_t tap_mtu(uint16_t mtu);
int tap_set_mtu(const struct tap *t, uint16_t mtu); // tap_mtu(mtu); 0 or -errno
int tap_set_mac(const struct tap *t, const uint8_t mac[6]);
int tap_set_carrier(const struct tap *t, bool on);
bool tap_is_up(const struct tap *t); // IFF_UP: the operator's

#endif
