// SPDX-License-Identifier: BSD-3-Clause
// tap.h - one Linux TAP device: creating, finding again, changing, deleting
//
// TAPs are persistent: however kamueed ends, they stay with their addresses and routes, and the
// next kamueed attaches to them. Only tap_delete() removes one. A TAP whose descriptor is kept
// (tap_keep.h) also keeps its carrier. Called by iface_tap.c, iface_manager.c and mirror_manager.c;
// control role.
#ifndef TAP_TAP_H
#define TAP_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tap {
    int fd;   // -1 = none; non-blocking, each frame behind a struct virtio_net_hdr (tap_frame.h)
    int sock; // for ioctls in the TAP's namespace (tap_socket.h)
    int ifindex;
    bool found;      // left by a former kamueed
    bool kept;       // its descriptor was kept, too (tap_keep.h): it still has carrier
    bool foreign;    // not a TAP but a device made by somebody else: only read
    bool unstarted;  // new, and down until tap_start
    bool unfinished; // started, except for tap_link_local_finish
    char name[16];
};

// Opens or creates a TAP in namespace `netns` (NETNS_OWN or from netns_open). A new one gets the
// ifindex `index`, or one that Linux chooses if that is 0 or taken. Returns 0, or -errno with a
// message in `err`: -EBUSY (another process has it), -EEXIST (a device of another kind has the
// name).
int tap_open(struct tap *t, const char *name, int netns, int index, const uint8_t mac[6],
             uint16_t mtu, char *err, size_t err_size);
// Uses the device with that name and index, which is no TAP, without changing it. Returns 0 or
// -errno.
int tap_adopt(struct tap *t, const char *name, int ifindex, int netns);

struct tap_start {
    struct tap *tap;
    int netns;
    bool carrier;
    int error;         // result: 0 or -errno
    int addr_gen_mode; // private to tap_start
};
// Call when its settings are made: sets the carrier and brings a new TAP up; a TAP that a former
// kamueed left stays up or down. If there are many, all are up before the first gets an address
// (tap_link_local.h).
void tap_start(struct tap_start *s, size_t n);
void tap_close(struct tap *t);                       // leaves it in the kernel
void tap_delete(struct tap *t);                      // deletes it
void tap_clear_persist(const struct tap *t);         // it will disappear with its last descriptor
bool tap_exists(const struct tap *t);                // false: the operator moved or deleted it
void tap_delete_orphan(const char *name, int netns); // of a former kamueed, if it is unused
void tap_delete_unclaimed(void);                     // those that tap_keep.h still offers

struct tap_state { // current state in the kernel
    char name[16];
    uint8_t mac[6];
    uint32_t mtu;
    bool up, carrier; // the kernel does not report the carrier of a TAP that is down
};
int tap_read_state(const struct tap *t, struct tap_state *s); // 0, or -errno: it is gone
int tap_rename(const struct tap *t, const char *from);        // renames it to t->name; 0 or -errno

// Restores the name of a TAP that was renamed while no kamueed ran, if index and MAC identify it
// and no process has it.
void tap_restore_name(const char *name, int netns, int ifindex, const uint8_t mac[6]);

int tap_set_noarp(const struct tap *t); // switches neighbor resolution (ARP and ND) off
// MTU for the TAP of an interface with `mtu`: below 1280, Linux permanently removes IPv6 from a
// device, with all addresses and routes (forwarder/inject_large.c).
uint16_t tap_mtu(uint16_t mtu);
int tap_set_mtu(const struct tap *t, uint16_t mtu); // tap_mtu(mtu); 0 or -errno
int tap_set_mac(const struct tap *t, const uint8_t mac[6]);
int tap_set_carrier(const struct tap *t, bool on);
bool tap_is_up(const struct tap *t); // IFF_UP, which the operator sets

#endif
