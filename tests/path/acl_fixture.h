// SPDX-License-Identifier: BSD-3-Clause
// acl_fixture.h - access lists of the path tests, built as acl_manager builds them
//
//     struct list l = {.otherwise = {.verb = ACL_DENY}};
//     struct acl_rule *r = list_rule(&l, 10, ACL_IP4, ACL_PERMIT);
//     side(&r->src, "10.0.0.0/8");
//     uint16_t id = list_publish(&l, "edge");
//     list_bind(in, id, 0);
//
// The end of the test unbinds and frees them.
#ifndef ACL_FIXTURE_H
#define ACL_FIXTURE_H

#include "harness.h"

#define RULES_MAX 16

struct list {
    unsigned n;
    struct acl_rule rule[RULES_MAX];
    struct acl_action action[RULES_MAX];
    struct acl_action otherwise;
    struct acl_set *set; // set 0 of the rules; owned by the test
};

// Adds a rule that matches all packets of the families; the test narrows it.
struct acl_rule *list_rule(struct list *l, uint32_t number, uint8_t families, enum acl_verb verb);
struct acl_action *list_action(struct list *l); // of the last added rule
void side(struct acl_side *s, const char *prefix);
uint16_t redirect_to(const char *address); // id, with one more reference
void ports(uint16_t range[2], uint16_t from, uint16_t to);

uint16_t list_publish(const struct list *l, const char *name);      // a new list
void list_replace(
    uint16_t id,
    const struct list *l); // new content; rules with the same number keep their counters
void list_bind(uint16_t iface, uint16_t in, uint16_t out);
void list_cached(uint16_t id, bool cached); // whether its verdicts use the cache
struct acl_hits list_hits(uint16_t id, uint32_t number);            // 0: no rule matched
#define assert_hits(id, number, n) assert_int_equal(list_hits(id, number).packets, n)

void lists_free(void); // for rig_teardown: none is bound any more

#endif
