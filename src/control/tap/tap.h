// SPDX-License-Identifier: BSD-3-Clause
// tap.h - one Linux TAP device: creating, finding again, changing, deleting
//
// TAPs are persistent: however kamueed ends, they stay with their addresses and routes, and the
// next kamueed attaches to them. Only tap_delete() removes one. A TAP whose descriptor is kept
// (tap_keep.c) also keeps its carrier. Called by iface_tap.c, iface_manager.c and mirror_manager.c;
// control role.
#ifndef TAP_TAP_H
#define TAP_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tap {
    int fd;   // -1 = none; non-blocking, each frame behind a struct virtio_net_hdr (tap_frame.c)
    int sock; // for ioctls in the TAP's namespace, shared by its TAPs
    int ifindex;
    bool found;      // left by a former kamueed
    bool kept;       // its descriptor was kept, too (tap_keep.c): it still has carrier
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
// (tap.h).
void tap_start(struct tap_start *s, size_t n);
void tap_close(struct tap *t);                       // leaves it in the kernel
void tap_delete(struct tap *t);                      // deletes it
void tap_clear_persist(const struct tap *t);         // it will disappear with its last descriptor
bool tap_exists(const struct tap *t);                // false: the operator moved or deleted it
void tap_delete_orphan(const char *name, int netns); // of a former kamueed, if it is unused
void tap_delete_unclaimed(void);                     // TAPs that tap_keep.c still offers

struct tap_state { // current state in the kernel
    char name[16];
    uint8_t mac[6];
    uint32_t mtu;
    bool up, carrier; // the kernel does not report the carrier of a TAP that is down
};
int tap_read_state(const struct tap *t, struct tap_state *s); // 0, or -errno: it is gone
int tap_rename(const struct tap *t, const char *from);        // renames it to t->name; 0 or -errno

// Restores the name of a TAP that was renamed while no kamueed ran, if its index identifies it and
// it is offered (tap_keep.c), or its MAC does, too, and no process has it.
void tap_restore_name(const char *name, int netns, int ifindex, const uint8_t mac[6]);

int tap_set_noarp(const struct tap *t); // switches neighbor resolution (ARP and ND) off
// MTU for the TAP of an interface with `mtu`: below 1280, Linux permanently removes IPv6 from a
// device, with all addresses and routes (forwarder/inject.c).
uint16_t tap_mtu(uint16_t mtu);
int tap_set_mtu(const struct tap *t, uint16_t mtu); // tap_mtu(mtu); 0 or -errno
int tap_set_mac(const struct tap *t, const uint8_t mac[6]);
int tap_set_carrier(const struct tap *t, bool on);
bool tap_is_up(const struct tap *t); // IFF_UP, which the operator sets

// tap_address.c: copies the addresses of a TAP to its successor in another namespace. An interface
// that moves gets a new TAP in the other namespace.

// Copies permanent addresses with peer, broadcast, scope, label, metric and flags, but neither
// addresses with a lifetime (router advertisements, DHCP) nor link-local addresses that the kernel
// generated. Returns their number; *left counts addresses with a lifetime and refused ones, which
// are logged.
unsigned tap_addresses_copy(const struct tap *from, const struct tap *to, unsigned *left);

// tap_alias.c: an interface's description as the TAP's alias (`ip link set X alias "…"`). Linux
// stores it, so `ip link`, SNMP agents and FRR see the description from kamueed's configuration,
// and kamueed sees an alias set in Linux.
#define TAP_ALIAS 256 // with its terminator

int tap_alias_set(const struct tap *t, const char *alias);      // "": none. 0 or -errno
// The alias is plain text (base/plain.h); "" if there is none or the TAP is gone.
void tap_alias_get(const struct tap *t, char alias[TAP_ALIAS]);

// tap_link_local.c: when and how a new TAP gets its IPv6 link-local address. For each interface
// that comes up, Linux scans all IPv6 routes of the namespace, and a link-local address adds three
// of them. So thousands of TAPs are all brought up before the first gets an address. When
// duplicate address detection finds no duplicate, Linux walks the whole tree of routes once more
// for the address. On a TAP without neighbor resolution no other host can have the address, so we
// add it ourselves without detection. Resetting `addr_gen_mode` takes Linux long, too:
// tap_link_local_finish does it when there is time.

// Call before it is up: suppresses the address. Returns the mode to set later, -1 = no IPv6.
int tap_link_local_hold(const struct tap *t);
// Gives it the address; if t->unfinished is set afterwards, tap_link_local_finish must follow.
void tap_link_local_start(struct tap *t, int mode);
void tap_link_local_finish(const struct tap *t);

// tap_delete_batch.c: deletes the TAPs of a change together. To delete one device, the kernel
// waits some 20 ms for its own grace periods; deleting many at once takes no longer. So
// iface_tap.c leaves each TAP here, and the end of the change deletes them all together, aside
// (core/aside.h).
void tap_delete_batch_add(struct tap *t); // takes its descriptors; no others may be open
bool tap_delete_batch_has(const char *name);
bool tap_delete_batch_runs(void); // meanwhile a kernel request about any link would wait
void tap_delete_batch_run(void);  // returns when all are deleted; cheap if there are none

// tap_keep.c: TAPs that survive the process with their carrier. A TAP loses its carrier with its
// last descriptor; Linux then deletes next-hop objects and their routes. So a keeper outside the
// process (main/keep.h) holds a copy of each descriptor. After a crash or restart, main offers the
// copies, tap_open claims the copy for its TAP, and tap_delete_unclaimed deletes the TAPs that are
// no longer configured. The kernel tells the name and namespace of a descriptor's TAP, or that it
// is gone.
void tap_keep_by(void (*put)(int fd)); // hands copies to the keeper from now on; NULL: no keeper
void tap_keep_offer(int fd);           // a copy from the former kamueed; takes it over
// The TAP `from` of the current namespace is called `to` now. False: it is not offered.
bool tap_keep_renamed(const char *from, const char *to);
int tap_keep_claim(const char *name); // descriptor of the TAP in the current namespace, -1: none
void tap_keep_put(int fd);            // keeps a new TAP
int tap_keep_take(char name[16]);     // descriptor of any TAP that remains unclaimed, -1: none
void tap_keep_fini(void);             // closes the remaining descriptors

// tap_list.c: a file that lists the TAPs for the next process. One line per TAP: "namespace name
// ifindex", "-" for kamueed's own namespace. It lets the next kamueed delete TAPs of interfaces
// that left the configuration while no kamueed ran.
struct tap_list_entry {
    char netns[64]; // "" = own
    char name[16];
    int ifindex; // finds a renamed TAP; 0 = unknown
};

// Reads the entries of the file into a new array (free() it); 0 without a file. Skips malformed
// lines.
size_t tap_list_read(const char *path, struct tap_list_entry **entry);
// Replaces the whole file. Returns 0 or -errno.
int tap_list_write(const char *path, const struct tap_list_entry *entry, size_t n);

#endif
