// SPDX-License-Identifier: BSD-3-Clause
// owner.h - what belongs to which virtual router, as the schema says it (docs/adr/0015-owners.md)
//
//     list interface { k:owner "interface name"; k:shown "name mtu statistics"; … }
//
// A client that is bound to a virtual router sees, of a configuration, of state and of operations,
// the entries that belong to it (k:owner), and of these the listed children (k:shown). What the
// schema does not mark does not exist for it. Other clients are not concerned. Any thread, but
// owner_ask_interfaces() comes before the others.
#ifndef YANG_OWNER_H
#define YANG_OWNER_H

#include <jansson.h>
#include <libyang/libyang.h>
#include <stdbool.h>

// Who knows the virtual router of an interface, NULL: there is none of that name.
void owner_ask_interfaces(const char *(*vr_of)(const char *name));
bool owner_has_interface(const char *vr, const char *interface);

// Something of it may belong to a virtual router: a child of the top or of `state`, an RPC, a
// notification.
bool owner_is_marked(const struct lysc_node *s);
bool owner_shows(const struct lysc_node *s, const char *child); // it is listed there
// Takes out of the value of a marked node what does not belong to the virtual router. False: then
// nothing is left; of a list all entries may be gone.
bool owner_keep_json(const char *vr, const struct lysc_node *s, json_t *value);
// The same of the value of a node below a marked one.
bool owner_keep_below(const char *vr, const struct lysc_node *s, json_t *value);
// The part of a configuration that belongs to it: a tree of its own.
struct lyd_node *owner_tree(const char *vr, const struct lyd_node *tree);

// Whether a client that is bound to it may change `old` to `new`, two such parts. False: `why` has
// the path of what it may not change.
struct text;
bool owner_may_change(const struct lyd_node *old, const struct lyd_node *new, struct text *why);

// The input of an operation: fills in the virtual router where it names none, and looks at what it
// names. False: `why` has a sentence that says no more than of what does not exist.
bool owner_input(const char *vr, struct lyd_node *op, struct text *why);

#endif
