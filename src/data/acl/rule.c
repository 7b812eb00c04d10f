// SPDX-License-Identifier: BSD-3-Clause
// rule.c - the meaning of a rule: checks it, and matches it by definition; all faster ways are
// tested against this
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/rule.h"
#include "acl/set.h"

#define PROTO_ICMP 1
#define PROTO_TCP 6
#define PROTO_UDP 17
#define PROTO_ICMP6 58
#define PROTO_SCTP 132
#define PROTO_UDPLITE 136

void acl_rule_init(struct acl_rule *r, uint32_t number, uint8_t families)
{
    *r = (struct acl_rule){
        .number = number,
        .families = families,
        .part = ACL_ANY_PART,
        .proto_any = true,
        .src.set = ACL_NO_SET,
        .dst.set = ACL_NO_SET,
        .sport = {0, UINT16_MAX},
        .dport = {0, UINT16_MAX},
        .dscp = ACL_DSCP_ANY,
    };
}

static bool any_port(const uint16_t range[2])
{
    return range[0] == 0 && range[1] == UINT16_MAX;
}

// Does it check fields that later fragments lack?
static bool rule_needs_header(const struct acl_rule *r)
{
    return !any_port(r->sport) || !any_port(r->dport) || r->tcp_mask || r->tcp_any;
}

static uint32_t test_word(uint8_t proto, uint8_t flags, uint8_t dscp, uint8_t part)
{
    return proto | (uint32_t)flags << TEST_FLAGS | (uint32_t)dscp << 16 | (uint32_t)part << 24;
}

struct rule_test rule_test(const struct acl_rule *r)
{
    uint8_t not_part = (uint8_t)(ACL_ANY_PART & ~r->part) | (rule_needs_header(r) ? ACL_LATER : 0);
    bool any_dscp = r->dscp == ACL_DSCP_ANY;

    return (struct rule_test){
        .port = r->sport[0] | (uint32_t)r->dport[0] << 16,
        .span = (uint32_t)(r->sport[1] - r->sport[0]) | (uint32_t)(r->dport[1] - r->dport[0]) << 16,
        .value = test_word(r->proto_any ? 0 : r->proto, r->tcp_value, any_dscp ? 0 : r->dscp, 0),
        .mask = test_word(r->proto_any ? 0 : 0xff, r->tcp_mask, any_dscp ? 0 : 0xff, not_part),
        .any = r->tcp_any,
    };
}

static bool is_set_or_any(const struct acl_side *s)
{
    return s->set != ACL_NO_SET || !s->len;
}

bool rule_is_by_addresses(const struct acl_rule *r)
{
    const struct rule_test t = rule_test(r);

    return !t.mask && !t.any && t.span == UINT32_MAX;
}

bool rule_is_by_sets(const struct acl_rule *r)
{
    return is_set_or_any(&r->src) && is_set_or_any(&r->dst) && rule_is_by_addresses(r);
}

// --- check ---

int rule_error(char *why, size_t n, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(why, n, format, ap);
    va_end(ap);
    return -EINVAL;
}

static int side_check(const struct acl_rule *r, const struct acl_side *s, const char *name,
                      char *why, size_t n)
{
    unsigned max = r->families == ACL_IP4 ? 32 : 128;

    if (s->set != ACL_NO_SET)
        return s->set < ACL_SETS_MAX
                   ? 0
                   : rule_error(why, n,
                                "the %s's address set has index %u, but a list can name at most %u",
                                name, s->set, ACL_SETS_MAX);
    if (s->len > max)
        return rule_error(why, n, "the %s prefix has length %u, expected at most %u", name, s->len,
                          max);
    if (s->len && r->families == ACL_BOTH)
        return rule_error(why, n, "a rule for both address families cannot have a %s prefix", name);
    return 0;
}

static int ports_check(const struct acl_rule *r, const uint16_t range[2], const char *name,
                       char *why, size_t n)
{
    bool icmp = r->proto == PROTO_ICMP || r->proto == PROTO_ICMP6;

    if (range[0] > range[1])
        return rule_error(why, n, "the %s range ends (%u) before it begins (%u)", name, range[1],
                          range[0]);
    if (any_port(range))
        return 0;
    if (r->proto_any || (!icmp && r->proto != PROTO_TCP && r->proto != PROTO_UDP &&
                         r->proto != PROTO_SCTP && r->proto != PROTO_UDPLITE))
        return rule_error(
            why, n,
            "a %s needs the protocol tcp, udp, sctp or udplite; ICMP types and codes need "
            "icmp or icmp6",
            name);
    if (icmp && range[1] > UINT8_MAX)
        return rule_error(why, n, "ICMP type or code %u is out of range, expected 0 to 255",
                          range[1]);
    return 0;
}

int acl_rule_check(const struct acl_rule *r, char *why, size_t n)
{
    int rc;

    if (r->number == UINT32_MAX)
        return rule_error(why, n, "the rule number is out of range, expected at most %u",
                          UINT32_MAX - 1);
    if (!r->families || r->families > ACL_BOTH)
        return rule_error(why, n, "invalid address families, expected IPv4, IPv6 or both");
    if (!r->part || r->part > ACL_ANY_PART)
        return rule_error(
            why, n,
            "invalid fragment match, expected whole datagrams, first fragments, later "
            "fragments, or several of them");
    if ((rc = side_check(r, &r->src, "source", why, n)) ||
        (rc = side_check(r, &r->dst, "destination", why, n)))
        return rc;
    if ((rc = ports_check(r, r->sport, "source port", why, n)) ||
        (rc = ports_check(r, r->dport, "destination port", why, n)))
        return rc;
    if ((r->tcp_mask || r->tcp_value || r->tcp_any) && (r->proto_any || r->proto != PROTO_TCP))
        return rule_error(why, n, "TCP flags need the protocol tcp");
    if (r->tcp_value & ~r->tcp_mask)
        return rule_error(why, n, "the TCP flags (%#x) have bits outside their mask (%#x)",
                          r->tcp_value, r->tcp_mask);
    if (r->dscp != ACL_DSCP_ANY && r->dscp > 63)
        return rule_error(why, n, "DSCP %u is out of range, expected 0 to 63", r->dscp);
    if (rule_needs_header(r) && r->part == ACL_LATER)
        return rule_error(
            why, n,
            "later fragments carry no ports, flags, types or codes, so this rule would "
            "never match");
    return 0;
}

// --- match ---

static bool covers(const struct acl_side *s, const uint8_t *addr)
{
    unsigned whole = s->len / 8, rest = s->len % 8;

    return !memcmp(s->addr, addr, whole) &&
           (!rest || !((s->addr[whole] ^ addr[whole]) >> (8 - rest)));
}

static bool in_range(const uint16_t range[2], uint16_t v)
{
    return range[0] <= v && v <= range[1];
}

static bool l4_matches(const struct acl_rule *r, const struct acl_key_l4 *k)
{
    if (!(r->part & k->part) || (!r->proto_any && r->proto != k->proto) ||
        (r->dscp != ACL_DSCP_ANY && r->dscp != k->dscp))
        return false;
    if (!rule_needs_header(r))
        return true;
    return k->part != ACL_LATER && in_range(r->sport, k->sport) && in_range(r->dport, k->dport) &&
           (k->tcp_flags & r->tcp_mask) == r->tcp_value &&
           (!r->tcp_any || (k->tcp_flags & r->tcp_any));
}

static bool side4(const struct acl_side *s, uint32_t addr_be, struct acl_set *const *set)
{
    return s->set == ACL_NO_SET ? covers(s, (const uint8_t *)&addr_be)
                                : set[s->set] && acl_set_find4(set[s->set], &addr_be, 1);
}

static bool side6(const struct acl_side *s, const uint8_t addr[16], struct acl_set *const *set)
{
    return s->set == ACL_NO_SET
               ? covers(s, addr)
               : set[s->set] && acl_set_find6(set[s->set], (const uint8_t(*)[16])addr, 1);
}

bool acl_rule_matches4(const struct acl_rule *r, const struct acl_key4 *k,
                       struct acl_set *const *set)
{
    return (r->families & ACL_IP4) && l4_matches(r, &k->l4) && side4(&r->src, k->src_be, set) &&
           side4(&r->dst, k->dst_be, set);
}

bool acl_rule_matches6(const struct acl_rule *r, const struct acl_key6 *k,
                       struct acl_set *const *set)
{
    return (r->families & ACL_IP6) && l4_matches(r, &k->l4) && side6(&r->src, k->src, set) &&
           side6(&r->dst, k->dst, set);
}
