// SPDX-License-Identifier: BSD-3-Clause
// tap.h - one TAP device of Linux: making, finding again, changing, deleting
//
// TAPs are persistent: they outlive kamueed, with their addresses and routes,
// however it ends, and the next kamueed attaches to them. Only tap_delete() ends one.
// Control role; iface_manager's helper.
#ifndef PORT_TAP_H
#define PORT_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tap {
    int fd;    // -1 = none; frames behind a struct virtio_net_hdr (tap_frame.h), non-blocking
    int sock;  // for ioctls in the TAP's namespace
    int ifindex;
    bool found; // left by a former kamueed, not made now
    char name[16];
};

// In the namespace `netns` (NETNS_OWN or of netns_open). A new TAP is set up; one left by a former
// kamueed keeps its state. 0, or -errno with a sentence: -EBUSY (another process has it), -EEXIST
// (the name is another kind of device's).
int tap_open(struct tap *t, const char *name, int netns, const uint8_t mac[6], uint16_t mtu,
             char *err, size_t err_size);
void tap_close(struct tap *t);  // leaves the TAP in the kernel
void tap_delete(struct tap *t); // and this does not
bool tap_exists(
    const struct tap *t); // somewhere: who moves it to another namespace takes it from here
void tap_clear_persist(const struct tap *t); // from now on the TAP goes with its last descriptor
void tap_delete_orphan(const char *name,
                     int netns); // one that a former kamueed left and nobody has now

struct tap_state { // what the kernel has of it now
    char name[16];
    uint8_t mac[6];
    uint32_t mtu;
    bool up, carrier; // of a TAP that is down the carrier is not known
};
int tap_read_state(const struct tap *t,
                   struct tap_state *s);                // 0, or -errno: it is not there any more
int tap_rename(const struct tap *t, const char *from);  // gets its own name back; 0 or -errno

// One that was renamed while no kamueed ran gets its name back, if it is known by index and MAC and
// nobody has it.
void tap_restore_name(const char *name, int netns, int ifindex, const uint8_t mac[6]);

int tap_set_mtu(const struct tap *t, uint16_t mtu); // 0 or -errno
int tap_set_mac(const struct tap *t, const uint8_t mac[6]);
int tap_set_carrier(const struct tap *t, bool on);
bool tap_is_up(const struct tap *t); // IFF_UP: the operator's

#endif
