// SPDX-License-Identifier: BSD-3-Clause
// ipfix_write.c - writes messages of IPFIX (ipfix_write.h)
//
// address_fields[], flow_fields[] and label_fields[] list the information elements in the order in
// which ipfix_flow() writes them; the templates come from them. A record of another kind than the
// one before begins a new set. The lengths of sets and message are filled in at their ends.
#include "export/ipfix_write.h"

#include <arpa/inet.h>
#include <string.h>

enum {
    SET_TEMPLATE = 2,
    SET_OPTIONS_TEMPLATE = 3,
    TEMPLATE_IP4 = 256,
    TEMPLATE_IP6 = 257,
    TEMPLATE_SAMPLING = 258,
    TEMPLATE_LABELS4 = 259,
    TEMPLATE_LABELS6 = 260
};
enum { ALGORITHM_RANDOM = 2 };

struct field {
    uint16_t element, bytes;
};

// In the order of ipfix_flow(): source, destination and gateway of a family, and what both have.
static const struct field address_fields[2][3] = {{{8, 4}, {12, 4}, {15, 4}},
                                                  {{27, 16}, {28, 16}, {62, 16}}};
static const struct field flow_fields[] = {{7, 2},  {11, 2}, {4, 1}, {5, 1}, {6, 1},   {136, 1},
                                           {10, 4}, {14, 4}, {1, 8}, {2, 8}, {152, 8}, {153, 8}};
// Of flows with labels, in addition: the depth of the stack, its outermost entries.
static const struct field label_fields[] = {{202, 4}, {70, 3}, {71, 3}, {72, 3}, {73, 3}};
_Static_assert(sizeof label_fields / sizeof *label_fields == 1 + SAMPLE_LABELS, "");
static const struct field sampling_fields[] = {
    {149, 4} /* scope: observation domain */, {34, 4}, {35, 1}};

static void put8(struct text *t, uint8_t v)
{
    text_append(t, &v, 1);
}

static void put16(struct text *t, uint16_t v)
{
    uint16_t be = htons(v);

    text_append(t, &be, 2);
}

static void put32(struct text *t, uint32_t v)
{
    uint32_t be = htonl(v);

    text_append(t, &be, 4);
}

static void put64(struct text *t, uint64_t v)
{
    put32(t, (uint32_t)(v >> 32));
    put32(t, (uint32_t)v);
}

static void set_length(struct text *t, size_t at, size_t begun)
{
    uint16_t be = htons((uint16_t)(t->n - begun));

    memcpy(t->s + at, &be, 2);
}

void ipfix_begin(struct ipfix_message *m, uint32_t export_s, uint32_t sequence, uint32_t domain)
{
    text_clear(&m->t);
    m->set = 0;
    m->records = 0;
    put16(&m->t, 10);
    put16(&m->t, 0); // length, set later
    put32(&m->t, export_s);
    put32(&m->t, sequence);
    put32(&m->t, domain);
}

static void set_end(struct ipfix_message *m)
{
    if (m->set)
        set_length(&m->t, m->set_at + 2, m->set_at);
    m->set = 0;
}

static void set_begin(struct ipfix_message *m, uint16_t set)
{
    if (m->set == set)
        return;
    set_end(m);
    m->set = set;
    m->set_at = m->t.n;
    put16(&m->t, set);
    put16(&m->t, 0); // length, set later
}

static void put_fields(struct text *t, const struct field *f, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        put16(t, f[i].element);
        put16(t, f[i].bytes);
    }
}

static uint16_t template_of(bool six, bool labels)
{
    return (uint16_t)((labels ? TEMPLATE_LABELS4 : TEMPLATE_IP4) + six);
}

void ipfix_templates(struct ipfix_message *m, uint32_t domain, uint32_t sample_rate)
{
    struct text *t = &m->t;
    const unsigned n = sizeof flow_fields / sizeof *flow_fields, n_labels = 1 + SAMPLE_LABELS,
                   n_sampling = sizeof sampling_fields / sizeof *sampling_fields;

    set_begin(m, SET_TEMPLATE);
    for (unsigned k = 0; k < 4; k++) {
        const bool six = k & 1, labels = k & 2;
        put16(t, template_of(six, labels));
        put16(t, (uint16_t)(3 + n + (labels ? n_labels : 0)));
        put_fields(t, address_fields[six], 3);
        put_fields(t, flow_fields, n);
        if (labels)
            put_fields(t, label_fields, n_labels);
    }
    set_begin(m, SET_OPTIONS_TEMPLATE);
    put16(t, TEMPLATE_SAMPLING);
    put16(t, (uint16_t)n_sampling);
    put16(t, 1); // scope fields among them
    put_fields(t, sampling_fields, n_sampling);
    set_begin(m, TEMPLATE_SAMPLING);
    put32(t, domain);
    put32(t, sample_rate);
    put8(t, ALGORITHM_RANDOM);
    m->records++;
}

void ipfix_flow(struct ipfix_message *m, const struct flow *f, enum flow_end why, uint64_t wall_ms)
{
    const struct flow_key *k = &f->key;
    struct text *t = &m->t;
    size_t bytes = k->src.family == IP4 ? 4 : 16;
    struct ip_addr gateway = f->gateway.family == k->src.family ? f->gateway : (struct ip_addr){0};

    set_begin(m, template_of(k->src.family == IP6, k->labels.n));
    text_append(t, k->src.b, bytes);
    text_append(t, k->dst.b, bytes);
    text_append(t, gateway.b, bytes);
    put16(t, k->sport);
    put16(t, k->dport);
    put8(t, k->proto);
    put8(t, k->tos);
    put8(t, f->tcp_flags);
    put8(t, (uint8_t)why);
    put32(t, k->in);
    put32(t, k->out);
    put64(t, f->bytes);
    put64(t, f->packets);
    put64(t, f->first_ms + wall_ms);
    put64(t, f->last_ms + wall_ms);
    if (k->labels.n) {
        put32(t, k->labels.n);
        text_append(t, k->labels.entry, sizeof k->labels.entry);
    }
    m->records++;
}

void ipfix_end(struct ipfix_message *m)
{
    set_end(m);
    set_length(&m->t, 2, 0);
}
