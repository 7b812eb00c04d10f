// SPDX-License-Identifier: BSD-3-Clause
// owner.h - ownership of entries by virtual routers, as marked in the schema
// (docs/adr/0015-owners.md)
//
//     list interface { k:owner "interface name"; k:shown "name mtu statistics"; … }
//
// A client that is bound to a virtual router sees the entries that belong to it (k:owner) in a
// configuration, in state and in operations, and of these entries the listed children (k:shown).
// Unmarked nodes do not exist for it. Other clients are not affected. Any thread, but owner_ask()
// comes before the others.
#ifndef YANG_OWNER_H
#define YANG_OWNER_H

#include <jansson.h>
#include <libyang/libyang.h>
#include <stdbool.h>

// Sets two functions: one returns the virtual router of an interface, NULL if there is no such
// interface; the other returns the running configuration, which names the owner of an access list.
void owner_ask(const char *(*vr_of)(const char *interface),
               const struct lyd_node *(*running)(void));
bool owner_has_interface(const char *vr, const char *interface);
// Does the running configuration have an entry of that name and owner, in a list at the top with
// owners?
bool owner_has(const char *vr, const char *list, const char *name);

// Parts of it may belong to a virtual router: a child of the top or of `state`, an RPC, a
// notification.
bool owner_is_marked(const struct lysc_node *s);
bool owner_shows(const struct lysc_node *s, const char *child); // it is listed in k:shown
// Removes from the value of a marked node all that does not belong to the virtual router. False:
// nothing is left; of a list all entries may be gone.
bool owner_keep_json(const char *vr, const struct lysc_node *s, json_t *value);
// The same for the value of a node below a marked one.
bool owner_keep_below(const char *vr, const struct lysc_node *s, json_t *value);
// Its part of a configuration: a separate tree.
struct lyd_node *owner_tree(const char *vr, const struct lyd_node *tree);

// May a client that is bound to it change one part to another? False: `why` has the path of a
// forbidden change, or of a node that the provider has set there already.
struct text;
struct owner_change {
    const char *vr;
    const struct lyd_node *from, *to; // two parts
    const struct lyd_node *all;       // the whole that `from` is a part of
};
bool owner_may_change(const struct owner_change *c, struct text *why);

// k:owner-makes: entries that the client may make. "blue:web" belongs to blue, "web" to none ("").
bool owner_name_is_of(const char *name, const char *vr);
struct errors;
void owner_check_name(const char *what, const char *name, const char *vr, unsigned line,
                      struct errors *e);
// Fills in the owner of each such entry of a part, where the client did not.
void owner_fill_in(const char *vr, struct lyd_node *part);
// Renames them with their virtual router. False: a new name is too long.
bool owner_rename(struct lyd_node *tree, const char *from, const char *to);
// Do such names belong to that virtual router? Are referenced entries in the part? False: `why` has
// a sentence, which is the same for entries of others and for entries that do not exist.
bool owner_names_fit(const char *vr, const struct lyd_node *part, struct text *why);
bool owner_references_fit(const struct lyd_node *part, struct text *why);

// The input of an operation: fills in a missing virtual router, and checks the names in it. False:
// `why` has a sentence, which is the same as for names that do not exist.
bool owner_input(const char *vr, struct lyd_node *op, struct text *why);

#endif
