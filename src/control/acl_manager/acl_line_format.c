// SPDX-License-Identifier: BSD-3-Clause
// acl_line_format.c - prints a rule as its line; sorts and copies lists of rules (acl_line.h)
//
// A rule has one text: words in a fixed order, names where acl_word.c has one, defaults left out.
// "any" of one family is written as its prefix of length 0 where no other word names the family.
// Sorting orders rules and their actions together by number, and reports the second of two equal
// numbers.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl_manager/acl_line.h"
#include "acl_manager/acl_word.h"

void acl_lines_free(struct acl_lines *l)
{
    vec_free(&l->rule);
    vec_free(&l->how);
    vec_free(&l->more);
    l->n_sets = 0;
}

int acl_lines_set(struct acl_lines *l, const char *name)
{
    for (unsigned i = 0; i < l->n_sets; i++)
        if (!strcmp(l->set[i], name))
            return (int)i;
    if (l->n_sets == ACL_SETS_MAX || strlen(name) >= ACL_NAME_MAX)
        return -1;
    snprintf(l->set[l->n_sets], ACL_NAME_MAX, "%s", name);
    return (int)l->n_sets++;
}

int acl_lines_copy(struct acl_lines *to, const struct acl_lines *from)
{
    uint16_t set[ACL_SETS_MAX];
    uint32_t more = (uint32_t)to->more.n;

    for (unsigned i = 0; i < from->n_sets; i++) {
        int at = acl_lines_set(to, from->set[i]);
        if (at < 0)
            return -ENOSPC;
        set[i] = (uint16_t)at;
    }
    for (size_t i = 0; i < from->rule.n; i++) {
        struct acl_rule *r = vec_push(&to->rule);
        struct acl_how *h = vec_push(&to->how);

        *r = from->rule.item[i];
        *h = from->how.item[i];
        h->more += h->more ? more : 0;
        if (r->src.set != ACL_NO_SET)
            r->src.set = set[r->src.set];
        if (r->dst.set != ACL_NO_SET)
            r->dst.set = set[r->dst.set];
    }
    vec_foreach (&from->more, m)
        *vec_push(&to->more) = *m;
    return 0;
}

// --- order ---------------------------------------------------------------------------------------

static int compare_places(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

    return (a > b) - (a < b);
}

static bool is_sorted(const struct acl_lines *l)
{
    for (size_t i = 1; i < l->rule.n; i++)
        if (l->rule.item[i - 1].number >= l->rule.item[i].number)
            return false;
    return true;
}

static void reorder(struct acl_lines *l, const uint64_t *place)
{
    struct acl_rule *rule = malloc(l->rule.n * sizeof *rule);
    struct acl_how *how = malloc(l->rule.n * sizeof *how);

    bug_on(!rule || !how);
    for (size_t i = 0; i < l->rule.n; i++) {
        rule[i] = l->rule.item[(uint32_t)place[i]];
        how[i] = l->how.item[(uint32_t)place[i]];
    }
    free(l->rule.item);
    free(l->how.item);
    l->rule.item = rule;
    l->how.item = how;
    l->rule.cap = l->how.cap = l->rule.n;
}

int acl_lines_sort(struct acl_lines *l, size_t *which)
{
    uint64_t *place; // number << 32 | index
    int r = 0;

    if (is_sorted(l))
        return 0;
    place = malloc(l->rule.n * sizeof *place);
    bug_on(!place);
    for (size_t i = 0; i < l->rule.n; i++)
        place[i] = (uint64_t)l->rule.item[i].number << 32 | i;
    qsort(place, l->rule.n, sizeof *place, compare_places);
    for (size_t i = 1; i < l->rule.n && !r; i++) {
        if (place[i - 1] >> 32 != place[i] >> 32)
            continue;
        *which = (uint32_t)place[i];
        r = -EEXIST;
    }
    if (!r)
        reorder(l, place);
    free(place);
    return r;
}

// --- text ----------------------------------------------------------------------------------------

static void put_word(const struct acl_word *table, uint16_t number, struct text *t)
{
    const char *name = acl_word_name(table, number);

    if (name)
        text_printf(t, "%s", name);
    else
        text_printf(t, "%u", number);
}

static void put_protocol(const struct acl_rule *r, struct text *t)
{
    if (r->proto_any)
        text_printf(t, "%s",
                    r->families == ACL_IP4 && !r->src.len && !r->dst.len   ? "ipv4"
                    : r->families == ACL_IP6 && !r->src.len && !r->dst.len ? "ipv6"
                                                                           : "ip");
    else
        put_word(acl_protocols, r->proto, t);
}

static void put_port(const uint16_t port[2], struct text *t)
{
    if (port[0] == 0 && port[1] == 65535)
        return;
    text_printf(t, port[0] == port[1] ? " port %u" : " port %u-%u", port[0], port[1]);
}

// `any`: the text for "no particular address".
static void put_side(const char *word, const struct acl_side *s, uint8_t families,
                     const uint16_t *port, const char *any, const char (*set)[ACL_NAME_MAX],
                     struct text *t)
{
    struct prefix p = {.family = families == ACL_IP6 ? IP6 : IP4, .len = s->len};
    char buf[PREFIX_TEXT_MAX];

    text_printf(t, " %s ", word);
    if (s->set != ACL_NO_SET) {
        text_printf(t, "set %s", set[s->set]);
    } else if (!s->len) {
        text_printf(t, "%s", any);
    } else {
        struct ip_addr host = {.family = p.family};

        memcpy(p.b, s->addr, p.family == IP4 ? 4 : 16);
        prefix_canon(&p);
        memcpy(host.b, p.b, 16);
        text_printf(t, "%s",
                    p.len == ip_bits(p.family) ? ip_format(&host, buf) : prefix_format(&p, buf));
    }
    if (port)
        put_port(port, t);
}

static void put_flags(const struct acl_rule *r, struct text *t)
{
    const char *between = " tcp-flags ";

    if (r->tcp_any)
        text_printf(t, " established");
    for (const struct acl_word *w = acl_tcp_flags; w->name; w++) {
        if (!(r->tcp_mask & w->number))
            continue;
        text_printf(t, "%s%s%s", between, r->tcp_value & w->number ? "" : "!", w->name);
        between = ",";
    }
}

static void put_type(const struct acl_rule *r, struct text *t)
{
    if (r->sport[0] == 0 && r->sport[1] == 65535)
        return;
    text_printf(t, " icmp-type ");
    if (r->dport[0] == r->dport[1])
        text_printf(t, "%u/%u", r->sport[0], r->dport[0]);
    else
        put_word(r->proto == 58 ? acl_icmp6_types : acl_icmp_types, r->sport[0], t);
}

static void put_dscp(const char *word, uint8_t dscp, struct text *t)
{
    text_printf(t, " %s ", word);
    put_word(acl_dscps, dscp, t);
}

static void put_quoted(const char *s, struct text *t)
{
    bool plain = *s && *s != '#' && !strpbrk(s, " \t\"\\");

    if (!plain)
        text_append(t, "\"", 1);
    for (; *s; s++)
        text_printf(t, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
    if (!plain)
        text_append(t, "\"", 1);
}

static void put_more(const struct acl_more *m, struct text *t)
{
    char address[IP_TEXT_MAX];

    if (m->extra & ACL_LOG)
        text_printf(t, " log");
    if (m->extra & ACL_LOG && m->log_every != 1)
        text_printf(t, " every %u", m->log_every);
    if (m->police_packets)
        text_printf(t, " police packets %u", m->police_packets);
    else if (m->police_with)
        text_printf(t, " police with %u", m->police_with);
    else if (m->extra & ACL_POLICE)
        text_printf(t, " police %u", m->police_kbps);
    if (m->extra & ACL_POLICE && m->police_burst_kib)
        text_printf(t, " burst %u", m->police_burst_kib);
    if (m->extra & ACL_MIRROR)
        text_printf(t, " mirror %s", m->mirror);
    if (m->extra & ACL_REDIRECT)
        text_printf(t, " redirect to %s", ip_format(&m->redirect, address));
    if (m->extra & ACL_CLASS)
        text_printf(t, " class %u", m->class);
    if (m->extra & ACL_REMARK)
        put_dscp("remark-dscp", m->remark_dscp, t);
    if (!m->description[0])
        return;
    text_printf(t, " description ");
    put_quoted(m->description, t);
}

// "any", or "any" of a family if nothing else in the line names the family.
static const char *any_address(const struct acl_rule *r)
{
    const struct acl_word *w = acl_protocols;

    while (w->name && w->number != r->proto)
        w++;
    if (r->families == ACL_BOTH || r->proto_any || (w->name && w->families) || r->src.len ||
        r->dst.len)
        return "any";
    return r->families == ACL_IP4 ? "0.0.0.0/0" : "::/0";
}

void acl_line_format(const struct acl_rule *r, uint8_t verb, const struct acl_more *more,
                     const char (*set)[ACL_NAME_MAX], struct text *t)
{
    bool types = !r->proto_any && (r->proto == 1 || r->proto == 58);
    const char *part = acl_word_name(acl_parts, r->part);

    text_printf(t, "%u %s ", r->number, acl_verb_name[verb]);
    put_protocol(r, t);
    put_side("from", &r->src, r->families, types ? NULL : r->sport, any_address(r), set, t);
    put_side("to", &r->dst, r->families, types ? NULL : r->dport, any_address(r), set, t);
    put_flags(r, t);
    if (types)
        put_type(r, t);
    if (r->dscp != ACL_DSCP_ANY)
        put_dscp("dscp", r->dscp, t);
    if (part)
        text_printf(t, " %s", part);
    if (more)
        put_more(more, t);
}

static bool side_equal(const struct acl_side *a, const struct acl_side *b)
{
    unsigned whole = a->len / 8, rest = a->len % 8;

    if (a->set != ACL_NO_SET || b->set != ACL_NO_SET)
        return a->set == b->set;
    return a->len == b->len && !memcmp(a->addr, b->addr, whole) &&
           (!rest || !((a->addr[whole] ^ b->addr[whole]) >> (8 - rest)));
}

bool acl_rule_equal(const struct acl_rule *a, const struct acl_rule *b)
{
    return a->number == b->number && a->families == b->families && a->part == b->part &&
           a->proto_any == b->proto_any && (a->proto_any || a->proto == b->proto) &&
           side_equal(&a->src, &b->src) && side_equal(&a->dst, &b->dst) &&
           !memcmp(a->sport, b->sport, sizeof a->sport) &&
           !memcmp(a->dport, b->dport, sizeof a->dport) && a->tcp_mask == b->tcp_mask &&
           a->tcp_value == b->tcp_value && a->tcp_any == b->tcp_any && a->dscp == b->dscp;
}
