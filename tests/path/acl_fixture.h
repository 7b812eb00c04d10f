// SPDX-License-Identifier: BSD-3-Clause
// acl_fixture.h - access lists of the path tests, made as acl_manager makes them
//
//     struct list l = {.otherwise = {.verb = ACL_DENY}};
//     struct acl_rule *r = list_rule(&l, 10, ACL_IP4, ACL_PERMIT);
//     side(&r->src, "10.0.0.0/8");
//     uint16_t id = list_publish(&l, "edge");
//     list_bind(in, id, 0);
//
// They are unbound and freed when the test ends.
#ifndef ACL_FIXTURE_H
#define ACL_FIXTURE_H

#include "harness.h"
#include "table/acl_engine.h"

#define RULES_MAX 16

struct list {
    unsigned n;
    struct acl_rule rule[RULES_MAX];
    struct acl_action action[RULES_MAX];
    struct acl_action otherwise;
    struct acl_set *set; // what rules call set 0; the test's own
};

// A rule that matches all packets of the families; the test narrows it.
struct acl_rule *list_rule(struct list *l, uint32_t number, uint8_t families, enum acl_verb verb);
struct acl_action *list_action(struct list *l); // of the rule added last
void side(struct acl_side *s, const char *prefix);
uint16_t redirect_to(const char *address); // id, with one holder more
void ports(uint16_t range[2], uint16_t from, uint16_t to);

uint16_t list_publish(const struct list *l, const char *name);      // a new list
void list_replace(
    uint16_t id,
    const struct list *l); // as another content; rules of the same number keep their counters
void list_bind(uint16_t iface, uint16_t in, uint16_t out);
void list_cached(uint16_t id, bool cached); // its verdicts go by way of the cache, or not
struct acl_hits list_hits(uint16_t id, uint32_t number);            // 0: what no rule matches
#define assert_hits(id, number, n) assert_int_equal(list_hits(id, number).packets, n)

void lists_free(void); // rig_teardown: none is bound any more

#endif
