// SPDX-License-Identifier: BSD-3-Clause
// queue.h - configured port queues, class maps and queue profiles; control role
#ifndef FEATURE_QUEUE_H
#define FEATURE_QUEUE_H

#include "base/vec.h"
#include "config/change.h"
#include "port_queue/port_queue_manager.h"
#include "restconf/column.h"

struct lyd_node;

// --- queue_profile.c -----------------------------------------------------------------------------

struct class_map_dscp { // a line of a class map
    int dscp;           // -1 = unknown name
    char word[8];
    unsigned line;
};

struct model_class_map {
    char name[32];
    struct class_map map;
    VEC(struct class_map_dscp) given;
};

struct queue_profile_class {
    struct queue_class_config config; // limit_bytes 0: QUEUE_LIMIT_MS of the client's rate
    uint8_t percent;                  // of the client's rate, for a strict class; 0 = no limit
    unsigned line;                    // 0 = from the built-in profile
};

struct model_queue_profile {
    char name[32];
    struct queue_profile_class class[QUEUE_CLASSES];
};

#define QUEUE_LIMIT_MS 100u    // default limit of a class, at the client's rate
#define QUEUE_LIMIT_FRAMES 4u  // minimum
#define QUEUE_RATE_MIN 8000ull // bits/s: lower rates cannot be kept

struct model_queue_profiles {
    VEC(struct model_class_map) map; // in natural order of names
    VEC(struct model_queue_profile) profile;
};

extern const struct column queue_class_leaves[]; // of struct queue_class_config
// For the lists of the configuration (config/feature_config.h).
void queue_map_read(struct model *m, void *row, const struct lyd_node *entry);
void queue_map_check(const struct model *m, const void *row, struct errors *e);
void queue_profile_read(struct model *m, void *row, const struct lyd_node *entry);
void queue_profile_check(const struct model *m, const void *row, struct errors *e);
// Returns the built-in one if there is none of that name.
const struct class_map *queue_class_map(const struct model_queue_profiles *all, const char *name);
const struct model_queue_profile *queue_profile(const struct model_queue_profiles *all,
                                                const char *name);
// Computes the classes of a client with the rate `bps`, its maximum or else the port's; `frame`:
// bytes of the port's longest frame.
void queue_profile_apply(const struct model_queue_profile *p, uint64_t bps, uint32_t frame,
                         struct queue_client_config *c);

#define QUEUE_BPS_TEXT 24
const char *queue_bps_text(uint64_t bps, char buf[QUEUE_BPS_TEXT]); // "2.5G"; returns buf

// --- queue_config.c ------------------------------------------------------------------------------

struct model_queue_client {
    struct port_queue_client set; // with the classes of the profile
    char profile_name[32];        // "" = the port's
    const struct model_queue_profile *profile;
    bool on_port; // the virtual router has an interface on the port
    unsigned line;
};

struct model_queue {
    char port[16];
    struct port_queue_config config;
    char profile_name[32], map_name[32];
    struct model_queue_client other;       // as config.other
    VEC(struct model_queue_client) client; // virtual routers, then sub-interfaces, by name
    unsigned n_vrs;
    bool has_rate;
    uint32_t frame;                        // bytes of the port's longest frame
    struct port_queue_client *complete;    // of config.client
    unsigned line;
};

struct model_queues {
    struct model_queue_profiles profiles;
    VEC(struct model_queue) queue; // in natural order of ports
};

extern const struct feature_config queue_config;
bool queue_same(const struct model_queue *a, const struct model_queue *b); // to the manager

// --- queue.c -------------------------------------------------------------------------------------

extern const struct column queue_client_leaves[]; // of struct queue_client_config
// Packets that its port's queue dropped, at most a second old. A sub-interface has drops only if it
// has a queue of its own: otherwise its virtual router's queue serves it, and the port's interface
// has the drops.
uint64_t queue_drops_of(uint16_t iface);

#endif
