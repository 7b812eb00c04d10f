// SPDX-License-Identifier: BSD-3-Clause
// feature_config.h - functions of a feature for its part of a configuration
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

// Position of a step in a change. Used objects come before their users, and go after them; an
// object that cannot be changed in place (a vport's VLAN, a virtual router's namespace) goes and
// comes again.
enum phase {
    PHASE_SETTINGS,        // global settings
    PHASE_LISTS,           // access lists and address sets: later steps bind them
    PHASE_REMOVE_USERS,    // users of interfaces and virtual routers: routes, counters, mirrors
    PHASE_REMOVE_THREADS,  // queues that will not stay leave their threads
    PHASE_UNBIND,          // removes bindings of objects that go, or whose virtual router goes
    PHASE_REMOVE_VPORTS,   // before their ports
    PHASE_REMOVE_PORTS,    // a port attached later may take the device
    PHASE_REMOVE_VRS,      // no interface is in them any more
    PHASE_CHANGE_VRS,      // engine and flow hash, also of the default one
    PHASE_ADD_VRS,         // before the interfaces that move into them
    PHASE_SHRINK_VPORTS,   // a vport's MTU is at most its port's, at every moment
    PHASE_PORTS,           // change, then add
    PHASE_MOVE_INTERFACES, // to their virtual routers
    PHASE_ADD_VPORTS,
    PHASE_GROW_VPORTS,
    PHASE_BIND,            // policy, description and access lists of interfaces
    PHASE_ADD_THREADS,     // queues of ports that exist
    PHASE_ADD_USERS,
    PHASE_EXPORT,
    PHASE_API,             // last: a client that closes its own listener still gets an answer
    PHASE_N
};

struct feature_phase { // the steps of one feature in one phase
    enum phase phase;
    void (*plan)(struct change *c);
};

// A list of the configuration, "port". Its entries become rows of a VEC in the feature's part, in
// canonical order. A row begins with its name, unless it is `unnamed`; it is dropped if `read` sets
// none. A change has a step for each row that it adds, removes or changes. Without LIST_ROWS,
// `read` gets the whole part instead of a row.
struct feature_list {
    const char *inside, *node;    // names in the schema; inside: of a container, or NULL
    size_t at, row_size, line_at; // of the VEC in the part; of a row; of its `unsigned line`
    // Reads into a zeroed row, whose line LIST_STEP has set. NULL: the feature's own `read` fills
    // the vector.
    void (*read)(struct model *m, void *row, const struct lyd_node *entry);
    void (*check)(const struct model *m, const void *row, struct errors *e);

    struct step_kind step; // no `run`: the feature plans the steps itself
    bool unnamed;
    enum phase remove, add;
    // A row with that name that does not stay is removed and added; NULL: it stays.
    bool (*stays)(const struct change *c, const char *name);
    size_t key_size; // a row has no name, but these first bytes of its own; `stays` gets the row
    // Instead of these: the row of the other model that `row` was or becomes, or NULL.
    const void *(*find)(const struct change *c, const struct model *other, const void *row);
    size_t value_at, value_size; // part of a row whose bytes change in a step; 0: no part
};
#define LIST_ROWS(part, vec)                                                                       \
    .at = offsetof(part, vec), .row_size = sizeof *((part *)0)->vec.item
#define LIST_STEP(row, what, run) .step = {what, run}, .line_at = offsetof(row, line)
#define LIST_VALUE(row, member)                                                                    \
    .value_at = offsetof(row, member), .value_size = sizeof((row *)0)->member

struct column;
// A value of the part that exists once; its step runs if its bytes change.
struct feature_value {
    enum phase phase;
    struct step_kind step;
    size_t at, size; // in the part
    size_t line_at;  // of its `unsigned line` in the part; 0: it has none
    bool begins;     // the step also runs once for the empty configuration
    // Reads the leaves of the container `inside` over the initial value, NULL = zeros: columns_read
    // (restconf/column.h), or the feature's own. NULL: the feature's `read` fills the value.
    void (*read)(const struct lyd_node *first, const struct column *c, void *value);
    const char *inside;
    const struct column *columns;
    const void *initial;
};
#define PART_VALUE(part, member) .at = offsetof(part, member), .size = sizeof((part *)0)->member

typedef void name_fn(void *ctx, const char *name, const char *help);
struct feature_names { // names for completion: `k:complete SOURCE` of the schema
    const char *source;
    void (*each)(name_fn *fn, void *ctx);
};

struct feature_config {
    size_t part_size; // of its part of a model, zeroed before read; 0: no part
    const struct feature_list *lists; // ended by {0}; before `read`, `check` and `phases`
    // From a tree that passed the schema's checks. `known`: a model whose marked entries
    // (config_is_known) are unchanged, or NULL.
    void (*read)(struct model *m, const struct lyd_node *tree, const struct model *known,
                 struct errors *e);
    void (*resolve)(struct model *m); // fills values derived from other parts, of earlier features
    void (*check)(const struct model *m, struct errors *e); // rules that the schema cannot express
    void (*free)(struct model *m);

    // Resources that `to` names, `from` does not, and this host lacks. Resources that vanished
    // since do not block other changes, and unknown ones are not refused.
    void (*check_host)(const struct model *from, const struct model *to, struct errors *e);
    // Other effects of a change on the host, and other remarks.
    void (*note)(const struct model *from, const struct model *to, struct errors *notes);

    // Long work without effect: a turn waits for it. 0: ready; -errno with a sentence.
    int (*prepare)(const struct model *from, const struct model *to, struct errors *e);
    void (*abandon)(void); // discards the prepared change
    const struct feature_value *values; // ended by {0}; before `phases`
    const struct feature_phase *phases; // ended by {.plan = NULL}
    void (*finish)(const struct model *from, const struct model *to, bool ok); // after a change

    // Appends an entry of a list at the top as lines, if the model has them; false: it has not.
    bool (*print)(const struct model *m, const struct lyd_node *entry, struct text *t);
    const struct feature_names *names; // ended by {0}
};

#endif
