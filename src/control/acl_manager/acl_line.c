// SPDX-License-Identifier: BSD-3-Clause
// acl_line.c - parses the words of a line into a rule (acl_line.h)
//
// The first three words are number, action and protocol; the others follow in any order, as the
// table `parts` says. Protocol and addresses decide the rule's families: if none is named, both.
#include "acl_manager/acl_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "acl_manager/acl_word.h"

const char *const acl_verb_name[3] = {
    [ACL_PERMIT] = "permit", [ACL_DENY] = "deny", [ACL_REJECT] = "reject"};
const char *const acl_verdict_name[ACL_VERDICTS] = {[ACL_PERMIT] = "permit",
                                                    [ACL_DENY] = "deny",
                                                    [ACL_REJECT] = "reject",
                                                    [ACL_REDIRECTS] = "redirect",
                                                    [ACL_DEFAULT] = "default"};

struct parse {
    struct acl_lines *l;
    char *const *word;
    unsigned n, i; // i: the next word
    struct acl_rule r;
    struct acl_more more;
    bool has_port;
    uint8_t verb;
    char *why;
    size_t why_size;
};

__attribute__((format(printf, 2, 3))) static bool line_error(struct parse *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(p->why, p->why_size, fmt, ap);
    va_end(ap);
    return false;
}

// The next word; NULL: there is none, and the error is written. `expected`: for the error.
static const char *next_word(struct parse *p, const char *expected)
{
    if (p->i < p->n)
        return p->word[p->i++];
    line_error(p, "the line ends too early, expected %s", expected);
    return NULL;
}

// A number after the last word. `expected`, `unit`: for errors, "a rate in kbit/s", " (kbit/s)".
static bool next_number(struct parse *p, const char *expected, uint64_t min, uint64_t max,
                        const char *unit, uint64_t *v)
{
    const char *name = p->word[p->i - 1], *s = next_word(p, expected);

    return s && (!text_parse_u64(s, min, max, v) ||
                 line_error(p, "'%s' is '%.40s', expected %" PRIu64 "..%" PRIu64 "%s", name, s, min,
                            max, unit));
}

static bool families_narrow(struct parse *p, uint8_t families, const char *word)
{
    p->r.families &= families;
    return p->r.families ||
           line_error(p, "'%.40s' is of another address family than the words before it", word);
}

// --- the parts of a rule -------------------------------------------------------------------------

static bool read_protocol(struct parse *p)
{
    const char *s =
        next_word(p, "a protocol: ip, ipv4, ipv6, tcp, udp, sctp, icmp, icmp6 …, or its number");
    const struct acl_word *w;
    uint64_t v;

    if (!s)
        return false;
    if (!strcmp(s, "ip"))
        return true;
    if (!strcmp(s, "ipv4") || !strcmp(s, "ipv6"))
        return families_narrow(p, !strcmp(s, "ipv4") ? ACL_IP4 : ACL_IP6, s);
    p->r.proto_any = false;
    if ((w = acl_word_find(acl_protocols, s))) {
        p->r.proto = (uint8_t)w->number;
        return !w->families || families_narrow(p, w->families, s);
    }
    if (text_parse_u64(s, 1, 255, &v))
        return line_error(
            p,
            "unknown protocol '%.40s', expected ip, ipv4, ipv6, tcp, udp, sctp, icmp, "
            "icmp6 …, or a number from 1 to 255",
            s);
    p->r.proto = (uint8_t)v;
    for (w = acl_protocols; w->name && w->number != v;) // the family, as if given by name
        w++;
    return !w->name || !w->families || families_narrow(p, w->families, s);
}

static bool is_name(const char *s)
{
    return *s && strlen(s) < ACL_NAME_MAX &&
           !s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-:")];
}

// `thing`: for errors, "an address set".
static const char *next_name(struct parse *p, const char *thing)
{
    char name[40];

    snprintf(name, sizeof name, "the name of %s", thing);
    const char *s = next_word(p, name);
    if (!s || is_name(s))
        return s;
    line_error(p, "invalid name of %s '%.40s', expected up to %u letters, digits, '_', '.' or '-'",
               thing, s, ACL_NAME_MAX - 1);
    return NULL;
}

static bool read_set(struct parse *p, struct acl_side *side)
{
    const char *s = next_name(p, "an address set");
    int i = s ? acl_lines_set(p->l, s) : -1;

    if (s && i < 0)
        return line_error(p, "too many address sets at '%.40s': a list can name at most %u", s,
                          ACL_SETS_MAX);
    side->set = (uint16_t)i;
    return s;
}

static bool read_prefix(struct parse *p, struct acl_side *side, const char *s)
{
    struct prefix x;

    if (prefix_parse(s, &x, true))
        return line_error(p,
                          "invalid address '%.40s', expected 'any', 'set NAME', a prefix such as "
                          "192.0.2.0/24, or an address",
                          s);
    memcpy(side->addr, x.b, 16);
    side->len = x.len;
    return families_narrow(p, x.family == IP4 ? ACL_IP4 : ACL_IP6, s);
}

static bool read_one_port(const char *s, uint64_t *v)
{
    const struct acl_word *w = acl_word_find(acl_ports, s);

    if (w)
        *v = w->number;
    return w || !text_parse_u64(s, 0, 65535, v);
}

static bool read_port(struct parse *p, uint16_t port[2])
{
    const char *s = next_word(p, "a port or a range of ports"),
               *dash = s && *s >= '0' && *s <= '9' ? strchr(s, '-') : NULL;
    uint64_t a = 0, b = 0;
    char first[16];

    if (!s)
        return false;
    snprintf(first, sizeof first, "%.*s", dash ? (int)(dash - s) : 15, s);
    if ((dash && dash - s > 15) || !read_one_port(dash ? first : s, &a) ||
        (dash && !read_one_port(dash + 1, &b)) || (dash && b < a))
        return line_error(
            p,
            "unknown port '%.40s', expected 0..65535, a name such as https, or a range "
            "such as 1024-65535",
            s);
    port[0] = (uint16_t)a;
    port[1] = (uint16_t)(dash ? b : a);
    return p->has_port = true;
}

static bool next_is(const struct parse *p, const char *word)
{
    return p->i < p->n && !strcmp(p->word[p->i], word);
}

static bool read_side(struct parse *p, struct acl_side *side, uint16_t port[2])
{
    if (!next_is(p, "port")) {
        const char *s = next_word(p, "'any', 'set NAME', a prefix or an address");

        if (!s ||
            (!strcmp(s, "set") ? !read_set(p, side) : strcmp(s, "any") && !read_prefix(p, side, s)))
            return false;
    }
    if (!next_is(p, "port"))
        return true;
    p->i++;
    return read_port(p, port);
}

static bool read_from(struct parse *p)
{
    return read_side(p, &p->r.src, p->r.sport);
}

static bool read_to(struct parse *p)
{
    return read_side(p, &p->r.dst, p->r.dport);
}

static bool read_established(struct parse *p)
{
    p->r.tcp_any = 0x14; // ACK, RST
    return true;
}

static bool read_flags(struct parse *p)
{
    const char *s = next_word(p, "TCP flags such as syn,!ack");
    char copy[64], *next = copy;

    if (!s)
        return false;
    snprintf(copy, sizeof copy, "%s", s);
    for (char *f; (f = strsep(&next, ","));) {
        const struct acl_word *w = acl_word_find(acl_tcp_flags, *f == '!' ? f + 1 : f);

        if (!w || strlen(s) >= sizeof copy || p->r.tcp_mask & w->number)
            return line_error(
                p,
                "invalid TCP flags '%.40s', expected fin, syn, rst, psh, ack, urg, ece, "
                "cwr, each once, with '!' for 'not set': syn,!ack",
                s);
        p->r.tcp_mask |= (uint8_t)w->number;
        p->r.tcp_value |= *f == '!' ? 0 : (uint8_t)w->number;
    }
    return true;
}

static bool read_icmp_type(struct parse *p)
{
    const char *s = next_word(p, "an ICMP type"), *slash = s ? strchr(s, '/') : NULL;
    const struct acl_word *table = p->r.proto == 58 ? acl_icmp6_types : acl_icmp_types,
                          *w = s ? acl_word_find(table, s) : NULL;
    uint64_t type = w ? w->number : 0, code = 0;
    char first[8];

    if (!s)
        return false;
    snprintf(first, sizeof first, "%.*s", slash ? (int)(slash - s) : 7, s);
    if (p->r.proto_any || (p->r.proto != 1 && p->r.proto != 58))
        return line_error(p, "'icmp-type' needs the protocol icmp or icmp6");
    if ((!w && text_parse_u64(slash ? first : s, 0, 255, &type)) ||
        (slash && (slash - s > 3 || text_parse_u64(slash + 1, 0, 255, &code))))
        return line_error(
            p,
            "unknown ICMP type '%.40s' for %s, expected a name such as echo-request, a "
            "number (8) or type/code (3/4)",
            s, p->r.proto == 58 ? "icmp6" : "icmp");
    p->r.sport[0] = p->r.sport[1] = (uint16_t)type;
    if (slash)
        p->r.dport[0] = p->r.dport[1] = (uint16_t)code;
    return true;
}

static bool read_codepoint(struct parse *p, uint8_t *dscp)
{
    const char *s = next_word(p, "a codepoint: 0..63, ef, va, cs0..cs7 or af11..af43");
    const struct acl_word *w = s ? acl_word_find(acl_dscps, s) : NULL;
    uint64_t v = w ? w->number : 0;

    if (s && !w && text_parse_u64(s, 0, 63, &v))
        return line_error(
            p, "unknown codepoint '%.40s', expected 0..63, ef, va, cs0..cs7 or af11..af43", s);
    *dscp = (uint8_t)v;
    return s;
}

static bool read_dscp(struct parse *p)
{
    return read_codepoint(p, &p->r.dscp);
}

static bool read_fragment(struct parse *p)
{
    p->r.part = (uint8_t)acl_word_find(acl_parts, p->word[p->i - 1])->number;
    return true;
}

// --- actions -------------------------------------------------------------------------------------

static bool read_log(struct parse *p)
{
    uint64_t v = 1;

    if (next_is(p, "every")) {
        p->i++;
        if (!next_number(p, "a number of packets", 1, 65535, " (packets)", &v))
            return false;
    }
    p->more.extra |= ACL_LOG;
    p->more.log_every = (uint16_t)v;
    return true;
}

static bool read_police(struct parse *p)
{
    uint64_t v;

    p->more.extra |= ACL_POLICE;
    if (next_is(p, "packets") || next_is(p, "with")) {
        bool with = next_is(p, "with");

        p->i++;
        if (!next_number(p, with ? "the number of a rule" : "a rate in packets per second", 1,
                         with ? 4294967294u : 1000000000, with ? "" : " (packets/s)", &v))
            return false;
        *(with ? &p->more.police_with : &p->more.police_packets) = (uint32_t)v;
        return true;
    }
    if (!next_number(p, "a rate in kbit/s", 1, 400000000, " (kbit/s)", &v))
        return false;
    p->more.police_kbps = (uint32_t)v;
    if (!next_is(p, "burst"))
        return true;
    p->i++;
    if (!next_number(p, "a burst in KiB", 1, 1000000, " (KiB)", &v))
        return false;
    p->more.police_burst_kib = (uint32_t)v;
    return true;
}

static bool read_mirror(struct parse *p)
{
    const char *s = next_name(p, "a mirror session");

    if (!s)
        return false;
    snprintf(p->more.mirror, sizeof p->more.mirror, "%s", s);
    p->more.extra |= ACL_MIRROR;
    return true;
}

static bool is_link_local_or_group(const struct ip_addr *a)
{
    return a->family == IP4 ? a->b[0] >= 224
                            : a->b[0] == 0xff || (a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80);
}

static bool read_redirect(struct parse *p)
{
    const char *s = next_is(p, "to") ? p->word[p->i++] : NULL;

    if (!s)
        return line_error(p, "expected 'to' and an address after 'redirect'");
    if (!(s = next_word(p, "the address of a next hop")))
        return false;
    if (ip_parse(s, &p->more.redirect) || is_link_local_or_group(&p->more.redirect))
        return line_error(
            p,
            "invalid next hop '%.40s', expected a unicast address that has a route, such "
            "as 192.0.2.1 or 2001:db8::1",
            s);
    p->more.extra |= ACL_REDIRECT;
    return families_narrow(p, p->more.redirect.family == IP4 ? ACL_IP4 : ACL_IP6, s);
}

static bool read_class(struct parse *p)
{
    uint64_t v;

    if (!next_number(p, "a class, 0..7", 0, ACL_CLASS_MAX, "", &v))
        return false;
    p->more.class = (uint8_t)v;
    p->more.extra |= ACL_CLASS;
    return true;
}

static bool read_remark(struct parse *p)
{
    p->more.extra |= ACL_REMARK;
    return read_codepoint(p, &p->more.remark_dscp);
}

static bool read_description(struct parse *p)
{
    const char *s = next_word(p, "text in quotes");

    if (!s)
        return false;
    if (strlen(s) >= ACL_DESCRIPTION_MAX)
        return line_error(p, "'description' has %zu bytes, expected at most %u", strlen(s),
                          ACL_DESCRIPTION_MAX - 1);
    snprintf(p->more.description, sizeof p->more.description, "%s", s);
    return true;
}

// --- a line --------------------------------------------------------------------------------------

static const struct part {
    const char *word;
    bool (*read)(struct parse *p);
} parts[] = {{"from", read_from},
             {"to", read_to},
             {"established", read_established},
             {"tcp-flags", read_flags},
             {"icmp-type", read_icmp_type},
             {"dscp", read_dscp},
             {"fragments", read_fragment},
             {"first-fragment", read_fragment},
             {"any-fragment", read_fragment},
             {"unfragmented", read_fragment},
             {"log", read_log},
             {"police", read_police},
             {"mirror", read_mirror},
             {"redirect", read_redirect},
             {"class", read_class},
             {"remark-dscp", read_remark},
             {"description", read_description}};
#define N_PARTS (sizeof parts / sizeof *parts)

static bool read_part(struct parse *p, uint32_t *seen)
{
    const char *s = p->word[p->i++];

    for (unsigned i = 0; i < N_PARTS; i++) {
        if (strcmp(s, parts[i].word))
            continue;
        if (*seen >> i & 1)
            return line_error(p, "'%s' appears twice", s);
        *seen |= 1u << i;
        return parts[i].read(p);
    }
    return line_error(p,
                      "unknown word '%.40s', expected from, to, established, tcp-flags, icmp-type, "
                      "dscp, fragments, first-fragment, "
                      "any-fragment, unfragmented, log, police, mirror, redirect, class, "
                      "remark-dscp or description",
                      s);
}

static bool read_head(struct parse *p)
{
    const char *s = next_word(p, "the number of a rule");
    uint64_t v;

    if (!s)
        return false;
    if (text_parse_u64(s, 1, 4294967294u, &v))
        return line_error(p, "invalid rule number '%.40s', expected 1..4294967294", s);
    acl_rule_init(&p->r, (uint32_t)v, ACL_BOTH);
    s = next_word(p, "permit, deny or reject");
    for (p->verb = 0; s && p->verb < 3 && strcmp(s, acl_verb_name[p->verb]);)
        p->verb++;
    if (s && p->verb == 3)
        return line_error(p, "unknown action '%.40s', expected permit, deny or reject", s);
    return s && read_protocol(p);
}

static bool has_ports(const struct acl_rule *r)
{
    return r->sport[0] || r->sport[1] != 65535 || r->dport[0] || r->dport[1] != 65535;
}

static const struct {
    uint8_t extra; // enum acl_extra
    const char *word;
} with_permit[] = {{ACL_POLICE, "police"},
                   {ACL_REDIRECT, "redirect"},
                   {ACL_CLASS, "class"},
                   {ACL_REMARK, "remark-dscp"}};

// Finds the same errors as acl_rule_check, but reports them in the words of the line.
static bool rule_check(struct parse *p)
{
    struct acl_rule *r = &p->r;
    bool carries =
        !r->proto_any && (r->proto == 6 || r->proto == 17 || r->proto == 132 || r->proto == 136);

    if (p->has_port && !carries) // ICMP keeps type and code in these fields
        return line_error(p, "'port' needs the protocol tcp, udp, sctp or udplite");
    const bool flags = r->tcp_mask || r->tcp_any;
    if (flags && (r->proto_any || r->proto != 6))
        return line_error(p, "'established' and 'tcp-flags' need the protocol tcp");
    if ((has_ports(r) || flags) && r->part == ACL_LATER)
        return line_error(p, "'fragments' matches later fragments, which carry no ports, flags or "
                             "types: remove one of the two");
    for (unsigned i = 0; i < sizeof with_permit / sizeof *with_permit; i++)
        if (p->verb != ACL_PERMIT && p->more.extra & with_permit[i].extra)
            return line_error(p, "'%s' works only with 'permit', not with '%s'",
                              with_permit[i].word, acl_verb_name[p->verb]);
    return !acl_rule_check(r, p->why, p->why_size);
}

int acl_line_parse(struct acl_lines *l, char *const *word, unsigned n, uint32_t line, char *why,
                   size_t why_size)
{
    struct parse p = {.l = l, .word = word, .n = n, .why = why, .why_size = why_size};
    unsigned sets = l->n_sets;
    uint32_t seen = 0;
    bool ok = read_head(&p);

    while (ok && p.i < p.n)
        ok = read_part(&p, &seen);
    if (!ok || !rule_check(&p)) {
        l->n_sets = sets;
        return -EINVAL;
    }
    bool more = p.more.extra || p.more.description[0];
    if (more)
        *vec_push(&l->more) = p.more;
    *vec_push(&l->rule) = p.r;
    *vec_push(&l->how) =
        (struct acl_how){.verb = p.verb, .more = more ? (uint32_t)l->more.n : 0, .line = line};
    return 0;
}
