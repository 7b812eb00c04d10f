// SPDX-License-Identifier: BSD-3-Clause
// feature_config.h - what a feature does with its part of a configuration
//
//     tree --read, resolve--> model --check--> valid --check_host, prepare--> plan --> in force
//
// Each function may be NULL. Features are called one after the other in the order of features.def.
// read, resolve and check run on any thread (core/aside.h), all others on control.
#ifndef CONFIG_FEATURE_CONFIG_H
#define CONFIG_FEATURE_CONFIG_H

#include <libyang/libyang.h>

#include "base/errors.h"
#include "base/text.h"
#include "config/change.h"
#include "config/model.h"

// When in a change a step is made. What is used comes before what uses it, and goes after it; what
// cannot be changed in place (a vport's VLAN, a virtual router's namespace) goes and comes.
enum phase {
    PHASE_SETTINGS,        // what a configuration has once
    PHASE_LISTS,           // access lists and address sets: later steps bind them
    PHASE_REMOVE_USERS,    // what names interfaces and virtual routers: routes, counters, mirrors
    PHASE_REMOVE_THREADS,  // queues that do not stay leave their threads
    PHASE_UNBIND,          // what goes, or whose virtual router goes, loses what is bound to it
    PHASE_REMOVE_VPORTS,   // before their ports
    PHASE_REMOVE_PORTS,    // a port that is attached later may take the device
    PHASE_REMOVE_VRS,      // no interface is in them any more
    PHASE_CHANGE_VRS,      // engine and flow hash, also of the default one
    PHASE_ADD_VRS,         // before the interfaces that move into them
    PHASE_SHRINK_VPORTS,   // a vport's MTU is at most its port's, at every moment
    PHASE_PORTS,           // change, then come
    PHASE_MOVE_INTERFACES, // to their virtual routers
    PHASE_ADD_VPORTS,
    PHASE_GROW_VPORTS,
    PHASE_BIND,            // policy, description and access lists of interfaces
    PHASE_ADD_THREADS,     // queues of ports that exist
    PHASE_ADD_USERS,
    PHASE_EXPORT,
    PHASE_API,             // last: who closes his own listener still gets an answer
    PHASE_N
};

struct feature_phase { // the steps of one feature in one phase
    enum phase phase;
    void (*plan)(struct change *c);
};

typedef void name_fn(void *ctx, const char *name, const char *help);
struct feature_names { // names for completion: `k:complete SOURCE` of the schema
    const char *source;
    void (*each)(name_fn *fn, void *ctx);
};

struct feature_config {
    size_t part_size; // of its part of a model, zeroed before read; 0: it has none
    // Out of a tree that the schema has judged. `known`: a model whose marked entries
    // (config_is_known) are unchanged, or NULL.
    void (*read)(struct model *m, const struct lyd_node *tree, const struct model *known,
                 struct errors *e);
    void (*resolve)(struct model *m); // what it has from other parts, of features before it
    void (*check)(const struct model *m, struct errors *e); // what the schema cannot say
    void (*free)(struct model *m);

    // What this host lacks of what `to` names and `from` does not. What has gone away since need
    // not hinder other changes, and what the host does not tell is not refused.
    void (*check_host)(const struct model *from, const struct model *to, struct errors *e);
    // What else a change does to the host, and what is worth knowing of it.
    void (*note)(const struct model *from, const struct model *to, struct errors *notes);

    // What takes long and changes nothing: a turn waits for it. 0: ready; -errno with a sentence.
    int (*prepare)(const struct model *from, const struct model *to, struct errors *e);
    void (*abandon)(void); // what is prepared is not wanted
    const struct feature_phase *phases; // ended by {.plan = NULL}
    void (*finish)(const struct model *from, const struct model *to, bool ok); // of a change

    // Tells the managers what the empty configuration says: a change tells only what differs.
    void (*begin)(const struct model *empty);
    // Appends an entry of a list at the top as lines, if the model has them; false: it has not.
    bool (*print)(const struct model *m, const struct lyd_node *entry, struct text *t);
    const struct feature_names *names; // ended by {0}
};

#endif
