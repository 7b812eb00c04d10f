// SPDX-License-Identifier: BSD-3-Clause
// verdicts.c - checks and prints the verdicts of `kamuee-program test` (verdicts.h)
//
// A forwarder makes the same checks: the hook allows the action, the argument is in range, and
// changes stay within the readable bytes and spare the header fields that the router reads
// afterwards. A verdict that fails counts as a fault and prints the broken rule. Each packet is
// printed at once.
#include "compiler/verdicts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define HEADROOM 64 // most bytes that a program may remove or add at the front
#define ETHER_IP4 0x0800
#define ETHER_IP6 0x86dd

static const char *const action_name[KAMUEE_ACTIONS + 1] = {
    "continue", "drop", "class", "next-hop", "redirect", "punt", "mirror", "fault"};

// Error in a verdict's argument; NULL if it is in range.
static const char *wrong_argument(const struct verdict_list *r, unsigned action, uint32_t argument)
{
    unsigned reasons = r->declared->n_reasons ? r->declared->n_reasons : 1;

    switch (action) {
    case KAMUEE_DROP:
        return argument < reasons ? NULL : "drop: no such reason";
    case KAMUEE_CLASS:
        return argument < 8 ? NULL : "class: 0 to 7";
    case KAMUEE_NEXT_HOP:
        return argument < KAMUEE_NEXT_HOPS ? NULL : "next-hop: 0 to 255";
    case KAMUEE_REDIRECT:
        return NULL;
    default:
        return argument ? "an unexpected argument" : NULL;
    }
}

static const char *wrong_action(const struct verdict_list *r, unsigned action)
{
    if (action >= KAMUEE_ACTIONS)
        return "no such action";
    if (r->hook == HOOK_OUTPUT &&
        (action == KAMUEE_NEXT_HOP || action == KAMUEE_REDIRECT || action == KAMUEE_PUNT))
        return "at output: only continue, drop, class, mirror";
    return NULL;
}

// A program must not change the IP header fields that the router reads afterwards.
static const char *wrong_ip(const struct capture_frame *f, const uint8_t *data, unsigned changed)
{
    static const struct {
        uint8_t family, at, mask;
    } same[] = {{4, 0, 0xff}, {4, 2, 0xff}, {4, 3, 0xff}, {6, 0, 0xf0}, {6, 4, 0xff}, {6, 5, 0xff}};
    unsigned ttl = f->family == 4 ? 8 : 7;

    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (same[i].family == f->family && same[i].at < changed &&
            (data[same[i].at] ^ f->data[same[i].at]) & same[i].mask)
            return "version, header length and length of an IP packet stay";
    return changed > ttl && data[ttl] > f->data[ttl] ? "the TTL is not raised" : NULL;
}

static const char *wrong_change(const struct verdict_list *r, const struct capture_frame *f,
                                const struct kamuee_packet *p, unsigned action)
{
    int readable = (int)(f->length < r->declared->window ? f->length : r->declared->window);
    int most = readable - p->adjust < (int)r->declared->window ? readable - p->adjust
                                                               : (int)r->declared->window;
    bool sent = action == KAMUEE_NEXT_HOP || action == KAMUEE_REDIRECT;

    if (p->adjust < -HEADROOM || p->adjust > HEADROOM || p->adjust > readable)
        return "adjust: -64 to 64, at most the readable bytes";
    if (p->changed > most || p->changed < -p->adjust)
        return "changed: all added bytes, at most the readable bytes";
    if (r->hook == HOOK_ETHER_TYPE)
        return NULL;
    if (!sent && (p->adjust || p->ether_type != f->ether_type))
        return "adjust and ether_type: only with next-hop and redirect";
    return sent ? NULL : wrong_ip(f, p->data, p->changed);
}

static void put_bytes(struct verdict_list *r, const struct capture_frame *f,
                      const struct kamuee_packet *p)
{
    static const char hex[] = "0123456789abcdef";
    char s[2 * 256 + 1];
    unsigned n = f->length - (unsigned)p->adjust < 256 ? f->length - (unsigned)p->adjust : 256;

    for (unsigned i = 0; i < n; i++) {
        uint8_t b = i < p->changed ? p->data[i] : f->data[(int)i + p->adjust];
        s[2 * i] = hex[b >> 4];
        s[2 * i + 1] = hex[b & 15];
    }
    s[2 * n] = 0;
    jwrite_string(&r->j, "data", s);
}

static void flush(struct verdict_list *r)
{
    fwrite(text_str(&r->out), 1, r->out.n, stdout);
    text_clear(&r->out);
}

static const char *reason_of(const struct verdict_list *r, unsigned action, uint32_t argument)
{
    return action == KAMUEE_DROP && argument < r->declared->n_reasons
               ? r->declared->reason[argument]
               : NULL;
}

static void put_json(struct verdict_list *r, const struct capture_frame *f,
                     const struct kamuee_packet *p, unsigned action, uint32_t argument,
                     const char *wrong)
{
    const char *reason = reason_of(r, action, argument);

    jwrite_begin(&r->j, NULL, '{');
    jwrite_u64(&r->j, "packet", f->number);
    jwrite_string(&r->j, "verdict", action_name[action]);
    if (wrong)
        jwrite_string(&r->j, "why", wrong);
    else if (action != KAMUEE_CONTINUE && action != KAMUEE_PUNT && action != KAMUEE_MIRROR)
        jwrite_int(&r->j, "argument", argument);
    if (reason)
        jwrite_string(&r->j, "reason", reason);
    if (p && !wrong) {
        jwrite_int(&r->j, "ether-type", p->ether_type);
        jwrite_int(&r->j, "changed", p->changed);
        jwrite_int(&r->j, "adjust", p->adjust);
        put_bytes(r, f, p);
    }
    jwrite_end(&r->j, '}');
}

static void put_line(struct verdict_list *r, const struct capture_frame *f,
                     const struct kamuee_packet *p, unsigned action, uint32_t argument,
                     const char *wrong)
{
    const char *reason = reason_of(r, action, argument);

    text_printf(&r->out, "%" PRIu64 "  %s", f->number, action_name[action]);
    if (wrong)
        text_printf(&r->out, ": %s", wrong);
    else if (reason)
        text_printf(&r->out, " %s", reason);
    else if (action == KAMUEE_CLASS || action == KAMUEE_NEXT_HOP || action == KAMUEE_REDIRECT)
        text_printf(&r->out, " %u", argument);
    if (p && !wrong && p->adjust)
        text_printf(&r->out, ", %d bytes %s in front", abs(p->adjust),
                    p->adjust < 0 ? "more" : "less");
    if (p && !wrong && p->changed)
        text_printf(&r->out, ", %u bytes written", p->changed);
    text_printf(&r->out, "\n");
}

static void put_packet(struct verdict_list *r, const struct capture_frame *f,
                       const struct kamuee_packet *p, unsigned action, uint32_t argument,
                       const char *wrong)
{
    r->n[action]++;
    if (r->json)
        put_json(r, f, p, action, argument, wrong);
    else
        put_line(r, f, p, action, argument, wrong);
    flush(r);
}

void verdicts_begin(struct verdict_list *r)
{
    r->j.t = &r->out;
    if (!r->json)
        return;
    jwrite_begin(&r->j, NULL, '{');
    jwrite_begin(&r->j, "packets", '[');
}

void verdicts_take(struct verdict_list *r, const struct capture_frame *f,
                   const struct kamuee_packet *p, uint32_t verdict)
{
    unsigned action = verdict & 0xff;
    const char *wrong = wrong_action(r, action);

    wrong = wrong ? wrong : wrong_argument(r, action, verdict >> 8);
    wrong = wrong ? wrong : wrong_change(r, f, p, action);
    put_packet(r, f, p, wrong ? KAMUEE_ACTIONS : action, verdict >> 8, wrong);
}

void verdicts_fault(struct verdict_list *r, const struct capture_frame *f)
{
    put_packet(r, f, NULL, KAMUEE_ACTIONS, 0,
               "a trap (division by zero, a counter or table that is not declared), or more than "
               "4096 instructions");
}

void verdicts_log(struct verdict_list *r, uint32_t number, uint64_t value)
{
    fprintf(stderr, "log %u: %" PRIu64 "\n", number, value);
}

static void end_json(struct verdict_list *r, const uint64_t *counter)
{
    jwrite_end(&r->j, ']');
    jwrite_begin(&r->j, "verdicts", '{');
    for (unsigned i = 0; i <= KAMUEE_ACTIONS; i++)
        jwrite_u64(&r->j, action_name[i], r->n[i]);
    jwrite_u64(&r->j, "elsewhere", r->elsewhere);
    jwrite_end(&r->j, '}');
    jwrite_begin(&r->j, "counters", '{');
    for (unsigned i = 0; i < r->declared->n_counters; i++)
        jwrite_u64(&r->j, r->declared->counter[i], counter[i]);
    jwrite_end(&r->j, '}');
    jwrite_end(&r->j, '}');
    text_printf(&r->out, "\n");
}

void verdicts_end(struct verdict_list *r, const uint64_t *counter)
{
    const char *comma = "";

    if (r->json) {
        end_json(r, counter);
        flush(r);
        return;
    }
    for (unsigned i = 0; i <= KAMUEE_ACTIONS; i++) {
        if (r->n[i])
            text_printf(&r->out, "%s%" PRIu64 " %s", comma, r->n[i], action_name[i]);
        comma = r->n[i] ? ", " : comma;
    }
    if (r->elsewhere)
        text_printf(&r->out, "%s%" PRIu64 " not at this hook: no IP packet", comma, r->elsewhere);
    text_printf(&r->out, "\n");
    for (unsigned i = 0; i < r->declared->n_counters; i++)
        text_printf(&r->out, "counter %s %" PRIu64 "\n", r->declared->counter[i], counter[i]);
    flush(r);
}
