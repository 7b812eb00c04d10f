// SPDX-License-Identifier: BSD-3-Clause
// acl_fixture.c - see acl_fixture.h
#include "acl_fixture.h"

#include <stdlib.h>

#include "table/acl_target.h"

struct acl_rule *list_rule(struct list *l, uint32_t number, uint8_t families, enum acl_verb verb)
{
    assert_true(l->n < RULES_MAX);
    l->action[l->n] = (struct acl_action){.verb = (uint8_t)verb, .number = number};
    acl_rule_init(&l->rule[l->n], number, families);
    return &l->rule[l->n++];
}

struct acl_action *list_action(struct list *l)
{
    return &l->action[l->n - 1];
}

void side(struct acl_side *s, const char *prefix)
{
    char text[64], *slash;
    struct ip_addr a;

    snprintf(text, sizeof text, "%s", prefix);
    if ((slash = strchr(text, '/')))
        *slash = 0;
    assert_int_equal(ip_parse(text, &a), 0);
    memcpy(s->addr, a.b, a.family == IP4 ? 4 : 16);
    s->len = (uint8_t)(slash ? atoi(slash + 1) : a.family == IP4 ? 32 : 128);
}

uint16_t redirect_to(const char *address)
{
    struct ip_addr to;

    assert_int_equal(ip_parse(address, &to), 0);
    router_role(ROLE_ACL_MANAGER);
    uint16_t id = acl_redirect_get(&to);
    assert_int_not_equal(id, 0);
    return id;
}

void ports(uint16_t range[2], uint16_t from, uint16_t to)
{
    range[0] = from;
    range[1] = to;
}

static struct acl_content *content_of(const struct list *l)
{
    const struct acl_config cfg = {.set = {l->set}};
    struct acl *a = NULL;
    char why[128];

    for (unsigned i = 0; i < l->n; i++)
        if (acl_rule_check(&l->rule[i], why, sizeof why))
            fail_msg("rule %u: %s", l->rule[i].number, why);
    if (l->n) {
        a = acl_new(&cfg);
        assert_non_null(a);
        assert_int_equal(acl_load(a, l->rule, l->n), 0);
    }
    struct acl_content *c = acl_content_new(a, l->n);
    assert_non_null(c);
    for (unsigned i = 0; i < l->n; i++)
        acl_content_set(c, acl_slot_of(a, l->rule[i].number), &l->action[i]);
    acl_content_set(c, ACL_MISS, &l->otherwise);
    return c;
}

static void content_free(struct acl_content *c)
{
    if (c)
        acl_free(c->rules);
    acl_content_free(c);
}

uint16_t list_publish(const struct list *l, const char *name)
{
    router_role(ROLE_ACL_MANAGER);
    uint16_t id = acl_list_new(name);
    assert_int_not_equal(id, 0);
    assert_null(acl_publish(id, content_of(l)));
    return id;
}

static uint32_t slot_of(const struct acl_content *c, uint32_t number)
{
    return number && c->rules ? acl_slot_of(c->rules, number) : ACL_MISS;
}

void list_replace(uint16_t id, const struct list *l)
{
    router_role(ROLE_ACL_MANAGER);
    struct acl_content *c = content_of(l), *old = acl_publish(id, c);

    for (unsigned i = 0; i < l->n; i++) {
        uint32_t from = slot_of(old, l->rule[i].number);
        if (from != ACL_MISS)
            acl_hits_add(c, slot_of(c, l->rule[i].number), acl_hits_read(old, from));
    }
    acl_hits_add(c, ACL_MISS, acl_hits_read(old, ACL_MISS));
    content_free(old);
}

void list_bind(uint16_t iface, uint16_t in, uint16_t out)
{
    router_role(ROLE_CONTROL);
    iface_bind_acl(iface_get(iface), in, out);
}

void list_cached(uint16_t id, bool cached)
{
    acl_table[id].content->cached = cached;
}

struct acl_hits list_hits(uint16_t id, uint32_t number)
{
    const struct acl_content *c = acl_content_of(id);
    uint32_t slot = slot_of(c, number);

    assert_true(number == 0 || slot != ACL_MISS);
    return acl_hits_read(c, slot);
}

void lists_free(void)
{
    router_role(ROLE_CONTROL);
    for (uint16_t i = 1; i < IFACE_MAX; i++)
        if (iface_get(i)->acl_in || iface_get(i)->acl_out)
            iface_bind_acl(iface_get(i), 0, 0);
    router_role(ROLE_ACL_MANAGER);
    for (uint16_t id = 1; id < ACL_LIST_MAX; id++)
        if (acl_table[id].content)
            content_free(acl_publish(id, NULL));
}
