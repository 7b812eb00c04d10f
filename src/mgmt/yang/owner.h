// SPDX-License-Identifier: BSD-3-Clause
// owner.h - what belongs to which virtual router, as the schema says it (docs/adr/0015-owners.md)
//
//     list interface { k:owner "interface name"; k:shown "name mtu statistics"; … }
//
// A client that is bound to a virtual router sees, of a configuration, of state and of operations,
// the entries that belong to it (k:owner), and of these the listed children (k:shown). What the
// schema does not mark does not exist for it. Other clients are not concerned. Any thread, but
// owner_ask() comes before the others.
#ifndef YANG_OWNER_H
#define YANG_OWNER_H

#include <jansson.h>
#include <libyang/libyang.h>
#include <stdbool.h>

// Who knows the virtual router of an interface, NULL: there is none of that name; and the
// configuration that runs, which says whose an access list is.
void owner_ask(const char *(*vr_of)(const char *interface),
               const struct lyd_node *(*running)(void));
bool owner_has_interface(const char *vr, const char *interface);
// An entry of a list at the top whose entries have owners: of that name in what runs.
bool owner_has(const char *vr, const char *list, const char *name);

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

// Whether a client that is bound to it may change one part to another. False: `why` has the path of
// what it may not change, or of what the provider has set there already.
struct text;
struct owner_change {
    const char *vr;
    const struct lyd_node *from, *to; // two parts
    const struct lyd_node *all;       // what `from` is a part of
};
bool owner_may_change(const struct owner_change *c, struct text *why);

// k:owner-makes: entries that the client may make. "blue:web" is of blue, "web" of nobody ("").
bool owner_name_is_of(const char *name, const char *vr);
struct errors;
void owner_check_name(const char *what, const char *name, const char *vr, unsigned line,
                      struct errors *e);
// Says of each such entry of a part whose it is, where the client did not.
void owner_fill_in(const char *vr, struct lyd_node *part);
// Whether such names are of that virtual router; whether what is referred to is in the part. False:
// `why` has a sentence that says of what is others' no more than of what does not exist.
bool owner_names_fit(const char *vr, const struct lyd_node *part, struct text *why);
bool owner_references_fit(const struct lyd_node *part, struct text *why);

// The input of an operation: fills in the virtual router where it names none, and looks at what it
// names. False: `why` has a sentence that says no more than of what does not exist.
bool owner_input(const char *vr, struct lyd_node *op, struct text *why);

#endif
